"""The guest's end of a test: verbs of Linux, told by lines of JSON. It understands the requests of
`ferroce sim serve` (docs/serve.md) and two more: `fill` and `digest`, which spare bytes on the serial line."""

import hashlib
import json
import random
import sys
import time
import traceback

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

REMOTE = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
# The first GID is the link-local one, the second that of the IPv4 address.
IPV4_GID = 1
MTUS = {256: e.IBV_MTU_256, 512: e.IBV_MTU_512, 1024: e.IBV_MTU_1024, 2048: e.IBV_MTU_2048, 4096: e.IBV_MTU_4096}
OPS = {
    "send": e.IBV_WR_SEND,
    "send_imm": e.IBV_WR_SEND_WITH_IMM,
    "send_inv": e.IBV_WR_SEND_WITH_INV,
    "write": e.IBV_WR_RDMA_WRITE,
    "write_imm": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "read": e.IBV_WR_RDMA_READ,
    "compare_swap": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "fetch_add": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
}
STATES = {0: "Reset", 1: "Init", 2: "Rtr", 3: "Rts", 4: "Sqd", 5: "Sqe", 6: "Err"}


def swapped(word):
    """Immediates are in network order in verbs, and numbers in requests."""
    return int.from_bytes(word.to_bytes(4, "little"), "big")


class Host:
    """One RDMA device and what was made on it."""

    def __init__(self):
        self.context = Context(name="rxe0")
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 4096)
        self.mrs = {}
        self.next_mr = 0
        self.qps = {}

    def mr(self, len):
        mr = MR(self.pd, max(len, 1), e.IBV_ACCESS_LOCAL_WRITE | REMOTE)
        mr.write(bytes(len), len)
        self.next_mr += 1
        self.mrs[self.next_mr] = mr
        return {"mr": {"mr": self.next_mr, "addr": mr.buf, "rkey": mr.rkey}}

    def drop_mr(self, mr):
        self.mrs.pop(mr).close()
        return "done"

    def write(self, mr, hex, offset=0):
        data = bytes.fromhex(hex)
        self.mrs[mr].write(data, len(data), offset)
        return "done"

    def fill(self, mr, seed, len, offset=0):
        self.mrs[mr].write(random.Random(seed).randbytes(len), len, offset)
        return "done"

    def read(self, mr, len, offset=0):
        return {"bytes": {"hex": self.mrs[mr].read(len, offset).hex()}}

    def digest(self, mr, len, offset=0):
        return {"digest": hashlib.sha256(self.mrs[mr].read(len, offset)).hexdigest()}

    def qp(self, depth=64):
        cap = QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=1, max_recv_sge=1)
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, sq_sig_all=1, cap=cap)
        qp = QP(self.pd, init)
        self.qps[qp.qp_num] = qp
        return {"qp": {"qpn": qp.qp_num}}

    def drop_qp(self, qpn):
        self.qps.pop(qpn).close()
        return "done"

    def connect(self, qpn, ip, dest_qpn, rq_psn, sq_psn, pmtu, min_rnr_timer=12, timeout=18, retry_cnt=7, rnr_retry=7):
        qp = self.qps[qpn]
        attr = QPAttr(port_num=1)
        attr.pkey_index = 0
        attr.qp_access_flags = REMOTE
        attr.qp_state = e.IBV_QPS_INIT
        qp.to_init(attr)
        address = bytes(10) + b"\xff\xff" + bytes(map(int, ip.split(".")))
        gid = ":".join(address[at : at + 2].hex() for at in range(0, 16, 2))
        route = GlobalRoute(dgid=GID(gid), sgid_index=IPV4_GID, hop_limit=64)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.path_mtu = MTUS[pmtu]
        attr.dest_qp_num, attr.rq_psn, attr.sq_psn = dest_qpn, rq_psn, sq_psn
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 16
        attr.min_rnr_timer, attr.timeout = min_rnr_timer, timeout
        attr.retry_cnt, attr.rnr_retry = retry_cnt, rnr_retry
        qp.to_rtr(attr)
        qp.to_rts(attr)
        return "done"

    def state(self, qpn):
        attr, _ = self.qps[qpn].query(e.IBV_QP_STATE)
        return {"state": {"name": STATES[int(attr.qp_state)]}}

    def send(self, qpn, op, mr, len, offset=0, remote=None, imm=0, wr_id=0, compare=0, swap=0):
        region = self.mrs[mr]
        request = SendWR(
            wr_id=wr_id,
            opcode=OPS[op],
            num_sge=1,
            sg=[SGE(region.buf + offset, len, region.lkey)],
            imm_data=imm if op == "send_inv" else swapped(imm),
            send_flags=e.IBV_SEND_SIGNALED,
        )
        if op in ("write", "write_imm", "read"):
            request.set_wr_rdma(remote["rkey"], remote["addr"])
        elif op in ("compare_swap", "fetch_add"):
            first, second = (compare, swap) if op == "compare_swap" else (swap, 0)
            request.set_wr_atomic(remote["rkey"], remote["addr"], first, second)
        self.qps[qpn].post_send(request)
        return "done"

    def recv(self, qpn, mr, len, offset=0, wr_id=0):
        region = self.mrs[mr]
        sge = SGE(region.buf + offset, len, region.lkey)
        self.qps[qpn].post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[sge]))
        return "done"

    def poll(self, count=1, timeout_ms=0):
        end = time.monotonic() + timeout_ms / 1000
        found = []
        while True:
            _, completions = self.cq.poll(count)
            for done in completions:
                with_imm = done.wc_flags & e.IBV_WC_WITH_IMM
                found.append(
                    {
                        "wr_id": done.wr_id,
                        "qpn": done.qp_num,
                        "status": done.status,
                        "text": str(done.status),
                        "byte_len": done.byte_len,
                        "imm": swapped(done.imm_data) if with_imm else None,
                    }
                )
            if len(found) >= count or time.monotonic() >= end:
                return {"completions": found}
            time.sleep(0.001)


def main():
    host = Host()
    print(json.dumps({"id": 0, "ready": {}}), flush=True)
    for line in sys.stdin:
        number = 0
        try:
            request = json.loads(line)
            number = request.pop("id", 0)
            answer = getattr(host, request.pop("do"))(**request)
        except Exception:
            answer = {"error": traceback.format_exc()}
        reply = answer if isinstance(answer, dict) else {answer: None}
        print(json.dumps({"id": number, **reply}), flush=True)


main()

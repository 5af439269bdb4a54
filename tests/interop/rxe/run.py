"""RDMA between a simulated Ferroce card and Linux Soft-RoCE, every operation in both directions.

Usage: run.py IMAGE_FOLDER WORK_FOLDER FERROCE [--smoke]
"""

import argparse
import collections
import hashlib
import itertools
import random
import subprocess
import sys
import time
from pathlib import Path

from image import build
from peers import CARD_IP, GUEST_IP, Card, Guest, PeerError

SIZES = [0, 1, 2, 3, 5, 1023, 1025, 4098, 256 << 10]
SMOKE_SIZES = [0, 1, 3, 1025, 4098]
# Frames of path MTU 4096 need an MTU of the guest's interface that holds their headers, too.
INTERFACE_MTU = {1024: 1500, 4096: 9000}
OPERATIONS = ["send", "send_imm", "write", "write_imm"]
# Numbers of `ibv_wc_status`.
SUCCESS, REMOTE_INVALID, REMOTE_ACCESS, REMOTE_OPERATION = 0, 9, 10, 11
IMMEDIATE = 0x1234ABCD
# Both sides keep time of their own, and the machine may be busy.
PATIENCE_MS = 60_000


class Failed(Exception):
    """A test did not go as it must."""


def expect(what: str, got, wanted):
    if got != wanted:
        raise Failed(f"{what}: {got!r}, not {wanted!r}")


def content(seed: int, length: int) -> bytes:
    return random.Random(seed).randbytes(length)


class Side:
    """A peer with one connected QP and a region to send from and one to receive into."""

    def __init__(self, peer, ip: str, room: int):
        self.peer, self.ip, self.room = peer, ip, room
        self.source, self.target = (peer("mr", len=room) for _ in range(2))
        self.qpn = peer("qp")["qpn"]

    def drop(self):
        self.peer("drop_qp", qpn=self.qpn)
        for region in (self.source, self.target):
            self.peer("drop_mr", mr=region["mr"])

    def connect(self, other: "Side", psn: int, other_psn: int, pmtu: int):
        self.peer(
            "connect",
            qpn=self.qpn,
            ip=other.ip,
            dest_qpn=other.qpn,
            sq_psn=psn,
            rq_psn=other_psn,
            pmtu=pmtu,
        )

    def fill(self, region: dict, seed: int, length: int, offset: int):
        if isinstance(self.peer, Guest):
            self.peer("fill", mr=region["mr"], seed=seed, len=length, offset=offset)
        else:
            self.peer("write", mr=region["mr"], hex=content(seed, length).hex(), offset=offset)

    def digest(self, region: dict, length: int, offset: int) -> str:
        if isinstance(self.peer, Guest):
            return self.peer("digest", mr=region["mr"], len=length, offset=offset)
        data = self.peer("read", mr=region["mr"], len=length, offset=offset)["hex"]
        return hashlib.sha256(bytes.fromhex(data)).hexdigest()

    def completion(self) -> dict:
        found = self.peer("poll", count=1, timeout_ms=PATIENCE_MS)
        expect(f"completions of {self.peer.name}", len(found), 1)
        return found[0]


def transfer(sender: Side, receiver: Side, op: str, length: int, rng: random.Random):
    """One message; memory around the target must stay as it was."""
    margin = 64
    seed, before = rng.getrandbits(32), rng.getrandbits(32)
    start, goal = rng.randrange(0, 64), margin + rng.randrange(0, 64)
    covered = goal + length + margin
    sender.fill(sender.source, seed, length, start)
    receiver.fill(receiver.target, before, covered, 0)
    takes_receive = op != "write"
    if takes_receive:
        receiver.peer("recv", qpn=receiver.qpn, mr=receiver.target["mr"], offset=goal, len=length, wr_id=7)
    arguments = {"qpn": sender.qpn, "op": op, "mr": sender.source["mr"], "offset": start, "len": length, "wr_id": 9}
    if op.startswith("write"):
        target = receiver.target
        arguments["remote"] = {"addr": target["addr"] + goal, "rkey": target["rkey"]}
    if op.endswith("imm"):
        arguments["imm"] = IMMEDIATE
    sender.peer("send", **arguments)
    sent = sender.completion()
    expect("sender's completion", (sent["wr_id"], sent["status"]), (9, SUCCESS))
    if takes_receive:
        got = receiver.completion()
        expect("receiver's completion", (got["wr_id"], got["status"]), (7, SUCCESS))
        expect("bytes received", got["byte_len"], length)
        expect("immediate", got["imm"], IMMEDIATE if op.endswith("imm") else None)
    wanted = bytearray(content(before, covered))
    wanted[goal : goal + length] = content(seed, length)
    expect("memory", receiver.digest(receiver.target, covered, 0), hashlib.sha256(wanted).hexdigest())


def fetch(reader: Side, server: Side, length: int, rng: random.Random):
    """One READ; memory around the place it goes to must stay as it was."""
    margin = 64
    seed, before = rng.getrandbits(32), rng.getrandbits(32)
    start, goal = rng.randrange(0, 64), margin + rng.randrange(0, 64)
    covered = goal + length + margin
    server.fill(server.source, seed, length, start)
    reader.fill(reader.target, before, covered, 0)
    remote = {"addr": server.source["addr"] + start, "rkey": server.source["rkey"]}
    place = {"mr": reader.target["mr"], "offset": goal, "len": length}
    reader.peer("send", qpn=reader.qpn, op="read", remote=remote, wr_id=9, **place)
    done = reader.completion()
    expect("reader's completion", (done["wr_id"], done["status"]), (9, SUCCESS))
    wanted = bytearray(content(before, covered))
    wanted[goal : goal + length] = content(seed, length)
    expect("memory", reader.digest(reader.target, covered, 0), hashlib.sha256(wanted).hexdigest())


def atomics(asker: Side, server: Side, rng: random.Random) -> int:
    """Fetch and add, a swap that happens and one that does not, on words of the server; returns how many."""

    def word(side: Side, region: dict, offset: int) -> int:
        return int.from_bytes(bytes.fromhex(side.peer("read", mr=region["mr"], offset=offset, len=8)["hex"]), "little")

    offset = 8 * rng.randrange(0, 64)
    server.fill(server.target, rng.getrandbits(32), 8, offset)
    remote = {"addr": server.target["addr"] + offset, "rkey": server.target["rkey"]}
    steps = [("fetch_add", None), ("compare_swap", True), ("compare_swap", False)] * 4
    for op, equal in steps:
        old = word(server, server.target, offset)
        operand = rng.getrandbits(64)
        compare = old if equal else old ^ (1 << rng.randrange(64))
        place = {"mr": asker.target["mr"], "offset": 16, "len": 8}
        asker.peer("send", qpn=asker.qpn, op=op, remote=remote, compare=compare, swap=operand, wr_id=9, **place)
        done = asker.completion()
        expect(f"{op}'s completion", (done["wr_id"], done["status"]), (9, SUCCESS))
        expect(f"{op}'s value", word(asker, asker.target, 16), old)
        new = (old + operand) % (1 << 64) if op == "fetch_add" else operand if equal else old
        expect(f"the word after {op}", word(server, server.target, offset), new)
    return len(steps)


def refusals(peers: list, rng: random.Random, pmtu: int) -> int:
    """What a peer must not accept; each on a new connection, for it is broken afterwards."""

    def pair():
        sides = [Side(peer, ip, 4096) for peer, ip in zip(peers, (CARD_IP, GUEST_IP))]
        psns = [rng.getrandbits(24), rng.getrandbits(24)]
        for side, other, own, its in zip(sides, sides[::-1], psns, psns[::-1]):
            side.connect(other, own, its, pmtu)
        return sides

    def write(sender: Side, receiver: Side, offset: int, key: int):
        remote = {"addr": receiver.target["addr"] + offset, "rkey": receiver.target["rkey"] ^ key}
        sender.peer("send", qpn=sender.qpn, op="write", mr=sender.source["mr"], len=8, remote=remote)

    def read(sender: Side, receiver: Side, offset: int, key: int):
        remote = {"addr": receiver.source["addr"] + offset, "rkey": receiver.source["rkey"] ^ key}
        sender.peer("send", qpn=sender.qpn, op="read", mr=sender.target["mr"], len=8, remote=remote)

    def add(sender: Side, receiver: Side, offset: int, key: int):
        remote = {"addr": receiver.target["addr"] + offset, "rkey": receiver.target["rkey"] ^ key}
        sender.peer("send", qpn=sender.qpn, op="fetch_add", mr=sender.target["mr"], len=8, remote=remote)

    def long_send(sender: Side, receiver: Side):
        receiver.peer("recv", qpn=receiver.qpn, mr=receiver.target["mr"], len=100)
        sender.peer("send", qpn=sender.qpn, op="send", mr=sender.source["mr"], len=101)

    def late_receive(sender: Side, receiver: Side):
        sender.peer("send", qpn=sender.qpn, op="send", mr=sender.source["mr"], len=100)
        expect("early completions", sender.peer("poll", timeout_ms=100), [])
        receiver.peer("recv", qpn=receiver.qpn, mr=receiver.target["mr"], len=100)

    # Linux does not send an atomic at an odd place.
    # A message longer than its receive buffer is an invalid request (IBTA 9.7.5.2.8); Linux calls it an operational error.
    too_long = {"card": REMOTE_OPERATION, "guest": REMOTE_INVALID}
    cases = [
        ("a wrong key", lambda *ends: write(*ends, 0, 0x100), dict.fromkeys(too_long, REMOTE_ACCESS)),
        ("a range beyond the end", lambda *ends: write(*ends, 4089, 0), dict.fromkeys(too_long, REMOTE_ACCESS)),
        ("READ with a wrong key", lambda *ends: read(*ends, 0, 0x100), dict.fromkeys(too_long, REMOTE_ACCESS)),
        ("READ beyond the end", lambda *ends: read(*ends, 4089, 0), dict.fromkeys(too_long, REMOTE_ACCESS)),
        ("atomic with a wrong key", lambda *ends: add(*ends, 0, 0x100), dict.fromkeys(too_long, REMOTE_ACCESS)),
        ("a SEND beyond the buffer", long_send, too_long),
        ("a SEND before its buffer", late_receive, dict.fromkeys(too_long, SUCCESS)),
    ]
    passed = 0
    for name, act, wanted in cases:
        # Reading and atomics are the guest's alone.
        for turn in (-1,) if name.startswith("READ") or name.startswith("atomic") else (1, -1):
            passed += 1
            sender, receiver = pair()[::turn]
            act(sender, receiver)
            expect(f"status of {name} from {sender.peer.name}", sender.completion()["status"], wanted[sender.peer.name])
            if act in (long_send, late_receive):
                receiver.completion()
            sender.drop()
            receiver.drop()
    return passed


def decoded(capture: Path) -> collections.Counter:
    """Packets by opcode as tshark reads them; malformed ones and unknown ones are failures."""
    # Random payload may look like anything.
    guesses = "fcoib infiniband_sdp iser lnet nvme-rdma rpcordma smb_direct smc".split()
    options = ["-o", "infiniband.identify_payload:FALSE", "-o", "ip.check_checksum:TRUE"]
    options += [option for guess in guesses for option in ("--disable-protocol", guess)]
    fields = ["-T", "fields", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed", "-e", "_ws.expert.message"]
    out = subprocess.run(["tshark", "-r", capture, *options, *fields], capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in out.stdout.splitlines()]
    malformed = [line for line in lines if line[1]]
    expect(f"malformed packets in {capture}", malformed, [])
    return collections.Counter(int(line[0]) for line in lines if line[0])


def campaign(arguments, pmtu: int, cable: list[str], name: str) -> int:
    """All operations and sizes over one wire; returns how many tests passed."""
    folder = arguments.work / name
    folder.mkdir(parents=True, exist_ok=True)
    ends = folder / "card.wire", folder / "guest.wire"
    capture = folder / "wire.pcap"
    image = build(arguments.image)
    guest = Guest(image, ends[1], ends[0], folder, INTERFACE_MTU[pmtu])
    card = Card(arguments.ferroce, *ends, folder / "card.log", ["--pcap", capture, *cable])
    passed = 0
    started = time.monotonic()
    try:
        guest.ready(180)
        card.ready(600)
        rng = random.Random(arguments.seed)
        sides = [Side(card, CARD_IP, (256 << 10) + 512), Side(guest, GUEST_IP, (256 << 10) + 512)]
        # PSNs wrap early in the campaign.
        psns = [0xFFFFF0, 0xFFFF00]
        for side, other, own, its in zip(sides, sides[::-1], psns, psns[::-1]):
            side.connect(other, own, its, pmtu)
        sizes = SMOKE_SIZES if arguments.smoke else SIZES
        for op, length, ends in itertools.product(OPERATIONS, sizes, (sides, sides[::-1])):
            try:
                transfer(*ends, op, length, rng)
            except (Failed, PeerError) as error:
                direction = f"{ends[0].peer.name} to {ends[1].peer.name}"
                raise Failed(f"{name}: {op} of {length} bytes, {direction}: {error}") from error
            passed += 1
        # The card answers READs and atomics; it has none of its own.
        for length in sizes:
            try:
                fetch(*sides[::-1], length, rng)
            except (Failed, PeerError) as error:
                raise Failed(f"{name}: READ of {length} bytes: {error}") from error
            passed += 1
        passed += atomics(*sides[::-1], rng)
        if not cable:
            passed += refusals([card, guest], rng, pmtu)
        counters = card("counters")
    finally:
        card.stop()
        guest.stop()
    opcodes = decoded(capture)
    seconds = time.monotonic() - started
    again = counters.get("retransmits", 0)
    print(f"{name}: {passed} tests passed in {seconds:.0f} s; {sum(opcodes.values())} packets, {again} go-backs", flush=True)
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("image", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("ferroce", type=Path)
    parser.add_argument("--smoke", action="store_true", help="a few sizes over one good wire")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    bad = ["--loss", "0.02", "--duplicate", "0.02", "--reorder", "0.02", "--corrupt", "0.02"]
    wires = [(1024, [], "mtu1024"), (4096, [], "mtu4096"), (1024, bad, "mtu1024-bad"), (4096, bad, "mtu4096-bad")]
    try:
        for pmtu, cable, name in wires[:1] if arguments.smoke else wires:
            campaign(arguments, pmtu, cable, name)
    except (Failed, PeerError) as error:
        sys.exit(f"rxe: {error}")


main()

"""The PCIe engine against an independent model of the PCIe block and of a root complex (cocotbext-pcie).

Random parts print their seed (RANDOM_SEED of cocotb) and take it back.
"""

import logging
import os
import random

import cocotb
from cocotb.triggers import RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

STRADDLE = os.environ.get("STRADDLE", "1") == "1"
PAGE = 4096
LINE = 64
BAR_BYTES = 1 << 20


class Stream:
    """Source or sink of one stream whose fields are ports `<name>_<field>`."""

    def __init__(self, dut, name, fields, rng, idle=0.0):
        self.clock = dut.user_clk
        self.fields = {field: getattr(dut, f"{name}_{field}") for field in fields}
        self.valid = getattr(dut, f"{name}_valid")
        self.ready = getattr(dut, f"{name}_ready")
        self.rng = rng
        self.idle = idle

    def pause(self):
        return self.rng.random() < self.idle

    async def send(self, **values):
        while self.pause():
            await RisingEdge(self.clock)
        for field, value in values.items():
            self.fields[field].value = value
        self.valid.value = 1
        while True:
            await RisingEdge(self.clock)
            if self.ready.value:
                break
        self.valid.value = 0

    async def receive(self):
        while True:
            self.ready.value = not self.pause()
            await RisingEdge(self.clock)
            if self.valid.value and self.ready.value:
                self.ready.value = 0
                return {field: int(port.value) for field, port in self.fields.items()}


class Bench:
    """Root complex, PCIe block and the engine's client side."""

    def __init__(self, dut, idle=0.0):
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        dut._log.info("seed %d", cocotb.RANDOM_SEED)
        for port in ("read_req_valid", "write_valid", "answer_valid", "read_data_ready", "access_ready"):
            getattr(dut, port).setimmediatevalue(0)
        # This model has no such credits; it takes reads when it has room.
        dut.pcie_tfc_nph_av.setimmediatevalue(15)
        self.rc = RootComplex()
        self.rc.max_payload_size = 0x1
        self.rc.max_read_request_size = 0x2
        self.dev = UltraScalePlusPcieDevice(
            pcie_generation=3,
            pcie_link_width=16,
            user_clk_frequency=250e6,
            alignment="dword",
            rq_straddle=STRADDLE,
            rc_straddle=STRADDLE,
            rc_4tlp_straddle=STRADDLE,
            max_payload_size=1024,
            enable_client_tag=True,
            enable_extended_tag=True,
            user_clk=dut.user_clk,
            user_reset=dut.user_reset,
            rq_bus=AxiStreamBus.from_prefix(dut, "s_axis_rq"),
            rc_bus=AxiStreamBus.from_prefix(dut, "m_axis_rc"),
            cq_bus=AxiStreamBus.from_prefix(dut, "m_axis_cq"),
            cc_bus=AxiStreamBus.from_prefix(dut, "s_axis_cc"),
            pcie_cq_np_req=dut.pcie_cq_np_req,
            cfg_max_payload=dut.cfg_max_payload,
            cfg_max_read_req=dut.cfg_max_read_req,
        )
        # They say each TLP, and each empty place on the bus.
        for part in (self.dev, self.rc, self.dev.rq_sink, self.dev.rc_source, self.dev.cq_source, self.dev.cc_sink):
            part.log.setLevel(logging.ERROR)
        self.rc.make_port().connect(self.dev)
        self.dev.functions[0].configure_bar(0, BAR_BYTES, ext=True)
        self.read_req = Stream(dut, "read_req", ("addr", "len", "tag", "ordered"), self.rng, idle)
        self.read_data = Stream(dut, "read_data", ("bytes", "tag", "last", "err"), self.rng, idle)
        self.write = Stream(dut, "write", ("bytes", "addr", "len", "last"), self.rng, idle)
        self.access = Stream(dut, "access", ("addr", "write", "word", "strobe"), self.rng, idle)
        self.answer = Stream(dut, "answer", ("word",), self.rng, idle)
        self.registers = bytearray(BAR_BYTES)
        self.reads = {}
        cocotb.start_soon(self.collect())
        cocotb.start_soon(self.serve())

    async def start(self):
        """Enumerates the bus, so that the function has its BAR and may be a bus master."""
        await Timer(200, "ns")
        await self.rc.enumerate()
        dev = self.rc.find_device(self.dev.functions[0].pcie_id)
        await dev.enable_device()
        await dev.set_master()
        self.bar = dev.bar_window[0]

    async def collect(self):
        """Takes read data as a client does: beats of one tag in address order, tags mixed."""
        while True:
            beat = await self.read_data.receive()
            read = self.reads[beat["tag"]]
            low = (read["addr"] + len(read["data"])) % LINE
            count = min(LINE - low, read["len"] - len(read["data"]))
            read["data"] += beat["bytes"].to_bytes(LINE, "little")[low : low + count]
            done = len(read["data"]) == read["len"]
            assert bool(beat["last"]) == done, f"beats of tag {beat['tag']:#x}"
            if done:
                read["err"] = bool(beat["err"])
                read["done"] = True

    async def serve(self):
        """The register window: 64-bit words with byte enables."""
        while True:
            access = await self.access.receive()
            base = access["addr"] & ~7
            if access["write"]:
                word = access["word"].to_bytes(8, "little")
                for k in range(8):
                    if access["strobe"] >> k & 1:
                        self.registers[base + k] = word[k]
            else:
                word = int.from_bytes(self.registers[base : base + 8], "little")
                await self.answer.send(word=word)

    async def dma_write(self, addr, data):
        sent = 0
        while sent < len(data):
            low = (addr + sent) % LINE
            part = data[sent : sent + LINE - low]
            sent += len(part)
            beat = int.from_bytes(bytes(low) + part, "little")
            await self.write.send(bytes=beat, addr=addr, len=len(data), last=sent == len(data))

    async def dma_read(self, tag, addr, length, ordered=False):
        assert tag not in self.reads
        self.reads[tag] = {"addr": addr, "len": length, "data": b"", "done": False}
        await self.read_req.send(addr=addr, len=length, tag=tag, ordered=ordered)

    async def finished(self, tag):
        while not self.reads[tag]["done"]:
            await RisingEdge(self.dut.user_clk)
        return self.reads.pop(tag)

    def extent(self):
        """Offset and length inside one page, at any alignment."""
        length = self.rng.choice([1, 2, 3, 4, 5, 63, 64, 65, 256, 257, 511, 513, 1024, 4096, self.rng.randint(1, 4096)])
        return self.rng.randint(0, PAGE - length), length


@cocotb.test()
async def writes_land_byte_for_byte(dut):
    bench = Bench(dut, idle=0.2)
    await bench.start()
    pages = 4
    base, memory = bench.rc.alloc_region(pages * PAGE)
    expected = bytearray(memory[0 : pages * PAGE])
    for _ in range(60):
        offset, length = bench.extent()
        offset += PAGE * bench.rng.randrange(pages)
        data = bench.rng.randbytes(length)
        expected[offset : offset + length] = data
        await bench.dma_write(base + offset, data)
    # A read behind all writes tells that they have landed.
    await bench.dma_read(0, base, 1, ordered=True)
    await with_timeout(bench.finished(0), 100, "us")
    assert bytes(memory[0 : pages * PAGE]) == bytes(expected)


@cocotb.test()
async def reads_bring_what_is_there(dut):
    bench = Bench(dut, idle=0.2)
    await bench.start()
    pages = 4
    base, memory = bench.rc.alloc_region(pages * PAGE)
    content = bench.rng.randbytes(pages * PAGE)
    memory[0 : pages * PAGE] = content
    # Tags of all three classes.
    tags = [0, 1, 2, 63, 127, 0x80, 0x81, 0xBF, 0xC0, 0xFF]
    for _ in range(8):
        wanted = {}
        for tag in tags:
            offset, length = bench.extent()
            offset += PAGE * bench.rng.randrange(pages)
            wanted[tag] = content[offset : offset + length]
            await bench.dma_read(tag, base + offset, length)
        for tag in tags:
            read = await with_timeout(bench.finished(tag), 100, "us")
            assert not read["err"]
            assert read["data"] == wanted[tag], f"tag {tag:#x}"


@cocotb.test()
async def a_read_of_nothing_fails_and_the_next_one_works(dut):
    bench = Bench(dut)
    await bench.start()
    base, memory = bench.rc.alloc_region(PAGE)
    memory[0:PAGE] = bytes(range(256)) * (PAGE // 256)
    # The root complex answers Unsupported Request.
    await bench.dma_read(5, 0x7FFF_0000_0000, 700)
    read = await with_timeout(bench.finished(5), 100, "us")
    assert read["err"]
    await bench.dma_read(5, base + 3, 700)
    read = await with_timeout(bench.finished(5), 100, "us")
    assert not read["err"]
    assert read["data"] == bytes(memory[3:703])


@cocotb.test()
async def the_host_reaches_the_registers(dut):
    bench = Bench(dut, idle=0.2)
    await bench.start()
    expected = bytearray(BAR_BYTES)
    for _ in range(40):
        length = bench.rng.choice([1, 2, 3, 4, 7, 8, 12, 16, 33, 63, 64])
        offset = bench.rng.randrange(0, 2048)
        data = bench.rng.randbytes(length)
        expected[offset : offset + length] = data
        await bench.bar.write(offset, data)
    for _ in range(40):
        length = bench.rng.choice([1, 2, 3, 4, 5, 8, 16, 31, 60, 61])
        offset = bench.rng.randrange(0, 2048)
        if offset % 4 + length > 64:
            offset &= ~3
        got = await with_timeout(bench.bar.read(offset, length), 100, "us")
        assert bytes(got) == bytes(expected[offset : offset + length]), f"{length} bytes at {offset:#x}"


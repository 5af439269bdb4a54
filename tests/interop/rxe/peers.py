"""The two ends of a wire: a simulated Ferroce card and a Linux guest. Both take the same requests."""

import json
import os
import select
import socket
import subprocess
import time
from pathlib import Path

GUEST_IP = "192.0.2.10"
CARD_IP = "192.0.2.20"
GUEST_MAC = "02:00:00:00:00:0a"


class PeerError(Exception):
    """A peer refused a request, or is gone."""


class Peer:
    """One request at a time over a pair of byte streams."""

    def __init__(self, name: str, process: subprocess.Popen, patience: float):
        self.name, self.process, self.patience = name, process, patience
        self.number, self.buffer = 0, b""

    def ready(self, seconds: float):
        return self.answer(0, seconds)

    def __call__(self, do: str, **arguments):
        """Does something; returns what it gives, or None."""
        self.number += 1
        line = json.dumps({"id": self.number, "do": do, **arguments})
        self.send(line.encode() + b"\n")
        wait = arguments.get("timeout_ms", 0) / 1000
        return self.answer(self.number, self.patience + wait)

    def answer(self, number: int, seconds: float):
        end = time.monotonic() + seconds
        while True:
            line, separator, rest = self.buffer.partition(b"\n")
            if separator:
                self.buffer = rest
                reply = self.parsed(line)
                if reply is None:
                    continue
                if reply.pop("id") != number:
                    raise PeerError(f"{self.name}: unexpected line {line!r}")
                ((kind, value),) = reply.items()
                if kind == "error":
                    raise PeerError(f"{self.name}: {value}")
                return value
            left = end - time.monotonic()
            if left <= 0 or not self.receive(left):
                state = "is gone" if self.process.poll() is not None else "is silent"
                raise PeerError(f"{self.name} {state}; its last words: {self.buffer[-500:]!r}")

    def parsed(self, line: bytes):
        try:
            return json.loads(line)
        except ValueError:
            return None  # A word of the kernel on the serial line.


class Card(Peer):
    """`ferroce sim serve`."""

    def __init__(self, program: Path, local: Path, remote: Path, log: Path, options: list[str]):
        command = [program, "sim", "serve", "--local", local, "--remote", remote, "--ip", CARD_IP, *options]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log.open("wb"), bufsize=0
        )
        super().__init__("card", process, patience=120)

    def send(self, data: bytes):
        self.process.stdin.write(data)

    def receive(self, seconds: float) -> bool:
        if select.select([self.process.stdout], [], [], seconds)[0]:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            self.buffer += data
            return bool(data)
        return False

    def stop(self):
        self.process.stdin.close()
        self.process.wait(30)


class Guest(Peer):
    """Linux with rdma_rxe in QEMU, on its processor emulation."""

    def __init__(self, image, local: Path, remote: Path, folder: Path, mtu: int):
        serial = folder / "serial"
        serial.unlink(missing_ok=True)
        device = f"virtio-net-pci,netdev=wire,mac={GUEST_MAC},romfile=,host_mtu={mtu}"
        # Checksums and segments are done by the guest: there is nobody else on this wire to do them.
        for offload in ("csum", "gso", "tso4", "tso6", "ecn", "ufo"):
            names = {"csum": ["csum", "guest_csum"], "gso": ["gso"]}.get(offload, [f"guest_{offload}", f"host_{offload}"])
            device += "".join(f",{name}=off" for name in names)
        command = [image.qemu, "-accel", "tcg", "-M", "q35,smm=off,vmport=off", "-cpu", "max", "-m", "768"]
        command += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-monitor", "none"]
        command += ["-kernel", image.kernel, "-initrd", image.initrd]
        append = "console=ttyS0 quiet mitigations=off nokaslr audit=0 random.trust_cpu=on panic=-1"
        command += ["-append", f"{append} guest.ip={GUEST_IP}/24 guest.mtu={mtu}"]
        command += ["-chardev", f"file,id=console,path={folder / 'console.log'}", "-serial", "chardev:console"]
        command += ["-chardev", f"socket,id=agent,path={serial},server=on,wait=off", "-serial", "chardev:agent"]
        wire = f"dgram,id=wire,local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"
        command += ["-netdev", wire, "-device", device]
        log = (folder / "qemu.log").open("wb")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        super().__init__("guest", process, patience=60)
        self.socket = socket.socket(socket.AF_UNIX)
        # QEMU drops what the guest says while nobody listens, so be there before it boots.
        end = time.monotonic() + 30
        while self.socket.connect_ex(str(serial)) != 0:
            if process.poll() is not None or time.monotonic() > end:
                raise PeerError(f"QEMU does not start, see {folder / 'qemu.log'}")
            time.sleep(0.02)

    def send(self, data: bytes):
        self.socket.sendall(data)

    def receive(self, seconds: float) -> bool:
        if select.select([self.socket], [], [], seconds)[0]:
            data = self.socket.recv(1 << 16)
            self.buffer += data
            return bool(data)
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.socket.close()

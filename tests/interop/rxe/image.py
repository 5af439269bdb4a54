"""A Linux guest with Soft-RoCE (rdma_rxe) for QEMU, made of Debian packages.

Packages are downloaded and unpacked into a folder; nothing is installed and no root is needed. `build()` gives
the paths of QEMU's start script, the kernel and the initial file system, and does nothing when they are there.
"""

import hashlib
import io
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent

# What runs in the guest beside the kernel, and QEMU itself. Each comes with all that it depends on.
GUEST_PACKAGES = ["busybox-static", "iproute2", "ibverbs-providers", "python3-minimal", "python3-pyverbs"]
QEMU_PACKAGES = ["qemu-system-x86"]

# crc32_generic is in no module's list of dependencies: rxe asks for it by name.
MODULES = ["virtio_pci", "virtio_net", "crc32_generic", "ib_uverbs", "rdma_rxe"]
PROGRAMS = ["bin/busybox", "bin/ip", "usr/bin/rdma", "usr/bin/python3.11"]
# Loaded by name at run time.
LIBRARIES = [
    "lib/x86_64-linux-gnu/libgcc_s.so.1",
    "usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so",
]
FILES = ["etc/libibverbs.d/rxe.driver"]
TREES = ["usr/lib/python3.11", "usr/lib/python3/dist-packages/pyverbs"]
UNUSED = {"test", "tests", "idlelib", "lib2to3", "ensurepip", "distutils", "pydoc_data", "__pycache__"}
LIBRARY_FOLDERS = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64"]
APPLETS = "sh mount insmod cat mkdir poweroff stty sleep dmesg".split()


class Image:
    """Where the parts are."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.qemu = folder / "qemu.sh"
        self.kernel = folder / "vmlinux"
        self.initrd = folder / "initrd.cpio"


def build(folder: Path) -> Image:
    """The image, from the network the first time (about 130 MB of packages)."""
    image = Image(folder)
    stamp = folder / "stamp"
    text = "".join((HERE / name).read_text() for name in ("image.py", "init.sh", "agent.py"))
    wanted = hashlib.sha256(text.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return image
    print("rxe: making the Linux guest (packages are downloaded once)", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    kernel_package = newest_kernel()
    for name, packages in (("qemu", QEMU_PACKAGES), ("guest", GUEST_PACKAGES), ("kernel", [kernel_package])):
        unpack(folder / name, packages, closure=name != "kernel")
    version = kernel_package.removeprefix("linux-image-")
    image.kernel.write_bytes(vmlinux((folder / "kernel" / "boot" / f"vmlinuz-{version}").read_bytes()))
    image.initrd.write_bytes(initrd(folder / "guest", folder / "kernel" / "lib" / "modules" / version))
    write_start_script(image.qemu, folder / "qemu")
    stamp.write_text(wanted)
    return image


# --- packages


def newest_kernel() -> str:
    """The package that Debian's linux-image-amd64 stands for now. (The cloud kernel has no rdma_rxe.)"""
    for again in (True, False):
        found = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True)
        match = re.search(r"Depends: (linux-image-[0-9]\S*-amd64)", found.stdout)
        if match:
            return match[1]
        if again:
            subprocess.run(["apt-get", "update", "-q"], check=True, stdout=sys.stderr)
    raise SystemExit("rxe: the package lists name no kernel (linux-image-amd64)")


def unpack(folder: Path, packages: list[str], closure: bool):
    """Unpacks packages, with what they depend on if `closure`, whatever this machine has installed."""
    done = folder / ".unpacked"
    if done.exists() and done.read_text() == " ".join(packages):
        return
    shutil.rmtree(folder, ignore_errors=True)
    debs = folder.with_name(folder.name + "-debs")
    (debs / "partial").mkdir(parents=True, exist_ok=True)
    if closure:
        # An empty list of installed packages makes everything a missing dependency.
        empty = debs / "status"
        empty.write_text("")
        command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "--download-only"]
        command += ["-o", f"Dir::State::status={empty}", "-o", f"Dir::State::extended_states={debs / 'extended'}"]
        command += ["-o", f"Dir::Cache::archives={debs}/", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User="]
    else:
        command = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User="]
    subprocess.run(command + packages, check=True, cwd=debs, stdout=sys.stderr)
    folder.mkdir()
    for deb in sorted(debs.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
    shutil.rmtree(debs)
    done.write_text(" ".join(packages))


def write_start_script(path: Path, prefix: Path):
    """QEMU runs with its own loader and libraries."""
    libraries = ":".join(str(prefix / folder) for folder in LIBRARY_FOLDERS[:2])
    libraries += f":{prefix / 'usr/lib/x86_64-linux-gnu/pulseaudio'}"
    shares = " ".join(f"-L {prefix / 'usr/share' / share}" for share in ("seabios", "qemu"))
    path.write_text(
        f"#!/bin/sh\nexport QEMU_MODULE_DIR={prefix}/usr/lib/x86_64-linux-gnu/qemu\n"
        f"exec {prefix}/lib64/ld-linux-x86-64.so.2 --library-path {libraries} "
        f'{prefix}/usr/bin/qemu-system-x86_64 {shares} "$@"\n'
    )
    path.chmod(0o755)


# --- kernel


def vmlinux(image: bytes) -> bytes:
    """The kernel out of its self-extracting image: QEMU starts it at once, and the guest needs not unpack it."""
    kinds = [
        (b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(data)),
        (b"\x1f\x8b\x08", lambda data: zlib.decompressobj(31).decompress(data)),
    ]
    for magic, unpacked in kinds:
        for match in re.finditer(re.escape(magic), image):
            try:
                data = unpacked(image[match.start() :])
            except (lzma.LZMAError, zlib.error):
                continue
            if data[:4] == b"\x7fELF":
                return data
    raise SystemExit("rxe: no kernel found in its image")


def module_closure(folder: Path, names: list[str]) -> list[tuple[str, bytes]]:
    """Modules with those that they need, in the order in which they can be loaded."""
    plain = lambda name: name.replace("-", "_")
    built_in = {plain(Path(line).stem) for line in (folder / "modules.builtin").read_text().split()}
    files = {plain(path.name.split(".ko")[0]): path for path in folder.rglob("*.ko*")}
    loaded: dict[str, bytes] = {}

    def load(name: str):
        name = plain(name)
        if name in loaded or name in built_in or not name:
            return
        data = files[name].read_bytes()
        if files[name].suffix == ".xz":
            data = lzma.decompress(data)
        needed = re.search(rb"(?:^|\0)depends=([^\0]*)", data)
        for other in needed[1].decode().split(","):
            load(other)
        loaded[name] = data

    for name in names:
        load(name)
    return list(loaded.items())


# --- initial file system


def needed_libraries(data: bytes) -> list[str]:
    """Names in an ELF file's DT_NEEDED entries."""
    if data[:4] != b"\x7fELF":
        return []
    at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, at + index * size) for index in range(count)]
    offset_of = lambda address: next(
        offset + address - start
        for kind, _, offset, start, _, length in segments
        if kind == 1 and start <= address < start + length
    )
    names, strings = [], 0
    for kind, _, offset, _, _, length in segments:
        if kind != 2:
            continue
        for entry in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<QQ", data, entry)
            if tag == 1:
                names.append(value)
            if tag == 5:
                strings = offset_of(value)
    return [data[strings + name : data.index(b"\0", strings + name)].decode() for name in names]


class Archive:
    """A cpio archive ("newc") whose folders come by themselves."""

    def __init__(self):
        self.out = io.BytesIO()
        self.names = set()

    def add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)):
        if name in self.names:
            return
        self.names.add(name)
        parent = os.path.dirname(name)
        if parent and name != "TRAILER!!!":
            self.add(parent, 0o40755)
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        for part in (header, data):
            self.out.write(part + b"\0" * (-len(part) % 4))

    def finish(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return self.out.getvalue()


def initrd(root: Path, modules: Path) -> bytes:
    """Everything that the guest runs."""
    archive = Archive()

    def real(path: str) -> Path:
        """Symbolic links of the guest lead into the guest."""
        host = root / path
        while host.is_symlink():
            target = os.readlink(host)
            host = root / target.lstrip("/") if target.startswith("/") else host.parent / target
        return host

    def add_file(path: str):
        host = real(path)
        data = host.read_bytes()
        archive.add(path, 0o100755 if os.access(host, os.X_OK) else 0o100644, data)
        for name in needed_libraries(data):
            places = [f"{folder}/{name}" for folder in LIBRARY_FOLDERS]
            add_new(next(place for place in places if real(place).exists()))

    def add_new(path: str):
        if path not in archive.names:
            add_file(path)

    for path in ["lib64/ld-linux-x86-64.so.2", *PROGRAMS, *LIBRARIES, *FILES]:
        add_new(path)
    for tree in TREES:
        for folder, folders, files in os.walk(root / tree):
            folders[:] = [name for name in folders if name not in UNUSED and not name.startswith("config-")]
            for name in files:
                add_new(str((Path(folder) / name).relative_to(root)))
    for applet in APPLETS:
        archive.add(f"bin/{applet}", 0o120777, b"busybox")
    loaded = module_closure(modules, MODULES)
    for name, data in loaded:
        archive.add(f"modules/{name}.ko", 0o100644, data)
    archive.add("modules/order", 0o100644, "\n".join(name for name, _ in loaded).encode() + b"\n")
    for folder in ("proc", "sys", "dev", "tmp"):
        archive.add(folder, 0o40755)
    archive.add("dev/console", 0o20600, device=(5, 1))
    archive.add("init", 0o100755, (HERE / "init.sh").read_bytes())
    archive.add("agent.py", 0o100644, (HERE / "agent.py").read_bytes())
    return archive.finish()


if __name__ == "__main__":
    print(build(Path(sys.argv[1])).initrd)

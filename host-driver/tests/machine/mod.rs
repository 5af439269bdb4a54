//! A machine's `/sys`, `/proc` and `/dev/vfio`, made of ordinary files.
#![allow(dead_code, reason = "each test program uses a part of this module")]

use ferroce_abi::regs;
use ferroce_driver::linux::{Paths, PciAddress};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Bytes of a fake card's BAR 0: more than the registers need, as a bitstream may have it.
pub const BAR_LEN: u64 = 0x20_0000;

/// The machine; its files vanish with it.
pub struct Machine {
    folder: TempDir,
    pub paths: Paths,
}

impl Machine {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let under = |name| folder.path().join(name);
        let paths = Paths {
            sys: under("sys"),
            proc: under("proc"),
            vfio: under("vfio"),
        };
        fs::create_dir_all(paths.sys.join("bus/pci/devices")).unwrap();
        fs::create_dir_all(paths.proc.join("self")).unwrap();
        fs::write(paths.proc.join("self/pagemap"), "").unwrap();
        Self { folder, paths }
    }

    /// Adds a function with these ids and nothing else.
    pub fn add(&self, address: &str, vendor: &str, device: &str) -> Function {
        let path = self.paths.sys.join("devices").join(address);
        fs::create_dir_all(&path).unwrap();
        let entry = self.paths.sys.join("bus/pci/devices").join(address);
        symlink(&path, entry).unwrap();
        let function = Function {
            address: address.parse().unwrap(),
            path,
        };
        function.write("vendor", format!("{vendor}\n"));
        function.write("device", format!("{device}\n"));
        function
    }

    /// Adds a card as Linux shows it when no driver is bound, with registers that `Device::open` accepts.
    pub fn add_card(&self, address: &str) -> Function {
        let card = self.add(address, "0x10ee", "0xf0ce");
        card.write("numa_node", "-1\n");
        card.write(
            "resource",
            resource_file(&[(0xF000_0000, BAR_LEN, 0x14_220C)]),
        );
        card.write("enable", "0\n");
        let mut config = [0; 64];
        config[..4].copy_from_slice(&[0xEE, 0x10, 0xCE, 0xF0]);
        card.write("config", config);
        let mut registers = vec![0; BAR_LEN as usize];
        for (offset, value) in REGISTERS {
            registers[offset as usize..][..4].copy_from_slice(&value.to_le_bytes());
        }
        card.write("resource0", registers);
        card
    }
}

/// What the identification registers of a fake card hold.
const REGISTERS: [(u64, u32); 9] = [
    (regs::MAGIC, regs::MAGIC_VALUE),
    (regs::VERSION, regs::VERSION_VALUE),
    (regs::FEATURES, regs::feature::RC),
    (regs::NUM_QPS, 4),
    (regs::NUM_CQS, 2),
    (regs::NUM_MRS, 3),
    (regs::MAX_SGE, 1),
    (regs::MAX_PMTU, 12),
    (regs::CORE_CLOCK, 250_000_000),
];

/// The text of a `resource` file with BARs of (start, bytes, flags).
pub fn resource_file(bars: &[(u64, u64, u64)]) -> String {
    let line = |&(start, len, flags): &(u64, u64, u64)| {
        let end = (start + len).saturating_sub(1);
        format!("0x{start:016x} 0x{end:016x} 0x{flags:016x}\n")
    };
    let missing = 13 - bars.len();
    bars.iter().map(line).collect::<String>() + &line(&(0, 0, 0)).repeat(missing)
}

/// A function's folder.
pub struct Function {
    pub address: PciAddress,
    pub path: PathBuf,
}

impl Function {
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.file(name), content).unwrap();
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.file(name)).unwrap();
    }

    /// Makes a link such as `driver`.
    pub fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.file(name)).unwrap();
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// The command register of configuration space.
    pub fn command(&self) -> u16 {
        let config = fs::read(self.file("config")).unwrap();
        u16::from_le_bytes([config[4], config[5]])
    }

    pub fn set_command(&self, bits: u16) {
        let mut config = fs::read(self.file("config")).unwrap();
        config[4..6].copy_from_slice(&bits.to_le_bytes());
        self.write("config", config);
    }

    /// Words of BAR 0 as the card sees them.
    pub fn register(&self, offset: u64) -> u64 {
        let bytes = fs::read(self.file("resource0")).unwrap();
        u64::from_le_bytes(bytes[offset as usize..][..8].try_into().unwrap())
    }

    pub fn set_register(&self, offset: u64, value: u32) {
        let mut bytes = fs::read(self.file("resource0")).unwrap();
        bytes[offset as usize..][..4].copy_from_slice(&value.to_le_bytes());
        self.write("resource0", bytes);
    }
}

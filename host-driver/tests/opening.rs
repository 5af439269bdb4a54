//! Opening a card whose files are ordinary ones: what the driver does to configuration space, enabling and BAR.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod machine;

use ferroce_abi::regs;
use ferroce_driver::linux::{open_in, Backend, DiscoverError, OpenError, OpenedCard, VfioError};
use ferroce_driver::Error;
use machine::{resource_file, Function, Machine, BAR_LEN};
use std::fs;
use std::io::ErrorKind;

/// Bits of the PCI command register.
const MEMORY: u16 = 1 << 1;
const MASTER: u16 = 1 << 2;
/// A bit that is not the driver's: INTx disable.
const OTHER: u16 = 1 << 10;

fn card() -> (Machine, Function) {
    let machine = Machine::new();
    let function = machine.add_card("0000:03:00.0");
    (machine, function)
}

fn open(machine: &Machine, function: &Function) -> Result<OpenedCard, OpenError> {
    open_in(&machine.paths, function.address)
}

#[test]
fn opening_enables_memory_but_not_bus_mastering() {
    let (machine, function) = card();
    // As a process that was killed leaves it.
    function.set_command(OTHER | MASTER);
    let opened = open(&machine, &function).unwrap();
    assert!(matches!(opened.backend(), Backend::Sysfs(_)));
    assert_eq!(opened.card().address, function.address);
    assert_eq!(function.command(), OTHER | MEMORY);
    assert_eq!(function.text("enable"), "1\n");
    opened.set_bus_master(true).unwrap();
    assert_eq!(function.command(), OTHER | MEMORY | MASTER);
    let bar = opened.bar();
    drop(opened);
    // Whoever has the BAR still has the card.
    assert_eq!(function.command(), OTHER | MEMORY | MASTER);
    assert_eq!(bar.read32(regs::MAGIC).unwrap(), regs::MAGIC_VALUE);
    drop(bar);
    assert_eq!(function.command(), OTHER | MEMORY);
    assert_eq!(function.text("enable"), "0\n");
}

#[test]
fn the_bar_is_the_file() {
    let (machine, function) = card();
    let opened = open(&machine, &function).unwrap();
    let bar = opened.bar();
    bar.write64(regs::SQ_DOORBELL, 0x0123_4567_89AB_CDEF)
        .unwrap();
    assert_eq!(function.register(regs::SQ_DOORBELL), 0x0123_4567_89AB_CDEF);
    bar.write32(regs::COMMAND_OBJECT, 7).unwrap();
    assert_eq!(bar.read64(regs::COMMAND_OBJECT).unwrap(), 7);
    // All of the BAR is mapped, not only what the registers take.
    bar.write64(BAR_LEN - 8, 1).unwrap();
    assert!(bar.write64(BAR_LEN, 1).is_err());
}

#[test]
fn pushes_go_through_the_combining_file_when_there_is_one() {
    for combining in [false, true] {
        let (machine, function) = card();
        if combining {
            function.write("resource0_wc", vec![0; BAR_LEN as usize]);
        }
        let opened = open(&machine, &function).unwrap();
        let words = [1, 2, 3, 4, 5, 6, 7, 8];
        opened.bar().push64(0x2000, &words).unwrap();
        let name = if combining {
            "resource0_wc"
        } else {
            "resource0"
        };
        let bytes = fs::read(function.file(name)).unwrap();
        for (word, chunk) in words.iter().zip(bytes[0x2000..].chunks(8)) {
            assert_eq!(chunk, word.to_le_bytes());
        }
    }
}

#[test]
fn a_device_gets_the_bus_after_the_card_is_cleared() {
    let (machine, function) = card();
    let opened = open(&machine, &function).unwrap();
    // In a file nothing runs commands: each counts as done at once, and the last one's words stay.
    function.set_register(regs::COMMAND_OBJECT, u32::MAX);
    let device = opened.device().unwrap();
    assert_eq!(function.command(), MEMORY | MASTER);
    assert_eq!(device.capabilities().qps, 4);
    // The last command disabled the last of two CQs.
    assert_eq!(function.register(regs::COMMAND_OBJECT) as u32, 1);
}

#[test]
fn what_is_no_ferroce_card_never_gets_the_bus() {
    let (machine, function) = card();
    function.set_register(regs::MAGIC, 0x1234);
    let opened = open(&machine, &function).unwrap();
    assert!(matches!(
        opened.device(),
        Err(OpenError::Device(Error::NotFerroce { found: 0x1234 }))
    ));
    assert_eq!(function.command(), MEMORY);
}

#[test]
fn a_card_is_opened_once() {
    let (machine, function) = card();
    let opened = open(&machine, &function).unwrap();
    assert!(matches!(
        open(&machine, &function),
        Err(OpenError::InUse { address }) if address == function.address
    ));
    // The failed attempt changed nothing.
    assert_eq!(function.command(), MEMORY);
    assert_eq!(function.text("enable"), "1\n");
    drop(opened);
    open(&machine, &function).unwrap();
}

#[test]
fn bound_cards_are_left_to_their_driver() {
    let (machine, function) = card();
    function.link("driver", "../../bus/pci/drivers/xdma");
    let error = open(&machine, &function).unwrap_err();
    assert!(matches!(&error, OpenError::DriverBound { driver, .. } if driver == "xdma"));
    assert!(error.to_string().contains("drivers/xdma/unbind"));
    assert_eq!(function.text("enable"), "0\n");
}

#[test]
fn cards_of_vfio_are_opened_through_vfio() {
    let (machine, function) = card();
    function.link("driver", "../../bus/pci/drivers/vfio-pci");
    assert!(matches!(
        open(&machine, &function),
        Err(OpenError::Vfio(VfioError::NoGroup { .. }))
    ));
    function.link("iommu_group", "../../kernel/iommu_groups/9");
    let error = open(&machine, &function).unwrap_err();
    assert!(
        matches!(&error, OpenError::Vfio(VfioError::Open { path, .. }) if *path == machine.paths.vfio.join("vfio"))
    );
    // A file that is not VFIO's.
    fs::create_dir(&machine.paths.vfio).unwrap();
    fs::write(machine.paths.vfio.join("vfio"), "").unwrap();
    assert!(matches!(
        open(&machine, &function),
        Err(OpenError::Vfio(VfioError::Request { .. }))
    ));
    assert_eq!(
        (function.command(), function.text("enable").as_str()),
        (0, "0\n")
    );
}

#[test]
fn small_and_missing_bars_are_refused() {
    let too_small = |machine: &Machine, function: &Function, expected| {
        let error = open(machine, function).unwrap_err();
        assert!(
            matches!(error, OpenError::BarTooSmall { len } if len == expected),
            "{error}"
        );
        assert_eq!(
            (function.command(), function.text("enable").as_str()),
            (0, "0\n")
        );
    };
    let (machine, function) = card();
    function.write(
        "resource",
        resource_file(&[(0xF000_0000, 0x1000, 0x4_0200)]),
    );
    too_small(&machine, &function, 0x1000);
    let (machine, function) = card();
    function.write("resource0", vec![0; regs::BAR_BYTES as usize - 1]);
    too_small(&machine, &function, regs::BAR_BYTES - 1);
    let (machine, function) = card();
    function.write("resource0_wc", [0; 64]);
    too_small(&machine, &function, 64);
    // Nothing at BAR 0, and ports there.
    for bars in [
        &[(0, 0, 0), (0xF000_0000, BAR_LEN, 0x4_0200)][..],
        &[(0xE000, BAR_LEN, 0x4_0101)],
    ] {
        let (machine, function) = card();
        function.write("resource", resource_file(bars));
        assert!(matches!(
            open(&machine, &function),
            Err(OpenError::NoBar { .. })
        ));
    }
}

#[test]
fn missing_files_are_named() {
    for name in ["resource0", "enable", "config"] {
        let (machine, function) = card();
        function.remove(name);
        match open(&machine, &function) {
            Err(OpenError::File { path, source, .. }) => {
                assert!(path.ends_with(name), "{}", path.display());
                assert_eq!(source.kind(), ErrorKind::NotFound);
            }
            other => panic!("{name}: {other:?}"),
        }
        if name != "enable" {
            // What was enabled is disabled again.
            assert!(function.text("enable").starts_with('0'));
        }
    }
    let (machine, function) = card();
    fs::remove_file(machine.paths.proc.join("self/pagemap")).unwrap();
    assert!(matches!(
        open(&machine, &function),
        Err(OpenError::Pagemap(_))
    ));
}

#[test]
fn a_card_that_does_not_answer_is_refused() {
    let (machine, function) = card();
    function.set_command(u16::MAX);
    match open(&machine, &function) {
        Err(OpenError::File { path, source, .. }) => {
            assert!(path.ends_with("config"));
            assert_eq!(source.kind(), ErrorKind::NotConnected);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(function.text("enable"), "0\n");
}

#[test]
fn other_addresses_and_interrupts_without_vfio_are_refused() {
    let (machine, function) = card();
    let empty = "0000:04:00.0".parse().unwrap();
    assert!(matches!(
        open_in(&machine.paths, empty),
        Err(OpenError::Discover(DiscoverError::NoFunction { .. }))
    ));
    let opened = open(&machine, &function).unwrap();
    assert!(matches!(
        opened.interrupts(1),
        Err(OpenError::NoInterrupts { .. })
    ));
}

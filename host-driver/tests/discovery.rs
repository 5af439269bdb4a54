//! Finding cards in a sysfs that is made of ordinary files.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod machine;

use ferroce_driver::linux::{discover, Card, DiscoverError, Link, PciAddress, Resource};
use machine::{resource_file, Machine, BAR_LEN};

fn address(text: &str) -> PciAddress {
    text.parse().unwrap()
}

#[test]
fn a_card_is_described() {
    let machine = Machine::new();
    let function = machine.add_card("0000:af:00.0");
    function.write("numa_node", "1\n");
    function.write(
        "resource",
        resource_file(&[
            (0x38_0000_0000, BAR_LEN, 0x14_220C),
            (0, 0, 0),
            (0xFB00_0000, 0x1_0000, 0x4_0200),
        ]),
    );
    function.write("current_link_speed", "8.0 GT/s PCIe\n");
    function.write("current_link_width", "8\n");
    function.write("max_link_speed", "16.0 GT/s PCIe\n");
    function.write("max_link_width", "16\n");
    function.link("driver", "../../bus/pci/drivers/vfio-pci");
    function.link("iommu_group", "../../kernel/iommu_groups/42");
    let cards = discover(&machine.paths.sys).unwrap();
    let [card] = &cards[..] else {
        panic!("one card is there: {cards:?}");
    };
    assert_eq!(card.address, address("0000:af:00.0"));
    assert_eq!(card.numa_node, Some(1));
    let registers = Resource {
        bar: 0,
        start: 0x38_0000_0000,
        len: BAR_LEN,
        flags: 0x14_220C,
    };
    assert_eq!(card.resource(0), Some(&registers));
    assert_eq!(card.resource(1), None);
    assert_eq!(card.resource(2).map(|r| r.len), Some(0x1_0000));
    assert_eq!(card.driver.as_deref(), Some("vfio-pci"));
    assert_eq!(card.iommu_group, Some(42));
    let link = |mega_transfers, lanes| {
        Some(Link {
            mega_transfers,
            lanes,
        })
    };
    assert_eq!(
        (card.link, card.max_link),
        (link(8000, 8), link(16_000, 16))
    );
    assert_eq!(Card::at(&machine.paths.sys, card.address).unwrap(), *card);
    assert_eq!(Card::only(&machine.paths.sys).unwrap(), *card);
}

#[test]
fn what_linux_does_not_know_is_none() {
    let machine = Machine::new();
    let function = machine.add_card("0000:03:00.0");
    function.write("current_link_speed", "Unknown\n");
    function.write("current_link_width", "0\n");
    let card = Card::only(&machine.paths.sys).unwrap();
    assert_eq!((card.link, card.max_link), (None, None));
    assert_eq!((card.numa_node, card.iommu_group), (None, None));
    assert_eq!(card.driver, None);
    function.remove("numa_node");
    assert_eq!(Card::only(&machine.paths.sys).unwrap(), card);
}

#[test]
fn other_devices_are_passed_over() {
    let machine = Machine::new();
    machine.add("0000:00:00.0", "0x8086", "0xf0ce");
    let other = machine.add("0000:01:00.0", "0x10ee", "0x9038");
    // A function that disappears while it is looked at.
    machine
        .add("0000:02:00.0", "0x10ee", "0xf0ce")
        .remove("vendor");
    assert_eq!(discover(&machine.paths.sys).unwrap(), []);
    assert!(matches!(
        Card::only(&machine.paths.sys),
        Err(DiscoverError::NoCard)
    ));
    assert!(matches!(
        Card::at(&machine.paths.sys, address("01:00.0")),
        Err(DiscoverError::OtherDevice {
            vendor: 0x10EE,
            device: 0x9038,
            ..
        })
    ));
    for absent in ["02:00.0", "03:00.0"] {
        for find in [Card::at, Card::any_at] {
            let found = find(&machine.paths.sys, address(absent));
            assert!(matches!(found, Err(DiscoverError::NoFunction { .. })));
        }
    }
    other.write(
        "resource",
        resource_file(&[(0, 0, 0), (0xF000_0000, 64, 0x200)]),
    );
    let any = Card::any_at(&machine.paths.sys, address("01:00.0")).unwrap();
    assert_eq!(any.resource(1).map(|r| r.len), Some(64));
}

#[test]
fn several_cards_are_listed_by_address() {
    let machine = Machine::new();
    for text in ["0000:af:00.0", "0000:3b:00.0", "10000:01:00.0"] {
        machine.add_card(text);
    }
    let cards = discover(&machine.paths.sys).unwrap();
    let texts: Vec<_> = cards.iter().map(|c| c.address.to_string()).collect();
    assert_eq!(texts, ["0000:3b:00.0", "0000:af:00.0", "10000:01:00.0"]);
    let error = Card::only(&machine.paths.sys).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are 3 Ferroce cards, say which one: 0000:3b:00.0, 0000:af:00.0, 10000:01:00.0",
    );
}

#[test]
fn a_machine_without_pci_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = discover(folder.path()).unwrap_err();
    assert!(matches!(error, DiscoverError::Bus { path, .. } if path.ends_with("bus/pci/devices")));
}

#[test]
fn broken_files_are_named() {
    for (name, content) in [
        ("vendor", "10ee\n"),
        ("vendor", "\n"),
        ("device", "0x1f0ce\n"),
        ("numa_node", "-2\n"),
        ("resource", "0x0\n"),
        ("resource", "0x2000 0x1000 0x200\n"),
        ("current_link_width", "-1\n"),
        ("current_link_width", "256\n"),
        ("current_link_speed", "fast\n"),
    ] {
        let machine = Machine::new();
        let function = machine.add_card("0000:03:00.0");
        function.write("current_link_speed", "8.0 GT/s PCIe\n");
        function.write("current_link_width", "16\n");
        function.write(name, content);
        match discover(&machine.paths.sys) {
            Err(DiscoverError::Content { path, text, .. }) => {
                assert!(path.ends_with(name), "{}", path.display());
                assert_eq!(text, content.trim());
            }
            other => panic!("{name} {content:?}: {other:?}"),
        }
    }
}

#[test]
fn missing_and_unreadable_files_are_named() {
    let machine = Machine::new();
    let function = machine.add_card("0000:03:00.0");
    function.remove("resource");
    let error = discover(&machine.paths.sys).unwrap_err();
    assert!(matches!(error, DiscoverError::Read { path, .. } if path.ends_with("resource")));
    function.link("iommu_group", "../../kernel/iommu_groups/none");
    function.write("resource", resource_file(&[]));
    let error = discover(&machine.paths.sys).unwrap_err();
    assert!(matches!(error, DiscoverError::Content { path, .. } if path.ends_with("iommu_group")));
    function.remove("iommu_group");
    function.remove("vendor");
    std::fs::create_dir(function.file("vendor")).unwrap();
    let error = discover(&machine.paths.sys).unwrap_err();
    assert!(matches!(error, DiscoverError::Read { path, .. } if path.ends_with("vendor")));
}

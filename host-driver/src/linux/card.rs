//! Finding cards in sysfs.

use super::address::PciAddress;
use super::link::Link;
use super::resource::Resource;
use ferroce_abi::pci::{DEVICE_ID, VENDOR_ID};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Cards can't be found or described.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// There is no list of PCI functions.
    #[error("{} can't be read: is sysfs mounted, and has this machine PCI?", path.display())]
    Bus {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of a function can't be read.
    #[error("{} can't be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("{} holds {text:?}, not {expected}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it holds.
        text: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Nothing is at this address.
    #[error("no PCI function is at {address}: `lspci -D` lists those that there are")]
    NoFunction {
        /// The address.
        address: PciAddress,
    },
    /// Another device is at this address.
    #[error("{address} is device {vendor:04x}:{device:04x}; a Ferroce card is {VENDOR_ID:04x}:{DEVICE_ID:04x}")]
    OtherDevice {
        /// The address.
        address: PciAddress,
        /// Its vendor id.
        vendor: u16,
        /// Its device id.
        device: u16,
    },
    /// There is no card.
    #[error(
        "no Ferroce card ({VENDOR_ID:04x}:{DEVICE_ID:04x}) is on this machine's PCI buses: load its bitstream, \
         then `echo 1 > /sys/bus/pci/rescan` or reboot"
    )]
    NoCard,
    /// There are several cards where one was asked for.
    #[error("there are {} Ferroce cards, say which one: {}", addresses.len(), list(addresses))]
    Several {
        /// Where they are.
        addresses: Vec<PciAddress>,
    },
}

fn list(addresses: &[PciAddress]) -> String {
    let texts: Vec<_> = addresses.iter().map(PciAddress::to_string).collect();
    texts.join(", ")
}

/// A card that is in the machine, as Linux describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Where it is.
    pub address: PciAddress,
    /// Its folder in sysfs.
    pub path: PathBuf,
    /// NUMA node it is attached to; `None` where there is but one.
    pub numa_node: Option<u32>,
    /// Its BARs that have an address.
    pub resources: Vec<Resource>,
    /// Kernel driver that is bound to it.
    pub driver: Option<String>,
    /// IOMMU group; `None` without an IOMMU.
    pub iommu_group: Option<u32>,
    /// The link as it is; `None` when Linux does not know.
    pub link: Option<Link>,
    /// The best link that the card can have.
    pub max_link: Option<Link>,
}

impl Card {
    /// The card at `address`; `root` is where sysfs is mounted, `/sys`.
    ///
    /// # Errors
    /// [`DiscoverError::NoFunction`], [`DiscoverError::OtherDevice`], and what [`discover`] reports.
    pub fn at(root: &Path, address: PciAddress) -> Result<Self, DiscoverError> {
        let path = function(root, address);
        match ids(&path)? {
            Some((vendor, device)) if (vendor, device) != (VENDOR_ID, DEVICE_ID) => {
                Err(DiscoverError::OtherDevice {
                    address,
                    vendor,
                    device,
                })
            }
            _ => Self::any_at(root, address),
        }
    }

    /// Whatever PCI function is at `address`, to try the back ends on another device.
    ///
    /// # Errors
    /// [`DiscoverError::NoFunction`], and what [`discover`] reports.
    pub fn any_at(root: &Path, address: PciAddress) -> Result<Self, DiscoverError> {
        let path = function(root, address);
        match ids(&path)? {
            Some(_) => Self::describe(path, address),
            None => Err(DiscoverError::NoFunction { address }),
        }
    }

    /// The machine's only card.
    ///
    /// # Errors
    /// [`DiscoverError::NoCard`], [`DiscoverError::Several`], and what [`discover`] reports.
    pub fn only(root: &Path) -> Result<Self, DiscoverError> {
        let mut cards = discover(root)?;
        match cards.len() {
            0 | 1 => cards.pop().ok_or(DiscoverError::NoCard),
            _ => Err(DiscoverError::Several {
                addresses: cards.iter().map(|card| card.address).collect(),
            }),
        }
    }

    /// BAR `bar`, when it has an address.
    pub fn resource(&self, bar: usize) -> Option<&Resource> {
        self.resources.iter().find(|r| r.bar == bar)
    }

    fn describe(path: PathBuf, address: PciAddress) -> Result<Self, DiscoverError> {
        let group = link_name(&path.join("iommu_group"))?;
        Ok(Self {
            address,
            numa_node: numa_node(&path.join("numa_node"))?,
            resources: resources(&path.join("resource"))?,
            driver: link_name(&path.join("driver"))?,
            iommu_group: group
                .map(|text| number(&path.join("iommu_group"), &text, "a group number"))
                .transpose()?,
            link: link(&path, "current_link_speed", "current_link_width")?,
            max_link: link(&path, "max_link_speed", "max_link_width")?,
            path,
        })
    }
}

/// All cards below `root`, where sysfs is mounted (`/sys`), by ascending address.
///
/// # Errors
/// [`DiscoverError::Bus`]; [`DiscoverError::Read`] and [`DiscoverError::Content`] for a file of a card that is missing or
/// broken. A function that disappears meanwhile is no error.
pub fn discover(root: &Path) -> Result<Vec<Card>, DiscoverError> {
    let folder = devices(root);
    let bus = |source| DiscoverError::Bus {
        path: folder.clone(),
        source,
    };
    let mut cards = Vec::new();
    for entry in fs::read_dir(&folder).map_err(bus)? {
        let path = entry.map_err(bus)?.path();
        if ids(&path)? != Some((VENDOR_ID, DEVICE_ID)) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let address = name.parse().map_err(|_| DiscoverError::Content {
            path: folder.clone(),
            text: name.clone().into_owned(),
            expected: "folders named after PCI addresses",
        })?;
        cards.push(Card::describe(path, address)?);
    }
    cards.sort_by_key(|card| card.address);
    Ok(cards)
}

fn devices(root: &Path) -> PathBuf {
    root.join("bus/pci/devices")
}

fn function(root: &Path, address: PciAddress) -> PathBuf {
    devices(root).join(address.to_string())
}

/// Vendor and device id; `None` when there is no such function.
fn ids(path: &Path) -> Result<Option<(u16, u16)>, DiscoverError> {
    let id = |name| -> Result<Option<u16>, DiscoverError> {
        let path = path.join(name);
        let Some(text) = read_optional(&path)? else {
            return Ok(None);
        };
        let id = text
            .strip_prefix("0x")
            .and_then(|digits| u16::from_str_radix(digits, 16).ok());
        id.map(Some)
            .ok_or_else(|| content(&path, &text, "an id such as 0x10ee"))
    };
    Ok(id("vendor")?.zip(id("device")?))
}

fn numa_node(path: &Path) -> Result<Option<u32>, DiscoverError> {
    match read_optional(path)? {
        // Without NUMA there is no file, or -1 in it.
        None => Ok(None),
        Some(text) if text == "-1" => Ok(None),
        Some(text) => number(path, &text, "a node number or -1").map(Some),
    }
}

fn resources(path: &Path) -> Result<Vec<Resource>, DiscoverError> {
    let text = read_optional(path)?.ok_or_else(|| DiscoverError::Read {
        path: path.into(),
        source: io::ErrorKind::NotFound.into(),
    })?;
    Resource::parse_all(&text).map_err(|line| {
        content(
            path,
            &line,
            "lines of first address, last address and flags",
        )
    })
}

/// A link's state, from two files that not every kernel has.
fn link(path: &Path, speed: &str, width: &str) -> Result<Option<Link>, DiscoverError> {
    let (speed_path, width_path) = (path.join(speed), path.join(width));
    let (Some(speed), Some(width)) = (read_optional(&speed_path)?, read_optional(&width_path)?)
    else {
        return Ok(None);
    };
    let lanes = number(&width_path, &width, "a number of lanes")?;
    Link::parse(&speed, lanes).map_err(|_| {
        content(
            &speed_path,
            &speed,
            "a speed such as \"8.0 GT/s PCIe\" or \"Unknown\"",
        )
    })
}

/// Name of what a symbolic link points to.
fn link_name(path: &Path) -> Result<Option<String>, DiscoverError> {
    match fs::read_link(path) {
        Ok(target) => Ok(target
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DiscoverError::Read {
            path: path.into(),
            source,
        }),
    }
}

fn number<T: FromStr>(path: &Path, text: &str, expected: &'static str) -> Result<T, DiscoverError> {
    text.parse().map_err(|_| content(path, text, expected))
}

fn content(path: &Path, text: &str, expected: &'static str) -> DiscoverError {
    DiscoverError::Content {
        path: path.into(),
        text: text.into(),
        expected,
    }
}

/// A file's text without space around it; `None` when there is no such file.
fn read_optional(path: &Path) -> Result<Option<String>, DiscoverError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DiscoverError::Read {
            path: path.into(),
            source,
        }),
    }
}

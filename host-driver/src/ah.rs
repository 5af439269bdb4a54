//! Address handles.

use crate::device::Capabilities;
use crate::error::{check_range, Error};
use crate::lock::lock;
use crate::pd::PdShared;
use crate::port::PortAddress;
use ferroce_abi::cfg::{mac_bits, AhCfg};
use ferroce_abi::headers::Mac;
use ferroce_abi::mailbox::Command;
use ferroce_abi::regs::feature;
use ferroce_abi::udp_port;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex};

/// The way to another port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AhAttr {
    /// Destination GID: an IPv6 address, or an IPv4 address as `::ffff:a.b.c.d`.
    pub dgid: Ipv6Addr,
    /// MAC address of the destination, or of the router towards it.
    pub dmac: Mac,
    /// Index of the own GID. A port has one.
    pub sgid_index: u8,
    /// Traffic class, or IPv4 TOS: DSCP and ECN.
    pub traffic_class: u8,
    /// Hop limit, or IPv4 time to live.
    pub hop_limit: u8,
    /// Flow label, 20 bits, that gives the UDP source port too.
    pub flow_label: u32,
}

impl AhAttr {
    /// Towards `peer`: traffic class 0, hop limit 64, flow label 0.
    pub fn new(peer: PortAddress) -> Self {
        Self {
            dgid: peer.ip.to_ipv6_mapped(),
            dmac: peer.mac,
            sgid_index: 0,
            traffic_class: 0,
            hop_limit: 64,
            flow_label: 0,
        }
    }

    fn check(&self, caps: &Capabilities) -> Result<(), Error> {
        if self.dgid.to_ipv4_mapped().is_none() {
            caps.need(feature::IPV6)?;
        }
        check_range("sgid_index", self.sgid_index.into(), 0, 0)?;
        check_range("flow_label", self.flow_label.into(), 0, (1 << 20) - 1)
    }

    fn entry(&self, pd: u16) -> AhCfg {
        AhCfg {
            valid: true,
            pd,
            dmac: mac_bits(self.dmac.0),
            sgid_index: self.sgid_index,
            traffic_class: self.traffic_class,
            hop_limit: self.hop_limit,
            flow_label: self.flow_label,
            sport: udp_port::from_flow_label(self.flow_label),
            ..AhCfg::default()
        }
        .with_dgid(self.dgid)
    }
}

/// An address handle. Dropping it takes it off the card.
#[derive(Debug)]
pub struct AddressHandle {
    pd: Arc<PdShared>,
    number: u32,
    attr: Mutex<AhAttr>,
}

impl AddressHandle {
    pub(crate) fn new(pd: &Arc<PdShared>, attr: AhAttr) -> Result<Self, Error> {
        let device = &pd.device;
        attr.check(&device.caps)?;
        let entry = attr.entry(pd.number).to_bits()?;
        let number = device.ahs.take()?;
        if let Err(error) = device.command(Command::CreateAh, number, &[entry]) {
            // Else the handle may exist, and its number must not be used again.
            if error.nothing_happened() {
                device.ahs.give_back(number);
            }
            return Err(error);
        }
        Ok(Self {
            pd: Arc::clone(pd),
            number,
            attr: Mutex::new(attr),
        })
    }

    /// Number of the handle on its card.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What the handle was made or modified with.
    pub fn attr(&self) -> AhAttr {
        *lock(&self.attr)
    }

    /// Changes the handle.
    ///
    /// # Errors
    /// [`Error::Attribute`], [`Error::Unsupported`] for an IPv6 GID by a card without IPv6, command errors; the handle stays as it is, unless the card does not
    /// answer.
    pub fn modify(&self, attr: AhAttr) -> Result<(), Error> {
        let device = &self.pd.device;
        attr.check(&device.caps)?;
        let mut now = lock(&self.attr);
        let entry = attr.entry(self.pd.number).to_bits()?;
        device.command(Command::ModifyAh, self.number, &[entry])?;
        *now = attr;
        Ok(())
    }

    /// What the card holds of the handle.
    ///
    /// # Errors
    /// [`Error::Bar`], command errors.
    pub fn query(&self) -> Result<AhCfg, Error> {
        let answer = self.pd.device.query(Command::QueryAh, self.number)?;
        Ok(AhCfg::from_bits(&answer))
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        let device = &self.pd.device;
        let gone = AhCfg::default().to_bits().map_err(Error::from);
        match gone.and_then(|bits| device.command(Command::DestroyAh, self.number, &[bits])) {
            Ok(()) => device.ahs.give_back(self.number),
            Err(error) => {
                tracing::error!(%error, ah = self.number, "address handle could not be removed");
            }
        }
    }
}

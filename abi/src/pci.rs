//! What a card shows in PCI configuration space.

/// Vendor id: Xilinx, whose PCIe block the card uses and whose id its boards carry.
pub const VENDOR_ID: u16 = 0x10EE;
/// Device id. It is Ferroce's own choice below [`VENDOR_ID`] and is registered nowhere; the magic register
/// ([`crate::regs::MAGIC`]) has the last word.
pub const DEVICE_ID: u16 = 0xF0CE;
/// The BAR that holds the registers of [`crate::regs`]: a 64-bit memory BAR.
pub const REGISTER_BAR: usize = 0;

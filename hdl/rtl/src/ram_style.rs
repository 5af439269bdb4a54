//! Which RAM resource of the FPGA holds a memory.

/// RAM resource of an UltraScale+ device, as Verilog's `ram_style` attribute names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RamStyle {
    /// LUT RAM.
    Distributed,
    /// Block RAM, 18 or 36 Kib.
    Block,
    /// UltraRAM, 4096 x 72.
    Ultra,
}

impl RamStyle {
    /// Deepest memory (log2) that goes to LUT RAM: one LUT6 holds 64 bits of a simple dual-port RAM.
    pub const DISTRIBUTED_LOG2_DEPTH: usize = 6;
    /// Native depth (log2) of an UltraRAM; shallower memories would waste most of one.
    const ULTRA_LOG2_DEPTH: usize = 12;
    /// Native width of an UltraRAM; narrower memories waste part of each.
    const ULTRA_WIDTH: usize = 72;

    /// The resource that wastes least for `2^log2_depth` words of `width` bits.
    #[must_use]
    pub fn for_size(log2_depth: usize, width: usize) -> Self {
        if log2_depth <= Self::DISTRIBUTED_LOG2_DEPTH {
            Self::Distributed
        } else if log2_depth >= Self::ULTRA_LOG2_DEPTH && width >= Self::ULTRA_WIDTH {
            Self::Ultra
        } else {
            Self::Block
        }
    }

    /// Value of the `ram_style` attribute.
    #[must_use]
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Distributed => "distributed",
            Self::Block => "block",
            Self::Ultra => "ultra",
        }
    }
}

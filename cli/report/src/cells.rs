//! What each UltraScale+ cell is, takes and costs in depth, as the crate's page tells.

use serde::{Deserialize, Serialize};

use crate::netlist::{Bit, Cell, Direction};

/// Depth of one LUT level.
pub const LEVEL: u32 = 8;

/// Kind of cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Lut,
    WideMux,
    /// Bits of carry.
    Carry(u32),
    Register,
    BlockRam,
    UltraRam,
    /// LUTs it takes.
    LutRam(u32),
    ShiftRegister,
    Dsp,
    /// Inverters and buffers, of clocks too.
    Wire,
    /// Hard blocks and modules without contents.
    BlackBox,
}

impl Class {
    /// Class of a cell type's name.
    pub fn of(kind: &str) -> Self {
        match kind {
            "LUT1" | "LUT2" | "LUT3" | "LUT4" | "LUT5" | "LUT6" => Self::Lut,
            "MUXF7" | "MUXF8" | "MUXF9" => Self::WideMux,
            "CARRY4" => Self::Carry(4),
            "CARRY8" => Self::Carry(8),
            "RAMB18E2" | "RAMB36E2" => Self::BlockRam,
            "URAM288" | "URAM288_BASE" => Self::UltraRam,
            "RAM32X1S" | "RAM64X1S" => Self::LutRam(1),
            "RAM32X1D" | "RAM64X1D" | "RAM128X1S" => Self::LutRam(2),
            "RAM128X1D" | "RAM256X1S" | "RAM32M" | "RAM64M" => Self::LutRam(4),
            "RAM256X1D" | "RAM512X1S" | "RAM32M16" | "RAM64M8" => Self::LutRam(8),
            "SRL16E" | "SRLC16E" | "SRLC32E" => Self::ShiftRegister,
            "DSP48E2" => Self::Dsp,
            "INV" | "BUF" | "IBUF" | "OBUF" | "BUFG" | "BUFGCE" => Self::Wire,
            "FDRE" | "FDSE" | "FDCE" | "FDPE" | "FDRE_1" | "FDSE_1" | "FDCE_1" | "FDPE_1"
            | "LDCE" | "LDPE" => Self::Register,
            _ => Self::BlackBox,
        }
    }
}

/// Cells by what they occupy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// LUTs used as logic.
    pub luts: u32,
    /// LUTs used as RAM.
    pub lut_rams: u32,
    /// LUTs used as shift registers.
    pub lut_shifts: u32,
    /// Flip-flops and latches.
    pub registers: u32,
    /// MUXF7, MUXF8 and MUXF9.
    pub wide_muxes: u32,
    /// Carry bits.
    pub carry_bits: u32,
    /// Block RAM in halves of 18 Kb: a RAMB36E2 counts as 2.
    pub block_ram_halves: u32,
    /// URAM288.
    pub ultra_rams: u32,
    /// DSP48E2.
    pub dsps: u32,
    /// Hard blocks and modules without contents.
    pub black_boxes: u32,
}

impl Resources {
    pub(crate) fn add(&mut self, kind: &str) {
        match Class::of(kind) {
            Class::Lut => self.luts += 1,
            Class::WideMux => self.wide_muxes += 1,
            Class::Carry(bits) => self.carry_bits += bits,
            Class::Register => self.registers += 1,
            Class::BlockRam => self.block_ram_halves += if kind == "RAMB36E2" { 2 } else { 1 },
            Class::UltraRam => self.ultra_rams += 1,
            Class::LutRam(luts) => self.lut_rams += luts,
            Class::ShiftRegister => self.lut_shifts += 1,
            Class::Dsp => self.dsps += 1,
            Class::Wire => {}
            Class::BlackBox => self.black_boxes += 1,
        }
    }
}

/// A way through a cell.
pub struct Arc {
    pub from: Bit,
    pub to: Bit,
    /// In parts of [`LEVEL`].
    pub depth: u32,
}

/// All combinational ways through a cell.
pub fn arcs(cell: &Cell) -> Vec<Arc> {
    let inputs = || cell.pins(Direction::Input).collect::<Vec<_>>();
    match Class::of(&cell.kind) {
        Class::Lut => join(cell, &inputs(), &["O"], LEVEL),
        Class::Wire => join(cell, &["I"], &["O"], 0),
        Class::WideMux => {
            let mut arcs = join(cell, &["I0", "I1"], &["O"], LEVEL / 4);
            arcs.extend(join(cell, &["S"], &["O"], LEVEL));
            arcs
        }
        Class::Carry(bits) => carry_arcs(cell, bits),
        Class::ShiftRegister => {
            // SRL16E has A0 to A3, SRLC32E one bus.
            let address: Vec<&str> = inputs()
                .into_iter()
                .filter(|pin| pin.starts_with('A'))
                .collect();
            join(cell, &address, &["Q"], LEVEL)
        }
        Class::LutRam(_) => lut_ram_arcs(cell),
        Class::Register | Class::BlockRam | Class::UltraRam | Class::Dsp | Class::BlackBox => {
            Vec::new()
        }
    }
}

/// Every bit of the pins `from` to every bit of the pins `to`.
fn join(cell: &Cell, from: &[&str], to: &[&str], depth: u32) -> Vec<Arc> {
    let sources = from.iter().flat_map(|pin| cell.pin(pin));
    sources
        .flat_map(|(_, from)| {
            let targets = to.iter().flat_map(|pin| cell.pin(pin));
            targets.map(move |(_, to)| Arc { from, to, depth })
        })
        .collect()
}

fn carry_arcs(cell: &Cell, bits: u32) -> Vec<Arc> {
    let mut arcs = join(cell, &["CYINIT"], &["O", "CO"], LEVEL);
    arcs.extend(join(cell, &["CI"], &["O", "CO"], bits * LEVEL / 32));
    // O[i] = S[i] ^ carry into i; CO[i] takes S and DI up to i.
    for (pin, to_own_sum) in [("S", true), ("DI", false)] {
        for (input, from) in cell.pin(pin) {
            let sums = cell
                .pin("O")
                .filter(|(output, _)| *output > input || to_own_sum && *output == input);
            let carries = cell.pin("CO").filter(|(output, _)| *output >= input);
            arcs.extend(sums.chain(carries).map(|(_, to)| Arc {
                from,
                to,
                depth: LEVEL,
            }));
        }
    }
    arcs
}

/// Read address to read data. Single and dual port RAMs have SPO or O (address A) and DPO (DPRA);
/// multi-port ones have an ADDRx for each DOx.
fn lut_ram_arcs(cell: &Cell) -> Vec<Arc> {
    let mut arcs = Vec::new();
    for output in cell.pins(Direction::Output) {
        let address: Vec<&str> = cell
            .pins(Direction::Input)
            .filter(|input| match (output, output.strip_prefix("DO")) {
                ("O" | "SPO", _) => input.starts_with('A'),
                ("DPO", _) => input.starts_with("DPRA"),
                (_, Some(port)) => input.strip_prefix("ADDR") == Some(port),
                _ => false,
            })
            .collect();
        arcs.extend(join(cell, &address, &[output], LEVEL));
    }
    arcs
}

/// Depth at which paths start at a cell's outputs, if they do.
pub fn start_depth(class: Class) -> Option<u32> {
    match class {
        Class::Register | Class::BlockRam | Class::UltraRam | Class::Dsp | Class::BlackBox => {
            Some(0)
        }
        Class::LutRam(_) | Class::ShiftRegister => Some(LEVEL),
        Class::Lut | Class::WideMux | Class::Carry(_) | Class::Wire => None,
    }
}

/// The pin that clocks an input pin: none if the pin is a clock itself or ends no path.
pub enum Capture {
    /// Clocked by the named pin.
    By(&'static str),
    /// A pin of a block without known contents.
    Unknown,
}

/// How a path that ends at this input pin is captured; none for clocks and combinational inputs.
pub fn capture(cell: &Cell, pin: &str) -> Option<Capture> {
    let by = |clock: &'static str| (pin != clock).then_some(Capture::By(clock));
    match Class::of(&cell.kind) {
        Class::Register if cell.kind.starts_with("LD") => by("G"),
        Class::Register => by("C"),
        Class::UltraRam | Class::Dsp => by("CLK"),
        Class::BlockRam => block_ram_capture(cell, pin),
        // Read addresses are combinational, but one of them writes too.
        Class::LutRam(_) if pin.starts_with("DPRA") => None,
        Class::LutRam(_) => by("WCLK"),
        Class::ShiftRegister if pin.starts_with('A') => None,
        Class::ShiftRegister => by("CLK"),
        Class::BlackBox => Some(Capture::Unknown),
        Class::Lut | Class::WideMux | Class::Carry(_) | Class::Wire => None,
    }
}

fn block_ram_capture(cell: &Cell, pin: &str) -> Option<Capture> {
    const A: &str = "CLKARDCLK";
    const B: &str = "CLKBWRCLK";
    // With twice the width, both ports' data pins belong to the write port.
    let single_width = if cell.kind == "RAMB36E2" { 36 } else { 18 };
    let simple_dual = cell.write_width_b() > single_width;
    let of_port_b = match pin {
        A | B => return None,
        "DINADIN" | "DINPADINP" => simple_dual,
        "ADDRBWRADDR" | "DINBDIN" | "DINPBDINP" | "ENBWREN" | "WEBWE" => true,
        // ADDRENB, REGCEB, RSTRAMB, RSTREGB and the cascade's pins.
        _ => pin.ends_with('B'),
    };
    Some(Capture::By(if of_port_b { B } else { A }))
}

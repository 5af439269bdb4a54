//! A registered linear map, printed as explicit XORs.

use super::gf2::BitMatrix;
use ferroce_emit::prelude::*;

/// A register that takes the image of `d` under a matrix over GF(2) when `enable` is high.
///
/// `enable` keeps idle logic quiet, in the card and in simulation.
#[derive(LogicBlock, Module)]
pub struct XorReg<const I: usize, const O: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Take a new value at the next edge.
    pub enable: Signal<In, Bit>,
    /// The vector.
    pub d: Signal<In, Bits<I>>,
    /// Its image, one cycle later.
    pub q: Signal<Out, Bits<O>>,
    _matrix: BitMatrix,
}

impl<const I: usize, const O: usize> XorReg<I, O> {
    /// A register behind `matrix`.
    ///
    /// # Panics
    /// If the matrix is not `O` by `I`.
    #[must_use]
    pub fn new(matrix: BitMatrix) -> Self {
        assert_eq!((matrix.outputs(), matrix.inputs()), (O, I), "matrix size");
        Self {
            clock: Signal::default(),
            enable: Signal::default(),
            d: Signal::default(),
            q: Signal::default(),
            _matrix: matrix,
        }
    }
}

impl<const I: usize, const O: usize> Logic for XorReg<I, O> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.enable.val() {
            let vector = join_words(&pack(&self.d.val()));
            self.q.next = unpack(&split_words(&self._matrix.apply(&vector)));
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(verilog(&self._matrix))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

fn join_words(words: &[u32]) -> Vec<u64> {
    words
        .chunks(2)
        .map(|pair| u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32)
        .collect()
}

fn split_words(words: &[u64]) -> Vec<u32> {
    words
        .iter()
        .flat_map(|&word| [word as u32, (word >> 32) as u32])
        .collect()
}

/// Outputs that one assignment packs together: a machine word of the simulator.
const PACKED_OUTPUTS: usize = 32;

fn verilog(matrix: &BitMatrix) -> String {
    let mut assignments = String::new();
    for low in (0..matrix.outputs()).step_by(PACKED_OUTPUTS) {
        let high = (low + PACKED_OUTPUTS).min(matrix.outputs());
        let rows: Vec<String> = (low..high)
            .rev()
            .map(|output| exclusive_or(matrix.terms(output)))
            .collect();
        assignments += &format!(
            "        q[{}:{low}] <= {{\n            {}\n        }};\n",
            high - 1,
            rows.join(",\n            ")
        );
    }
    format!(
        "initial begin\n    q = {}'h0;\nend\n\n\
         always @(posedge clock) begin\n    if (enable) begin\n{assignments}    end\nend\n",
        matrix.outputs()
    )
}

/// The exclusive or of some bits of `d`: parities of masked slices of at most 64 bits, which
/// simulators evaluate in a few instructions each.
fn exclusive_or(terms: impl Iterator<Item = usize>) -> String {
    let mut slices: Vec<(usize, u64)> = Vec::new();
    for term in terms {
        match slices.last_mut() {
            Some((low, mask)) if term - *low < 64 => *mask |= 1 << (term - *low),
            _ => slices.push((term, 1)),
        }
    }
    if slices.is_empty() {
        return "1'h0".to_owned();
    }
    let parities: Vec<String> = slices
        .iter()
        .map(|&(low, mask)| {
            let width = 64 - mask.leading_zeros() as usize;
            if width == 1 {
                format!("d[{low}]")
            } else {
                format!("(^(d[{}:{low}] & {width}'h{mask:x}))", low + width - 1)
            }
        })
        .collect();
    parities.join(" ^ ")
}

ferroce_emit::register_leaf!("xor_reg", || XorReg::<104, 32>::new(
    super::crc32::data_matrix(13)
));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_print_as_masked_parities() {
        let mut matrix = BitMatrix::zero(3, 200);
        for input in [3, 5, 66, 67, 199] {
            matrix.set(1, input);
        }
        matrix.set(2, 0);
        let text = verilog(&matrix);
        assert!(
            text.contains("d[0],\n            (^(d[66:3] & 64'h8000000000000005)) ^ d[67] ^ d[199],\n            1'h0\n"),
            "{text}"
        );
    }
}

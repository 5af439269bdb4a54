//! Matrices over GF(2): what a CRC circuit is made of.

/// A matrix over GF(2). Column `i` belongs to input bit `i`, row `o` to output bit `o`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    inputs: usize,
    rows: Vec<Vec<u64>>,
}

impl BitMatrix {
    /// The zero matrix.
    #[must_use]
    pub fn zero(outputs: usize, inputs: usize) -> Self {
        Self {
            inputs,
            rows: vec![vec![0; inputs.div_ceil(64)]; outputs],
        }
    }

    /// The identity of `size` bits.
    #[must_use]
    pub fn identity(size: usize) -> Self {
        let mut matrix = Self::zero(size, size);
        for index in 0..size {
            matrix.set(index, index);
        }
        matrix
    }

    /// The matrix of the linear map `map`, found by applying it to every unit vector. Bit `b` of
    /// word `w` of a vector is component `64 w + b`.
    #[must_use]
    pub fn of_map(outputs: usize, inputs: usize, map: impl Fn(&[u64]) -> Vec<u64>) -> Self {
        let mut matrix = Self::zero(outputs, inputs);
        let mut unit = vec![0; inputs.div_ceil(64)];
        for input in 0..inputs {
            unit[input / 64] = 1 << (input % 64);
            let image = map(&unit);
            unit[input / 64] = 0;
            for output in 0..outputs {
                if image[output / 64] >> (output % 64) & 1 != 0 {
                    matrix.set(output, input);
                }
            }
        }
        matrix
    }

    /// Number of input bits.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of output bits.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.rows.len()
    }

    /// Makes `input` a term of `output`.
    ///
    /// # Panics
    /// If either is out of range.
    pub fn set(&mut self, output: usize, input: usize) {
        assert!(input < self.inputs, "no input {input}");
        self.rows[output][input / 64] |= 1 << (input % 64);
    }

    /// Whether `input` is a term of `output`.
    ///
    /// # Panics
    /// If `output` is out of range.
    #[must_use]
    pub fn get(&self, output: usize, input: usize) -> bool {
        input < self.inputs && self.rows[output][input / 64] >> (input % 64) & 1 != 0
    }

    /// The inputs that `output` is the exclusive or of, in rising order.
    ///
    /// # Panics
    /// If `output` is out of range.
    pub fn terms(&self, output: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.inputs).filter(move |&input| self.get(output, input))
    }

    /// The largest number of terms in a row: the inputs of the widest XOR.
    #[must_use]
    pub fn widest(&self) -> usize {
        (0..self.outputs())
            .map(|output| self.terms(output).count())
            .max()
            .unwrap_or(0)
    }

    /// The image of a vector.
    #[must_use]
    pub fn apply(&self, vector: &[u64]) -> Vec<u64> {
        let mut image = vec![0; self.outputs().div_ceil(64)];
        for (output, row) in self.rows.iter().enumerate() {
            let parity = row
                .iter()
                .zip(vector)
                .fold(0, |sum, (mask, word)| sum ^ (mask & word))
                .count_ones()
                & 1;
            image[output / 64] |= u64::from(parity) << (output % 64);
        }
        image
    }

    /// The map that applies `first`, then `self`.
    ///
    /// # Panics
    /// If `first` has not as many outputs as `self` has inputs.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        assert_eq!(self.inputs, first.outputs(), "sizes differ");
        let mut product = Self::zero(self.outputs(), first.inputs);
        for output in 0..self.outputs() {
            for middle in self.terms(output) {
                for (word, mask) in product.rows[output].iter_mut().zip(&first.rows[middle]) {
                    *word ^= mask;
                }
            }
        }
        product
    }

    /// The inverse, if there is one.
    #[must_use]
    pub fn inverse(&self) -> Option<Self> {
        let size = self.outputs();
        if size != self.inputs {
            return None;
        }
        let mut left = self.rows.clone();
        let mut right = Self::identity(size).rows;
        for column in 0..size {
            let bit = |row: &[u64]| row[column / 64] >> (column % 64) & 1 != 0;
            let pivot = (column..size).find(|&row| bit(&left[row]))?;
            left.swap(column, pivot);
            right.swap(column, pivot);
            let (left_pivot, right_pivot) = (left[column].clone(), right[column].clone());
            for row in (0..size).filter(|&row| row != column) {
                if bit(&left[row]) {
                    xor_into(&mut left[row], &left_pivot);
                    xor_into(&mut right[row], &right_pivot);
                }
            }
        }
        Some(Self {
            inputs: size,
            rows: right,
        })
    }

    /// Puts the inputs of `self` and `other` side by side; the outputs are added.
    ///
    /// # Panics
    /// If the numbers of outputs differ.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Self {
        assert_eq!(self.outputs(), other.outputs(), "sizes differ");
        let mut sum = Self::zero(self.outputs(), self.inputs + other.inputs);
        for output in 0..self.outputs() {
            for input in self.terms(output) {
                sum.set(output, input);
            }
            for input in other.terms(output) {
                sum.set(output, self.inputs + input);
            }
        }
        sum
    }
}

fn xor_into(row: &mut [u64], other: &[u64]) {
    for (word, mask) in row.iter_mut().zip(other) {
        *word ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes() {
        let mut matrix = BitMatrix::identity(70);
        for index in 1..70 {
            matrix.set(index, index - 1);
            matrix.set(0, index);
        }
        matrix.set(3, 65);
        let inverse = matrix.inverse().expect("regular");
        assert_eq!(inverse.after(&matrix), BitMatrix::identity(70));
        assert_eq!(matrix.after(&inverse), BitMatrix::identity(70));
        assert_eq!(BitMatrix::zero(3, 3).inverse(), None);
        assert_eq!(BitMatrix::zero(3, 4).inverse(), None);
    }

    #[test]
    fn products_apply_one_after_the_other() {
        let shift = BitMatrix::of_map(65, 65, |v| vec![v[0] << 1, v[1] << 1 | v[0] >> 63]);
        let twice = shift.after(&shift);
        assert_eq!(twice.apply(&[1 << 62 | 1, 0]), [4, 1]);
        assert!(twice.get(64, 62) && !twice.get(64, 63));
        assert_eq!(shift.beside(&twice).apply(&[2, 1 << 3]), [4 ^ (4 << 2), 0]);
        assert_eq!(shift.widest(), 1);
    }
}

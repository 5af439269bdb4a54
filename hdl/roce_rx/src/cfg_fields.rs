//! Where the fields of configuration entries are, looked up by name when the hardware is generated.

use ferroce_abi::cfg::BitField;

/// Lowest bit of the field `name`; evaluated at compile time.
///
/// # Panics
/// If no field has that name.
pub const fn offset(fields: &[BitField], name: &str) -> usize {
    let mut index = 0;
    while index < fields.len() {
        if same(fields[index].name.as_bytes(), name.as_bytes()) {
            return fields[index].offset;
        }
        index += 1;
    }
    panic!("the entry has no such field")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

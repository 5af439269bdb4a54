//! The port table, read from the header that Verilator prints.

/// A port of the top module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortInfo {
    /// Name in Verilog.
    pub name: String,
    /// Width in bits.
    pub bits: u32,
    /// Driven from outside.
    pub input: bool,
}

/// A port and the C++ member that holds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub member: String,
    pub port: PortInfo,
}

/// Reads lines such as `VL_IN8(&clock,0,0);` and `VL_OUTW(&data,511,0,16);`.
/// The error is the line that holds a port this bridge can't drive (an array, an inout).
pub(crate) fn parse(header: &str) -> Result<Vec<Member>, String> {
    header
        .lines()
        .map(str::trim)
        .filter(|line| {
            ["VL_IN", "VL_OUT", "VL_INOUT"]
                .iter()
                .any(|kind| line.starts_with(kind))
        })
        .map(|line| member(line).ok_or_else(|| line.to_owned()))
        .collect()
}

fn member(line: &str) -> Option<Member> {
    let (kind, arguments) = line.strip_suffix(");")?.split_once('(')?;
    let input = match kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'W') {
        "VL_IN" => true,
        "VL_OUT" => false,
        _ => return None,
    };
    let mut arguments = arguments.strip_prefix('&')?.split(',');
    let member = arguments.next()?.to_owned();
    let msb: u32 = arguments.next()?.parse().ok()?;
    let lsb: u32 = arguments.next()?.parse().ok()?;
    let port = PortInfo {
        name: verilog_name(&member)?,
        bits: msb.checked_sub(lsb)? + 1,
        input,
    };
    Some(Member { member, port })
}

/// Undoes Verilator's `__0XX` encoding of characters that C++ names can't hold.
fn verilog_name(member: &str) -> Option<String> {
    let mut pieces = member.split("__0");
    let mut name = pieces.next()?.to_owned();
    for piece in pieces {
        let code = u8::from_str_radix(piece.get(..2)?, 16).ok()?;
        name.push(char::from(code));
        name.push_str(&piece[2..]);
    }
    Some(name)
}

/// The table as the shim includes it.
pub(crate) fn include_text(members: &[Member]) -> String {
    let lines = members
        .iter()
        .enumerate()
        .map(|(slot, Member { member, port })| {
            let PortInfo { name, bits, input } = port;
            format!(
                "PORT({slot}, {member}, \"{name}\", {bits}, {})\n",
                u32::from(*input)
            )
        });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> (String, u32, bool) {
        let member = member(line).unwrap();
        (member.port.name, member.port.bits, member.port.input)
    }

    #[test]
    fn widths_directions_and_encoded_names_are_read() {
        assert_eq!(parsed("VL_IN8(&clock,0,0);"), ("clock".into(), 1, true));
        assert_eq!(
            parsed("VL_OUTW(&data,511,0,16);"),
            ("data".into(), 512, false)
        );
        assert_eq!(parsed("VL_IN64(&low,44,4);"), ("low".into(), 41, true));
        assert_eq!(
            parsed("VL_IN(&a___05Fb__024c,31,0);"),
            ("a__b$c".into(), 32, true)
        );
    }

    #[test]
    fn arrays_and_inouts_are_refused() {
        for line in ["VL_IN8((&x)[4],7,0);", "VL_INOUT8(&pad,0,0);"] {
            assert_eq!(parse(line), Err(line.to_owned()));
        }
    }
}

//! Names in Verilog.

use crate::reserved::RESERVED;
use std::collections::HashSet;

/// A flat signal name in Verilog: `_` between fields, reserved words get a
/// trailing `_`.
pub(crate) fn verilog_name(flat: &str) -> String {
    let name: String = flat
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if RESERVED.binary_search(&name.as_str()).is_ok() {
        format!("{name}_")
    } else {
        name
    }
}

/// The module name for a Rust type: `ferroce_rtl::fifo::SyncFifo<a::Beat, 16>`
/// gives `sync_fifo_beat_16`.
pub(crate) fn type_base_name(type_name: &str) -> String {
    let words: Vec<String> = type_name
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .filter_map(|path| path.rsplit("::").next())
        .filter(|word| !word.is_empty())
        .map(snake_case)
        .collect();
    verilog_name(&words.join("_"))
}

/// The name of a constant: `State::Idle` gives `STATE_IDLE`.
pub(crate) fn constant_name(label: &str) -> String {
    let words: Vec<String> = label
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(|word| {
            if word.contains('_') {
                word.to_uppercase()
            } else {
                snake_case(word).to_uppercase()
            }
        })
        .collect();
    verilog_name(&words.join("_"))
}

fn snake_case(word: &str) -> String {
    let mut snake = String::new();
    let mut previous: Option<char> = None;
    let mut rest = word.chars().peekable();
    while let Some(c) = rest.next() {
        let starts_word = c.is_uppercase()
            && previous.is_some_and(|p| {
                p.is_lowercase()
                    || p.is_ascii_digit()
                    || (p.is_uppercase() && rest.peek().is_some_and(|n| n.is_lowercase()))
            });
        if starts_word {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
        previous = Some(c);
    }
    snake
}

/// Names in use; hands out new ones.
#[derive(Debug, Default, Clone)]
pub(crate) struct NameSpace {
    used: HashSet<String>,
}

impl NameSpace {
    /// Takes exactly this name; false if it is in use.
    pub fn claim(&mut self, name: &str) -> bool {
        self.used.insert(name.to_owned())
    }

    /// Takes this name, or the next free one with a number after it.
    pub fn allocate(&mut self, wanted: &str) -> String {
        let name = if self.used.contains(wanted) {
            (2..)
                .map(|number| format!("{wanted}_{number}"))
                .find(|name| !self.used.contains(name))
                .unwrap_or_default()
        } else {
            wanted.to_owned()
        };
        self.used.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_avoided() {
        assert_eq!(verilog_name("priority"), "priority_");
        assert_eq!(verilog_name("lanes$0$data"), "lanes_0_data");
    }

    #[test]
    fn types_give_readable_module_names() {
        assert_eq!(
            type_base_name("ferroce_rtl::fifo::SyncFifo<a::Beat, 16>"),
            "sync_fifo_beat_16"
        );
        assert_eq!(type_base_name("a::CRCMatrix"), "crc_matrix");
        assert_eq!(
            type_base_name("Skid<rust_hdl_core::bits::Bits<8>>"),
            "skid_bits_8"
        );
    }

    #[test]
    fn names_stay_unique() {
        let mut names = NameSpace::default();
        assert!(names.claim("a"));
        assert!(!names.claim("a"));
        assert_eq!(names.allocate("a"), "a_2");
        assert_eq!(names.allocate("a"), "a_3");
    }
}

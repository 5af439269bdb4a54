//! Tables for terminals and files.

use std::io::IsTerminal;

/// How a cell stands out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Not at all.
    Plain,
    /// As it should be.
    Good,
    /// Against a limit.
    Bad,
}

/// `text` in the colour of `tone`, when standard output is a terminal that wants colours.
pub fn paint(text: &str, tone: Tone) -> String {
    let wanted = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    match tone {
        Tone::Good if wanted => format!("\x1b[32m{text}\x1b[0m"),
        Tone::Bad if wanted => format!("\x1b[1;31m{text}\x1b[0m"),
        _ => text.to_owned(),
    }
}

/// Columns under a header line, two spaces apart.
#[derive(Debug, Clone)]
pub struct Table {
    /// Header and whether the column is one of numbers.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<(String, Tone)>>,
}

impl Table {
    /// An empty table; headers that begin with `>` head columns of numbers, which stand to the right.
    pub fn new(headers: &[&str]) -> Self {
        let column = |header: &&str| match header.strip_prefix('>') {
            Some(header) => (header.to_owned(), true),
            None => ((*header).to_owned(), false),
        };
        Self {
            columns: headers.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells that are missing at its end stay empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.toned(cells.into_iter().map(|cell| (cell.into(), Tone::Plain)));
    }

    /// Adds a row with tones.
    pub fn toned(&mut self, cells: impl IntoIterator<Item = (String, Tone)>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let cells = cells.map(|(text, _)| text.chars().count());
            cells.chain([self.columns[index].0.chars().count()]).max()
        };
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|index| width(index).unwrap_or(0))
            .collect();
        let header = self
            .columns
            .iter()
            .map(|(text, _)| (text.clone(), Tone::Plain));
        for row in std::iter::once(header.collect()).chain(self.rows.iter().cloned()) {
            let mut line = String::new();
            for (index, (text, tone)) in row.iter().enumerate() {
                let space = " ".repeat(widths[index].saturating_sub(text.chars().count()));
                let text = paint(text, *tone);
                let gap = if index == 0 { "" } else { "  " };
                line += &match self.columns[index].1 {
                    true => format!("{gap}{space}{text}"),
                    false => format!("{gap}{text}{space}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["name", ">size", "note"]);
        table.row(["a", "1", "x"]);
        table.row(["longer", "12345"]);
        assert_eq!(
            table.to_string(),
            "name     size  note\na           1  x\nlonger  12345\n"
        );
    }
}

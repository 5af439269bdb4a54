//! Progress on standard error; nothing where that is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line that moves while something of unknown length happens, and disappears afterwards.
pub fn spinner(what: impl Into<String>) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what.into());
    spinner.set_style(style("{spinner} {msg} {elapsed}"));
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// A bar of `length` steps, which disappears afterwards.
pub fn bar(length: u64, what: impl Into<String>) -> ProgressBar {
    let bar = ProgressBar::new(length).with_message(what.into());
    bar.set_style(style("{msg} [{bar:32}] {pos}/{len} {elapsed}"));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// A template is a constant of this file; a wrong one falls back to indicatif's own.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

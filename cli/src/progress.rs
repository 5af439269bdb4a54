//! Progress on standard error: lines that move on a terminal, else one line where something takes long.

use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often something long tells where it is, without a terminal.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// A line that moves while something of unknown length happens, and disappears afterwards.
pub fn spinner(what: impl Into<String>) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what.into());
    spinner.set_style(style("{spinner} {msg} {elapsed}"));
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// Something long that is under way until this is dropped.
pub struct Notice {
    spinner: ProgressBar,
    /// Closed when it is over.
    _running: Sender<()>,
}

impl Drop for Notice {
    fn drop(&mut self) {
        self.spinner.finish_and_clear();
    }
}

/// A spinner; without a terminal, `what` as a line once it has taken two seconds.
pub fn notice(what: &'static str) -> Notice {
    let (running, over) = channel::<()>();
    let spinner = spinner(what);
    if spinner.is_hidden() {
        std::thread::spawn(move || {
            if over.recv_timeout(Duration::from_secs(2)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{what}");
            }
        });
    }
    Notice {
        spinner,
        _running: running,
    }
}

/// A bar of `length` steps, which disappears afterwards.
pub fn bar(length: u64, what: impl Into<String>) -> ProgressBar {
    let bar = ProgressBar::new(length).with_message(what.into());
    bar.set_style(style("{msg} [{bar:32}] {pos}/{len} {elapsed}"));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// Position of something long: a bar, or without a terminal a line every ten seconds.
pub struct Progress {
    bar: ProgressBar,
    what: String,
    said: Instant,
}

impl Progress {
    /// At the beginning of `length` steps.
    pub fn new(length: u64, what: impl Into<String>) -> Self {
        let what = what.into();
        Self {
            bar: bar(length, what.clone()),
            what,
            said: Instant::now(),
        }
    }

    /// So many steps are done.
    pub fn at(&mut self, position: u64) {
        self.bar.set_position(position);
        if self.bar.is_hidden() && self.said.elapsed() >= SAY_EVERY {
            let length = self.bar.length().unwrap_or(0);
            eprintln!("{}: {position} of {length}", self.what);
            self.said = Instant::now();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A template is a constant of this file; a wrong one falls back to indicatif's own.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

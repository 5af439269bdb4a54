//! Standard output that may be closed early, as by `head`.

use std::io::{ErrorKind, Write};

/// Writes to standard output. Ends the program when nobody reads it any more.
pub fn write(text: std::fmt::Arguments<'_>) {
    let mut output = std::io::stdout().lock();
    if let Err(error) = output.write_fmt(text).and_then(|()| output.flush()) {
        if error.kind() != ErrorKind::BrokenPipe {
            eprintln!("error: can't write to standard output: {error}");
        }
        std::process::exit(1);
    }
}

/// `print!` by [`write`].
macro_rules! put {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

/// `println!` by [`write`].
macro_rules! say {
    () => { $crate::output::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::output::write(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {put, say};

//! Messages to the person at the terminal.

/// Prints a line to standard error, if it can be written: a program does not end because standard error is closed.
#[doc(hidden)]
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        use ::std::io::Write;
        let _ = ::std::writeln!(::std::io::stderr(), $($text)*);
    }};
}

//! What is said to the person at the terminal.

/// Prints a line to standard error, if it can be written: nobody's program ends because nobody can read what is said.
#[doc(hidden)]
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        use ::std::io::Write;
        let _ = ::std::writeln!(::std::io::stderr(), $($text)*);
    }};
}

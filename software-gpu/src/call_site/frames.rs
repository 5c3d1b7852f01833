//! Walking the stack, and the names of what is found there.
//!
//! Rust's standard library has both, compiled: the unwinder, and the symbols of `std::backtrace`. It shows them only as text, whose form may change:
//! the tests of stream_hazards, which expect lines in reports, would notice. The crate `backtrace` has an interface instead, and takes long to
//! compile; it serves where this unwinder is not to be had.

use std::path::PathBuf;

pub(super) use system::{Frames, walk};

/// The symbol at an address. Where functions were inlined, several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrameSymbol {
    pub(super) address: usize,
    pub(super) function: Option<String>,
    pub(super) file: PathBuf,
    pub(super) line: u32,
}

#[cfg(all(unix, target_pointer_width = "64"))]
mod system {
    use std::backtrace::Backtrace;
    use std::ffi::{c_int, c_void};
    use std::sync::Arc;

    use super::{FrameSymbol, parse};

    /// `_Unwind_Context`, which only the unwinder looks into.
    #[repr(C)]
    struct UnwindContext {
        _opaque: [u8; 0],
    }

    /// `_Unwind_Reason_Code`: continue, or stop.
    const NO_REASON: c_int = 0;
    const END_OF_STACK: c_int = 5;

    type Visit = extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int;

    unsafe extern "C" {
        fn _Unwind_Backtrace(visit: Visit, argument: *mut c_void) -> c_int;
        fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
        fn _Unwind_GetCFA(context: *mut UnwindContext) -> usize;
    }

    /// Calls `visit` with the return address and the stack pointer of each frame, the innermost first, until it returns false.
    pub(in super::super) fn walk<F: FnMut(usize, usize) -> bool>(mut visit: F) {
        extern "C" fn one<F: FnMut(usize, usize) -> bool>(
            context: *mut UnwindContext,
            visit: *mut c_void,
        ) -> c_int {
            // SAFETY: the unwinder passes what `walk` passed it, and no other reference is in use meanwhile.
            let visit = unsafe { &mut *visit.cast::<F>() };
            // SAFETY: the context of the present frame.
            let (address, stack) = unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
            if visit(address, stack) {
                NO_REASON
            } else {
                END_OF_STACK
            }
        }
        // SAFETY: the function takes this argument.
        unsafe { _Unwind_Backtrace(one::<F>, (&raw mut visit).cast()) };
    }

    /// The stack as the standard library remembers it.
    #[derive(Clone)]
    pub(in super::super) struct Frames(Arc<Backtrace>);

    impl Frames {
        /// The present ones. Their symbols are looked up on demand.
        pub(in super::super) fn here() -> Self {
            Self(Arc::new(Backtrace::force_capture()))
        }

        #[cfg(test)]
        pub(in super::super) fn none() -> Self {
            Self(Arc::new(Backtrace::disabled()))
        }

        /// The symbols at the addresses of these frames.
        pub(in super::super) fn symbols(&self, _: &[usize]) -> Vec<FrameSymbol> {
            parse(&format!("{:#}", self.0))
        }
    }
}

/// WebAssembly gives a program no way to walk its stack. The call site is the one that the program has
/// [noted](super::note), and its address is that of the note.
#[cfg(target_family = "wasm")]
mod system {
    use super::FrameSymbol;
    use crate::call_site::noted;
    use std::panic::Location;

    pub(in super::super) fn walk(mut visit: impl FnMut(usize, usize) -> bool) {
        if let Some(location) = noted() {
            visit(std::ptr::from_ref(location) as usize, 0);
        }
    }

    #[derive(Clone)]
    pub(in super::super) struct Frames(Option<&'static Location<'static>>);

    impl Frames {
        pub(in super::super) fn here() -> Self {
            Self(noted())
        }

        pub(in super::super) fn symbols(&self, addresses: &[usize]) -> Vec<FrameSymbol> {
            let symbol = |(address, location): (&usize, &Location<'_>)| FrameSymbol {
                address: *address,
                function: None,
                file: location.file().into(),
                line: location.line(),
            };
            addresses.iter().zip(self.0).map(symbol).collect()
        }
    }
}

#[cfg(not(any(target_family = "wasm", all(unix, target_pointer_width = "64"))))]
mod system {
    use super::FrameSymbol;

    pub(in super::super) fn walk(mut visit: impl FnMut(usize, usize) -> bool) {
        backtrace::trace(|frame| visit(frame.ip() as usize, frame.sp() as usize));
    }

    #[derive(Clone)]
    pub(in super::super) struct Frames;

    impl Frames {
        pub(in super::super) fn here() -> Self {
            Self
        }

        #[cfg(test)]
        pub(in super::super) fn none() -> Self {
            Self
        }

        pub(in super::super) fn symbols(&self, addresses: &[usize]) -> Vec<FrameSymbol> {
            let mut symbols = Vec::new();
            for &address in addresses {
                backtrace::resolve(address as *mut _, |symbol| {
                    if let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) {
                        symbols.push(FrameSymbol {
                            address,
                            function: symbol
                                .name()
                                .and_then(|name| name.as_str())
                                .map(str::to_owned),
                            file: file.to_owned(),
                            line,
                        });
                    }
                });
            }
            symbols
        }
    }
}

/// Reads `NUMBER: ADDRESS - FUNCTION`, and below it `at FILE:LINE:COLUMN` where that is known.
#[cfg_attr(not(all(unix, target_pointer_width = "64")), allow(dead_code))]
fn parse(text: &str) -> Vec<FrameSymbol> {
    let mut symbols = Vec::new();
    let mut frame = None;
    for line in text.lines().map(str::trim_start) {
        if let Some(place) = line.strip_prefix("at ") {
            if let (Some((address, function)), Some((file, line))) = (frame.take(), place_of(place))
            {
                symbols.push(FrameSymbol {
                    address,
                    function: Some(function),
                    file: file.into(),
                    line,
                });
            }
        } else if let Some((place, function)) = line.split_once(" - ") {
            let address = place.rsplit_once("0x").map(|(_, digits)| digits);
            let address = address.and_then(|digits| usize::from_str_radix(digits, 16).ok());
            frame = address.map(|address| (address, function.to_owned()));
        }
    }
    symbols
}

/// `FILE:LINE:COLUMN` or `FILE:LINE`.
fn place_of(place: &str) -> Option<(&str, u32)> {
    let (rest, last) = place.rsplit_once(':')?;
    let last = last.parse().ok()?;
    match rest
        .rsplit_once(':')
        .map(|(file, line)| (file, line.parse()))
    {
        Some((file, Ok(line))) => Some((file, line)),
        _ => Some((rest, last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inlined_functions_share_an_address_and_frames_may_have_no_line() {
        let text = "   0:     0x55f5344a73bb - demo::copy::{{closure}}::h59a4\n\
                    \x20                              at /home/me/a demo - new/src/main.rs:117:9\n\
                    \x20  1:     0x55f5344a73bb - <demo::Type as demo::Trait>::run\n\
                    \x20                              at C:\\demo\\main.rs:66\n\
                    \x20  2:     0x55f53448c86c - main\n\
                    \x20  3:     0x7f7ec992924a - __libc_start_call_main\n\
                    \x20                              at ./csu/../sysdeps/nptl/libc_start_call_main.h:58:16\n\
                    \x20  4:                0x0 - <unknown>\n";
        let symbol = |address, function: &str, file: &str, line| FrameSymbol {
            address,
            function: Some(function.to_owned()),
            file: file.into(),
            line,
        };
        let expected = [
            symbol(
                0x55f5_344a_73bb,
                "demo::copy::{{closure}}::h59a4",
                "/home/me/a demo - new/src/main.rs",
                117,
            ),
            symbol(
                0x55f5_344a_73bb,
                "<demo::Type as demo::Trait>::run",
                "C:\\demo\\main.rs",
                66,
            ),
            symbol(
                0x7f7e_c992_924a,
                "__libc_start_call_main",
                "./csu/../sysdeps/nptl/libc_start_call_main.h",
                58,
            ),
        ];
        assert_eq!(parse(text), expected);
    }
}

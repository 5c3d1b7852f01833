//! Libraries that are loaded at run time, where a system has any.

#[cfg(not(target_family = "wasm"))]
pub(crate) use libloading::{Library, Symbol};

#[cfg(target_family = "wasm")]
pub(crate) use absent::{Library, Symbol};

/// As `libloading`, on WebAssembly, where no library can be loaded.
#[cfg(target_family = "wasm")]
mod absent {
    use std::io::{Error, ErrorKind::Unsupported, Result};

    /// A loaded library. The type has no values.
    pub(crate) enum Library {}

    /// A function of a library.
    pub(crate) type Symbol<'library, T> = &'library T;

    impl Library {
        /// Fails.
        ///
        /// # Safety
        /// As `libloading`'s: this one loads nothing.
        pub(crate) unsafe fn new<P>(_path: P) -> Result<Self> {
            Err(Error::new(Unsupported, "WebAssembly loads no libraries"))
        }

        /// Never called.
        ///
        /// # Safety
        /// As `libloading`'s.
        pub(crate) unsafe fn get<T>(&self, _name: &[u8]) -> Result<Symbol<'_, T>> {
            match *self {}
        }
    }
}

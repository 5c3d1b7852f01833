//! WebAssembly has no libraries to load, so NVIDIA's driver is absent.

/// NVIDIA's driver, which no program in WebAssembly has.
pub(crate) enum Nvidia {}

impl Nvidia {
    /// Explains why there is no driver.
    pub(crate) fn start() -> Result<Self, String> {
        Err("WebAssembly has none".to_owned())
    }

    /// Never called.
    pub(crate) fn fill_slots(&self) {
        match *self {}
    }

    /// Never called.
    pub(crate) fn description(self) -> String {
        match self {}
    }
}

/// Never the case.
pub(crate) fn forwards_here() -> String {
    String::new()
}

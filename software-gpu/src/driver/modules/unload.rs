//! The end of a module while kernels of it may still be under way.
//!
//! Drivers wait then for all work of the context. No document says so: a program cannot count on the wait, and a kernel that it
//! has not waited for would lose its code. So the wait orders nothing for the checker, and is reported if there is such a kernel.

use crate::call_site::CallSite;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUmodule;
use crate::driver::host::call::Call;
use crate::driver::simulation::operation::{Effect, Operation};
use crate::driver::simulation::simulator::Simulator;
use crate::order::{Locate, called_from};
use crate::reports::{self, Kind};

impl Call {
    /// Waits for the work of the module's context, and removes the module.
    ///
    /// # Errors
    /// As for waiting; and the error that a kernel has left behind.
    pub(super) fn end_of_module(&mut self, module: CUmodule) -> Result<(), CudaError> {
        let context = self.modules.get(module)?.context;
        if self.ordering.is_on() {
            self.report_kernels_of(module)?;
        }
        let operations = self.operations_of(context)?;
        let wake_up = self.wake_up(context)?;
        self.linger(operations, wake_up)?;
        self.usable(context)?;
        self.unload(module)
    }
}

impl Simulator {
    /// Reports the kernels of the module that have not ended.
    fn report_kernels_of(&self, module: CUmodule) -> Result<(), CudaError> {
        let (module, site) = (self.modules.get(module)?, CallSite::here());
        for operation in self.operations.values() {
            if let Effect::Kernel(launch) = &operation.effect
                && module.has(launch.function)
            {
                report(launch.name(), operation, &site);
            }
        }
        Ok(())
    }
}

fn report(name: &str, operation: &Operation, unload: &CallSite) {
    let launch = operation.call_site.as_ref();
    let launched = launch.map_or(0, |site| site.identity());
    let key = format!("unload {name} {launched} {}", unload.identity());
    reports::add(Kind::Lifetime, key, vec![operation.correlation], || {
        let place = |site: &CallSite| {
            let line = site.locate();
            let line = line.map(|line| format!(" ({line})"));
            line.unwrap_or_default() + &called_from(site.callers())
        };
        let launched = launch.map(|site| place(site)).unwrap_or_default();
        format!(
            "lifetime: a module is unloaded while kernel `{name}` of it may still run\n  \
             kernel:  `{name}`{launched}\n  \
             unload:  cuModuleUnload or cuLibraryUnload{}\n  \
             missing: wait for the kernel before the module is unloaded (cuStreamSynchronize): no document says that unloading waits",
            place(unload)
        )
    });
}

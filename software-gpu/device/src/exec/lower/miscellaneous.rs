//! Fences, `nanosleep`, hints to the scheduler, and what ends a kernel with an error: `trap`, `brkpt`.

use crate::ptx::ir::{Instruction, Operand, Type};

use super::super::context::Context;
use super::super::cost::{Class, Weight, latency};
use super::super::fault::Fault;
use super::super::op::Op;
use super::super::warp_handlers::{Shape, plain_handler};
use super::memory_ordering::SCOPES;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    /// Refuses what `ptxas` knows only for targets of one architecture or family from `sm_90a` on.
    fn needs_one_architecture(&self, i: &Instruction) -> Result<()> {
        let target = &self.link.module.target;
        let is_generic = target.ends_with(|last: char| last.is_ascii_digit());
        match is_generic || target.as_str() < "sm_90" && !target.starts_with("sm_1") {
            false => Ok(()),
            true => {
                let message = format!(
                    "the target must be sm_90a or a later one with a letter and is {target}"
                );
                Err(self.malformed(i, message))
            }
        }
    }

    /// `membar`, `fence`, `griddepcontrol`, `setmaxnreg`, `nanosleep`, `trap`, `brkpt` and `pmevent`.
    pub fn miscellaneous(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        match i.opcode.as_str() {
            "membar" | "fence" => {
                let inside = m.take("cta") | m.take("cluster");
                m.ignore(&SCOPES);
                let of_mbarriers = m.take("mbarrier_init");
                m.ignore(&["gl", "sc", "acq_rel", "acquire", "release"]);
                // All accesses go the same way: what is between proxies is of interest to the checkers alone.
                let proxy = m.take("proxy");
                if !(inside || of_mbarriers || proxy) {
                    self.schedule.meets_others(self.latencies.release);
                }
                let of_async_proxy = proxy && m.take("async");
                if proxy {
                    m.ignore(&["alias", "async::generic", "tensormap::generic"]);
                    m.ignore(&["global", "shared::cta", "shared::cluster"]);
                    m.ignore(&[
                        "sync_restrict::shared::cta",
                        "sync_restrict::shared::cluster",
                    ]);
                }
                m.end()?;
                self.emit(plain_handler::<Fence>(), 0, [0; 3]);
                if of_async_proxy {
                    self.emit(plain_handler::<ProxyFence>(), 0, [0; 3]);
                }
                Ok(Weight::new(Class::Memory, 1, 0))
            }
            "griddepcontrol" => {
                let waits = m.take("wait");
                m.ignore(&["launch_dependents"]);
                m.end()?;
                self.totals.depends_on_grids = true;
                if waits {
                    self.emit(plain_handler::<WaitForGrids>(), 0, [0; 3]);
                } else {
                    self.emit(plain_handler::<LaunchDependents>(), 0, [0; 3]);
                }
                Ok(Weight::CONTROL)
            }
            // Registers are not a scarce resource here.
            "setmaxnreg" => {
                self.needs_one_architecture(i)?;
                m.ignore(&["inc", "dec", "sync", "aligned", "u32"]);
                m.end()?;
                match i.operands.as_slice() {
                    [Operand::Integer(count @ 24..=256)] if count.is_multiple_of(8) => {}
                    _ => return Err(self.malformed(i, "a multiple of 8 from 24 to 256 is needed")),
                }
                Ok(Weight::CONTROL)
            }
            "nanosleep" => {
                m.take("u32");
                m.end()?;
                let time = self.operand(i, 0)?;
                let time = self.source(i, time, Type::U32)?;
                self.emit(plain_handler::<Sleep>(), 0, [time, 0, 0]);
                Ok(Weight::CONTROL)
            }
            "pmevent" => Ok(Weight::CONTROL),
            _ => {
                m.end()?;
                self.emit_with(plain_handler::<Trap>(), 0, [0; 3], i.line);
                Ok(Weight::new(Class::Control, 1, latency::BRANCH))
            }
        }
    }
}

struct Fence;

impl Shape for Fence {
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        if let Some(watch) = &mut cx.watch {
            watch.fence(cx.warp);
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

struct ProxyFence;

impl Shape for ProxyFence {
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        if let Some(watch) = &mut cx.watch {
            watch.proxy_fence(cx.warp);
        }
    }
}

struct WaitForGrids;

impl Shape for WaitForGrids {
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        if let Some(watch) = &mut cx.watch {
            watch.grids_waited(cx.warp, cx.mask);
        }
    }
}

struct LaunchDependents;

impl Shape for LaunchDependents {
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        if let Some(watch) = &mut cx.watch {
            watch.dependents_launched(cx.warp);
        }
    }
}

/// The longest that `nanosleep` sleeps, in nanoseconds.
const LONGEST_SLEEP: u32 = 1_000_000;

struct Sleep;

impl Shape for Sleep {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made `a` a row of 32-bit cells.
        let times = unsafe { &*cx.row::<u32>(op.a) };
        let nanoseconds = cx.lanes().map(|lane| times[lane]).max().unwrap_or(0);
        let nanoseconds = nanoseconds.min(LONGEST_SLEEP);
        cx.cycles += (f64::from(nanoseconds) * cx.grid.clock_mhz / 1000.0) as u64;
    }
}

struct Trap;

impl Shape for Trap {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        if let Some(lane) = cx.lanes().next() {
            cx.fail(lane as u32, op.x, |place| Fault::Trap { place });
        }
    }
}

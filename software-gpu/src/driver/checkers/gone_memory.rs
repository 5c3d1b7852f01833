//! Copies and memsets whose memory was freed before they run.
//!
//! A node of a graph keeps the addresses that it was made with; the memory has to exist whenever the graph runs
//! (CUDA programming guide, "CUDA Graphs"). What was freed or unregistered before is no address of the device any more:
//! the context fails with `CUDA_ERROR_ILLEGAL_ADDRESS`. So it does for pageable memory that the program has given back to
//! the operating system; memory that the C library keeps for its next allocation cannot be distinguished from memory in use.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::written_memory::count;
use crate::activity;
use crate::call_site::CallSite;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::simulation::operation::{Copy, Effect, NodeOrigin, Operation, Place, Set, Side};
use crate::driver::simulation::simulator::Simulator;
use crate::memory::is_device_address;
use crate::order::Locate;
use crate::reports::{self, Kind, ReportMode};

/// Only this many frees are remembered, the latest ones.
const REMEMBERED: usize = 4096;

/// Where memory was freed, for messages.
#[derive(Debug, Default)]
pub(in crate::driver) struct Frees(VecDeque<Free>);

#[derive(Debug)]
struct Free {
    call: &'static str,
    range: Range<u64>,
    site: Arc<CallSite>,
}

impl Frees {
    /// The latest free of memory that `address` was in.
    fn find(&self, address: u64) -> Option<&Free> {
        let latest_first = self.0.iter().rev();
        latest_first
            .into_iter()
            .find(|free| free.range.contains(&address))
    }
}

/// What a copy or a memset does with the side whose memory was freed.
struct Loss {
    side: Side,
    what: &'static str,
}

impl Simulator {
    /// Where a node that is made now comes from.
    pub(in crate::driver) fn node_origin(&self) -> NodeOrigin {
        let call_site = self.call_site();
        NodeOrigin { call_site }
    }

    /// The call has freed `bytes` bytes at `address`, or has unregistered them.
    pub(in crate::driver) fn note_free(&mut self, call: &'static str, address: u64, bytes: usize) {
        let Some(site) = self.call_site() else { return };
        let frees = &mut self.frees.0;
        if frees.len() == REMEMBERED {
            frees.pop_front();
        }
        let range = address..address.saturating_add(bytes as u64);
        frees.push_back(Free { call, range, site });
    }

    /// Whether memory of the operation, which is about to land, is gone. Then that is reported, and its context fails.
    pub(in crate::driver) fn memory_is_gone(&mut self, operation: &Operation) -> bool {
        if self.finishing {
            return false;
        }
        let lost = match &operation.effect {
            Effect::Copy(copy) => self.lost_by_copy(copy),
            Effect::Set(set) => self.lost_by_set(set),
            _ => None,
        };
        let Some(loss) = lost else { return false };
        self.report_loss(operation, &loss);
        self.poison(operation.context, CudaError::IllegalAddress);
        true
    }

    fn lost_by_copy(&self, copy: &Copy) -> Option<Loss> {
        let probes = copy.node.is_some();
        if copy.staged.is_none() && self.is_gone(copy.from, probes) {
            let what = "a copy reads";
            return Some(Loss {
                side: copy.from,
                what,
            });
        }
        let what = "a copy writes";
        let side = copy.to;
        self.is_gone(side, probes).then_some(Loss { side, what })
    }

    fn lost_by_set(&self, set: &Set) -> Option<Loss> {
        let (place, rows) = (set.to, set.rows);
        let side = Side { place, rows };
        let what = "a memset writes";
        let freed = matches!(place, Place::Mapped(address) if self.frees.find(address).is_some());
        self.is_gone(side, freed).then_some(Loss { side, what })
    }

    /// Whether a side's memory is gone. Pageable memory is examined only if `probes` is set, for nodes of graphs: other calls have returned
    /// before the program can free it. Device memory that a pool has released may still be in use by them: a free in stream order that is not ordered
    /// behind them is a race, and their own report names it.
    fn is_gone(&self, side: Side, probes: bool) -> bool {
        let bytes = side.rows.span().unwrap_or(0);
        match side.place {
            Place::Mapped(address) => {
                self.memory.storage(address, bytes).is_none()
                    && (probes || !is_device_address(address) || self.frees.find(address).is_some())
            }
            Place::Pageable(address) => probes && !is_mapped_by_system(address, bytes),
        }
    }

    fn report_loss(&mut self, operation: &Operation, loss: &Loss) {
        let text = self.loss_in_words(operation, loss);
        let site = operation.call_site.as_ref();
        let key = format!(
            "gone {} {}",
            loss.what,
            site.map_or(0, |site| site.identity())
        );
        if reports::mode() == ReportMode::Off {
            crate::say!("software GPU: {text}");
        }
        reports::add(Kind::Lifetime, key, vec![operation.correlation], || {
            text.clone()
        });
        activity::log::failed(&text);
        self.last_fault = Some(text);
    }

    fn loss_in_words(&self, operation: &Operation, loss: &Loss) -> String {
        let address = match loss.side.place {
            Place::Mapped(address) => address,
            Place::Pageable(address) => address as u64,
        };
        let bytes = count(loss.side.rows.bytes().unwrap_or(0) as u64);
        let free = self.frees.find(address);
        let kind = match (loss.side.place, free.map(|free| free.call)) {
            (Place::Pageable(_), _) => "host memory that the program has given back",
            (_, Some("cuMemHostUnregister")) => "host memory that was unregistered",
            _ if is_device_address(address) => "device memory that was freed",
            _ => "page-locked host memory that was freed",
        };
        let freed = free.map_or_else(
            || "not by the driver".to_owned(),
            |free| {
                let length = count(free.range.end - free.range.start);
                format!("{} of {length}{}", free.call, at(Some(&free.site)))
            },
        );
        let node = match &operation.effect {
            Effect::Copy(copy) => copy.node.as_ref(),
            _ => None,
        };
        let asked = at(operation.call_site.as_deref());
        let node = match node {
            Some(node) => format!(
                "node of a graph{}, launched{asked}",
                at(node.call_site.as_deref())
            ),
            None => format!("call{asked}"),
        };
        format!(
            "lifetime: {} {kind}\n  memory:  {bytes} at {address:#x}\n  used by: {node}\n  freed:   {freed}\n  missing: keep \
             the memory until the last launch has ended, or give the node another address \
             (cuGraphExecMemcpyNodeSetParams)",
            loss.what
        )
    }
}

/// ` (main.c:12)`, where the line is known.
fn at(site: Option<&CallSite>) -> String {
    let line = site.and_then(Locate::locate);
    line.map_or_else(String::new, |line| format!(" ({line})"))
}

/// Whether the operating system has memory at all of these addresses. `msync` says so without touching them.
#[cfg(unix)]
fn is_mapped_by_system(address: usize, bytes: usize) -> bool {
    use std::ffi::{c_int, c_void};

    /// The same on Linux and macOS: nothing is written, and nothing is waited for.
    const MS_ASYNC: c_int = 1;
    /// Pages are at most this long.
    const PAGE: usize = 1 << 16;
    unsafe extern "C" {
        fn msync(address: *mut c_void, bytes: usize, flags: c_int) -> c_int;
        fn getpagesize() -> c_int;
    }
    // SAFETY: it has no conditions.
    let page = usize::try_from(unsafe { getpagesize() })
        .unwrap_or(PAGE)
        .max(1);
    let start = address - address % page;
    // SAFETY: an address without memory is an error that the call returns.
    unsafe { msync(start as *mut c_void, address - start + bytes, MS_ASYNC) == 0 }
}

/// Other systems offer no such query.
#[cfg(not(unix))]
fn is_mapped_by_system(_: usize, _: usize) -> bool {
    true
}

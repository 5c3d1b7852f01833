//! The frees of a pool whose end the host has not seen yet.

use std::collections::{BTreeMap, BTreeSet};

use super::segments::FreePoint;
use crate::driver::c_abi::types::CUstream;
use crate::timeline::OpId;

/// By the streams that free.
#[derive(Debug, Default)]
pub(in crate::driver) struct UnseenFrees(BTreeMap<CUstream, OfStream>);

#[derive(Debug, Default)]
struct OfStream {
    /// Operations, and the addresses and sizes that they free.
    by_operation: BTreeSet<(OpId, u64, u64)>,
    /// Sizes and addresses.
    by_size: BTreeSet<(u64, u64)>,
}

impl UnseenFrees {
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, by: FreePoint, address: u64, bytes: u64) {
        let frees = self.0.entry(by.stream).or_default();
        frees.by_operation.insert((by.op, address, bytes));
        frees.by_size.insert((bytes, address));
    }

    pub(super) fn remove(&mut self, by: FreePoint, address: u64, bytes: u64) {
        let Some(frees) = self.0.get_mut(&by.stream) else {
            return;
        };
        frees.by_operation.remove(&(by.op, address, bytes));
        frees.by_size.remove(&(bytes, address));
        if frees.by_size.is_empty() {
            self.0.remove(&by.stream);
        }
    }

    /// The largest one in that stream.
    pub(super) fn largest(&self, stream: CUstream) -> Option<u64> {
        let (bytes, _) = self.0.get(&stream)?.by_size.last()?;
        Some(*bytes)
    }

    /// The last one in each stream.
    pub(super) fn last(&self) -> impl Iterator<Item = FreePoint> + '_ {
        self.0.iter().filter_map(|(stream, frees)| {
            let (op, ..) = frees.by_operation.last()?;
            Some(FreePoint {
                stream: *stream,
                op: *op,
            })
        })
    }

    /// The addresses and sizes of those that `seen` is true of, in rising order.
    pub(super) fn seen(&self, seen: impl Fn(&FreePoint) -> bool) -> Vec<(u64, u64)> {
        let frees = self.0.iter().flat_map(|(stream, frees)| {
            let of_stream = frees.by_operation.iter();
            of_stream.map(|(op, address, bytes)| {
                let stream = *stream;
                (FreePoint { stream, op: *op }, (*address, *bytes))
            })
        });
        let mut found: Vec<_> = frees
            .filter(|(by, _)| seen(by))
            .map(|(_, place)| place)
            .collect();
        found.sort_unstable();
        found
    }
}

//! One memory pool: its properties, its attributes and its memory.

use std::collections::BTreeSet;
use std::ffi::c_uint;

use super::order::Reach;
use super::segments::{FreePoint, Rank, Segments};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUstream;
use crate::timeline::OpId;

/// Pools reserve device memory in multiples of this many bytes.
pub(in crate::driver) const CHUNK: u64 = 32 << 20;

/// What a pool was created for.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct Properties {
    /// The ordinal of the device that its memory is on.
    pub(in crate::driver) device: usize,
    /// `CUmemAllocationHandleType`s: how its allocations may be given to other processes.
    pub(in crate::driver) handle_types: c_uint,
    /// The largest reservation in bytes; 0 for no other limit than the device's memory.
    pub(in crate::driver) max_bytes: u64,
}

/// `CUmemPool_attribute` of CUDA 13.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Attribute {
    FollowEventDependencies,
    AllowOpportunistic,
    AllowInternalDependencies,
    ReleaseThreshold,
    ReservedCurrent,
    ReservedHigh,
    UsedCurrent,
    UsedHigh,
}

impl Attribute {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an unknown attribute.
    pub(in crate::driver) fn from_number(number: c_uint) -> Result<Self, CudaError> {
        Ok(match number {
            1 => Self::FollowEventDependencies,
            2 => Self::AllowOpportunistic,
            3 => Self::AllowInternalDependencies,
            4 => Self::ReleaseThreshold,
            5 => Self::ReservedCurrent,
            6 => Self::ReservedHigh,
            7 => Self::UsedCurrent,
            8 => Self::UsedHigh,
            _ => return Err(CudaError::InvalidValue),
        })
    }

    /// Whether its type in C is `int`; the others are `cuuint64_t`.
    pub(in crate::driver) fn is_switch(self) -> bool {
        matches!(
            self,
            Self::FollowEventDependencies
                | Self::AllowOpportunistic
                | Self::AllowInternalDependencies
        )
    }
}

/// Which memory of frees in other streams may be used again.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct ReuseRules {
    follow_event_dependencies: bool,
    allow_opportunistic: bool,
    allow_internal_dependencies: bool,
}

impl Default for ReuseRules {
    fn default() -> Self {
        Self {
            follow_event_dependencies: true,
            allow_opportunistic: true,
            allow_internal_dependencies: true,
        }
    }
}

impl ReuseRules {
    /// How good the memory of a free is for an allocation in `stream`, which comes after all of `reach`.
    pub(in crate::driver) fn rank(
        self,
        free: &FreePoint,
        stream: CUstream,
        reach: &Reach,
        is_complete: impl Fn(OpId) -> bool,
    ) -> Option<Rank> {
        if free.stream == stream {
            Some(Rank::Available)
        } else if self.follow_event_dependencies && reach.covers(free) {
            Some(Rank::Ordered)
        } else if self.allow_opportunistic && is_complete(free.op) {
            Some(Rank::Complete)
        } else {
            self.allow_internal_dependencies.then_some(Rank::Pending)
        }
    }
}

/// One memory pool.
#[derive(Debug)]
pub(in crate::driver) struct Pool {
    pub(in crate::driver) properties: Properties,
    /// The program has destroyed it: it lasts until its last allocation is freed.
    pub(in crate::driver) destroyed: bool,
    /// Other devices that may use its memory.
    pub(in crate::driver) peers: BTreeSet<usize>,
    pub(in crate::driver) memory: Segments,
    pub(in crate::driver) rules: ReuseRules,
    release_threshold: u64,
    reserved_high: u64,
    used_high: u64,
}

impl Pool {
    pub(in crate::driver) fn new(properties: Properties) -> Self {
        Self {
            properties,
            destroyed: false,
            peers: BTreeSet::new(),
            memory: Segments::default(),
            rules: ReuseRules::default(),
            release_threshold: 0,
            reserved_high: 0,
            used_high: 0,
        }
    }

    /// Whether a device may access its memory: its own device always may.
    pub(in crate::driver) fn accessible_from(&self, device: usize) -> bool {
        device == self.properties.device || self.peers.contains(&device)
    }

    /// The value of an attribute; switches are 0 or 1.
    pub(in crate::driver) fn attribute(&self, attribute: Attribute) -> u64 {
        match attribute {
            Attribute::FollowEventDependencies => self.rules.follow_event_dependencies.into(),
            Attribute::AllowOpportunistic => self.rules.allow_opportunistic.into(),
            Attribute::AllowInternalDependencies => self.rules.allow_internal_dependencies.into(),
            Attribute::ReleaseThreshold => self.release_threshold,
            Attribute::ReservedCurrent => self.memory.reserved(),
            Attribute::ReservedHigh => self.reserved_high,
            Attribute::UsedCurrent => self.memory.used(),
            Attribute::UsedHigh => self.used_high,
        }
    }

    /// Sets an attribute. The high-water marks can be reset only, by 0; they then start from what is current.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what cannot be set, or not to this value.
    pub(in crate::driver) fn set_attribute(
        &mut self,
        attribute: Attribute,
        value: u64,
    ) -> Result<(), CudaError> {
        match (attribute, value) {
            (Attribute::FollowEventDependencies, _) => {
                self.rules.follow_event_dependencies = value != 0
            }
            (Attribute::AllowOpportunistic, _) => self.rules.allow_opportunistic = value != 0,
            (Attribute::AllowInternalDependencies, _) => {
                self.rules.allow_internal_dependencies = value != 0;
            }
            (Attribute::ReleaseThreshold, _) => self.release_threshold = value,
            (Attribute::ReservedHigh, 0) => self.reserved_high = self.memory.reserved(),
            (Attribute::UsedHigh, 0) => self.used_high = self.memory.used(),
            _ => return Err(CudaError::InvalidValue),
        }
        Ok(())
    }

    /// The chunk to reserve for an allocation of `bytes` bytes, if the pool may grow by it.
    pub(in crate::driver) fn next_chunk(&self, bytes: u64) -> Option<u64> {
        let chunk = bytes.checked_next_multiple_of(CHUNK)?;
        let after = self.memory.reserved().checked_add(chunk)?;
        let limit = match self.properties.max_bytes {
            0 => u64::MAX,
            limit => limit.checked_next_multiple_of(CHUNK).unwrap_or(limit),
        };
        (after <= limit).then_some(chunk)
    }

    /// Raises the high-water marks to what is current.
    pub(in crate::driver) fn note_high(&mut self) {
        self.reserved_high = self.reserved_high.max(self.memory.reserved());
        self.used_high = self.used_high.max(self.memory.used());
    }

    /// A synchronisation makes the pool give memory back while it has reserved more than this many bytes.
    pub(in crate::driver) fn releases_above(&self) -> u64 {
        if self.destroyed {
            0
        } else {
            self.release_threshold
        }
    }

    /// Whether an allocation in `stream`, which comes after all of `reach`, makes the driver query the progress of other
    /// streams: when they have freed memory that the rules allow to reuse, unless the stream's own frees suffice.
    pub(in crate::driver) fn searches(&self, bytes: u64, stream: CUstream, reach: &Reach) -> bool {
        let ReuseRules {
            follow_event_dependencies,
            allow_opportunistic,
            ..
        } = self.rules;
        let is_unknown = |by: &FreePoint| {
            by.stream != stream && !(follow_event_dependencies && reach.covers(by))
        };
        let unseen = self.memory.unseen();
        allow_opportunistic
            && unseen.last().any(|by| is_unknown(&by))
            && unseen.largest(stream).is_none_or(|freed| freed < bytes)
    }

    /// Whether the pool can give memory back. Pools whose memory other processes may have imported cannot.
    pub(in crate::driver) fn can_release(&self) -> bool {
        self.properties.handle_types == 0 || self.destroyed
    }
}

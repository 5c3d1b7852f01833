//! Whether a pool gives freed memory to an allocation, with a policy of reuse and without.

use crate::expect::truth;
use crate::part::Part;
use crate::table::Table;
use cuda_host::pool::Reuse;
use cust::error::{CudaError, CudaResult};
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};
use cust::stream::Stream;
use std::fmt;

/// What an allocation gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// The memory that was freed before.
    Freed,
    /// Other memory.
    Other,
    /// None: the pool is full.
    Nothing,
    /// The driver does not limit pools: none is ever full.
    NeverFull,
}

impl Given {
    /// What an allocation gave, after memory at this address had been freed. It is freed again, in `stream`.
    ///
    /// # Errors
    /// Those of the allocation, but for memory that is not there, and of the free.
    pub fn by<T: DeviceCopy>(
        allocated: CudaResult<DeviceBuffer<T>>,
        freed: DevicePointer<T>,
        stream: &Stream,
    ) -> CudaResult<Self> {
        let memory = match allocated {
            Err(CudaError::OutOfMemory) => return Ok(Self::Nothing),
            allocated => allocated?,
        };
        let given = Self::at(memory.as_device_ptr(), freed);
        memory.drop_async(stream)?;
        Ok(given)
    }

    /// What an allocation gave that begins at `address`, after memory at `freed` had been freed.
    pub fn at<T: DeviceCopy>(address: DevicePointer<T>, freed: DevicePointer<T>) -> Self {
        if address.as_raw() == freed.as_raw() {
            Self::Freed
        } else {
            Self::Other
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Freed => "the freed memory",
            Self::Other => "other memory",
            Self::Nothing => "out of memory",
            Self::NeverFull => "(no limited pools)",
        })
    }
}

/// A free, and an allocation after it.
pub struct Case<'c> {
    id: &'static str,
    name: &'static str,
    policy: Option<Reuse>,
    without: Option<Given>,
    body: Body<'c>,
}

type Body<'c> = Box<dyn Fn(&[Reuse]) -> anyhow::Result<Given> + 'c>;

/// A case in which the allocation gives the freed memory. `body` runs it with a pool of these policies.
pub fn case<'c>(
    id: &'static str,
    name: &'static str,
    body: impl Fn(&[Reuse]) -> anyhow::Result<Given> + 'c,
) -> Case<'c> {
    Case {
        id,
        name,
        policy: None,
        without: None,
        body: Box::new(body),
    }
}

impl Case<'_> {
    /// It takes this policy.
    pub fn policy(mut self, policy: Reuse) -> Self {
        self.policy = Some(policy);
        self
    }

    /// With no policy the allocation gives this. Where the driver may do what it likes nothing is claimed.
    pub fn without(mut self, given: Given) -> Self {
        self.without = Some(given);
        self
    }
}

impl Part<'_> {
    /// Runs each case with its policy alone and with none, prints what the allocations gave, and claims it.
    ///
    /// # Errors
    /// What a case returns.
    pub fn reuse<'c>(&mut self, cases: impl IntoIterator<Item = Case<'c>>) -> anyhow::Result<()> {
        let titles = [
            "another stream allocates",
            "policy",
            "with it alone",
            "with none",
        ];
        let (mut table, mut all) = (Table::new(titles), Vec::new());
        for case in cases {
            let (with, without) = ((case.body)(case.policy.as_slice())?, (case.body)(&[])?);
            let policy = case
                .policy
                .map_or("-".to_owned(), |policy| policy.to_string());
            table.row([case.name, &policy, &with.to_string(), &without.to_string()]);
            all.push((case, with, without));
        }
        self.say(table);
        for (case, with, without) in all {
            if with == Given::NeverFull {
                continue;
            }
            let Case {
                id, name, policy, ..
            } = case;
            let words = policy.map_or("no policy".to_owned(), |policy| policy.to_string());
            let freed = Given::Freed;
            let expected = truth(with == freed, with, freed);
            self.expect(format!("reuse/{id}"), &format!("{words}: {name}"), expected);
            if let (Some(_), Some(given)) = (policy, case.without) {
                let sentence = format!("not {words}: {name}");
                let expected = truth(without == given, without, given);
                self.expect(format!("no-reuse/{id}"), &sentence, expected);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_allocation_gave_is_known_by_its_address() {
        let (freed, other) = (DevicePointer::<u8>::from_raw(512), Given::Other);
        let _device = crate::device::Device::open(libcuda::Choice::Software).unwrap();
        let [stream] = cuda_host::stream::named(["s"]).unwrap();
        // SAFETY: the memory is not used.
        let allocated = || unsafe { DeviceBuffer::<u8>::uninitialized_async(1, &stream) };
        assert_eq!(Given::by(allocated(), freed, &stream), Ok(other));
        let nothing = Err(CudaError::OutOfMemory);
        assert_eq!(Given::by(nothing, freed, &stream), Ok(Given::Nothing));
        assert!(Given::by(Err(CudaError::InvalidValue), freed, &stream).is_err());
    }
}

//! Who gets memory that a stream has freed: the three policies, each with and without it.

use crate::kernels::Kernels;
use examples_host::prelude::*;
use gpu_kernels::SM_70;

/// Bytes of each allocation: two of them do not fit into what a pool reserves for one.
const BYTES: usize = 64 << 20;
/// Half a millisecond or more: longer than any of the calls.
const BUSY: u32 = 1 << 18;

/// What lies between the free in the first stream and the allocation in the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    /// Both are in the same stream.
    SameStream,
    /// The second stream waits for an event behind the free.
    Event,
    /// Nothing but time: the free is over.
    Time,
    /// The free is pending, and the pool must not grow.
    NoMemory,
}

/// What came of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    TheSame,
    Other,
    OutOfMemory,
}

impl Got {
    fn name(self) -> &'static str {
        match self {
            Self::TheSame => "the freed memory",
            Self::Other => "other memory",
            Self::OutOfMemory => "out of memory",
        }
    }
}

struct Case {
    between: Between,
    name: &'static str,
    policy: Option<Reuse>,
    with: Got,
    without: Got,
}

const CASES: [Case; 4] = [
    Case {
        between: Between::SameStream,
        name: "the same stream, free pending",
        policy: None,
        with: Got::TheSame,
        without: Got::TheSame,
    },
    Case {
        between: Between::Event,
        name: "behind an event, free pending",
        policy: Some(Reuse::FollowEventDependencies),
        with: Got::TheSame,
        without: Got::Other,
    },
    Case {
        between: Between::Time,
        name: "no order, free over by luck",
        policy: Some(Reuse::AllowOpportunistic),
        with: Got::TheSame,
        without: Got::Other,
    },
    Case {
        between: Between::NoMemory,
        name: "no order, free pending, pool full",
        policy: Some(Reuse::AllowInternalDependencies),
        with: Got::TheSame,
        without: Got::OutOfMemory,
    },
];

/// The cases, and what is claimed of them.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let scene = Scene::new(part.device())?;
    let mut table = Table::new([
        "another stream allocates",
        "policy",
        "with it alone",
        "with none",
    ]);
    let mut claims = Vec::new();
    for case in CASES {
        let with = scene.got(case.between, case.policy.as_slice())?;
        let without = scene.got(case.between, &[])?;
        let policy = case
            .policy
            .map_or("-".to_owned(), |policy| policy.to_string());
        table.row([case.name, &policy, with.name(), without.name()]);
        let holds = (with, without) == (case.with, case.without);
        claims.push((case, holds, with, without));
    }
    part.say(table);
    for (case, holds, with, without) in claims {
        let sentence = match case.policy {
            Some(policy) => format!("{policy}: this policy decides"),
            None => "a stream gets what it has freed itself, whatever the policies".to_owned(),
        };
        let found = format!("{}, {}", with.name(), without.name());
        let limit = format!(
            "{} with it, {} without",
            case.with.name(),
            case.without.name()
        );
        part.claim(&sentence, holds, found, limit);
    }
    Ok(())
}

/// Two streams, and what keeps the first busy.
struct Scene {
    device: Device,
    first: Stream,
    second: Stream,
    kernels: Kernels,
}

impl Scene {
    fn new(device: &Device) -> anyhow::Result<Self> {
        let scene = Self {
            device: device.clone(),
            first: Stream::non_blocking(device, "first")?,
            second: Stream::non_blocking(device, "second")?,
            kernels: Kernels::load(device, SM_70)?,
        };
        // The driver may load a kernel when it is first launched, and wait for the device then.
        scene.keep_busy(1)?;
        device.synchronize()?;
        Ok(scene)
    }

    fn keep_busy(&self, steps: u32) -> Result<()> {
        let mut any = DeviceBuffer::from_pool(&self.first, 32)?;
        any.poison()?;
        self.kernels.keep_busy(&mut any, steps)
    }

    /// What the second stream gets when the first has freed memory of a pool with these policies.
    fn got(&self, between: Between, policies: &[Reuse]) -> anyhow::Result<Got> {
        let (first, second) = match between {
            Between::SameStream => (&self.first, &self.first),
            _ => (&self.first, &self.second),
        };
        let pool = match between {
            Between::NoMemory => MemoryPool::limited_to(&self.device, BYTES)?,
            _ => MemoryPool::new(&self.device)?,
        };
        pool.allow_only(policies)?;
        pool.set_release_threshold(u64::MAX)?;

        let memory = pool.allocate::<u8>(first, BYTES)?;
        let address = memory.address();
        self.keep_busy(BUSY)?;
        drop(memory);
        match between {
            Between::Event => second.wait_for(first)?,
            // Asked, and not waited for: the pool is not told that the free is over.
            Between::Time => while !first.is_idle()? {},
            Between::SameStream | Between::NoMemory => {}
        }
        let got = match pool.allocate::<u8>(second, BYTES) {
            Ok(memory) if memory.address() == address => Got::TheSame,
            Ok(_) => Got::Other,
            Err(error) if error.is_out_of_memory() => Got::OutOfMemory,
            Err(error) => return Err(error.into()),
        };
        self.device.synchronize()?;
        Ok(got)
    }
}

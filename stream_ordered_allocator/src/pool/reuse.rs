//! Who gets memory that a stream has freed: the three policies, each with and without it.

use crate::kernels::Kernels;
use examples_host::prelude::*;
use gpu_kernels::SM_70;

/// Bytes of each allocation: two of them do not fit into what a pool reserves for one.
const BYTES: usize = 64 << 20;
/// Bytes of a pool that is to be full.
const LIMIT: usize = 2 * BYTES;
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

/// What came of an allocation, in the second stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    TheSame,
    Other,
    OutOfMemory,
    /// The driver cannot limit pools, so none is full.
    NeverFull,
}

impl Got {
    fn name(self) -> &'static str {
        match self {
            Self::TheSame => "the freed memory",
            Self::Other => "other memory",
            Self::OutOfMemory => "out of memory",
            Self::NeverFull => "(no limited pools)",
        }
    }
}

struct Case {
    id: &'static str,
    between: Between,
    name: &'static str,
    policy: Option<Reuse>,
    with: Got,
    /// `None` where the driver may do what it likes: then it is shown and not claimed.
    without: Option<Got>,
}

const CASES: [Case; 4] = [
    Case {
        id: "same-stream",
        between: Between::SameStream,
        name: "the same stream, free pending",
        policy: None,
        with: Got::TheSame,
        without: Some(Got::TheSame),
    },
    Case {
        id: "event",
        between: Between::Event,
        name: "behind an event, free pending",
        policy: Some(Reuse::FollowEventDependencies),
        with: Got::TheSame,
        without: Some(Got::Other),
    },
    Case {
        id: "opportunistic",
        between: Between::Time,
        name: "no order, free over by luck",
        policy: Some(Reuse::AllowOpportunistic),
        with: Got::TheSame,
        without: None,
    },
    Case {
        id: "internal",
        between: Between::NoMemory,
        name: "no order, free pending, pool full",
        policy: Some(Reuse::AllowInternalDependencies),
        with: Got::TheSame,
        without: Some(Got::OutOfMemory),
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
    let mut found = Vec::new();
    for case in &CASES {
        let with = scene.got(case.between, case.policy.as_slice())?;
        let without = scene.got(case.between, &[])?;
        let policy = case
            .policy
            .map_or("-".to_owned(), |policy| policy.to_string());
        table.row([case.name, &policy, with.name(), without.name()]);
        found.push((with, without));
    }
    part.say(table);
    for (case, (with, without)) in CASES.iter().zip(found) {
        if with != Got::NeverFull {
            case.judge(part, with, without);
        }
    }
    Ok(())
}

impl Case {
    fn judge(&self, part: &mut Part, with: Got, without: Got) {
        let name = self
            .policy
            .map_or("no policy".to_owned(), |policy| policy.to_string());
        let sentence = format!("{name}: {}", self.name);
        let expected = self.with.name();
        part.claim(
            format!("reuse/{}", self.id),
            &sentence,
            with == self.with,
            with.name(),
            expected,
        );
        if let (Some(_), Some(expected)) = (self.policy, self.without) {
            let sentence = format!("not {name}: {}", self.name);
            part.claim(
                format!("no-reuse/{}", self.id),
                &sentence,
                without == expected,
                without.name(),
                expected.name(),
            );
        }
    }
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
            // Drivers before CUDA 12.2 refuse the limit.
            Between::NoMemory => match MemoryPool::limited_to(&self.device, LIMIT) {
                Ok(pool) => pool,
                Err(_) => return Ok(Got::NeverFull),
            },
            _ => MemoryPool::new(&self.device)?,
        };
        pool.allow_only(policies)?;
        pool.set_release_threshold(u64::MAX)?;

        let memory = pool.allocate::<u8>(first, BYTES)?;
        let address = memory.address();
        let filled = match between {
            Between::NoMemory => fill(&pool, first)?,
            _ => Some(Vec::new()),
        };
        let Some(_others) = filled else {
            return Ok(Got::NeverFull);
        };
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

/// Allocates until the pool has no memory left; `None` when it gives more than its limit.
fn fill(pool: &MemoryPool, stream: &Stream) -> Result<Option<Vec<DeviceBuffer<u8>>>> {
    let mut all = Vec::new();
    // A driver may round the limit up.
    for _ in 0..4 * LIMIT / BYTES {
        match pool.allocate(stream, BYTES) {
            Ok(one) => all.push(one),
            Err(error) if error.is_out_of_memory() => return Ok(Some(all)),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

//! A host thread in front of a timeline: submits at the pace of the profile's host figures, then runs to the end.

use std::collections::BTreeMap;

use software_gpu::timeline::profile::Figure;
use software_gpu::timeline::{
    BlockTime, CopyKind, Happening, KernelCost, OpId, OperationStage, Profile, StreamId, Time,
    Timeline,
};

pub const MIB: u64 = 1 << 20;

pub struct TestProgram {
    pub timeline: Timeline,
    pub profile: Profile,
    pub host: Time,
    costs: BTreeMap<OpId, KernelCost>,
    pub happenings: Vec<Happening>,
}

impl TestProgram {
    pub fn new(connections: u32) -> Self {
        let profile = Profile::h200();
        Self {
            timeline: Timeline::new(std::slice::from_ref(&profile), connections),
            profile,
            host: Time::ZERO,
            costs: BTreeMap::new(),
            happenings: Vec::new(),
        }
    }

    pub fn streams<const N: usize>(&mut self) -> [StreamId; N] {
        [(); N].map(|()| self.timeline.add_stream(0, 0))
    }

    fn submit(
        &mut self,
        cost: Figure,
        stream: StreamId,
        work: OperationStage,
        after: &[OpId],
    ) -> OpId {
        self.host += cost.micros();
        self.timeline.submit(stream, self.host, work, after)
    }

    pub fn copy(&mut self, stream: StreamId, kind: CopyKind, bytes: u64) -> OpId {
        let work = OperationStage::Copy {
            kind,
            bytes,
            rows: 1,
            pageable: false,
        };
        self.submit(self.profile.host.copy_us, stream, work, &[])
    }

    pub fn set(&mut self, stream: StreamId, bytes: u64) -> OpId {
        self.submit(
            self.profile.host.set_us,
            stream,
            OperationStage::Set { bytes },
            &[],
        )
    }

    pub fn kernel(&mut self, stream: StreamId, kernel: &TestKernel) -> OpId {
        let work = OperationStage::Kernel {
            blocks: kernel.blocks,
            threads_per_block: kernel.threads,
            registers_per_thread: 32,
            shared_bytes_per_block: 0,
        };
        let op = self.submit(self.profile.host.launch_us, stream, work, &[]);
        self.costs
            .insert(op, KernelCost::uniform(kernel.blocks, kernel.block));
        op
    }

    pub fn record(&mut self, stream: StreamId) -> OpId {
        self.submit(
            self.profile.host.record_us,
            stream,
            OperationStage::Marker,
            &[],
        )
    }

    pub fn wait(&mut self, stream: StreamId, event: OpId) {
        self.submit(
            self.profile.host.wait_us,
            stream,
            OperationStage::Marker,
            &[event],
        );
    }

    /// Steps to the end.
    pub fn run(&mut self) {
        while let Some(happening) = self.timeline.step(Time::MAX) {
            if let Happening::Started { op, .. } = happening
                && let Some(cost) = self.costs.remove(&op)
            {
                self.timeline.set_kernel_cost(op, cost);
            }
            self.happenings.push(happening);
        }
    }

    /// From the end of one operation to the end of another, in milliseconds: `cuEventElapsedTime`.
    pub fn elapsed_ms(&self, from: OpId, to: OpId) -> f64 {
        let end = |op| self.timeline.finished_at(op).expect("ended");
        end(to).since(end(from)).as_millis()
    }

    pub fn interval(&self, op: OpId) -> (Time, Time) {
        let (start, end) = (self.timeline.started_at(op), self.timeline.finished_at(op));
        (start.expect("started"), end.expect("ended"))
    }
}

#[derive(Clone, Copy)]
pub struct TestKernel {
    pub blocks: u64,
    pub threads: u32,
    pub block: BlockTime,
}

impl TestKernel {
    /// `x = fma(a, x, b)` in place, `per_thread` 4-byte elements per thread.
    pub fn elementwise(elements: u64, per_thread: u64, threads: u32) -> Self {
        let per_block = per_thread * u64::from(threads);
        let warps = threads / 32;
        Self {
            blocks: elements.div_ceil(per_block),
            threads,
            block: BlockTime {
                latency_cycles: 910.0,
                issue: [10, per_thread as u32, 0, 1, 0, 1, 2, 2, 0, 0].map(|n| n * warps),
                dram_bytes: 8 * per_block,
                ..BlockTime::default()
            },
        }
    }

    /// Few blocks that keep busy for a while without needing anything of the machine.
    pub fn spin(blocks: u64, micros: f64) -> Self {
        Self {
            blocks,
            threads: 128,
            block: BlockTime {
                latency_cycles: micros * 1980.0,
                ..BlockTime::default()
            },
        }
    }
}

//! Random graphs and random captures against the same work done step by step.

use crate::driver_support::*;
use crate::graph_support::*;
use proptest::prelude::*;

const KERNELS: &str = include_str!("../driver_support/kernels.ptx");

/// Words that the programs work on.
const WORDS: usize = 6;

/// Something that reads one word and writes another, or only writes.
#[derive(Clone, Copy, Debug)]
enum NodeEffect {
    Kernel { to: usize, from: usize },
    Copy { to: usize, from: usize },
    Set { to: usize, value: u8 },
}

fn work() -> impl Strategy<Value = NodeEffect> {
    let word = || 0..WORDS;
    prop_oneof![
        (word(), word()).prop_map(|(to, from)| NodeEffect::Kernel { to, from }),
        (word(), word()).prop_map(|(to, from)| NodeEffect::Copy { to, from }),
        (word(), any::<u8>()).prop_map(|(to, value)| NodeEffect::Set { to, value }),
    ]
}

impl NodeEffect {
    fn written(self) -> usize {
        match self {
            Self::Kernel { to, .. } | Self::Copy { to, .. } | Self::Set { to, .. } => to,
        }
    }

    fn read(self) -> Option<usize> {
        match self {
            Self::Kernel { from, .. } | Self::Copy { from, .. } => Some(from),
            Self::Set { .. } => None,
        }
    }

    /// Whether the two may not run at the same time.
    fn conflicts(self, other: Self) -> bool {
        let touches = |work: Self, word| work.written() == word || work.read() == Some(word);
        touches(other, self.written()) || touches(self, other.written())
    }

    fn apply(self, words: &mut [u32; WORDS]) {
        match self {
            Self::Kernel { to, from } | Self::Copy { to, from } => words[to] = words[from],
            Self::Set { to, value } => words[to] = u32::from_ne_bytes([value; 4]),
        }
    }

    fn add(self, scene: &GraphTest, graph: Handle, after: &[Handle]) -> Handle {
        let at = |word| scene.at(word);
        match self {
            Self::Kernel { to, from } => {
                kernel_node(graph, after, scene.copy_word, &[&at(to), &at(from)])
            }
            Self::Copy { to, from } => {
                let (to, from) = (CopySide::device(at(to)), CopySide::device(at(from)));
                copy_node(graph, after, &CopyParams::row(to, from, 4))
            }
            Self::Set { to, value } => set_node(graph, after, &SetParams::bytes(at(to), value, 4)),
        }
        .unwrap()
    }

    fn submit(self, scene: &GraphTest, stream: Handle) {
        let (driver, at) = (&scene.driver, |word| scene.at(word));
        match self {
            Self::Kernel { to, from } => {
                driver.launch(scene.copy_word, 1, 1, stream, &[&at(to), &at(from)])
            }
            Self::Copy { to, from } => driver.within_device(at(to), at(from), 4, stream),
            Self::Set { to, value } => driver.set(at(to), value, 4, stream),
        }
        .unwrap();
    }
}

struct GraphTest {
    driver: Driver,
    data: Address,
    copy_word: Handle,
}

impl GraphTest {
    fn new() -> Self {
        let driver = Driver::new();
        let module = driver.module(KERNELS).unwrap();
        Self {
            data: driver.allocate(WORDS * 4).unwrap(),
            copy_word: driver.function(module, "copy_word").unwrap(),
            driver,
        }
    }

    fn at(&self, word: usize) -> Address {
        self.data + 4 * word as u64
    }

    /// Words that identify the source of a copy.
    fn reset(&self) -> [u32; WORDS] {
        let words = std::array::from_fn(|word| 0x0101_0101 * (word as u32 + 1));
        for (word, value) in words.iter().enumerate() {
            self.driver
                .set(self.at(word), *value as u8, 4, LEGACY)
                .unwrap();
        }
        self.driver.synchronize().unwrap();
        words
    }

    fn words(&self) -> [u32; WORDS] {
        let bytes = self.driver.read(self.data, WORDS * 4);
        std::array::from_fn(|word| u32::from_ne_bytes(bytes[4 * word..][..4].try_into().unwrap()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A graph with an edge wherever two nodes conflict, and some more, computes what its nodes compute in any
    /// topological order; so does the second launch, on what the first one left.
    #[test]
    fn a_graph_computes_what_its_nodes_compute_in_order(
        program in prop::collection::vec((work(), any::<u16>()), 1..24),
    ) {
        let scene = GraphTest::new();
        let graph = graph();
        let mut nodes: Vec<Handle> = Vec::new();
        for (index, (work, more)) in program.iter().enumerate() {
            let needed = |earlier: &usize| {
                work.conflicts(program[*earlier].0) || more >> (earlier % 16) & 1 == 1
            };
            let after: Vec<_> = (0..index).filter(needed).map(|earlier| nodes[earlier]).collect();
            nodes.push(work.add(&scene, graph, &after));
        }
        let exec = instantiate(graph).unwrap();
        let stream = scene.driver.stream(NON_BLOCKING);
        let mut expected = scene.reset();
        for _ in 0..2 {
            launch_graph(exec, stream).unwrap();
            program.iter().for_each(|(work, _)| work.apply(&mut expected));
        }
        prop_assert_eq!(scene.words(), expected);
    }

    /// A program of forks and joins leaves the same words behind when it runs and when it is captured and launched.
    #[test]
    fn a_captured_program_computes_what_it_computes_uncaptured(
        program in prop::collection::vec((0..3_usize, work(), prop::option::of(0..3_usize)), 1..24),
    ) {
        let scene = GraphTest::new();
        let driver = &scene.driver;
        let streams = [(); 3].map(|()| driver.stream(NON_BLOCKING));
        let join = |from: usize, to: usize| {
            if from != to {
                let event = driver.event();
                driver.record(event, streams[from]).unwrap();
                driver.wait(streams[to], event).unwrap();
            }
        };
        // Every piece of work comes after all others that it conflicts with: its stream joins theirs first.
        let run = || {
            (1..3).for_each(|to| join(0, to));
            for (index, (stream, work, and)) in program.iter().enumerate() {
                for (other, earlier, _) in &program[..index] {
                    if work.conflicts(*earlier) {
                        join(*other, *stream);
                    }
                }
                work.submit(&scene, streams[*stream]);
                if let Some(and) = and {
                    join(*stream, *and);
                }
            }
            (1..3).for_each(|from| join(from, 0));
        };
        let start = scene.reset();
        run();
        let uncaptured = scene.words();
        scene.reset();
        begin(streams[0], GLOBAL).unwrap();
        run();
        let graph = end(streams[0]).unwrap();
        prop_assert_eq!(scene.words(), start, "nothing has run");
        prop_assert_eq!(nodes_of(graph).len(), program.len());
        launch_graph(instantiate(graph).unwrap(), streams[1]).unwrap();
        prop_assert_eq!(scene.words(), uncaptured);
    }
}

//! Basic blocks of a body.
//!
//! Besides branches and labels, a block ends before an instruction that needs other threads of the warp
//! (`shfl.sync` and its variants: a warp barrier ends the block, unless one for the same lanes has ended the block before)
//! and at barriers and calls; the result of `bar.red` is read by a block behind it. A guarded instruction of the kind that ends a block gets a block of its own, branched around.

use std::collections::BTreeSet;

use crate::ptx::PtxError;
use crate::ptx::ir::{Body, Guard, Instruction, LabelId, Operand, Symbol};

/// Instructions `first..last` and how the block ends. Block numbers are indices into the result of [`cut`].
pub(super) struct Raw {
    pub first: usize,
    pub last: usize,
    pub end: End,
    pub line: u32,
}

/// The end of a block. `at` is the index of the instruction that ends it.
pub(super) enum End {
    Fall(u32),
    Jump(u32),
    Branch { guard: Guard, taken: u32, next: u32 },
    Table { at: usize, targets: Vec<u32> },
    WarpBarrier { at: usize, next: u32 },
    BlockBarrier { at: usize, next: u32 },
    ClusterBarrier { at: usize, next: u32 },
    Call { at: usize, next: u32 },
    Return,
    Exit,
}

impl End {
    /// The index of the instruction that ends the block, if it is more than a branch.
    pub fn instruction(&self) -> Option<usize> {
        match self {
            Self::Table { at, .. }
            | Self::WarpBarrier { at, .. }
            | Self::BlockBarrier { at, .. }
            | Self::Call { at, .. } => Some(*at),
            _ => None,
        }
    }
}

impl Raw {
    /// The blocks that may follow.
    pub fn successors(&self) -> Vec<u32> {
        match &self.end {
            End::Fall(next) | End::Jump(next) => vec![*next],
            End::Branch { taken, next, .. } => vec![*taken, *next],
            End::Table { targets, .. } => targets.clone(),
            End::WarpBarrier { next, .. }
            | End::BlockBarrier { next, .. }
            | End::ClusterBarrier { next, .. }
            | End::Call { next, .. } => vec![*next],
            End::Return | End::Exit => Vec::new(),
        }
    }
}

/// What an instruction means for the flow of control.
enum Effect {
    None,
    Branch(LabelId),
    Table(Vec<LabelId>),
    Synchronises,
    WarpBarrier,
    BlockBarrier,
    ClusterBarrier,
    Call,
    Return,
    Exit,
}

/// Cuts a body into blocks; the first one is the entry.
pub(super) fn cut(body: &Body) -> Result<Vec<Raw>, PtxError> {
    let effects = body
        .instructions
        .iter()
        .map(|i| effect(body, i))
        .collect::<Result<Vec<_>, _>>()?;
    let leaders = leaders(body, &effects);
    let mut cutter = Cutter {
        body,
        effects: &effects,
        leaders: leaders.iter().copied().collect(),
        blocks: Vec::new(),
    };
    // Blocks are first linked by the instruction they start at, see `Cutter::at`.
    let mut starts = Vec::new();
    for index in 0..cutter.leaders.len() {
        starts.push(cutter.blocks.len() as u32);
        cutter.stretch(index);
    }
    let Cutter {
        leaders,
        mut blocks,
        ..
    } = cutter;
    let resolve = |target: &mut u32| {
        if *target & LEADER != 0 {
            let leader = leaders
                .binary_search(&((*target & !LEADER) as usize))
                .unwrap_or(0);
            *target = starts[leader];
        }
    };
    for block in &mut blocks {
        match &mut block.end {
            End::Fall(next) | End::Jump(next) => resolve(next),
            End::Branch { taken, next, .. } => [taken, next].into_iter().for_each(resolve),
            End::Table { targets, .. } => targets.iter_mut().for_each(resolve),
            End::WarpBarrier { next, .. }
            | End::BlockBarrier { next, .. }
            | End::ClusterBarrier { next, .. }
            | End::Call { next, .. } => resolve(next),
            End::Return | End::Exit => {}
        }
    }
    Ok(blocks)
}

/// Marks a block number that is still the index of a leading instruction.
const LEADER: u32 = 1 << 31;

fn leaders(body: &Body, effects: &[Effect]) -> BTreeSet<usize> {
    let mut leaders = BTreeSet::from([0]);
    for (index, effect) in effects.iter().enumerate() {
        match effect {
            Effect::None | Effect::Synchronises => continue,
            Effect::Branch(label) => {
                leaders.insert(body.labels[*label as usize]);
            }
            Effect::Table(labels) => {
                leaders.extend(labels.iter().map(|label| body.labels[*label as usize]))
            }
            _ => {}
        }
        leaders.insert(index + 1);
    }
    leaders
}

struct Cutter<'b> {
    body: &'b Body,
    effects: &'b [Effect],
    leaders: Vec<usize>,
    blocks: Vec<Raw>,
}

impl Cutter<'_> {
    /// The blocks from one leading instruction to the next.
    fn stretch(&mut self, index: usize) {
        let count = self.body.instructions.len();
        let start = self.leaders[index];
        let mut first = start;
        let stop = self.leaders.get(index + 1).copied().unwrap_or(count);
        let mut synchronised: Option<&Operand> = None;
        for at in start..stop {
            let instruction = &self.body.instructions[at];
            let next = LEADER | (at + 1) as u32;
            match &self.effects[at] {
                Effect::None => {}
                Effect::Synchronises => {
                    let members = members(instruction);
                    if synchronised != members || members.is_none() {
                        let number = self.blocks.len() as u32 + 1;
                        self.push(
                            first,
                            at,
                            End::WarpBarrier { at, next: number },
                            instruction.line,
                        );
                        first = at;
                        synchronised =
                            members.filter(|members| matches!(members, Operand::Integer(_)));
                    }
                }
                Effect::Branch(label) => {
                    let target = LEADER | self.body.labels[*label as usize] as u32;
                    let end = match instruction.guard {
                        Some(guard) => End::Branch {
                            guard,
                            taken: target,
                            next,
                        },
                        None => End::Jump(target),
                    };
                    return self.push(first, at, end, instruction.line);
                }
                Effect::BlockBarrier if is_reduction(instruction) => {
                    // The instruction comes again, in a block of its own behind the barrier, to read the result.
                    let mut number = self.blocks.len() as u32;
                    let mut first = first;
                    if let Some(guard) = instruction.guard {
                        number += 1;
                        let branch = End::Branch {
                            guard,
                            taken: number,
                            next,
                        };
                        self.push(first, at, branch, instruction.line);
                        first = at;
                    }
                    self.push(
                        first,
                        at,
                        End::BlockBarrier {
                            at,
                            next: number + 1,
                        },
                        instruction.line,
                    );
                    return self.push(at, at + 1, End::Fall(next), instruction.line);
                }
                effect => {
                    // Threads that call different functions come to the call one after the other: nothing else may be in
                    // its block.
                    if matches!(effect, Effect::Call) && instruction.guard.is_none() {
                        let next = self.blocks.len() as u32 + 1;
                        if matches!(callee(instruction), Some(Operand::Register(_))) {
                            self.push(first, at, End::Fall(next), instruction.line);
                            first = at;
                        }
                    }
                    let end = match effect {
                        Effect::Table(labels) => End::Table {
                            at,
                            targets: labels
                                .iter()
                                .map(|label| LEADER | self.body.labels[*label as usize] as u32)
                                .collect(),
                        },
                        Effect::WarpBarrier => End::WarpBarrier { at, next },
                        Effect::BlockBarrier => End::BlockBarrier { at, next },
                        Effect::ClusterBarrier => End::ClusterBarrier { at, next },
                        Effect::Call => End::Call { at, next },
                        Effect::Return => End::Return,
                        _ => End::Exit,
                    };
                    let (first, last) = match instruction.guard {
                        None => (first, at),
                        Some(guard) => {
                            let taken = self.blocks.len() as u32 + 1;
                            self.push(
                                first,
                                at,
                                End::Branch { guard, taken, next },
                                instruction.line,
                            );
                            (at, at)
                        }
                    };
                    return self.push(first, last, end, instruction.line);
                }
            }
        }
        let line = self
            .body
            .instructions
            .get(stop.wrapping_sub(1))
            .map_or(0, |last| last.line);
        let end = match stop == count && index + 1 >= self.leaders.len() {
            true => End::Return,
            false => End::Fall(LEADER | stop as u32),
        };
        self.push(first, stop, end, line);
    }

    fn push(&mut self, first: usize, last: usize, end: End, line: u32) {
        self.blocks.push(Raw {
            first,
            last,
            end,
            line,
        });
    }
}

fn effect(body: &Body, instruction: &Instruction) -> Result<Effect, PtxError> {
    let has = |modifier: &str| instruction.modifiers.iter().any(|m| m == modifier);
    let target = |operand: Option<&Operand>| match operand {
        Some(Operand::Label(label)) => Ok(*label),
        _ => Err(PtxError::syntax(
            instruction.line,
            instruction.mnemonic(),
            "the branch target is not a label of the function",
        )),
    };
    Ok(match instruction.opcode.as_str() {
        "bra" => Effect::Branch(target(instruction.operands.first())?),
        "brx" => Effect::Table(targets(body, instruction)?),
        "shfl" | "vote" | "match" | "redux" | "elect" if has("sync") => Effect::Synchronises,
        "mma" | "ldmatrix" | "stmatrix" | "movmatrix" => Effect::Synchronises,
        "bar" | "barrier" if has("warp") => Effect::WarpBarrier,
        "barrier" if has("cluster") => Effect::ClusterBarrier,
        "bar" | "barrier" => Effect::BlockBarrier,
        "call" => Effect::Call,
        "ret" => Effect::Return,
        "exit" => Effect::Exit,
        _ => Effect::None,
    })
}

/// The operand that names the threads of the warp that an instruction needs together: all of them, for a matrix.
pub(super) fn members(instruction: &Instruction) -> Option<&Operand> {
    static ALL: Operand = Operand::Integer(u32::MAX as u64);
    match instruction.opcode.as_str() {
        "mma" | "ldmatrix" | "stmatrix" | "movmatrix" => Some(&ALL),
        _ => instruction.operands.last(),
    }
}

/// The operand of a call that says what is called.
pub(super) fn callee(call: &Instruction) -> Option<&Operand> {
    let is_function = |operand: &&Operand| !matches!(operand, Operand::List(_));
    call.operands.iter().find(is_function)
}

fn is_reduction(barrier: &Instruction) -> bool {
    barrier.modifiers.iter().any(|modifier| modifier == "red")
}

fn targets(body: &Body, instruction: &Instruction) -> Result<Vec<LabelId>, PtxError> {
    let list = match instruction.operands.get(1) {
        Some(Operand::Symbol(Symbol::Name(name), 0)) => {
            body.target_lists.iter().find(|(known, _)| known == name)
        }
        _ => None,
    };
    list.map(|(_, targets)| targets.clone()).ok_or_else(|| {
        PtxError::syntax(
            instruction.line,
            instruction.mnemonic(),
            "the second operand must be a `.branchtargets` list",
        )
    })
}

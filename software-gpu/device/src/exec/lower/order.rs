//! The order of basic blocks: every edge leads forward, except the back edges of loops, and loops are contiguous.
//!
//! The blocks are sorted topologically by strongly connected components. A component with a cycle is a loop: its first
//! block in reverse post-order becomes the header, which comes first; the rest, without the edges to the header, is
//! sorted the same way. Irreducible loops have entries besides the header, which does no harm.

/// The result of [`order`].
pub(super) struct BlockOrder {
    /// Block numbers in their new order; unreachable ones come last.
    pub sequence: Vec<u32>,
    /// By position: for a loop header the position behind its loop, 0 for others.
    pub loop_end: Vec<u32>,
}

/// Loops nested deeper than this are left in post-order, which is correct, though threads may reconverge later.
const MAX_DEPTH: u32 = 64;

/// Orders the blocks of a graph whose entry is block 0.
pub(super) fn order(successors: &[Vec<u32>]) -> BlockOrder {
    let preorder = reverse_postorder(successors);
    let mut sorter = Sorter {
        successors,
        order: BlockOrder {
            sequence: Vec::with_capacity(successors.len()),
            loop_end: Vec::with_capacity(successors.len()),
        },
    };
    sorter.sort(&preorder, 0);
    let mut order = sorter.order;
    let mut reached = vec![false; successors.len()];
    order
        .sequence
        .iter()
        .for_each(|block| reached[*block as usize] = true);
    order
        .sequence
        .extend((0..successors.len() as u32).filter(|block| !reached[*block as usize]));
    order.loop_end.resize(successors.len(), 0);
    order
}

fn reverse_postorder(successors: &[Vec<u32>]) -> Vec<u32> {
    let mut seen = vec![false; successors.len()];
    let mut postorder = Vec::new();
    let mut stack = vec![(0u32, 0usize)];
    seen[0] = true;
    while let Some((block, edge)) = stack.last_mut() {
        match successors[*block as usize].get(*edge) {
            Some(next) => {
                *edge += 1;
                if !std::mem::replace(&mut seen[*next as usize], true) {
                    stack.push((*next, 0));
                }
            }
            None => {
                postorder.push(*block);
                stack.pop();
            }
        }
    }
    postorder.reverse();
    postorder
}

struct Sorter<'g> {
    successors: &'g [Vec<u32>],
    order: BlockOrder,
}

impl Sorter<'_> {
    /// Appends `blocks` (in reverse post-order), seen as a graph of their own.
    fn sort(&mut self, blocks: &[u32], depth: u32) {
        for mut component in components(self.successors, blocks).into_iter().rev() {
            let header = self.order.sequence.len();
            let first = component.remove(0);
            self.push(first);
            if component.is_empty() {
                continue;
            }
            if depth < MAX_DEPTH {
                self.sort(&component, depth + 1);
            } else {
                component.iter().for_each(|block| self.push(*block));
            }
            self.order.loop_end[header] = self.order.sequence.len() as u32;
        }
    }

    fn push(&mut self, block: u32) {
        self.order.sequence.push(block);
        self.order.loop_end.push(0);
    }
}

/// Strongly connected components of the graph on `blocks` in reverse topological order (Tarjan's algorithm). The blocks
/// of each component keep the order of `blocks`.
fn components(successors: &[Vec<u32>], blocks: &[u32]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    const OUTSIDE: u32 = u32::MAX - 1;
    let mut index = vec![OUTSIDE; successors.len()];
    let mut place = vec![0; successors.len()];
    for (position, block) in blocks.iter().enumerate() {
        index[*block as usize] = UNSEEN;
        place[*block as usize] = position;
    }
    let mut low = vec![0; successors.len()];
    let mut open = vec![false; successors.len()];
    let (mut counter, mut path, mut result) = (0, Vec::new(), Vec::new());
    for root in blocks {
        if index[*root as usize] != UNSEEN {
            continue;
        }
        let mut stack = vec![(*root as usize, 0usize)];
        while let Some(&mut (block, ref mut edge)) = stack.last_mut() {
            if *edge == 0 {
                index[block] = counter;
                low[block] = counter;
                counter += 1;
                open[block] = true;
                path.push(block);
            }
            let next = successors[block].get(*edge).map(|next| *next as usize);
            *edge += 1;
            match next {
                Some(next) if index[next] == UNSEEN => stack.push((next, 0)),
                Some(next) if index[next] != OUTSIDE && open[next] => {
                    low[block] = low[block].min(index[next])
                }
                Some(_) => {}
                None => {
                    stack.pop();
                    if let Some((parent, _)) = stack.last() {
                        low[*parent] = low[*parent].min(low[block]);
                    }
                    if low[block] == index[block] {
                        let start = path
                            .iter()
                            .rposition(|member| *member == block)
                            .unwrap_or(0);
                        let mut component: Vec<u32> =
                            path.drain(start..).map(|member| member as u32).collect();
                        component
                            .iter()
                            .for_each(|member| open[*member as usize] = false);
                        component.sort_unstable_by_key(|member| place[*member as usize]);
                        result.push(component);
                    }
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_contiguous_and_before_its_exit() {
        // 0 → 1 (header) → 2 (exit) or 3 → 4 or 5 → 1
        let graph = [vec![1], vec![2, 3], vec![], vec![4, 5], vec![1], vec![1]];
        let order = order(&graph);
        assert_eq!(order.sequence[..2], [0, 1]);
        assert_eq!(order.sequence[5], 2);
        assert_eq!(order.loop_end[1], 5);
    }

    #[test]
    fn a_join_follows_both_sides() {
        let order = order(&[vec![3, 1], vec![2], vec![3], vec![]]);
        assert_eq!(order.sequence, [0, 1, 2, 3]);
    }

    #[test]
    fn nested_and_irreducible_loops_are_kept_together() {
        // Two entries (1 and 2) into the cycle 1 ⇄ 2, inside the loop 0 … 3.
        let order = order(&[vec![1, 2], vec![2, 3], vec![1], vec![0, 4], vec![], vec![4]]);
        assert_eq!(order.sequence[0], 0);
        assert_eq!(order.sequence[3..], [3, 4, 5]);
        assert_eq!(order.loop_end[0], 4);
    }
}

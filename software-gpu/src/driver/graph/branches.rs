//! Which steps of an executable graph follow each other in one stream.

use std::collections::BTreeMap;

use crate::driver::c_abi::types::CUcontext;

/// What a step remembers of the branches before it. Forgetting costs a branch, not correctness.
const REMEMBERED: usize = 32;

/// Cuts a graph into branches: a step is put behind another one only if it comes after that one anyway, so that the
/// streams which the branches run in add no order.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// The last step and the context of each branch.
    branches: Vec<(usize, Option<CUcontext>)>,
    /// For each step: the last step of each branch that comes before or is the step itself.
    known: Vec<BTreeMap<usize, usize>>,
}

impl Branches {
    /// The branch of the next step.
    pub(super) fn choose(&mut self, dependencies: &[usize], context: Option<CUcontext>) -> usize {
        let step = self.known.len();
        let mut known = BTreeMap::new();
        for dependency in dependencies {
            for (branch, last) in &self.known[*dependency] {
                let entry = known.entry(*branch).or_insert(*last);
                *entry = (*entry).max(*last);
            }
        }
        let fits = |(branch, last): (&usize, &usize)| {
            let (tail, of) = self.branches[*branch];
            let same = of.is_none() || context.is_none() || of == context;
            (same && tail == *last).then_some((tail, *branch))
        };
        // The branch that ended most recently is that of a direct dependency, if there is one.
        let branch = match known.iter().filter_map(fits).max() {
            Some((_, branch)) => branch,
            None => {
                self.branches.push((step, context));
                self.branches.len() - 1
            }
        };
        let of = self.branches[branch].1.or(context);
        self.branches[branch] = (step, of);
        known.insert(branch, step);
        while known.len() > REMEMBERED
            && let Some((oldest, _)) = known.iter().min_by_key(|(_, last)| **last)
        {
            let oldest = *oldest;
            known.remove(&oldest);
        }
        self.known.push(known);
        branch
    }

    /// The context of a branch, if any of its steps has one.
    pub(super) fn context(&self, branch: usize) -> Option<CUcontext> {
        self.branches.get(branch).and_then(|(_, context)| *context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branches(steps: &[&[usize]]) -> Vec<usize> {
        let mut branches = Branches::default();
        steps
            .iter()
            .map(|dependencies| branches.choose(dependencies, None))
            .collect()
    }

    #[test]
    fn a_chain_is_one_branch() {
        assert_eq!(branches(&[&[], &[0], &[1]]), [0, 0, 0]);
    }

    #[test]
    fn independent_steps_are_branches_of_their_own() {
        assert_eq!(branches(&[&[], &[], &[]]), [0, 1, 2]);
    }

    #[test]
    fn a_fork_after_a_join_takes_the_branches_that_were_joined() {
        let steps: [&[usize]; 6] = [&[], &[], &[0, 1], &[2], &[2], &[3, 4]];
        assert_eq!(branches(&steps), [0, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_branch_stays_in_one_context() {
        let mut branches = Branches::default();
        let [a, b] = [1, 2].map(|number| Some(CUcontext(number)));
        assert_eq!(branches.choose(&[], a), 0);
        assert_eq!(branches.choose(&[0], b), 1);
        assert_eq!(branches.choose(&[1], a), 0);
    }
}

//! A free and an allocation behind it, with a policy of reuse and without.

use crate::verdicts::given::Given;
use cuda_host::pool::Reuse;
use examples_host::prelude::*;

/// A free, and an allocation after it.
pub struct ReuseCase<'c> {
    id: &'static str,
    name: &'static str,
    policy: Option<Reuse>,
    without: Option<Given>,
    body: CaseFunction<'c>,
}

type CaseFunction<'c> = Box<dyn Fn(&[Reuse]) -> anyhow::Result<Given> + 'c>;

/// A case in which the allocation gives the freed memory. `body` runs it with a pool of these policies.
pub fn case<'c>(
    id: &'static str,
    name: &'static str,
    body: impl Fn(&[Reuse]) -> anyhow::Result<Given> + 'c,
) -> ReuseCase<'c> {
    ReuseCase { id, name, policy: None, without: None, body: Box::new(body) }
}

impl ReuseCase<'_> {
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

/// Runs each case with its policy alone and with none, prints what the allocations gave, and claims it.
///
/// # Errors
/// What a case returns.
pub fn judge(part: &mut Part, cases: [ReuseCase; 4]) -> anyhow::Result<()> {
    let titles = ["another stream allocates", "policy", "with it alone", "with none"];
    let (mut table, mut all) = (Table::new(titles), Vec::new());
    for case in cases {
        let (with, without) = ((case.body)(case.policy.as_slice())?, (case.body)(&[])?);
        let policy = case.policy.map_or("-".to_owned(), |policy| policy.to_string());
        table.row([case.name, &policy, &with.to_string(), &without.to_string()]);
        all.push((case, with, without));
    }
    part.say(table);
    for (case, with, without) in all {
        if with == Given::NeverFull {
            continue;
        }
        let ReuseCase { id, name, policy, .. } = case;
        let words = policy.map_or("no policy".to_owned(), |policy| policy.to_string());
        let freed = Given::Freed;
        let expected = truth(with == freed, with, freed);
        part.expect(format!("reuse/{id}"), &format!("{words}: {name}"), expected);
        if let (Some(_), Some(given)) = (policy, case.without) {
            let sentence = format!("not {words}: {name}");
            let expected = truth(without == given, without, given);
            part.expect(format!("no-reuse/{id}"), &sentence, expected);
        }
    }
    Ok(())
}

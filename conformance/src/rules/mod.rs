//! The rules, one file per family.

use crate::rule::Rule;

mod boxes;
mod capture;
mod capture_limits;
mod contexts;
mod copies;
mod copy_waits;
mod devices;
mod errors;
mod event_times;
mod events;
mod graph_launches;
mod graphs;
mod host_functions;
mod launch_attributes;
mod launches;
mod memory;
mod modules;
mod occupancy;
mod peers;
mod pinned;
mod pool_order;
mod pools;
mod primary;
mod sets;
mod stream_order;
mod stream_values;
mod streams;

/// All rules, family by family.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().copied().flatten()
}

const FAMILIES: &[&[Rule]] = &[
    devices::RULES,
    contexts::RULES,
    primary::RULES,
    errors::RULES,
    modules::RULES,
    launches::RULES,
    launch_attributes::RULES,
    occupancy::RULES,
    memory::RULES,
    pinned::RULES,
    copies::RULES,
    copy_waits::RULES,
    boxes::RULES,
    sets::RULES,
    streams::RULES,
    stream_order::RULES,
    stream_values::RULES,
    events::RULES,
    event_times::RULES,
    host_functions::RULES,
    peers::RULES,
    pools::RULES,
    pool_order::RULES,
    capture::RULES,
    capture_limits::RULES,
    graphs::RULES,
    graph_launches::RULES,
];

/// The rule `family::name`.
pub fn find(path: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.path() == path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_its_own_name_a_source_and_a_sentence() {
        let mut seen = BTreeSet::new();
        for rule in super::all() {
            assert!(seen.insert(rule.path()), "{} twice", rule.path());
            assert!(!rule.source.is_empty(), "{} names no source", rule.path());
            assert!(
                rule.statement.ends_with('.'),
                "{}: not a sentence",
                rule.path()
            );
        }
    }
}

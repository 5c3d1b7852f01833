//! The rules, one file per family.

use crate::rule::Rule;

mod box_limits;
mod boxes;
mod capture;
mod capture_limits;
mod capture_modes;
mod capture_nodes;
mod context_threads;
mod contexts;
mod copies;
mod copy_waits;
mod devices;
mod errors;
mod event_flags;
mod event_times;
mod events;
mod faults;
mod graph_launches;
mod graph_memory;
mod graph_nodes;
mod graph_updates;
mod graphs;
mod host_calls;
mod host_functions;
mod launch_attributes;
mod launch_bounds;
mod launches;
mod libraries;
mod links;
mod memory;
mod module_loading;
mod modules;
mod occupancy;
mod peers;
mod pinned;
mod pool_limits;
mod pool_order;
mod pools;
mod primary;
mod ptx;
mod sets;
mod stream_attributes;
mod stream_order;
mod stream_queries;
mod stream_values;
mod streams;
mod tensors;
mod textures;

/// All rules, family by family.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().copied().flatten()
}

const FAMILIES: &[&[Rule]] = &[
    devices::RULES,
    contexts::RULES,
    context_threads::RULES,
    primary::RULES,
    errors::RULES,
    faults::RULES,
    modules::RULES,
    module_loading::RULES,
    ptx::RULES,
    libraries::RULES,
    links::RULES,
    launches::RULES,
    launch_bounds::RULES,
    launch_attributes::RULES,
    occupancy::RULES,
    memory::RULES,
    pinned::RULES,
    copies::RULES,
    copy_waits::RULES,
    boxes::RULES,
    box_limits::RULES,
    sets::RULES,
    streams::RULES,
    stream_order::RULES,
    stream_queries::RULES,
    stream_values::RULES,
    stream_attributes::RULES,
    events::RULES,
    event_times::RULES,
    event_flags::RULES,
    host_functions::RULES,
    host_calls::RULES,
    peers::RULES,
    pools::RULES,
    pool_limits::RULES,
    pool_order::RULES,
    capture::RULES,
    capture_limits::RULES,
    capture_modes::RULES,
    capture_nodes::RULES,
    graphs::RULES,
    graph_launches::RULES,
    graph_nodes::RULES,
    graph_updates::RULES,
    graph_memory::RULES,
    tensors::RULES,
    textures::RULES,
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

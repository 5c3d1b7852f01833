//! The edges that the findings ask for, and what else these edges would order.
//!
//! One missing event can leave many pairs unordered. A finding that the edges of earlier findings repair needs no edge of its
//! own: if the program had them, a path would lead from its one side to the other. Findings come in the order in which
//! operations run, and of one operation the latest conflict comes first, so the edges that are kept are the ones that the
//! others follow from.

use std::collections::VecDeque;
use std::sync::Arc;

use super::clock::Clock;
use super::finding::Repaired;
use super::site::Site;
use crate::Kind;

/// How many edges are remembered. A finding whose repair has been forgotten gets a report of its own.
const REMEMBERED: usize = 64;

/// Edges that the program lacks.
#[derive(Debug, Default)]
pub(super) struct Repairs(VecDeque<Edge>);

/// One of them, and the finding that recommends it.
#[derive(Debug)]
struct Edge {
    earlier: Arc<Site>,
    later: Arc<Site>,
    kind: Kind,
    key: String,
}

/// The side of a finding that has to come last, and what it comes after.
#[derive(Clone, Copy)]
pub(super) struct Later<'a> {
    pub(super) site: &'a Site,
    /// Known for an operation that does not run yet, such as a free.
    pub(super) clock: Option<&'a Clock>,
}

impl Later<'_> {
    /// Whether it is `site` or comes after it.
    fn is_or_follows(&self, site: &Site) -> bool {
        self.site.epoch == site.epoch
            || self.site.came_after(site)
            || self.clock.is_some_and(|clock| clock.knows(site.epoch))
    }
}

impl Repairs {
    /// The finding whose edge, alone or as the last one of a path of edges, also puts `later` after `earlier`.
    pub(super) fn covering(&self, earlier: &Site, later: Later<'_>) -> Option<Repaired> {
        let mut reached: Vec<bool> = self
            .0
            .iter()
            .map(|edge| edge.begins_after(earlier))
            .collect();
        let direct = reached.clone();
        let mut open: Vec<usize> = (0..reached.len()).filter(|edge| reached[*edge]).collect();
        while let Some(edge) = open.pop() {
            for (next, edge_behind) in self.0.iter().enumerate() {
                if !reached[next] && edge_behind.begins_after(&self.0[edge].later) {
                    reached[next] = true;
                    open.push(next);
                }
            }
        }
        let ends = |edge: &Edge| later.is_or_follows(&edge.later);
        let candidates = || (0..self.0.len()).rev().filter(|edge| ends(&self.0[*edge]));
        let found = candidates()
            .find(|edge| direct[*edge])
            .or_else(|| candidates().find(|edge| reached[*edge]))?;
        let edge = &self.0[found];
        Some(Repaired {
            kind: edge.kind,
            key: edge.key.clone(),
            with_others: !direct[found],
        })
    }

    /// The finding with this key recommends an edge.
    pub(super) fn add(&mut self, earlier: Arc<Site>, later: Arc<Site>, kind: Kind, key: String) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(Edge {
            earlier,
            later,
            kind,
            key,
        });
    }
}

impl Edge {
    /// Whether it begins at `site` or at what came after it.
    fn begins_after(&self, site: &Site) -> bool {
        self.earlier.epoch == site.epoch || self.earlier.came_after(site)
    }
}

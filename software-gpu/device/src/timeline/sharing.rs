//! How a resource is shared among its consumers: weighted max-min fairness, and a memory whose latency grows with its load.
//!
//! Max-min fairness (Bertsekas and Gallager, *Data Networks*, section 6.5.2) gives no consumer more than it demands, and none more per
//! weight than one whose demand is not met.

/// A consumer with its demand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// Its demand if it were alone.
    pub demand: f64,
    /// How much it gets relative to others that are not satisfied either: its resident warps.
    pub weight: f64,
}

/// Weighted max-min fairness: no claim gets more than it demands, and the remainder of small demands goes to the others in
/// proportion to their weights.
///
/// Warps are served in turn, so a kernel with a small demand is not slowed by one that demands everything.
pub(super) fn max_min(claims: &[Claim], capacity: f64) -> Vec<f64> {
    let total: f64 = claims.iter().map(|claim| claim.demand).sum();
    if total <= capacity {
        return claims.iter().map(|claim| claim.demand).collect();
    }
    let mut order: Vec<usize> = (0..claims.len()).collect();
    // Progressive filling: in order of demand per weight, each claim gets its demand or its fair share of what is left. All claims
    // behind the first that is cut short are cut short as well. Equal ones keep their order, so the sums are the same in every run.
    let modesty = |i: usize| claims[i].demand / claims[i].weight;
    order.sort_by(|&a, &b| modesty(a).total_cmp(&modesty(b)).then(a.cmp(&b)));
    let mut weight: f64 = claims.iter().map(|claim| claim.weight).sum();
    let mut left = capacity;
    let mut shares = vec![0.0; claims.len()];
    for i in order {
        let fair = left * (claims[i].weight / weight);
        shares[i] = claims[i].demand.min(fair);
        // Rounding must not make the rest negative.
        left = (left - shares[i]).max(0.0);
        weight -= claims[i].weight;
    }
    shares
}

/// A memory whose latency grows with its load.
///
/// Little's law: what is in flight (bounded by the resident threads) is latency times throughput. With the latency
/// `L (1 + q ρ / (1 - ρ))` at the load `ρ`, threads that would draw a demand at the unloaded latency draw it divided by
/// the term in brackets, or what something else limits them to, whichever is less. The two figures of the profile,
/// bandwidth and `q`, are fitted to an in-place element-wise kernel with 4 and with 16 bytes in flight per
/// thread, which reach 60 % and 95 % of the bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bandwidth {
    /// Bytes per picosecond.
    pub limit: f64,
    /// The coefficient `q`.
    pub queueing: f64,
}

impl Bandwidth {
    /// What is delivered to those who would draw `demands` at the unloaded latency, each limited by something else
    /// to a share of its demand: pairs of demand and share. In bytes per picosecond.
    pub fn delivered(&self, demands: &[(f64, f64)]) -> f64 {
        let total: f64 = demands.iter().map(|(demand, _)| demand).sum();
        let load = if demands.iter().all(|(_, share)| *share >= 1.0) {
            self.load(total)
        } else {
            self.load_with_limits(demands)
        };
        let drawn: f64 = demands.iter().map(|(demand, share)| demand * share).sum();
        (self.limit * load).min(drawn)
    }

    /// The solution of `ρ (1 + q ρ / (1 - ρ)) = d`, for a demand of `d` bandwidths.
    fn load(&self, demand: f64) -> f64 {
        let d = demand / self.limit;
        let a = 1.0 - self.queueing;
        let b = 1.0 + d;
        let root = (b * b - 4.0 * a * d).max(0.0).sqrt();
        // The usual solution of a ρ² - b ρ + d = 0, in the form that loses no digits for small d.
        2.0 * d / (b + root)
    }

    /// The load at which what is drawn makes that load, by bisection: what is drawn falls as the load grows.
    fn load_with_limits(&self, demands: &[(f64, f64)]) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..48 {
            let load = 0.5 * (low + high);
            let speed = 1.0 / (1.0 + self.queueing * load / (1.0 - load));
            let drawn: f64 = demands
                .iter()
                .map(|(demand, share)| demand * share.min(speed))
                .sum();
            if drawn > load * self.limit {
                low = load;
            } else {
                high = load;
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(demand: f64, weight: f64) -> Claim {
        Claim { demand, weight }
    }

    #[test]
    fn the_modest_are_satisfied_and_the_rest_share_by_weight() {
        let shares = max_min(
            &[claim(1.0, 1.0), claim(100.0, 1.0), claim(100.0, 3.0)],
            9.0,
        );
        assert_eq!(shares, [1.0, 2.0, 6.0]);
    }

    const MEMORY: Bandwidth = Bandwidth {
        limit: 4.4,
        queueing: 0.097,
    };

    #[test]
    fn latency_under_load_gives_the_measured_throughputs() {
        let delivered = |demand| MEMORY.delivered(&[(demand, 1.0)]);
        assert!((delivered(3.026) - 2.642).abs() < 0.01);
        assert!((delivered(4.0 * 3.026) - 4.186).abs() < 0.01);
        assert!((delivered(0.01) - 0.01).abs() < 1e-4);
    }

    #[test]
    fn a_consumer_limited_elsewhere_can_wait_for_memory_meanwhile() {
        assert_eq!(MEMORY.delivered(&[(3.0, 0.5)]), 1.5);
        let unlimited = MEMORY.delivered(&[(12.0, 1.0)]);
        assert!((MEMORY.delivered(&[(12.0, 0.6)]) - unlimited).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn shares_are_within_demand_and_use_all_the_capacity(
            claims in prop::collection::vec((0.0..10.0f64, 0.1..10.0f64), 1..20),
            capacity in 0.1..50.0f64,
        ) {
            let claims: Vec<Claim> = claims.into_iter().map(|(d, w)| claim(d, w)).collect();
            let shares = max_min(&claims, capacity);
            let total: f64 = claims.iter().map(|c| c.demand).sum();
            let used: f64 = shares.iter().sum();
            prop_assert!((used - total.min(capacity)).abs() < 1e-9);
            for (share, claim) in shares.iter().zip(&claims) {
                prop_assert!(*share >= 0.0 && *share <= claim.demand);
            }
        }

        #[test]
        fn more_demand_never_delivers_less(
            demands in prop::collection::vec((0.0..10.0f64, 0.0..=1.0f64), 1..6),
            more in 0.0..10.0f64,
        ) {
            let before = MEMORY.delivered(&demands);
            let mut demands = demands;
            demands.push((more, 1.0));
            prop_assert!(before <= MEMORY.delivered(&demands) + 1e-9);
            prop_assert!(before <= MEMORY.limit);
        }
    }
}

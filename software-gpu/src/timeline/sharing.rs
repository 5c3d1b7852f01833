//! Who gets how much of a resource that several want.

/// One that wants a share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// What it would use, were it alone.
    pub demand: f64,
    /// How much it gets relative to others that are not satisfied either: its resident warps.
    pub weight: f64,
}

/// Weighted max-min fairness: nobody gets more than it demands, and what the modest leave over goes to the rest in
/// proportion to their weights.
///
/// Warps are served in turn, so that a kernel which asks little is not slowed by one which asks for everything.
pub(super) fn max_min(claims: &[Claim], capacity: f64) -> Vec<f64> {
    let total: f64 = claims.iter().map(|claim| claim.demand).sum();
    if total <= capacity {
        return claims.iter().map(|claim| claim.demand).collect();
    }
    let mut order: Vec<usize> = (0..claims.len()).collect();
    let modesty = |i: usize| claims[i].demand / claims[i].weight;
    order.sort_by(|&a, &b| modesty(a).total_cmp(&modesty(b)).then(a.cmp(&b)));
    let mut weight: f64 = claims.iter().map(|claim| claim.weight).sum();
    let mut left = capacity;
    let mut shares = vec![0.0; claims.len()];
    for i in order {
        let fair = left * (claims[i].weight / weight);
        shares[i] = claims[i].demand.min(fair);
        left = (left - shares[i]).max(0.0);
        weight -= claims[i].weight;
    }
    shares
}

/// A memory whose latency grows with its load.
///
/// Little's law: what is in flight (bounded by the resident threads) is latency times throughput. With latency
/// `L (1 + q ρ / (1 - ρ))` at the load `ρ`, a demand of `d` bandwidths (what the threads in flight would draw at the
/// unloaded latency) is served at the load that solves `ρ (1 + q ρ / (1 - ρ)) = d`. The two figures of the
/// profile, bandwidth and `q`, are fitted to an in-place element-wise kernel with 4 and with 16 bytes in flight per
/// thread, which reach 60 % and 95 % of the bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bandwidth {
    /// Bytes per picosecond.
    pub limit: f64,
    /// The coefficient `q`.
    pub queueing: f64,
}

impl Bandwidth {
    /// What is delivered when `demand` is asked for, in bytes per picosecond.
    pub fn delivered(&self, demand: f64) -> f64 {
        let d = demand / self.limit;
        let a = 1.0 - self.queueing;
        let b = 1.0 + d;
        let root = (b * b - 4.0 * a * d).max(0.0).sqrt();
        // The usual solution of a ρ² - b ρ + d = 0, in the form that loses no digits for small d.
        let load = 2.0 * d / (b + root);
        (self.limit * load).min(demand)
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

    #[test]
    fn latency_under_load_gives_the_measured_throughputs() {
        let memory = Bandwidth {
            limit: 4.4,
            queueing: 0.097,
        };
        assert!((memory.delivered(3.026) - 2.642).abs() < 0.01);
        assert!((memory.delivered(4.0 * 3.026) - 4.186).abs() < 0.01);
        assert!((memory.delivered(0.01) - 0.01).abs() < 1e-4);
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
        fn more_demand_never_delivers_less(demand in 0.0..100.0f64, more in 0.0..10.0f64) {
            let memory = Bandwidth { limit: 4.4, queueing: 0.1 };
            prop_assert!(memory.delivered(demand) <= memory.delivered(demand + more) + 1e-12);
            prop_assert!(memory.delivered(demand) <= 4.4);
        }
    }
}

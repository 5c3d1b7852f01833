//! A hash of a part's work: results of two runs are comparable only when it is the same.
//!
//! It is a hash of ids and numbers only: the example, the part, the options that change the work, the numbers of each
//! group's plan, and of everything that was timed its group, variant and kind. Texts are not in it, so that a sentence may
//! change; times and kernels' code are not, because to compare those is what it is for. A file of expectations holds
//! all of these, so that its hashes can be computed from its content.

use crate::part::{Kind, PartResults, Plan};
use crate::results::Request;
use hmac_sha256::Hash;

/// The hash of a part's work, in hexadecimal.
pub fn hash(example: &str, request: &Request, part: &PartResults) -> String {
    let timed = part.timed.iter();
    let timed = timed.map(|timed| (&*timed.group.id, &*timed.variant.id, timed.kind));
    hash_of(example, &part.name, request, &part.plans, timed)
}

/// The same of a part's name, its plans, and the group, variant and kind of everything that is timed, in order.
pub fn hash_of<'a>(
    example: &str,
    part: &str,
    request: &Request,
    plans: &[Plan],
    timed: impl IntoIterator<Item = (&'a str, &'a str, Kind)>,
) -> String {
    let mut hash = Hash::new();
    let mut add = |field: &str| {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    };
    add(example);
    add(part);
    for option in [
        request.size.map(|size| format!("size {size}")),
        request.chunks.map(|chunks| format!("chunks {chunks}")),
        // An option that is no more; recorded hashes have its place.
        None,
    ] {
        add(&option.unwrap_or_default());
    }
    // Later options: absent ones leave no trace, so that earlier files' hashes stay.
    for option in [
        request.streams.map(|streams| format!("streams {streams}")),
        request.rounds.map(|rounds| format!("rounds {rounds}")),
    ] {
        option.iter().for_each(|option| add(option));
    }
    for plan in plans {
        add("plan");
        add(&plan.group);
        for number in plan.numbers() {
            add(&number.to_string());
        }
    }
    for (group, variant, kind) in timed {
        add("timed");
        add(group);
        add(variant);
        add(kind.id());
    }
    let digest = hash.finalize();
    let bytes = digest.iter().take(8);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(launches: u64) -> Plan {
        Plan {
            group: "variants".into(),
            bytes_in: 1 << 20,
            bytes_out: 0,
            launches,
            elements: 1 << 18,
        }
    }

    fn hashed(plan: Plan, variant: &str, chunks: Option<u64>) -> String {
        let request = Request {
            chunks,
            ..Request::default()
        };
        let timed = [("variants", variant, Kind::Makespan)];
        hash_of("example", "part", &request, &[plan], timed)
    }

    #[test]
    fn plan_digest_covers_numbers_ids_and_options() {
        let usual = hashed(plan(8), "one-stream", None);
        assert_eq!(usual, hashed(plan(8), "one-stream", None));
        // Recorded expectations hold these hashes: another way to compute them makes every entry void.
        assert_eq!(usual, "200730365b6b0614");
        for other in [
            hashed(plan(9), "one-stream", None),
            hashed(plan(8), "two-streams", None),
            hashed(plan(8), "one-stream", Some(2)),
        ] {
            assert_ne!(usual, other);
        }
    }
}

//! Placed tasks: streams, waits, and what they order.

use super::*;
use proptest::prelude::*;

fn device(number: usize) -> Data {
    Data::device("data", number)
}

#[test]
fn copies_have_their_streams_and_a_kernel_follows_what_it_waits_for() {
    let (mut order, input, output) = (TaskOrder::new(4), Data::host("in", 0), Data::host("out", 0));
    let [x, y, z] = [0, 1, 2].map(device);
    let placed = |stream, waits: &[usize]| Placed { stream, waits: waits.to_vec() };
    assert_eq!(order.add(&[input], &[x]), placed(0, &[]));
    assert_eq!(order.add(&[x], &[y]), placed(1, &[0]));
    assert_eq!(order.add(&[x], &[z]), placed(2, &[0]));
    // Two streams end with a task that it waits for. It goes to the first of them, and has to wait only for the other one.
    assert_eq!(order.add(&[y, z], &[z]), placed(1, &[2]));
    assert_eq!(order.add(&[z], &[output]), placed(3, &[3]));
    // Both readers of x, and what is known of them already.
    assert_eq!(order.add(&[input], &[x]), placed(0, &[2, 1]));
}

#[test]
fn two_readers_are_not_ordered() {
    let mut order = TaskOrder::new(4);
    assert!(order.add(&[device(0)], &[device(1)]).waits.is_empty());
    assert!(order.add(&[device(0)], &[device(2)]).waits.is_empty());
}

/// Whether `before` has ended when `after` begins, by what the streams and the waits say.
fn ordered(placed: &[Placed], before: usize, after: usize) -> bool {
    let in_stream = (0..after).rev().find(|&task| placed[task].stream == placed[after].stream);
    let direct = in_stream.into_iter().chain(placed[after].waits.iter().copied());
    direct.into_iter().any(|task| task == before || task > before && ordered(placed, before, task))
}

proptest! {
    /// Every conflict is ordered, and no wait is for nothing: it is for a conflict that is not ordered without it.
    #[test]
    fn conflicts_are_ordered_and_nothing_else_is_waited_for(
        tasks in prop::collection::vec((prop::collection::vec(0..4usize, 0..3), prop::collection::vec(0..4usize, 0..2)), 1..12),
    ) {
        let mut order = TaskOrder::new(4);
        let tasks: Vec<[Vec<Data>; 2]> = tasks
            .into_iter()
            .map(|(reads, writes)| [reads, writes].map(|of| of.into_iter().map(device).collect()))
            .collect();
        let placed: Vec<Placed> = tasks.iter().map(|[reads, writes]| order.add(reads, writes)).collect();
        let conflict = |a: usize, b: usize| {
            let ([reads, writes], [later_reads, later_writes]) = (&tasks[a], &tasks[b]);
            let meets = |some: &[Data], others: &[Data]| some.iter().any(|data| others.contains(data));
            meets(writes, later_reads) || meets(writes, later_writes) || meets(reads, later_writes)
        };
        for after in 0..tasks.len() {
            for before in (0..after).filter(|&before| conflict(before, after)) {
                prop_assert!(ordered(&placed, before, after), "{before} before {after}: {placed:?}");
            }
            for &wait in &placed[after].waits {
                prop_assert!(conflict(wait, after));
                prop_assert!(placed[wait].stream != placed[after].stream);
            }
        }
    }
}

//! Random stream programs: the checker finds exactly what a brute-force oracle finds, the same pairs and bytes in the
//! same order.
//!
//! `ORDER_PROGRAMS` says how many programs (2000), `ORDER_SEED` with which seed to begin (1). A program that fails is
//! made as short as possible and printed.

mod oracle;
mod steps;
mod world;

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use software_gpu::order::OrderRule;
use steps::{ProgramStep, SeededRandom};
use world::run;

fn from_environment(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}"))
    })
}

/// How often the checker drops history, which must not matter.
fn room(seed: u64) -> usize {
    [1, 3, 20, 4096][seed as usize % 4]
}

/// The broken rules, or the difference between checker and oracle.
fn check(program: &[ProgramStep], room: usize) -> Result<Vec<OrderRule>, String> {
    match catch_unwind(AssertUnwindSafe(|| run(program, room))) {
        Ok(outcome) => outcome.map_err(|difference| difference.to_string()),
        Err(_) => Err("panic".to_owned()),
    }
}

/// Leaves out steps as long as the program still fails.
fn shrink(mut program: Vec<ProgramStep>, room: usize) -> Vec<ProgramStep> {
    let mut part = program.len() / 2;
    while part > 0 {
        let mut at = 0;
        let before = program.len();
        while at < program.len() {
            let mut shorter = program.clone();
            shorter.drain(at..(at + part).min(program.len()));
            if check(&shorter, room).is_err() {
                program = shorter;
            } else {
                at += part;
            }
        }
        if program.len() == before {
            part /= 2;
        }
    }
    program
}

fn report(seed: u64, program: Vec<ProgramStep>) -> ! {
    let program = shrink(program, room(seed));
    eprintln!("seed {seed}:");
    program.iter().for_each(|step| eprintln!("  {step:?}"));
    panic!(
        "seed {seed}: {}",
        check(&program, room(seed)).err().unwrap_or_default()
    );
}

#[test]
fn the_checker_finds_what_the_oracle_finds() {
    let (programs, first) = (
        from_environment("ORDER_PROGRAMS", 2_000),
        from_environment("ORDER_SEED", 1),
    );
    let mut broken: BTreeMap<_, u64> = BTreeMap::new();
    let mut silent = 0;
    for seed in first..first + programs {
        let program = SeededRandom(fastrand::Rng::with_seed(seed)).program();
        let rules = check(&program, room(seed)).unwrap_or_else(|_| report(seed, program));
        silent += u64::from(rules.is_empty());
        rules
            .into_iter()
            .for_each(|rule| *broken.entry(rule).or_default() += 1);
    }
    println!("{programs} programs from seed {first}: {silent} silent, found {broken:?}");
    if programs >= 2_000 {
        assert!(
            silent > programs / 20 && broken.len() == 5,
            "the programs are too similar"
        );
    }
}

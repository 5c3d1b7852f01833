//! Random programs of the driver API: what the checker says of them follows from the documentation's rules alone, and if they
//! are free of races the memory has in the end what any order of the operations gives that the rules allow.
//!
//! `ORDER_PROGRAMS` says how many programs (2000), `ORDER_SEED` with which seed to begin (1). A program that fails is made
//! as short as possible and printed.

mod kernels;
mod rules;
mod steps;
mod world;

use std::env;

use steps::{ProgramStep, SeededRandom};
use world::TestState;

fn from_environment(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}"))
    })
}

/// Leaves out steps as long as the program still fails.
fn shrink(world: &mut TestState, mut program: Vec<ProgramStep>) -> Vec<ProgramStep> {
    let mut at = 0;
    while at < program.len() {
        let mut shorter = program.clone();
        shorter.remove(at);
        if world.run(&shorter).is_err() {
            program = shorter;
            at = 0;
        } else {
            at += 1;
        }
    }
    program
}

fn report(world: &mut TestState, seed: u64, program: Vec<ProgramStep>) -> ! {
    let program = shrink(world, program);
    eprintln!("seed {seed}:");
    program.iter().for_each(|step| eprintln!("  {step:?}"));
    panic!(
        "seed {seed}: {}",
        world.run(&program).err().unwrap_or_default()
    );
}

#[test]
fn the_driver_and_its_checker_keep_the_rules() {
    let (programs, first) = (
        from_environment("ORDER_PROGRAMS", 2_000),
        from_environment("ORDER_SEED", 1),
    );
    let mut world = TestState::new();
    let mut racy = 0;
    for seed in first..first + programs {
        let program = SeededRandom(fastrand::Rng::with_seed(seed)).program();
        match world.run(&program) {
            Ok(races) => racy += u64::from(races),
            Err(_) => report(&mut world, seed, program),
        }
    }
    println!("{programs} programs from seed {first}: {racy} with races");
    if programs >= 500 {
        assert!(
            programs / 5 < racy && racy < programs - programs / 5,
            "the programs are too similar: {racy} of {programs} have races"
        );
    }
}

//! What the program says and how it ends, on a machine without a GPU: as one process with several software GPUs, and as
//! several processes.

use lesson_tests::Lesson;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const LESSON: Lesson = Lesson {
    program: env!("CARGO_BIN_EXE_distributed_streams"),
    readme: include_str!("../README.md"),
};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_distributed_streams"));
    for name in [
        "COLUMNS",
        "CUDA_DRIVER",
        "SOFTWARE_GPU",
        "SOFTWARE_GPU_RACES",
        "SOFTWARE_GPU_COUNT",
        "RANK",
        "SLURM_PROCID",
    ] {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

fn on_software_gpus(arguments: &[&str]) -> Command {
    let mut command = program(&["--device", "software", "--races", "fail"]);
    command.args(arguments);
    command
}

/// The text printed on both outputs. Fails unless the exit code is `code`.
fn texts(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

fn said(command: &mut Command, code: i32) -> (String, String) {
    texts(&command.output().expect("the program starts"), code)
}

#[test]
fn four_gpus_give_the_same_results() {
    let mut command =
        on_software_gpus(&["--part", "all-reduce", "--part", "pipeline", "--part", "halo"]);
    let (out, err) = said(command.env("SOFTWARE_GPU_COUNT", "4"), 0);
    assert_eq!(err, "");
    assert!(out.starts_with("4 software GPUs"), "{out}");
}

/// The rows of the table of scaling: numbers of GPUs.
fn scaled(out: &str) -> Vec<&str> {
    let rows = out.lines().skip_while(|line| !line.contains("GPUs  time, modelled")).skip(1);
    let rows = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.take_while(|row| row.last() == Some(&"%")).map(|row| row[0]).collect()
}

#[test]
fn eight_gpus_give_the_same_results_and_a_table_of_one_to_eight() {
    let mut command = on_software_gpus(&["--part", "all-reduce", "--part", "halo"]);
    let (out, err) = said(command.env("SOFTWARE_GPU_COUNT", "8"), 0);
    assert_eq!(err, "");
    assert!(out.starts_with("8 software GPUs"), "{out}");
    assert_eq!(scaled(&out), ["1", "2", "4", "8"], "{out}");
}

#[test]
fn one_gpu_is_too_few() {
    let (_, err) = said(on_software_gpus(&[]).env("SOFTWARE_GPU_COUNT", "1"), 3);
    assert!(err.contains("lacks 2 devices (cuDeviceGetCount)"), "{err}");
}

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("pipeline");
}

#[test]
fn senseless_requests_are_usage_errors() {
    for (arguments, named) in [
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--part", "one-host", "--size", "2"], "--size 2 B"),
        (&["--part", "processes", "--size", "1MiB"], "--size: part processes"),
        (&["--chunks", "2"], "--chunks: the parts of this example"),
    ] {
        let (_, error) = said(&mut on_software_gpus(arguments), 2);
        assert!(error.contains(named), "{arguments:?}: {error}");
    }
}

/// A process as a launcher starts it, that waits for the others for this many seconds.
fn rank(rank: usize, world: usize, port: u16, timeout: u32) -> Command {
    let mut command = program(&[]);
    command
        .env("CUDA_DRIVER", "software")
        .env("RANK", rank.to_string())
        .env("WORLD_SIZE", world.to_string())
        .env("MASTER_ADDR", "127.0.0.1")
        .env("MASTER_PORT", port.to_string())
        .env("RENDEZVOUS_TIMEOUT", timeout.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

fn ended(child: Child, code: i32) -> (String, String) {
    texts(&child.wait_with_output().expect("the process ends"), code)
}

#[test]
fn ranks_add_up_what_all_of_them_have() {
    let port = free_port();
    let ranks: Vec<Child> =
        (0..3).map(|own| rank(own, 3, port, 60).spawn().expect("a process")).collect();
    for (own, child) in ranks.into_iter().enumerate() {
        let (out, err) = ended(child, 0);
        assert!(out.starts_with(&format!("rank {own} of 3, GPU 0 (NVIDIA H200): 4 MiB")), "{out}");
        assert!(
            out.contains("every sum right; through the hosts: NCCL cannot use software GPUs"),
            "{out}"
        );
        assert_eq!(err, "");
    }
}

#[test]
fn slurms_variables_do_as_well() {
    let port = free_port().to_string();
    let start = |own: &str| {
        let mut command = program(&[]);
        command.env("CUDA_DRIVER", "software").env("SLURM_PROCID", own).env("SLURM_LOCALID", own);
        command
            .env("SLURM_STEP_NUM_TASKS", "2")
            .env("SLURM_STEP_NODELIST", "localhost")
            .env("MASTER_PORT", &port);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process")
    };
    for child in [start("0"), start("1")] {
        let (out, _) = ended(child, 0);
        assert!(out.contains(" of 2, GPU 0"), "{out}");
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_others_with_an_error() {
    let port = free_port();
    // Rank 2 never comes: both others wait for it when rank 1 is killed, or have just begun to.
    let root = rank(0, 3, port, 60).spawn().expect("a process");
    let mut killed = rank(1, 3, port, 60).spawn().expect("a process");
    std::thread::sleep(Duration::from_millis(500));
    let late = rank(2, 3, port, 60).spawn().expect("a process");
    killed.kill().expect("it lives");
    killed.wait().expect("it ends");
    let begin = Instant::now();
    let (_, err) = ended(root, 1);
    assert!(err.contains("rank 1"), "{err}");
    let (_, err) = ended(late, 1);
    assert!(err.contains("rank 0"), "{err}");
    assert!(begin.elapsed() < Duration::from_secs(60), "they waited until the time-out");
}

#[test]
fn a_port_in_use_is_named() {
    let listener = TcpListener::bind(("0.0.0.0", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (_, err) = said(&mut rank(0, 2, port, 2), 1);
    assert!(err.contains(&format!("rank 0 cannot listen on port {port}")), "{err}");
    assert!(err.contains("choose another MASTER_PORT"), "{err}");
}

#[test]
fn two_processes_of_one_rank_are_refused() {
    let port = free_port();
    let root = rank(0, 3, port, 10).spawn().expect("a process");
    let twins = [rank(1, 3, port, 10), rank(1, 3, port, 10)]
        .map(|mut twin| twin.spawn().expect("a process"));
    let (_, err) = ended(root, 1);
    assert!(err.contains("two processes say RANK=1"), "{err}");
    for twin in twins {
        ended(twin, 1);
    }
}

#[test]
fn what_a_launcher_says_must_make_sense() {
    let (_, err) = said(program(&[]).env("RANK", "0").env_remove("WORLD_SIZE"), 2);
    assert!(err.contains("WORLD_SIZE is not set"), "{err}");
    let (_, err) = said(program(&[]).env("RANK", "2").env("WORLD_SIZE", "2"), 2);
    assert!(err.contains("rank 2 of 2 processes"), "{err}");
}

#[test]
fn raw_gpus_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_gpus"), include_str!("../README.md"));
}

#[test]
fn raw_gpus_says_that_one_gpu_is_not_enough() {
    let one = [("SOFTWARE_GPU_COUNT", "1")];
    let program = env!("CARGO_BIN_EXE_raw_gpus");
    lesson_tests::raw_lacks(program, &one, "needs 2 GPUs, and 1 can be used");
}

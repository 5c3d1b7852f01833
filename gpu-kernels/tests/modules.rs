//! The committed PTX is what the host code believes it to be.

use gpu_kernels::{SM_70, SM_80, SM_90, names};

/// The entries of a module, with their parameters' types.
fn entries(ptx: &str) -> Vec<(&str, Vec<&str>)> {
    ptx.split(".visible .entry ")
        .skip(1)
        .map(|entry| {
            let (name, rest) = entry.split_once('(').expect("a parameter list");
            let (parameters, _) = rest.split_once(')').expect("its end");
            let types = parameters
                .lines()
                .filter_map(|line| line.trim().strip_prefix(".param ")?.split(' ').next())
                .collect();
            (name, types)
        })
        .collect()
}

/// The instructions of one kernel.
fn body<'a>(ptx: &'a str, kernel: &str) -> &'a str {
    let start = ptx
        .find(&format!(".visible .entry {kernel}("))
        .expect(kernel);
    ptx[start..].split_once("\n}").expect("the kernel's end").0
}

#[test]
fn the_names_are_exactly_the_entries() {
    for (module, names) in [
        (SM_70, names::ALL),
        (SM_80, names::ALL_SM_80),
        (SM_90, names::ALL_SM_90),
    ] {
        let mut entries: Vec<_> = entries(module).into_iter().map(|(name, _)| name).collect();
        let mut names = names.to_vec();
        entries.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, entries);
    }
}

#[test]
fn the_parameters_are_those_that_the_names_document() {
    let tiles = vec![".u64", ".u64", ".u64", ".u32"];
    let matmul = [vec![".u64"; 3], vec![".u32"; 9], vec![".f32"]].concat();
    let expected = [
        (names::AFFINE, vec![".u64", ".u64", ".f32", ".f32"]),
        (names::AFFINE_X4, vec![".u64", ".u64", ".f32", ".f32"]),
        (
            names::AFFINE_ROUNDS,
            vec![".u64", ".u64", ".f32", ".f32", ".u32"],
        ),
        (
            names::AFFINE_ROUNDS_X4,
            vec![".u64", ".u64", ".f32", ".f32", ".u32"],
        ),
        (names::FMA_CHAIN, vec![".u64", ".u64", ".u64", ".u32"]),
        (names::FILL, vec![".u64", ".u64", ".f32"]),
        (names::IOTA, vec![".u64", ".u64", ".u32"]),
        (names::SCALE, vec![".u64", ".u64", ".f32"]),
        (names::SAXPY, vec![".f32", ".u64", ".u64", ".u64"]),
        (names::SUM, vec![".u64", ".u64", ".u64"]),
        (names::DOT, vec![".u64", ".u64", ".u64", ".u64"]),
        (names::MATMUL, matmul.clone()),
        (names::MATMUL_TRANSPOSED, matmul),
        (
            names::SOFTMAX_ROWS,
            vec![".u64", ".u32", ".u32", ".u32", ".u32"],
        ),
        (names::BIAS_GELU, vec![".u64", ".u32", ".u64", ".u32"]),
        (
            names::BIAS_RESIDUAL,
            vec![".u64", ".u32", ".u64", ".u32", ".u64"],
        ),
        (
            names::APPEND_KV,
            [
                vec![".u64"],
                vec![".u32"; 2],
                vec![".u64"; 2],
                vec![".u32"; 3],
            ]
            .concat(),
        ),
        (
            names::PAGED_ATTENTION,
            vec![
                ".u64", ".u32", ".u64", ".u64", ".u32", ".u32", ".u32", ".f32",
            ],
        ),
        (names::FMA_TILES_UNSPECIALISED, tiles.clone()),
        (names::FMA_TILES_NAMED_BARRIERS, tiles.clone()),
        (names::FMA_TILES_CP_ASYNC, tiles.clone()),
        (names::FMA_TILES_BULK, tiles),
        (names::SPIN, vec![".u64", ".u64"]),
    ];
    let entries = [entries(SM_70), entries(SM_80), entries(SM_90)].concat();
    for (name, parameters) in &entries {
        let expected = expected.iter().find(|expected| expected.0 == *name);
        assert_eq!(*parameters, expected.expect(name).1, "{name}");
    }
    for (name, _) in expected {
        assert!(entries.iter().any(|entry| entry.0 == name), "{name}");
    }
}

#[test]
fn the_baseline_loads_on_every_driver() {
    assert!(SM_70.contains("\n.version 6.0\n"), "CUDA 9's PTX version");
    assert!(SM_70.contains("\n.target sm_70\n"));
}

#[test]
fn the_sm_80_module_loads_on_every_driver_since_cuda_11_1() {
    assert!(
        SM_80.contains("\n.version 7.1\n"),
        "CUDA 11.1's PTX version"
    );
    assert!(SM_80.contains("\n.target sm_80\n"));
}

#[test]
fn the_sm_90_module_loads_on_every_driver_since_cuda_12() {
    assert!(
        SM_90.contains("\n.version 8.0\n"),
        "CUDA 12.0's PTX version"
    );
    assert!(SM_90.contains("\n.target sm_90\n"));
}

#[test]
fn specialised_kernels_have_the_barriers_and_copies_that_their_names_promise() {
    let main_loop_barrier = |body: &str| body.matches("bar.sync \t0").count();
    let named = body(SM_70, names::FMA_TILES_NAMED_BARRIERS);
    assert!(named.contains("bar.arrive") && main_loop_barrier(named) == 0);
    let cp_async = (names::FMA_TILES_CP_ASYNC, "cp.async.cg.shared.global");
    let bulk = (
        names::FMA_TILES_BULK,
        "cp.async.bulk.shared::cluster.global",
    );
    let (asks, sleeps) = ("mbarrier.test_wait.parity", "mbarrier.try_wait.parity");
    for (module, (name, copy), wait, not) in [
        (SM_80, cp_async, asks, sleeps),
        (SM_90, cp_async, sleeps, asks),
        (SM_90, bulk, sleeps, asks),
    ] {
        let text = body(module, name);
        assert!(text.contains(copy), "{name} copies by {copy}");
        assert!(text.contains(wait) && !text.contains(not), "{name}: {wait}");
        // The one after the initialisation of the mbarriers.
        assert_eq!(main_loop_barrier(text), 1, "{name}");
    }
}

#[test]
fn slices_are_read_from_global_memory() {
    for name in [names::SAXPY, names::FMA_CHAIN, names::SUM, names::DOT] {
        let body = body(SM_70, name);
        assert!(body.contains("ld.global."), "{name}");
    }
}

#[test]
fn four_wide_kernels_load_and_store_16_bytes() {
    for name in [names::AFFINE_X4, names::AFFINE_ROUNDS_X4] {
        let body = body(SM_70, name);
        assert!(body.contains("ld.global.v4.b32"), "{name}");
        assert!(body.contains("st.global.v4.b32"), "{name}");
    }
}

#[test]
fn multiplication_and_addition_are_fused() {
    for name in [
        names::AFFINE,
        names::AFFINE_X4,
        names::FMA_CHAIN,
        names::SAXPY,
        names::DOT,
    ] {
        assert!(body(SM_70, name).contains("fma.rn.f32"), "{name}");
    }
    assert!(!body(SM_70, names::FMA_CHAIN).contains("mul.rn.f32"));
}

#[test]
fn no_kernel_can_panic_or_call() {
    for word in ["trap", "call", ".func", ".local"] {
        for module in [SM_70, SM_80, SM_90] {
            assert!(!module.contains(word), "{word}");
        }
    }
}

//! The committed PTX is what the host code believes it to be.

use gpu_kernels::{SM_70, SM_80, SM_90, SM_90A, Signature as _};

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
        (SM_70, gpu_kernels::SM_70_KERNELS),
        (SM_80, gpu_kernels::SM_80_KERNELS),
        (SM_90, gpu_kernels::SM_90_KERNELS),
        (SM_90A, gpu_kernels::SM_90A_KERNELS),
    ] {
        let mut entries: Vec<_> = entries(module).into_iter().map(|(name, _)| name).collect();
        let mut names = names.to_vec();
        entries.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, entries);
    }
}

/// The types of the kernel parameters that a declared parameter becomes.
fn ptx_types(declared: &str) -> Vec<&'static str> {
    match declared {
        "f32" => vec![".f32"],
        "u32" => vec![".u32"],
        "u64" | "usize" => vec![".u64"],
        slice if slice.starts_with('&') && slice.ends_with(']') => vec![".u64", ".u64"],
        pointer if pointer.starts_with('*') => vec![".u64"],
        other => panic!("what is a parameter of type {other}?"),
    }
}

#[test]
fn the_entries_have_the_parameters_of_the_signatures() {
    for (name, parameters) in [SM_70, SM_80, SM_90, SM_90A].into_iter().flat_map(entries) {
        let declared = gpu_kernels::DECLARATIONS
            .iter()
            .find(|declared| declared.0 == name);
        let (_, declared) = declared.expect(name);
        // A tuple: `(&mut [f32], f32)`, `(u64,)`.
        let types = declared().trim_matches(['(', ')']).trim_end_matches(',');
        let expected: Vec<_> = types.split(", ").flat_map(ptx_types).collect();
        assert_eq!(parameters, expected, "{name}");
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
fn the_sm_90a_module_loads_on_every_driver_since_cuda_12_3() {
    assert!(
        SM_90A.contains("\n.version 8.3\n"),
        "CUDA 12.3's PTX version"
    );
    assert!(SM_90A.contains("\n.target sm_90a\n"));
}

/// Names say how a kernel multiplies: on the tensor cores, by these instructions alone, and with all sums in registers.
#[test]
fn matrix_products_use_the_tensor_cores_as_their_names_promise() {
    let mma = body(SM_80, gpu_kernels::gemm_mma_sync::NAME);
    let wide = body(SM_80, gpu_kernels::gemm_mma_sync_wide::NAME);
    let wgmma = body(SM_90A, gpu_kernels::gemm_wgmma::NAME);
    let instruction = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ";
    // Elements of a warp and 64 terms, 16 x 8 and 16 of an instruction: 64 x 64, and of the wide one 64 x 96 or half of that.
    for (mma, count) in [(mma, 4 * 8 * 4), (wide, 4 * (12 + 6) * 4)] {
        assert_eq!(mma.matches(instruction).count(), count);
        for needed in [
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "cp.async.cg.shared.global",
        ] {
            assert!(mma.contains(needed), "{needed}");
        }
    }
    // 64 terms, 16 of an instruction.
    let instruction = "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16";
    assert_eq!(wgmma.matches(instruction).count(), 4);
    for needed in [
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [",
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [",
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [",
        "fence.proxy.tensormap::generic.acquire.gpu",
        "setmaxnreg.dec.sync.aligned.u32 24;",
        "setmaxnreg.inc.sync.aligned.u32 240;",
        "stmatrix.sync.aligned.m8n8.x4.shared.b16",
    ] {
        assert!(wgmma.contains(needed), "{needed}");
    }
    for text in [mma, wide, wgmma] {
        assert!(!text.contains("fma.") && !text.contains("mul.f32") && !text.contains(".local"));
    }
}

#[test]
fn specialised_kernels_have_the_barriers_and_copies_that_their_names_promise() {
    let main_loop_barrier = |body: &str| body.matches("bar.sync \t0").count();
    let named = body(SM_70, gpu_kernels::fma_tiles_named_barriers::NAME);
    assert!(named.contains("bar.arrive") && main_loop_barrier(named) == 0);
    let cp_async = (
        gpu_kernels::fma_tiles_cp_async::NAME,
        "cp.async.cg.shared.global",
    );
    let bulk = (
        gpu_kernels::fma_tiles_bulk::NAME,
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
fn tiles_come_to_a_cluster_as_the_kernels_names_promise() {
    let (alone, passed_on, multicast) = (
        "mbarrier::complete_tx::bytes [",
        "cp.async.bulk.shared::cluster.shared::cta",
        ".multicast::cluster",
    );
    for (kernel, has, has_not) in [
        (
            gpu_kernels::product_global::NAME,
            [alone].as_slice(),
            [passed_on, multicast].as_slice(),
        ),
        (
            gpu_kernels::product_dsmem::NAME,
            &[alone, passed_on],
            &[multicast],
        ),
        (
            gpu_kernels::product_multicast::NAME,
            &[alone, multicast],
            &[passed_on],
        ),
    ] {
        let text = body(SM_90, kernel);
        assert!(has.iter().all(|word| text.contains(word)), "{kernel}");
        assert!(has_not.iter().all(|word| !text.contains(word)), "{kernel}");
        // A fence of the device for each tile would cost more than sharing gains.
        assert!(
            !text.contains("fence.proxy.async.shared::cluster")
                && !text.contains("mbarrier.arrive.release.cluster"),
            "{kernel}"
        );
        assert_eq!(
            text.matches("barrier.cluster.wait").count(),
            2,
            "{kernel}: at the beginning and at the end"
        );
    }
    let text = body(SM_90, gpu_kernels::attention_prefetched::NAME);
    assert!(text.contains("cp.async.bulk") && text.contains("fence.proxy.async.shared::cta"));
}

#[test]
fn slices_are_read_from_global_memory() {
    for name in [
        gpu_kernels::saxpy::NAME,
        gpu_kernels::fma_chain::NAME,
        gpu_kernels::sum::NAME,
        gpu_kernels::dot::NAME,
    ] {
        let body = body(SM_70, name);
        assert!(body.contains("ld.global."), "{name}");
    }
}

/// What reduces in shared arrays by plain pointers has no generic access: LLVM knows where the arrays are.
#[test]
fn shared_arrays_are_accessed_as_shared_memory() {
    for name in [gpu_kernels::sum::NAME, gpu_kernels::dot::NAME] {
        let body = body(SM_70, name);
        assert!(body.contains("st.shared.b32"), "{name}");
        assert!(
            !body.contains("\tld.b32") && !body.contains("\tst.b32"),
            "{name}"
        );
    }
    // Its only generic accesses are of the pages, whose addresses come from memory.
    let paged = body(SM_70, gpu_kernels::paged_attention::NAME);
    assert!(paged.contains("ld.shared.b32") && !paged.contains("\tld.b32"));
    assert!(!paged.contains("\tst.b32") && !paged.contains("\tst.v4.b32"));
}

#[test]
fn four_wide_kernels_load_and_store_16_bytes() {
    for name in [
        gpu_kernels::affine_x4::NAME,
        gpu_kernels::affine_rounds_x4::NAME,
        gpu_kernels::affine_strided_x4::NAME,
    ] {
        let body = body(SM_70, name);
        assert!(body.contains("ld.global.v4.b32"), "{name}");
        assert!(body.contains("st.global.v4.b32"), "{name}");
    }
}

#[test]
fn multiplication_and_addition_are_fused() {
    for name in [
        gpu_kernels::affine::NAME,
        gpu_kernels::affine_x4::NAME,
        gpu_kernels::fma_chain::NAME,
        gpu_kernels::saxpy::NAME,
        gpu_kernels::dot::NAME,
    ] {
        assert!(body(SM_70, name).contains("fma.rn.f32"), "{name}");
    }
    assert!(!body(SM_70, gpu_kernels::fma_chain::NAME).contains("mul.rn.f32"));
}

#[test]
fn no_kernel_can_panic_or_call() {
    for word in ["trap", "call", ".func", ".local"] {
        for module in [SM_70, SM_80, SM_90, SM_90A] {
            assert!(!module.contains(word), "{word}");
        }
    }
}

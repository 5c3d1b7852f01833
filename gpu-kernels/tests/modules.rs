//! The committed PTX is what the host code believes it to be.

use gpu_kernels::{SM_70, SM_80, SM_90, Signature};

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
    ] {
        let mut entries: Vec<_> = entries(module).into_iter().map(|(name, _)| name).collect();
        let mut names = names.to_vec();
        entries.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, entries);
    }
}

/// The types of the kernel parameters that a declared parameter becomes.
trait PtxTypes {
    fn add_to(types: &mut Vec<&'static str>);
}

macro_rules! ptx_types {
    ($([$($T:ident)?] $Type:ty: $($ptx:literal)+;)*) => {$(
        impl$(<$T>)? PtxTypes for $Type {
            fn add_to(types: &mut Vec<&'static str>) {
                types.extend([$($ptx),+]);
            }
        }
    )*};
}

ptx_types! {
    [] f32: ".f32";
    [] usize: ".u64";
    [] u32: ".u32";
    [] u64: ".u64";
    [T] *const T: ".u64";
    [T] *mut T: ".u64";
    [T] &[T]: ".u64" ".u64";
    [T] &mut [T]: ".u64" ".u64";
}

macro_rules! ptx_types_of_tuples {
    ($($first:ident $($rest:ident)*)?) => {
        impl$(<$first: PtxTypes, $($rest: PtxTypes),*>)? PtxTypes for ($($first, $($rest,)*)?) {
            fn add_to(_types: &mut Vec<&'static str>) {
                $($first::add_to(_types); $($rest::add_to(_types);)*)?
            }
        }
        $(ptx_types_of_tuples!($($rest)*);)?
    };
}

ptx_types_of_tuples!(A B C D E F G H I J K L M);

fn entry<K: Signature<Parameters: PtxTypes>>() -> (&'static str, Vec<&'static str>) {
    let mut types = Vec::new();
    K::Parameters::add_to(&mut types);
    (K::NAME, types)
}

#[test]
fn the_entries_have_the_parameters_of_the_signatures() {
    let expected = [
        entry::<gpu_kernels::affine>(),
        entry::<gpu_kernels::affine_rounds>(),
        entry::<gpu_kernels::affine_rounds_x4>(),
        entry::<gpu_kernels::affine_strided_x4>(),
        entry::<gpu_kernels::affine_x4>(),
        entry::<gpu_kernels::allocate_tokens>(),
        entry::<gpu_kernels::append_kv>(),
        entry::<gpu_kernels::attention_direct>(),
        entry::<gpu_kernels::attention_prefetched>(),
        entry::<gpu_kernels::attention_staged>(),
        entry::<gpu_kernels::bias_gelu>(),
        entry::<gpu_kernels::bias_residual>(),
        entry::<gpu_kernels::dot>(),
        entry::<gpu_kernels::emit_tokens>(),
        entry::<gpu_kernels::fill>(),
        entry::<gpu_kernels::fma_chain>(),
        entry::<gpu_kernels::fma_tiles_bulk>(),
        entry::<gpu_kernels::fma_tiles_cp_async>(),
        entry::<gpu_kernels::fma_tiles_named_barriers>(),
        entry::<gpu_kernels::fma_tiles_unspecialised>(),
        entry::<gpu_kernels::hold>(),
        entry::<gpu_kernels::hold_registers>(),
        entry::<gpu_kernels::iota>(),
        entry::<gpu_kernels::jacobi>(),
        entry::<gpu_kernels::matmul>(),
        entry::<gpu_kernels::matmul_transposed>(),
        entry::<gpu_kernels::paged_attention>(),
        entry::<gpu_kernels::patch_relevance>(),
        entry::<gpu_kernels::product_dsmem>(),
        entry::<gpu_kernels::product_global>(),
        entry::<gpu_kernels::product_multicast>(),
        entry::<gpu_kernels::relax>(),
        entry::<gpu_kernels::relax_dependent>(),
        entry::<gpu_kernels::relax_persistent>(),
        entry::<gpu_kernels::saxpy>(),
        entry::<gpu_kernels::scale>(),
        entry::<gpu_kernels::softmax_rows>(),
        entry::<gpu_kernels::spin>(),
        entry::<gpu_kernels::sum>(),
        entry::<gpu_kernels::texture_features>(),
    ];
    for (name, parameters) in [SM_70, SM_80, SM_90].into_iter().flat_map(entries) {
        let expected = expected.iter().find(|expected| expected.0 == name);
        assert_eq!(parameters, expected.expect(name).1, "{name}");
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
        // Before a stage is written again, and before the block exits.
        assert!(
            text.contains("fence.proxy.async.shared::cluster"),
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
        for module in [SM_70, SM_80, SM_90] {
            assert!(!module.contains(word), "{word}");
        }
    }
}

//! The API of Rust-CUDA as published, item by item: what is here under the same name compiles and has the same signature, and the
//! table in `rust-cuda/README.md` says the rest.
#![allow(unused_imports, unstable_name_collisions)]

mod signatures;

/// One row of the table.
struct ModuleRow {
    name: &'static str,
    have: &'static [&'static str],
    differ: &'static [(&'static str, &'static str)],
    missing: &'static [&'static str],
}

/// Items of a module: those under `have` and `differ` are imported, so that they exist.
macro_rules! modules {
    ($($(#[$kind:ident])? $module:ident, $name:literal, $path:path {
        have: [$($have:ident)*],
        differ: [$($differ:ident: $difference:literal,)*],
        missing: [$($missing:literal)*],
    })*) => {
        $(
            mod $module {
                use $path as of;
                $(use of::$have as _;)*
                $(use of::$differ as _;)*
            }
        )*

        const MODULES: &[ModuleRow] = &[$(ModuleRow {
            name: $name,
            have: &[$(stringify!($have)),*],
            differ: &[$((stringify!($differ), $difference)),*],
            missing: &[$($missing),*],
        }),*];
    };
}

modules! {
    root, "cuda_std", cuda_std {
        have: [kernel gpu_only externally_visible shared_array GpuFloat FloatExt glam vek half f16 bf16
            async_copy atomic cfg float io mem misc prelude ptr shared thread warp print println assert_ne intrinsics],
        differ: [
            address_space: "`constant` stays in global memory; outside of kernels a shared static is a wrapper, whose address is not \
                the array's; `local` is refused",
            assert_eq: "`core`'s, a panic with both values",
        ],
        missing: [],
    }
    thread, "cuda_std::thread", cuda_std::thread {
        have: [thread_idx_x thread_idx_y thread_idx_z block_idx_x block_idx_y block_idx_z block_dim_x block_dim_y block_dim_z
            grid_dim_x grid_dim_y grid_dim_z thread_idx block_idx block_dim grid_dim index index_1d index_2d index_3d first
            sync_threads sync_threads_count sync_threads_and sync_threads_or nanosleep block_fence grid_fence device_fence
            system_fence warp_size],
        differ: [],
        missing: [],
    }
    warp, "cuda_std::warp", cuda_std::warp {
        have: [sync_warp lane_id activemask WarpReductionOp warp_match_any warp_match_all warp_vote_all
            warp_vote_any warp_vote_ballot warp_shuffle_down warp_shuffle_up warp_shuffle_idx warp_shuffle_xor warp_reduce
            WarpMatchValue WarpShuffleValue WarpShuffleMode],
        differ: [
            WarpReduceValue: "also of `u64` and `i64`, by shuffles; 32 bits before sm_80, too, where Rust-CUDA needs `redux.sync`",
        ],
        missing: [],
    }
    async_copy, "cuda_std::async_copy", cuda_std::async_copy {
        have: [cp_async_ca cp_async_cg cp_async_commit_group cp_async_wait_group cp_async_wait_all],
        differ: [],
        missing: [],
    }
    shared, "cuda_std::shared", cuda_std::shared {
        have: [dynamic_shared_mem],
        differ: [],
        missing: [],
    }
    atomic, "cuda_std::atomic", cuda_std::atomic {
        have: [AtomicF32 AtomicF64 BlockAtomicF32 BlockAtomicF64 SystemAtomicF32 SystemAtomicF64 mid intrinsics],
        differ: [],
        missing: [],
    }
    float, "cuda_std::float", cuda_std::float {
        have: [],
        differ: [GpuFloat: "libm's functions in place of libdevice's: slower, and other last digits",],
        missing: [],
    }
    cfg, "cuda_std::cfg", cuda_std::cfg {
        have: [ComputeCapability],
        differ: [],
        missing: [],
    }
    ptr, "cuda_std::ptr", cuda_std::ptr {
        have: [AddressSpace is_in_address_space convert_generic_to_specific_address_space
            convert_specific_address_space_to_generic],
        differ: [],
        missing: [],
    }
    mem, "cuda_std::mem", cuda_std::mem {
        have: [dynamic_smem_size total_smem_size CUDAAllocator],
        differ: [],
        missing: [],
    }
    misc, "cuda_std::misc", cuda_std::misc {
        have: [breakpoint profiler_counter clock],
        differ: [],
        missing: [],
    }
    io, "cuda_std::io", cuda_std::io {
        have: [],
        differ: [print: "a function behind the macro; longer texts than 255 bytes are printed in pieces",],
        missing: [],
    }
    builder, "cuda_builder", ::cuda_builder {
        have: [CudaBuilder CudaBuilderError DebugInfo EmitOption],
        differ: [NvvmArch: "the default is Volta, `Compute70`; older ones are compiled for Volta, with a warning",],
        missing: ["ptx_file_copy_path and the other public fields"],
    }
}

/// The methods of the builder, by their names and arguments; nothing is built.
#[test]
fn the_builder_has_every_method() {
    use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch};
    let _: CudaBuilder = CudaBuilder::new("kernels")
        .build_args(&["--features", "optix"])
        .debug(DebugInfo::LineTables)
        .release(true)
        .generate_line_info(true)
        .nvvm_opts(true)
        .arch(NvvmArch::Compute120a)
        .ftz(false)
        .fast_sqrt(true)
        .fast_div(true)
        .fma_contraction(true)
        .emit_llvm_ir(false)
        .emit_llvm_bitcode(false)
        .copy_to("kernels.ptx")
        .optix(false)
        .override_libm(false)
        .use_constant_memory_space(false)
        .final_module_path("kernels.ll");
}

/// The methods of the traits and types of Rust-CUDA, as a kernel calls them.
/// A type of a program that implements the traits of the warp's functions as Rust-CUDA declares them.
mod own {
    use cuda_std::warp::{
        WarpMatchValue, WarpReduceValue, WarpReductionOp, WarpShuffleMode, WarpShuffleValue,
    };

    #[expect(dead_code, reason = "it only has to compile")]
    struct Celsius(f32);

    impl WarpShuffleValue for Celsius {
        unsafe fn shuffle(
            mode: WarpShuffleMode,
            mask: u32,
            value: Self,
            b: u32,
            width: u32,
        ) -> (Self, bool) {
            // SAFETY: never called.
            let (value, in_group) = unsafe { f32::shuffle(mode, mask, value.0, b, width) };
            (Self(value), in_group)
        }
    }

    impl WarpMatchValue for Celsius {
        unsafe fn match_any(mask: u32, value: Self) -> u32 {
            // SAFETY: never called.
            unsafe { f32::match_any(mask, value.0) }
        }

        unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
            // SAFETY: never called.
            unsafe { f32::match_all(mask, value.0) }
        }
    }

    impl WarpReduceValue for Celsius {
        unsafe fn reduce(_mask: u32, value: Self, _op: WarpReductionOp) -> Self {
            value
        }
    }
}

#[expect(dead_code, reason = "it only has to compile")]
fn methods(x: f32, order: core::sync::atomic::Ordering) -> f32 {
    use cuda_std::FloatExt;
    use cuda_std::atomic::{AtomicF32, BlockAtomicF64};
    let _: cuda_std::glam::UVec3 = cuda_std::thread::thread_idx();
    let _: cuda_std::glam::USizeVec2 = cuda_std::thread::index_2d().as_usizevec2();
    let _: u64 = cuda_std::misc::clock();
    // SAFETY: never called.
    let _: Option<u32> = unsafe { cuda_std::warp::warp_match_all(u32::MAX, 1_u64) };
    let _: (cuda_std::bf16, bool) =
        // SAFETY: never called.
        unsafe { cuda_std::warp::warp_shuffle_xor(u32::MAX, cuda_std::bf16::ONE, 1, 32) };
    let _: bool = cuda_std::cfg::ComputeCapability::from_cuda_arch_env()
        >= cuda_std::cfg::ComputeCapability::Compute80;
    let atomic = AtomicF32::new(x);
    let _: [f32; 5] = [
        atomic.fetch_add(x, order),
        atomic.fetch_sub(x, order),
        atomic.fetch_and(x, order),
        atomic.fetch_or(x, order),
        atomic.fetch_xor(x, order),
    ];
    // SAFETY: no other block.
    let _: f64 = unsafe { BlockAtomicF64::new(1.0).fetch_add(1.0, order) };
    let (sin, cos) = x.sincospi();
    let (fraction, exponent) = x.frexp();
    let own = [
        x.cospi(),
        x.sinpi(),
        x.error_function(),
        x.complementary_error_function(),
        x.norm_cdf(),
        x.rcbrt(),
    ];
    let more = [
        x.inv_complementary_error_function(),
        x.scaled_complementary_error_function(),
        x.inv_norm_cdf(),
        x.log_gamma(),
        x.log1p(),
        x.saturate(),
        x.gamma(),
    ];
    let bessel = [
        x.j0(),
        x.j1(),
        x.jn(2),
        x.y0(),
        x.y1(),
        x.yn(2),
        x.ldexp(x.unbiased_exp()),
        x.scale_by_n(exponent),
    ];
    sin + cos + fraction + own[0] + more[0] + bessel[0]
}

fn table() -> String {
    let mut text = String::from("| module | have | differ | missing |\n|---|---:|---|---|\n");
    for ModuleRow {
        name,
        have,
        differ,
        missing,
    } in MODULES
    {
        let differ: Vec<_> = differ
            .iter()
            .map(|(item, how)| format!("`{item}`: {how}"))
            .collect();
        let missing: Vec<_> = missing.iter().map(|item| format!("`{item}`")).collect();
        text += &format!(
            "| `{name}` | {} | {} | {} |\n",
            have.len(),
            differ.join("; "),
            missing.join(", ")
        );
    }
    let count = |module| {
        signatures::functions()
            .filter(|(of, _)| *of == module)
            .count()
    };
    for (name, have, differ) in [
        ("cuda_std::atomic::mid", count("mid"), ""),
        (
            "cuda_std::atomic::intrinsics",
            signatures::atomic_intrinsics().len(),
            "`inc`, `dec` and `acqrel`: instructions that exist, where Rust-CUDA's do not assemble",
        ),
        (
            "cuda_std::intrinsics",
            count("intrinsics"),
            "software where libdevice has no instruction: slower, and other last digits; only those with a rounding mode need a GPU",
        ),
    ] {
        text += &format!("| `{name}` | {have} | {differ} |  |\n");
    }
    text
}

/// Each function with a signature in `upstream/` is in the table.
#[test]
fn the_table_has_every_function() {
    for (module, name) in signatures::functions() {
        let path = match module {
            "" => "cuda_std".to_owned(),
            // One item of the table each, whose functions `signatures` compares.
            "mid" | "intrinsics" => continue,
            _ => format!("cuda_std::{module}"),
        };
        let row = MODULES.iter().find(|row| row.name == path);
        let row = row.unwrap_or_else(|| panic!("there is no row of {path}"));
        let named = row
            .have
            .iter()
            .chain(row.differ.iter().map(|(name, _)| name));
        assert!(
            named.clone().any(|named| *named == name),
            "{path}::{name} is not in the table"
        );
    }
}

#[test]
fn the_readme_has_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rust-cuda/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- api -->\n", "<!-- end -->");
    let (before, rest) = readme.split_once(begin).unwrap();
    let (found, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(path, [before, begin, &table(), end, after].concat()).unwrap();
        return;
    }
    assert_eq!(found, table(), "run with UPDATE_README=1");
}

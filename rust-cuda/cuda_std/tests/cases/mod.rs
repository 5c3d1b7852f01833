//! What everything in the crate becomes.

/// What a kernel stores into `out`, and the instruction that has to be in it.
pub type InstructionCase = (&'static str, &'static str);

/// For every architecture. `a: u32`, `f: f32`, `d: f64` and `p: *mut u32` are parameters of the kernel.
pub const CASES: &[InstructionCase] = &[
    // thread
    ("thread::thread_idx_x()", "%tid.x;"),
    ("thread::thread_idx().y", "%tid.y;"),
    ("thread::thread_idx_z()", "%tid.z;"),
    ("thread::block_idx_x()", "%ctaid.x;"),
    ("thread::block_idx_y()", "%ctaid.y;"),
    ("thread::block_idx().z", "%ctaid.z;"),
    ("thread::block_dim_x()", "%ntid.x;"),
    ("thread::block_dim().y", "%ntid.y;"),
    ("thread::block_dim_z()", "%ntid.z;"),
    ("thread::grid_dim_x()", "%nctaid.x;"),
    ("thread::grid_dim_y()", "%nctaid.y;"),
    ("thread::grid_dim().z", "%nctaid.z;"),
    ("thread::index_1d()", "mad.lo.s32"),
    ("thread::index_2d().y", "mad.lo.s32"),
    ("thread::index_3d().z", "mad.lo.s32"),
    ("thread::index()", "mad.lo.s32"),
    ("u32::from(thread::first())", "%ctaid.z;"),
    ("{ thread::sync_threads(); a }", "bar.sync"),
    ("thread::sync_threads_count(a)", "bar.red.popc.u32"),
    ("thread::sync_threads_and(a)", "bar.red.and.pred"),
    ("thread::sync_threads_or(a)", "bar.red.or.pred"),
    ("{ thread::block_fence(); a }", "membar.cta;"),
    ("{ thread::grid_fence(); a }", "membar.gl;"),
    ("{ thread::device_fence(); a }", "membar.gl;"),
    ("{ thread::system_fence(); a }", "membar.sys;"),
    // warp
    ("warp::lane_id()", "%laneid;"),
    ("{ warp::sync_warp(a); a }", "bar.warp.sync"),
    (
        "u32::from(warp::warp_vote_all(a, f > 0.0))",
        "vote.sync.all.pred",
    ),
    (
        "u32::from(warp::warp_vote_any(a, f > 0.0))",
        "vote.sync.any.pred",
    ),
    ("warp::warp_vote_ballot(a, f > 0.0)", "vote.sync.ballot.b32"),
    ("warp::warp_match_any(a, f)", "match.any.sync.b32"),
    ("warp::warp_match_any(a, d)", "match.any.sync.b64"),
    (
        "warp::warp_match_all(a, f).unwrap_or(0)",
        "match.any.sync.b32",
    ),
    (
        "warp::warp_shuffle_up(a, f, 1, 32).0.to_bits()",
        "shfl.sync.up.b32",
    ),
    (
        "warp::warp_shuffle_down(a, f, 1, 16).0.to_bits()",
        "1, 4127,",
    ),
    (
        "warp::warp_shuffle_idx(a, f, 3, 32).0.to_bits()",
        "shfl.sync.idx.b32",
    ),
    (
        "warp::warp_shuffle_xor(a, d, 1, 32).0 as u32",
        "shfl.sync.bfly.b32",
    ),
    (
        "warp::warp_reduce(u32::MAX, u64::from(a), warp::WarpReductionOp::Max) as u32",
        "shfl.sync.bfly.b32",
    ),
    // shared memory
    (
        "*shared_array![u32; 16 + 16].add(a as usize)",
        "ld.shared.b32",
    ),
    ("*shared_array![u32; 16]", "ld.shared.b32"),
    (
        "{ let all = shared_array![[u8; 4]; 16]; (*all)[1] = a as u8; a }",
        "st.shared.b8",
    ),
    (
        "*shared::dynamic_shared_mem::<u32>().add(a as usize)",
        "ld.shared.b32",
    ),
    (
        "*shared::dynamic_shared_mem::<u32>()",
        "cuda_std_dynamic_shared+",
    ),
    (
        "SharedPtr::new(shared_array![u32; 8]).add(a).read()",
        "ld.shared.b32",
    ),
    ("SharedPtr::<f64>::at(8).read() as u32", "ld.shared.b64"),
    ("{ SharedPtr::<f32>::at(a).write(f); a }", "st.shared.b32"),
    (
        "SharedPtr::<f32>::at(a).read_x4()[1].to_bits()",
        "ld.shared.v4.b32",
    ),
    (
        "{ SharedPtr::<f32>::at(a).write_x4([f; 4]); a }",
        "st.shared.v4.b32",
    ),
    ("*SharedPtr::<u32>::at(a).as_ptr()", "cvta.shared.u64"),
    // atomics
    (
        "AtomicU32::from_ptr(p).load(Relaxed)",
        "ld.relaxed.gpu.global.b32",
    ),
    (
        "AtomicU32::from_ptr(p).load(Acquire)",
        "ld.acquire.gpu.global.b32",
    ),
    ("SystemAtomicU32::from_ptr(p).load(SeqCst)", "fence.sc.sys;"),
    (
        "{ BlockAtomicU32::from_ptr(p).store(a, Release); a }",
        "st.release.cta.global.b32",
    ),
    (
        "{ AtomicU32::from_ptr(p).store(a, Relaxed); a }",
        "st.relaxed.gpu.global.b32",
    ),
    (
        "AtomicU32::from_ptr(p).swap(a, AcqRel)",
        "atom.acq_rel.gpu.global.exch.b32",
    ),
    (
        "AtomicU32::from_ptr(p).fetch_add(a, Relaxed)",
        "atom.relaxed.gpu.global.add.u32",
    ),
    (
        "AtomicI32::from_ptr(p.cast()).fetch_add(1, Release) as u32",
        "atom.release.gpu.global.add.s32",
    ),
    (
        "AtomicU64::from_ptr(p.cast()).fetch_add(1, Acquire) as u32",
        "atom.acquire.gpu.global.add.u64",
    ),
    (
        "AtomicI64::from_ptr(p.cast()).fetch_max(1, Relaxed) as u32",
        "atom.relaxed.gpu.global.max.s64",
    ),
    (
        "AtomicF32::from_ptr(p.cast()).fetch_add(f, Relaxed) as u32",
        "atom.relaxed.gpu.global.add.f32",
    ),
    (
        "BlockAtomicF64::from_ptr(p.cast()).fetch_sub(d, Relaxed) as u32",
        "atom.relaxed.cta.global.add.f64",
    ),
    ("AtomicU32::from_ptr(p).fetch_sub(a, Relaxed)", "neg.s32"),
    (
        "AtomicU32::from_ptr(p).fetch_and(a, Relaxed)",
        "atom.relaxed.gpu.global.and.b32",
    ),
    (
        "AtomicU32::from_ptr(p).fetch_or(a, Relaxed)",
        "atom.relaxed.gpu.global.or.b32",
    ),
    (
        "AtomicU32::from_ptr(p).fetch_xor(a, Relaxed)",
        "atom.relaxed.gpu.global.xor.b32",
    ),
    (
        "AtomicI32::from_ptr(p.cast()).fetch_min(1, Relaxed) as u32",
        "atom.relaxed.gpu.global.min.s32",
    ),
    (
        "AtomicU32::from_ptr(p).fetch_max(a, SeqCst)",
        "fence.sc.gpu;",
    ),
    (
        "AtomicU32::from_ptr(p).compare_exchange(a, 1, AcqRel, Acquire).is_ok() as u32",
        "atom.acq_rel.gpu.global.cas.b32",
    ),
    // An address that LLVM cannot place is generic.
    (
        "BlockAtomicU32::from_ptr(shared_array![u32; 1]).fetch_add(a, Relaxed)",
        "atom.relaxed.cta.shared.add.u32",
    ),
    // maths
    ("f.floor().to_bits()", "cvt.rmi.f32.f32"),
    ("f.ceil().to_bits()", "cvt.rpi.f32.f32"),
    ("f.trunc().to_bits()", "cvt.rzi.f32.f32"),
    ("f.sqrt().to_bits()", "sqrt.rn.f32"),
    ("d.sqrt() as u32", "sqrt.rn.f64"),
    ("f.mul_add(2.0, f).to_bits()", "fma.rn.f32"),
    ("d.mul_add(2.0, d) as u32", "fma.rn.f64"),
    ("(f / 3.0).to_bits()", "div.rn.f32"),
    (
        "(f.round() + f.powi(5) + f.rem_euclid(3.0)).to_bits()",
        "mul.rn.f32",
    ),
    (
        "(f.sin() + f.cos() + f.tan() + f.exp() + f.ln() + f.powf(f)).to_bits()",
        "mul.rn.f64",
    ),
    (
        "(d.sin() + d.exp2() + d.log10() + d.atan2(d) + d.tanh() + d.cbrt()) as u32",
        "mul.rn.f64",
    ),
    ("f.fast_sin().to_bits()", "sin.approx.f32"),
    ("f.fast_cos().to_bits()", "cos.approx.f32"),
    ("f.fast_exp().to_bits()", "ex2.approx.f32"),
    ("f.fast_ln().to_bits()", "lg2.approx.f32"),
    ("f.fast_div(3.0).to_bits()", "div.approx.f32"),
    ("f.fast_recip().to_bits()", "rcp.approx.f32"),
    ("f.fast_sqrt().to_bits()", "sqrt.approx.f32"),
    ("f.rsqrt().to_bits()", "rsqrt.approx.f32"),
    // named barriers
    ("{ barrier::sync(1, 64); a }", "bar.sync"),
    ("{ barrier::arrive(1, 64); a }", "bar.arrive"),
    // clocks and assertions
    ("mem::dynamic_smem_size()", "%dynamic_smem_size;"),
    ("mem::total_smem_size()", "%total_smem_size;"),
    (
        "u32::from(ptr::is_in_address_space(p, ptr::AddressSpace::Shared))",
        "isspacep.shared",
    ),
    (
        "ptr::convert_generic_to_specific_address_space(p, ptr::AddressSpace::Local) as u32",
        "cvta.to.local.u64",
    ),
    (
        "ptr::convert_specific_address_space_to_generic(p, ptr::AddressSpace::Constant) as u32",
        "cvta.const.u64",
    ),
    ("{ misc::breakpoint(); a }", "brkpt;"),
    ("{ misc::profiler_counter(3); a }", "pmevent 3;"),
    (
        "atomic::mid::atomic_fetch_xor_f32_device(p.cast(), Relaxed, f) as u32",
        "atom.relaxed.gpu.global.xor.b32",
    ),
    (
        "{ atomic::mid::atomic_store_64_system(p.cast(), Release, 1); a }",
        "st.release.sys.global.b64",
    ),
    (
        "BlockAtomicU32::from_ptr(shared_array![u32; 8].add(a as usize)).fetch_add(a, Relaxed)",
        "atom.relaxed.cta.shared.add.u32",
    ),
    (
        "AtomicU64::from_ptr(shared::dynamic_shared_mem()).compare_exchange(1, 2, AcqRel, Acquire).unwrap_or(3) as u32",
        "atom.acq_rel.gpu.shared.cas.b64",
    ),
    (
        "BlockAtomicF64::from_ptr(shared_array![f64; 8].add(a as usize)).load(Acquire) as u32",
        "ld.acquire.cta.shared.b64",
    ),
    (
        "{ BlockAtomicI32::from_ptr(shared_array![i32; 8].add(a as usize)).store(-1, Release); a }",
        "st.release.cta.shared.b32",
    ),
    (
        "{ use core::sync::atomic::AtomicU32; AtomicU32::from_ptr(shared_array![u32; 8].add(a as usize)).fetch_max(a, Relaxed) }",
        "shared.max.u32",
    ),
    (
        "atomic::intrinsics::atomic_fetch_min_release_i64_block(shared_array![i64; 8].add(a as usize), -1) as u32",
        "atom.release.cta.shared.min.s64",
    ),
    // What LLVM cannot follow, the hardware finds out.
    (
        "AtomicU32::from_ptr(*p.cast::<*mut u32>()).fetch_add(a, Relaxed)",
        "isspacep.shared",
    ),
    (
        "AtomicU32::from_ptr(*p.cast::<*mut u32>()).fetch_add(a, Relaxed)",
        "atom.relaxed.gpu.add.u32",
    ),
    (
        "atomic::intrinsics::atomic_load_volatile_32_system(p)",
        "ld.volatile.global.b32",
    ),
    (
        "{ atomic::intrinsics::atomic_store_release_64_device(p.cast(), 1); a }",
        "st.release.gpu.global.b64",
    ),
    (
        "{ atomic::intrinsics::fence_acqrel_block(); a }",
        "fence.acq_rel.cta;",
    ),
    ("{ atomic::intrinsics::membar_device(); a }", "membar.gl;"),
    ("misc::clock() as u32", "%clock64;"),
    ("clock64() as u32", "%clock64;"),
    ("global_timer() as u32", "%globaltimer;"),
    ("{ assert!(a < 5, \"{a}\"); a }", "trap;"),
];

/// The same for what the baseline's PTX version has no instruction for: its substitute, and the later instruction.
pub const BY_VERSION: &[(&str, &str, &str)] = &[
    (
        "{ thread::nanosleep(a); a }",
        "%globaltimer;",
        "nanosleep.u32",
    ),
    ("warp::activemask()", "vote.ballot.b32", "activemask.b32"),
    (
        "warp::warp_reduce(u32::MAX, a, warp::WarpReductionOp::Max)",
        "max.u32",
        "redux.sync.max.u32",
    ),
    (
        "warp::warp_reduce(u32::MAX, a as i32, warp::WarpReductionOp::Min) as u32",
        "min.s32",
        "redux.sync.min.s32",
    ),
    (
        "warp::warp_reduce(7, a, warp::WarpReductionOp::Xor)",
        "shfl.sync.idx.b32",
        "redux.sync.xor.b32",
    ),
];

/// What [`AMPERE`] uses.
pub const AMPERE_NAMES: &str = "use cuda_std::extensions::{async_copy, mbarrier::Mbarrier, mma};\n";

/// The functions from sm_80 on.
pub const AMPERE: &[InstructionCase] = &[
    (
        "{ Mbarrier::at(SharedPtr::at(a)).init(3); a }",
        "mbarrier.init.shared.b64",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).inval(); a }",
        "mbarrier.inval.shared.b64",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).arrive(); a }",
        "mbarrier.arrive.shared.b64",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).arrive_after_copies(); a }",
        "cp.async.mbarrier.arrive.noinc.shared.b64",
    ),
    (
        "u32::from(Mbarrier::at(SharedPtr::at(a)).test_wait_parity(0))",
        "mbarrier.test_wait.parity.shared.b64",
    ),
    (
        "{ async_copy::copy_4(SharedPtr::at(a), p); a }",
        "cp.async.ca.shared.global",
    ),
    ("{ async_copy::copy_8(SharedPtr::at(a), p); a }", "], 8;"),
    (
        "{ async_copy::copy_16(SharedPtr::at(a), p); a }",
        "cp.async.cg.shared.global",
    ),
    (
        "{ async_copy::copy_16_zero_filled(SharedPtr::at(a), p, 7); a }",
        "], 16, %r",
    ),
    (
        "{ async_copy::commit_group(); a }",
        "cp.async.commit_group;",
    ),
    (
        "{ async_copy::wait_group::<2>(); a }",
        "cp.async.wait_group 2;",
    ),
    ("{ async_copy::wait_all(); a }", "cp.async.wait_all;"),
    (
        "mma::m16n8k16_bf16([a; 4], [a; 2], [f; 4])[0].to_bits()",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    ),
    (
        "mma::load_x4(SharedPtr::<u32>::at(a))[3]",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    ),
    ("mma::pack_bf16(f, 1.0)", "cvt.rn.bf16x2.f32"),
];

/// The functions with another instruction from sm_90 on.
pub const BEFORE_HOPPER: &[InstructionCase] = &[(
    "{ Mbarrier::at(SharedPtr::at(a)).wait_parity(0); a }",
    "mbarrier.test_wait.parity.shared.b64",
)];

/// What [`HOPPER`] uses besides.
pub const HOPPER_NAMES: &str = "use cuda_std::extensions::{bulk, cluster, fence, tensor_map};\n";

/// The functions from sm_90 on.
pub const HOPPER: &[InstructionCase] = &[
    (
        "{ Mbarrier::at(SharedPtr::at(a)).arrive_expect_tx(16); a }",
        "mbarrier.arrive.expect_tx.shared.b64",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).expect_tx(16); a }",
        "mbarrier.expect_tx.relaxed.cta.shared.b64",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).wait_parity(0); a }",
        "mbarrier.try_wait.parity.shared.b64",
    ),
    (
        "{ bulk::copy_to_shared(SharedPtr::at(a), p, 16, Mbarrier::at(SharedPtr::at(a))); a }",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).arrive_at(1); a }",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _,",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).arrive_at_having_read(1); a }",
        "mbarrier.arrive.shared::cluster.b64 _,",
    ),
    (
        "{ Mbarrier::at(SharedPtr::at(a)).wait_parity_of_cluster(0); a }",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64",
    ),
    (
        "{ bulk::multicast_to_cluster(SharedPtr::at(a), p, 16, Mbarrier::at(SharedPtr::at(a)), 3); a }",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
    ),
    (
        "{ bulk::copy_to_global(p, SharedPtr::at(a), 16); a }",
        "cp.async.bulk.global.shared::cta.bulk_group",
    ),
    ("{ bulk::commit_group(); a }", "cp.async.bulk.commit_group;"),
    (
        "{ bulk::wait_group::<1>(); a }",
        "cp.async.bulk.wait_group 1;",
    ),
    (
        "{ bulk::wait_group_read::<1>(); a }",
        "cp.async.bulk.wait_group.read 1;",
    ),
    ("{ fence::proxy_async(); a }", "fence.proxy.async;"),
    (
        "{ fence::proxy_async_shared(); a }",
        "fence.proxy.async.shared::cta;",
    ),
    (
        "{ fence::proxy_async_cluster(); a }",
        "fence.proxy.async.shared::cluster;",
    ),
    (
        "{ fence::mbarrier_init(); a }",
        "fence.mbarrier_init.release.cluster;",
    ),
    ("cluster::block_rank()", "%cluster_ctarank;"),
    ("cluster::block_count()", "%cluster_nctarank;"),
    ("cluster::cluster_idx_x()", "%clusterid.x;"),
    ("cluster::grid_clusters_x()", "%nclusterid.x;"),
    ("{ cluster::sync(); a }", "barrier.cluster.arrive"),
    ("{ cluster::wait(); a }", "barrier.cluster.wait"),
    (
        "cluster::map_shared_rank(SharedPtr::<u32>::at(a), 1).address()",
        "mapa.shared::cluster.u32",
    ),
    (
        "cluster::map_shared_rank(SharedPtr::<u32>::at(a), 1).read()",
        "ld.shared::cluster.b32",
    ),
    (
        "{ cluster::map_shared_rank(SharedPtr::<f64>::at(a), 1).write(d); a }",
        "st.shared::cluster.b64",
    ),
    (
        "{ mma::store_x4(SharedPtr::<u32>::at(a), [a; 4]); a }",
        "stmatrix.sync.aligned.m8n8.x4.shared.b16",
    ),
    (
        "{ tensor_map::copy_to_shared(SharedPtr::<u32>::at(a), p.cast(), [0, 1, 2], Mbarrier::at(SharedPtr::at(a))); a }",
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [",
    ),
    (
        "{ tensor_map::multicast_to_cluster(SharedPtr::<u32>::at(a), p.cast(), [0, 1, 2], Mbarrier::at(SharedPtr::at(a)), 3); a }",
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [",
    ),
    (
        "{ tensor_map::copy_to_global(p.cast(), [0, 1, 2], SharedPtr::<u32>::at(a)); a }",
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [",
    ),
];

/// What [`HOPPER_ALONE`] uses besides.
pub const HOPPER_ALONE_NAMES: &str = "use cuda_std::extensions::{registers, wgmma};\n";

/// The functions of sm_90a alone.
pub const HOPPER_ALONE: &[InstructionCase] = &[
    (
        "{ tensor_map::acquire(p.cast()); a }",
        "fence.proxy.tensormap::generic.acquire.gpu [",
    ),
    (
        "{ registers::decrease_to::<24>(); a }",
        "setmaxnreg.dec.sync.aligned.u32 24;",
    ),
    (
        "{ registers::increase_to::<240>(); a }",
        "setmaxnreg.inc.sync.aligned.u32 240;",
    ),
    ("{ wgmma::fence(); a }", "wgmma.fence.sync.aligned;"),
    (
        "{ wgmma::commit_group(); a }",
        "wgmma.commit_group.sync.aligned;",
    ),
    (
        "{ wgmma::wait_group::<1>(); a }",
        "wgmma.wait_group.sync.aligned 1;",
    ),
    (
        "{ let tile = wgmma::Descriptor::swizzled_128(SharedPtr::<u32>::at(a)); let mut sums = wgmma::NO_SUMS; \
         wgmma::m64n256k16_bf16(&mut sums, tile, tile.skip(16), true); sums[127].to_bits() }",
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
    ),
];

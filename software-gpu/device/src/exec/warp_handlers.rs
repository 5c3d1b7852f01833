//! Handlers of warp-wide operations, made from functions of one lane. A *shape* is a form of instruction, such as two
//! sources and one result.
//!
//! A *handler* is a function pointer in a lowered operation ([`Op`]). There are two kinds, with the same results:
//!
//! - A *vector* handler ([`map1`] ..) computes all 32 lanes in a loop that the compiler vectorises, and stores those under
//!   the mask. The loop is compiled for several x86-64 feature levels; [`Level`] is detected once, and lowering picks the
//!   handler of that level.
//! - A *scalar* handler ([`rare1`] ..) calls a function of one lane for each lane under the mask. All instructions whose
//!   rows have the same widths share the loop, and [`Modes`] reach the function as a value, so that one function serves all
//!   roundings. It is for what is rare, or does not vectorise: compiling such instructions costs next to nothing.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::LazyLock;

use super::arithmetic::float::Modes;
use super::context::Context;
use super::lane::Lane;
use super::op::{Handler, Op, Slot};

/// Threads in a warp.
pub(super) const LANES: usize = 32;

/// The handler body of a shape, to be inlined into a function per feature level.
pub(super) trait Shape {
    /// # Safety
    ///
    /// The slots of `op` must lie in the current frame of `cx`, rows aligned and of the shape's width.
    unsafe fn run(cx: &mut Context<'_>, op: &Op);

    /// The same in little code, where that is possible.
    ///
    /// # Safety
    ///
    /// That of [`Self::run`].
    #[inline(always)]
    unsafe fn run_scalar(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: the caller upholds the contract.
        unsafe { Self::run(cx, op) }
    }
}

/// x86-64 feature levels worth separate code. A build with debug assertions is the one that a newcomer waits for: on
/// x86-64 only its AVX2 level is vectorised, AVX-512 is left out, and older processors get scalar handlers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
    Avx512,
}

static LEVEL: LazyLock<Level> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        #[cfg(not(debug_assertions))]
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        #[cfg(not(debug_assertions))]
        if avx2 && avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Plain
});

unsafe fn plain<S: Shape>(cx: &mut Context<'_>, op: &Op) {
    // SAFETY: the caller upholds the contract of `Shape::run`.
    unsafe {
        match cfg!(all(target_arch = "x86_64", debug_assertions)) {
            true => S::run_scalar(cx, op),
            false => S::run(cx, op),
        }
    }
}

unsafe fn scalar<S: Shape>(cx: &mut Context<'_>, op: &Op) {
    // SAFETY: the caller upholds the contract of `Shape::run`.
    unsafe { S::run_scalar(cx, op) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,lzcnt,popcnt")]
unsafe fn avx2<S: Shape>(cx: &mut Context<'_>, op: &Op) {
    // SAFETY: the caller upholds the contract of `Shape::run`.
    unsafe { S::run(cx, op) }
}

#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
#[target_feature(enable = "avx2,fma,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
unsafe fn avx512<S: Shape>(cx: &mut Context<'_>, op: &Op) {
    // SAFETY: the caller upholds the contract of `Shape::run`.
    unsafe { S::run(cx, op) }
}

/// The handler of a shape for this processor.
pub(super) fn handler<S: Shape>() -> Handler {
    match *LEVEL {
        Level::Plain => plain::<S>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<S>,
        #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
        Level::Avx512 => avx512::<S>,
    }
}

/// The handler of a shape that gains nothing from wide vectors.
pub(super) fn plain_handler<S: Shape>() -> Handler {
    scalar::<S>
}

/// The one value of a closure that captures nothing.
#[inline(always)]
fn closure<F: Copy>() -> &'static F {
    const { assert!(size_of::<F>() == 0) };
    // SAFETY: `F` has no bytes, and a value of it existed where the shape was built, so it is inhabited.
    unsafe { NonNull::<F>::dangling().as_ref() }
}

/// Writes the lanes of `out` that the mask selects.
#[inline(always)]
unsafe fn store<D: Copy>(cx: &mut Context<'_>, slot: Slot, out: &[D; LANES]) {
    // SAFETY: by contract of `Shape::run` the slot is a row of this width.
    let row = unsafe { &mut *cx.row::<D>(slot) };
    if cx.mask == !0 {
        *row = *out;
    } else {
        for lane in 0..LANES {
            if cx.mask & (1 << lane) != 0 {
                row[lane] = out[lane];
            }
        }
    }
}

macro_rules! maps {
    ($($shape:ident $build:ident $scalar:ident $rare:ident $each:ident
        ($($arg:ident: $ty:ident from $field:ident),*);)*) => {$(
        struct $shape<$($ty,)* D, F>(PhantomData<($($ty,)* D, F)>);

        impl<$($ty: Lane,)* D: Lane, F: Fn($($ty),*) -> D + Copy + 'static> Shape for $shape<$($ty,)* D, F> {
            #[inline(always)]
            unsafe fn run(cx: &mut Context<'_>, op: &Op) {
                let f = closure::<F>();
                let mut out = [D::Cell::default(); LANES];
                $(
                    // SAFETY: by contract the slot is a row of this width.
                    let $arg = unsafe { &*cx.row::<$ty::Cell>(op.$field) };
                )*
                for lane in 0..LANES {
                    out[lane] = f($($ty::from_cell($arg[lane])),*).to_cell();
                }
                // SAFETY: by contract the slot is a row of this width.
                unsafe { store(cx, op.d, &out) }
            }

            #[inline(always)]
            unsafe fn run_scalar(cx: &mut Context<'_>, op: &Op) {
                // SAFETY: the contract is the same, and these are the widths.
                unsafe {
                    $each(cx, op, |_: Modes, $($arg: $ty::Cell),*| {
                        closure::<F>()($($ty::from_cell($arg)),*).to_cell()
                    })
                }
            }
        }

        struct $scalar<$($ty,)* D, F>(PhantomData<($($ty,)* D, F)>);

        impl<$($ty: Lane,)* D: Lane, F: Fn(Modes, $($ty),*) -> D + Copy + 'static> Shape for $scalar<$($ty,)* D, F> {
            #[inline(always)]
            unsafe fn run(cx: &mut Context<'_>, op: &Op) {
                // SAFETY: the contract is the same, and these are the widths.
                unsafe {
                    $each(cx, op, |modes: Modes, $($arg: $ty::Cell),*| {
                        closure::<F>()(modes, $($ty::from_cell($arg)),*).to_cell()
                    })
                }
            }
        }

        /// The loop of all scalar handlers with rows of these widths.
        ///
        /// # Safety
        ///
        /// That of [`Shape::run`]: the slots must be rows of these widths.
        #[inline(never)]
        unsafe fn $each<$($ty: Copy,)* D: Copy>(cx: &mut Context<'_>, op: &Op, f: fn(Modes, $($ty),*) -> D) {
            let d = cx.row::<D>(op.d).cast::<D>();
            $(let $arg = cx.row::<$ty>(op.$field).cast::<$ty>();)*
            let modes = Modes::of_bits(op.x);
            for lane in cx.lanes() {
                // SAFETY: by contract these are rows, which have 32 cells of these types.
                unsafe { *d.add(lane) = f(modes, $(*$arg.add(lane)),*) }
            }
        }

        /// Vector handler that applies `f` to each lane: `d = f(a, ..)`.
        pub(super) fn $build<$($ty: Lane,)* D: Lane, F: Fn($($ty),*) -> D + Copy + 'static>(_f: F) -> Handler {
            handler::<$shape<$($ty,)* D, F>>()
        }

        /// Scalar handler that applies `f` to each lane: `d = f(modes, a, ..)`, the modes being the constant `x`.
        pub(super) fn $rare<$($ty: Lane,)* D: Lane, F: Fn(Modes, $($ty),*) -> D + Copy + 'static>(_f: F) -> Handler {
            plain_handler::<$scalar<$($ty,)* D, F>>()
        }
    )*};
}

maps! {
    Map1 map1 Scalar1 rare1 each1 (a: A from a);
    Map2 map2 Scalar2 rare2 each2 (a: A from a, b: B from b);
    Map3 map3 Scalar3 rare3 each3 (a: A from a, b: B from b, c: C from c);
    Map4 map4 Scalar4 rare4 each4 (a: A from a, b: B from b, c: C from c, e: E from e);
}

struct Test<A, B, F>(PhantomData<(A, B, F)>);

impl<A: Lane, B: Lane, F: Fn(A, B) -> bool + Copy + 'static> Shape for Test<A, B, F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let f = closure::<F>();
        // SAFETY: by contract these slots are rows of these widths.
        let (a, b) = unsafe { (&*cx.row::<A::Cell>(op.a), &*cx.row::<B::Cell>(op.b)) };
        let mut holds = 0u32;
        for lane in 0..LANES {
            holds |= u32::from(f(A::from_cell(a[lane]), B::from_cell(b[lane]))) << lane;
        }
        // SAFETY: by contract the slot is a predicate.
        unsafe { cx.set_predicate(op.d, holds) }
    }

    #[inline(always)]
    unsafe fn run_scalar(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: the contract is the same, and these are the widths.
        unsafe {
            test_each(cx, op, |a: A::Cell, b: B::Cell| {
                closure::<F>()(A::from_cell(a), B::from_cell(b))
            })
        }
    }
}

/// The loop of all scalar comparisons of rows of these widths.
///
/// # Safety
///
/// That of [`Shape::run`]: `a` and `b` must be rows of these widths, `d` a predicate.
#[inline(never)]
unsafe fn test_each<A: Copy, B: Copy>(cx: &mut Context<'_>, op: &Op, f: fn(A, B) -> bool) {
    // SAFETY: by contract these slots are rows of these widths.
    let (a, b) = unsafe { (&*cx.row::<A>(op.a), &*cx.row::<B>(op.b)) };
    let holds = cx.lanes().fold(0, |holds: u32, lane| {
        holds | u32::from(f(a[lane], b[lane])) << lane
    });
    // SAFETY: by contract the slot is a predicate.
    unsafe { cx.set_predicate(op.d, holds) }
}

/// Handler of a comparison: predicate `d = f(a, b)`.
pub(super) fn test<A: Lane, B: Lane, F: Fn(A, B) -> bool + Copy + 'static>(_f: F) -> Handler {
    handler::<Test<A, B, F>>()
}

struct Choose<A>(PhantomData<A>);

impl<A: Lane> Shape for Choose<A> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: by contract `a` and `b` are rows of this width and `c` is a predicate.
        let (a, b, p) = unsafe {
            (
                &*cx.row::<A::Cell>(op.a),
                &*cx.row::<A::Cell>(op.b),
                cx.predicate(op.c),
            )
        };
        let mut out = [A::Cell::default(); LANES];
        for lane in 0..LANES {
            out[lane] = if p & (1 << lane) != 0 {
                a[lane]
            } else {
                b[lane]
            };
        }
        // SAFETY: by contract the slot is a row of this width.
        unsafe { store(cx, op.d, &out) }
    }
}

/// Handler of `selp`: `d = c ? a : b`.
pub(super) fn choose<A: Lane>() -> Handler {
    handler::<Choose<A>>()
}

struct Carry<A, F>(PhantomData<(A, F)>);

impl<A: Lane, F: Fn(A, A, A, bool) -> (A, bool) + Copy + 'static> Shape for Carry<A, F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let f = closure::<F>();
        // SAFETY: by contract these slots are rows of this width.
        let (a, b, c) = unsafe {
            (
                &*cx.row::<A::Cell>(op.a),
                &*cx.row::<A::Cell>(op.b),
                &*cx.row::<A::Cell>(op.c),
            )
        };
        let mut out = [A::Cell::default(); LANES];
        let mut carries = 0u32;
        // SAFETY: by contract `e` is the predicate that holds the carry flag.
        let before = unsafe { cx.predicate(op.e) };
        for lane in 0..LANES {
            let (value, carry) = f(
                A::from_cell(a[lane]),
                A::from_cell(b[lane]),
                A::from_cell(c[lane]),
                before & (1 << lane) != 0,
            );
            out[lane] = value.to_cell();
            carries |= u32::from(carry) << lane;
        }
        if op.x != 0 {
            // SAFETY: as above.
            unsafe { cx.set_predicate(op.e, carries) }
        }
        // SAFETY: by contract the slot is a row of this width.
        unsafe { store(cx, op.d, &out) }
    }
}

/// Handler of extended-precision arithmetic: `(d, carry) = f(a, b, c, carry)`; the carry flag is the predicate `e`,
/// written only when `x` is not 0.
pub(super) fn carry<A: Lane, F: Fn(A, A, A, bool) -> (A, bool) + Copy + 'static>(_f: F) -> Handler {
    plain_handler::<Carry<A, F>>()
}

struct Logic<F>(PhantomData<F>);

impl<F: Fn(u32, u32) -> u32 + Copy + 'static> Shape for Logic<F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: by contract all three slots are predicates.
        unsafe {
            let value = closure::<F>()(cx.predicate(op.a), cx.predicate(op.b));
            cx.set_predicate(op.d, value);
        }
    }
}

/// Handler of predicate logic on whole masks: `d = f(a, b)`.
pub(super) fn logic<F: Fn(u32, u32) -> u32 + Copy + 'static>(_f: F) -> Handler {
    plain_handler::<Logic<F>>()
}

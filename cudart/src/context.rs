//! The device of each thread, and its primary context.
//!
//! A thread starts on device 0. Its first call that needs a device makes the device's primary context current, unless the
//! program has made a context current through the driver API: then the runtime uses that one.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::driver::{self, Handle};
use crate::error::{Error, Result};

/// Primary contexts by device. A context is an address here, because handles do not move between threads.
static PRIMARY: Mutex<BTreeMap<i32, usize>> = Mutex::new(BTreeMap::new());
/// Grows with each reset of a device, after which every thread needs a context again.
static RESETS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// `RESETS` when this thread last got a context; 0 before.
    static BOUND: Cell<u64> = const { Cell::new(0) };
}

/// Initialises the driver, once.
pub(crate) fn initialise() -> Result {
    static INITIALISED: OnceLock<Result> = OnceLock::new();
    // SAFETY: cuInit takes the flags 0.
    *INITIALISED.get_or_init(|| unsafe { driver::cuInit(0) })
}

/// How many devices there are.
pub(crate) fn device_count() -> Result<i32> {
    initialise()?;
    let mut count = 0;
    // SAFETY: the driver writes a number.
    unsafe { driver::cuDeviceGetCount(&mut count) }?;
    if count == 0 {
        Err(Error::NO_DEVICE)
    } else {
        Ok(count)
    }
}

/// Fails with `cudaErrorInvalidDevice` if there is no such device.
pub(crate) fn check_device(device: i32) -> Result {
    let known = (0..device_count()?).contains(&device);
    if known {
        Ok(())
    } else {
        Err(Error::INVALID_DEVICE)
    }
}

/// The primary context of a device, created when first needed.
pub(crate) fn primary(device: i32) -> Result<Handle> {
    check_device(device)?;
    let mut primary = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = primary.get(&device) {
        return Ok(*context as Handle);
    }
    let mut context = null_mut();
    // SAFETY: the driver writes a handle.
    unsafe { driver::cuDevicePrimaryCtxRetain(&mut context, device) }?;
    primary.insert(device, context as usize);
    Ok(context)
}

/// The current context.
pub(crate) fn current() -> Result<Handle> {
    let mut context = null_mut();
    // SAFETY: the driver writes a handle.
    unsafe { driver::cuCtxGetCurrent(&mut context) }?;
    Ok(context)
}

/// Gives a thread without a context the primary one of its device.
pub(crate) fn bind() -> Result {
    let resets = RESETS.load(Ordering::Acquire);
    if BOUND.get() == resets {
        return Ok(());
    }
    initialise()?;
    let first = BOUND.get() == 0;
    if !first || current()?.is_null() {
        make_current(DEVICE.get())?;
    }
    BOUND.set(resets);
    Ok(())
}

/// Makes a device this thread's.
pub(crate) fn select(device: i32) -> Result {
    make_current(device)?;
    DEVICE.set(device);
    BOUND.set(RESETS.load(Ordering::Acquire));
    Ok(())
}

fn make_current(device: i32) -> Result {
    let context = primary(device)?;
    // SAFETY: the context is the device's primary one.
    unsafe { driver::cuCtxSetCurrent(context) }
}

/// The thread's device: that of its context, or the one that its first call will use.
pub(crate) fn device() -> Result<i32> {
    initialise()?;
    if BOUND.get() == 0 && current()?.is_null() {
        check_device(DEVICE.get())?;
        return Ok(DEVICE.get());
    }
    bind()?;
    let mut device = 0;
    // SAFETY: the driver writes a number.
    unsafe { driver::cuCtxGetDevice(&mut device) }?;
    Ok(device)
}

/// Destroys what the process has on the thread's device.
pub(crate) fn reset() -> Result {
    let device = device()?;
    PRIMARY
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&device);
    // SAFETY: the device exists.
    unsafe { driver::cuDevicePrimaryCtxReset_v2(device) }?;
    DEVICE.set(device);
    RESETS.fetch_add(1, Ordering::AcqRel);
    Ok(())
}

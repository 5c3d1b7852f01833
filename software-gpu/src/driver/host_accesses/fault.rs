//! The handler of `SIGSEGV`: notes which line of the program accesses protected memory, and lets the access continue.
//!
//! A fault elsewhere goes to the handler that was there before, such as that of Rust for stack overflows or Python's `faulthandler`.
//! If another one replaces this handler, the next protection puts it back, before the other.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Mutex;

use super::protection::{self, Fault, Seen};
use super::stack::on_new_stack;
use crate::call_site::CallSite;
use crate::driver::checkers::ordering::calling_thread;
use crate::driver::host::threads::current;
use crate::order::HostAccess;

/// `SEGV_ACCERR` of `siginfo.h`: the page is mapped and refuses the access.
const ACCESS_ERROR: c_int = 2;
/// In the error code of a page fault: the access is a store. Intel's manual, volume 3, section "Page-fault exceptions".
const STORE: i64 = 2;

/// What handles other faults.
static OTHERS: Mutex<Option<libc::sigaction>> = Mutex::new(None);

/// Makes sure that this handler comes first. Returns whether it does.
pub(super) fn handle() -> bool {
    let Some(present) = exchange(None) else {
        return false;
    };
    let own = on_fault as *const () as usize;
    if present.sa_sigaction == own {
        return true;
    }
    let mut ours = present;
    ours.sa_sigaction = own;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // No other handler of the program runs while this one holds a lock.
    // SAFETY: the set is part of the structure.
    unsafe { libc::sigfillset(&mut ours.sa_mask) };
    if let Ok(mut others) = OTHERS.lock() {
        *others = Some(present);
    }
    exchange(Some(&ours)).is_some()
}

/// Sets what the process does at `SIGSEGV`, and returns what it did.
fn exchange(new: Option<&libc::sigaction>) -> Option<libc::sigaction> {
    let mut old = MaybeUninit::uninit();
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `new` is null or complete, and `old` has room for the answer.
    let result = unsafe { libc::sigaction(libc::SIGSEGV, new, old.as_mut_ptr()) };
    // SAFETY: a call that succeeds has filled `old`.
    (result == 0).then(|| unsafe { old.assume_init() })
}

extern "C" fn on_fault(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes both to a handler with `SA_SIGINFO`.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as u64) };
    // SAFETY: the address of the calling thread's own variable.
    let errno = unsafe { *libc::__errno_location() };
    let mut is_ours = false;
    if code == ACCESS_ERROR && protection::may_be_watched(address) {
        // SAFETY: as above.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        on_new_stack(|| is_ours = goes_on(address, context));
    }
    if !is_ours {
        hand_on(code);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Notes the access, and opens its page. Returns whether the access can be made again.
fn goes_on(address: u64, context: &mut libc::ucontext_t) -> bool {
    let error = context.uc_mcontext.gregs[libc::REG_ERR as usize];
    let access = match error & STORE {
        0 => HostAccess::Read,
        _ => HostAccess::Write,
    };
    match protection::lock().fault(address, access) {
        Fault::Foreign => return false,
        Fault::Open => return true,
        Fault::Protected => {}
    }
    let site = site_of(&mut context.uc_mcontext.gregs[libc::REG_RIP as usize]);
    protection::lock().note(Seen {
        access,
        address,
        site,
        thread: calling_thread(),
        in_host_function: current::in_host_function(),
    });
    true
}

/// The place of the instruction. Symbols are looked up for the byte before an address, since that of a call is where it
/// returns to. So the address is one byte further while the stack is walked.
fn site_of(instruction: &mut i64) -> std::sync::Arc<CallSite> {
    let place = *instruction;
    *instruction = place + 1;
    let site = CallSite::from_frame((place + 1) as usize);
    *instruction = place;
    site
}

/// Lets the handler that was there before have this fault, which happens again when this one returns.
fn hand_on(code: c_int) {
    let others = OTHERS.try_lock().ok().and_then(|mut others| others.take());
    let default = || {
        // SAFETY: all zero is the default action, without flags and with an empty mask.
        unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() }
    };
    let others = others.unwrap_or_else(default);
    exchange(Some(&others));
    if code <= 0 {
        // The signal was sent, and no instruction sends it again.
        // SAFETY: the call has no conditions.
        unsafe { libc::raise(libc::SIGSEGV) };
    }
}

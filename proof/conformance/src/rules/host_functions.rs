//! Host functions and callbacks.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::{Scene, is_busy};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "host_functions";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(null_is_refused, "cuLaunchHostFunc", "A null function is refused."),
    rule!(launching_does_not_wait, "cuLaunchHostFunc",
        "Launching a host function returns at once; the stream calls the function after its earlier work."),
    rule!(called_after_earlier_work, "cuLaunchHostFunc",
        "A host function sees the values that the preceding kernel stored in page-locked memory."),
    rule!(later_work_waits_for_it, "cuLaunchHostFunc", "Work behind a host function starts when the function has returned."),
    rule!(called_in_order, "cuLaunchHostFunc", "Host functions of one stream are called in order, one after the other."),
    rule!(called_once_with_its_data, "cuLaunchHostFunc",
        "A host function is called once, with the pointer that it was launched with."),
    rule!(called_on_another_thread, "cuLaunchHostFunc", "A host function is called on a thread of the driver's."),
    rule!(synchronize_waits_for_it, "cuLaunchHostFunc", "When a synchronisation returns, so has the host function."),
    rule!(event_behind_it_waits_for_it, "cuLaunchHostFunc",
        "An event recorded behind a host function is reached when the function has returned."),
    rule!(it_keeps_the_legacy_order, "cuLaunchHostFunc",
        "A host function in a blocking stream is called after earlier work in the legacy stream."),
    rule!(no_calls_inside, "cuLaunchHostFunc", "A call to the driver from within a host function is not permitted."),
    rule!(callback_gets_stream_and_success, "cuStreamAddCallback",
        "A callback gets its stream, the status success and its data."),
    rule!(callback_flags_must_be_zero, "cuStreamAddCallback", "Callbacks take no flags."),
    rule!(callback_in_order, "cuStreamAddCallback", "A callback is called after earlier work, and later work waits for it."),
    rule!(no_calls_inside_a_callback, "cuStreamAddCallback", "A call to the driver from within a callback is not permitted."),
    rule!(not_called_after_a_failure, "cuLaunchHostFunc", "A host function behind a failed kernel is not called.").in_process(),
    rule!(callback_gets_the_failure, "cuStreamAddCallback",
        "A callback behind a failed kernel is called with its error.").in_process(),
];

/// What a function called by the driver leaves behind.
#[derive(Default)]
struct Notes {
    calls: AtomicU32,
    seen: AtomicU32,
    status: AtomicU32,
    order: Mutex<Vec<u32>>,
    thread: Mutex<Option<ThreadId>>,
    stream: Mutex<Handle>,
}

impl Notes {
    /// Lives as long as the process: the driver may call late when a rule is broken.
    fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    fn data(&'static self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

/// The notes behind a function's data pointer.
fn notes(data: *mut c_void) -> &'static Notes {
    // SAFETY: the rules pass leaked notes to these functions.
    unsafe { &*data.cast::<Notes>() }
}

unsafe extern "C" fn count(data: *mut c_void) {
    let notes = notes(data);
    if let Ok(mut thread) = notes.thread.lock() {
        *thread = Some(thread::current().id());
    }
    notes.calls.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn count_slowly(data: *mut c_void) {
    thread::sleep(Duration::from_millis(20));
    notes(data).calls.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn call_driver(data: *mut c_void) {
    let mut address = 0;
    let code = cu!(cuMemAlloc_v2(&mut address, 64));
    notes(data).status.store(code.0, Ordering::SeqCst);
}

/// Page-locked words that a function reads or writes, beside its notes.
struct Shared {
    notes: &'static Notes,
    word: *mut u32,
}

unsafe extern "C" fn read_word(data: *mut c_void) {
    // SAFETY: the rules pass a leaked `Shared` whose word lives as long as the context.
    let (notes, word) = unsafe {
        (
            (*data.cast::<Shared>()).notes,
            (*data.cast::<Shared>()).word,
        )
    };
    // SAFETY: as above; the stream's order keeps the kernel from writing now.
    notes
        .seen
        .store(unsafe { word.read_volatile() }, Ordering::SeqCst);
    notes.calls.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn write_word(data: *mut c_void) {
    thread::sleep(Duration::from_millis(20));
    // SAFETY: as in `read_word`.
    unsafe { (*data.cast::<Shared>()).word.write_volatile(91) };
}

fn shared(notes: &'static Notes, word: *mut c_void) -> *mut c_void {
    let shared = Shared {
        notes,
        word: word.cast(),
    };
    std::ptr::from_mut(Box::leak(Box::new(shared))).cast()
}

fn null_is_refused(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    gives!(INVALID_VALUE, cuLaunchHostFunc(stream, None, null_mut()));
    Ok(())
}

fn launching_does_not_wait(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    scene.busy(stream)?;
    ok!(cuLaunchHostFunc(stream, Some(count), notes.data()));
    holds!(is_busy(stream)?);
    same!(notes.calls(), 0);
    ok!(cuStreamSynchronize(stream));
    same!(notes.calls(), 1);
    Ok(())
}

fn called_after_earlier_work(scene: &mut Scene) -> Outcome {
    let (stream, notes, pinned) = (scene.stream()?, Notes::new(), scene.pinned(4)?);
    scene.slow_store(pinned.address(), 90, stream)?;
    ok!(cuLaunchHostFunc(
        stream,
        Some(read_word),
        shared(notes, pinned.pointer())
    ));
    ok!(cuStreamSynchronize(stream));
    same!(notes.seen.load(Ordering::SeqCst), 90);
    Ok(())
}

fn later_work_waits_for_it(scene: &mut Scene) -> Outcome {
    let (stream, notes, pinned) = (scene.stream()?, Notes::new(), scene.pinned(4)?);
    let to = scene.device(4)?;
    ok!(cuLaunchHostFunc(
        stream,
        Some(write_word),
        shared(notes, pinned.pointer())
    ));
    scene.move_word(to, pinned.address(), stream)?;
    same!(scene.word(to)?, 91);
    Ok(())
}

/// Numbers that host functions append to a list.
struct Numbered {
    notes: &'static Notes,
    number: u32,
}

unsafe extern "C" fn append(data: *mut c_void) {
    // SAFETY: the rule passes a leaked `Numbered`.
    let Numbered { notes, number } = unsafe { &*data.cast::<Numbered>() };
    if let Ok(mut order) = notes.order.lock() {
        order.push(*number);
    }
}

fn called_in_order(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    for number in 0..50 {
        let data = std::ptr::from_mut(Box::leak(Box::new(Numbered { notes, number })));
        ok!(cuLaunchHostFunc(stream, Some(append), data.cast()));
        if number % 7 == 0 {
            scene.launch("nothing", stream, &[])?;
        }
    }
    ok!(cuStreamSynchronize(stream));
    let order = notes
        .order
        .lock()
        .map(|order| order.clone())
        .unwrap_or_default();
    same!(order, (0..50).collect::<Vec<_>>());
    Ok(())
}

fn called_once_with_its_data(scene: &mut Scene) -> Outcome {
    let (stream, first, second) = (scene.stream()?, Notes::new(), Notes::new());
    ok!(cuLaunchHostFunc(stream, Some(count), first.data()));
    ok!(cuStreamSynchronize(stream));
    same!((first.calls(), second.calls()), (1, 0));
    ok!(cuLaunchHostFunc(stream, Some(count), second.data()));
    ok!(cuCtxSynchronize());
    same!((first.calls(), second.calls()), (1, 1));
    Ok(())
}

fn called_on_another_thread(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    ok!(cuLaunchHostFunc(stream, Some(count), notes.data()));
    ok!(cuStreamSynchronize(stream));
    let called_on = notes
        .thread
        .lock()
        .map(|thread| *thread)
        .unwrap_or_default();
    holds!(called_on.is_some());
    holds!(called_on != Some(thread::current().id()));
    Ok(())
}

fn synchronize_waits_for_it(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    ok!(cuLaunchHostFunc(stream, Some(count_slowly), notes.data()));
    ok!(cuStreamSynchronize(stream));
    same!(notes.calls(), 1);
    ok!(cuLaunchHostFunc(stream, Some(count_slowly), notes.data()));
    ok!(cuCtxSynchronize());
    same!(notes.calls(), 2);
    Ok(())
}

fn event_behind_it_waits_for_it(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    ok!(cuLaunchHostFunc(stream, Some(count_slowly), notes.data()));
    let event = scene.recorded(stream)?;
    ok!(cuEventSynchronize(event));
    same!(notes.calls(), 1);
    Ok(())
}

fn it_keeps_the_legacy_order(scene: &mut Scene) -> Outcome {
    let (stream, notes, pinned) = (scene.stream()?, Notes::new(), scene.pinned(4)?);
    scene.slow_store(pinned.address(), 92, 0)?;
    ok!(cuLaunchHostFunc(
        stream,
        Some(read_word),
        shared(notes, pinned.pointer())
    ));
    ok!(cuStreamSynchronize(stream));
    same!(notes.seen.load(Ordering::SeqCst), 92);
    Ok(())
}

fn no_calls_inside(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    ok!(cuLaunchHostFunc(stream, Some(call_driver), notes.data()));
    ok!(cuStreamSynchronize(stream));
    same!(Code(notes.status.load(Ordering::SeqCst)), NOT_PERMITTED);
    Ok(())
}

unsafe extern "C" fn note_status(stream: Handle, status: Code, data: *mut c_void) {
    let notes = notes(data);
    notes.status.store(status.0, Ordering::SeqCst);
    if let Ok(mut noted) = notes.stream.lock() {
        *noted = stream;
    }
    notes.calls.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn callback_reads_word(_: Handle, _: Code, data: *mut c_void) {
    // SAFETY: the contract of `read_word` is this function's.
    unsafe { read_word(data) }
}

unsafe extern "C" fn callback_writes_word(_: Handle, _: Code, data: *mut c_void) {
    // SAFETY: the contract of `write_word` is this function's.
    unsafe { write_word(data) }
}

unsafe extern "C" fn callback_calls_driver(_: Handle, _: Code, data: *mut c_void) {
    // SAFETY: the contract of `call_driver` is this function's.
    unsafe { call_driver(data) }
}

fn callback_gets_stream_and_success(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    ok!(cuStreamAddCallback(
        stream,
        Some(note_status),
        notes.data(),
        0
    ));
    ok!(cuStreamSynchronize(stream));
    same!(notes.calls(), 1);
    same!(Code(notes.status.load(Ordering::SeqCst)), SUCCESS);
    same!(
        notes
            .stream
            .lock()
            .map(|stream| *stream)
            .unwrap_or_default(),
        stream
    );
    Ok(())
}

fn callback_flags_must_be_zero(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    gives!(
        INVALID_VALUE,
        cuStreamAddCallback(stream, Some(note_status), notes.data(), 1)
    );
    Ok(())
}

fn callback_in_order(scene: &mut Scene) -> Outcome {
    let (stream, notes, pinned) = (scene.stream()?, Notes::new(), scene.pinned(4)?);
    let (data, to) = (shared(notes, pinned.pointer()), scene.device(4)?);
    scene.slow_store(pinned.address(), 93, stream)?;
    ok!(cuStreamAddCallback(
        stream,
        Some(callback_reads_word),
        data,
        0
    ));
    ok!(cuStreamAddCallback(
        stream,
        Some(callback_writes_word),
        data,
        0
    ));
    scene.move_word(to, pinned.address(), stream)?;
    same!(scene.word(to)?, 91);
    same!(notes.seen.load(Ordering::SeqCst), 93);
    Ok(())
}

fn no_calls_inside_a_callback(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    ok!(cuStreamAddCallback(
        stream,
        Some(callback_calls_driver),
        notes.data(),
        0
    ));
    ok!(cuStreamSynchronize(stream));
    same!(Code(notes.status.load(Ordering::SeqCst)), NOT_PERMITTED);
    Ok(())
}

fn not_called_after_a_failure(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    scene.busy(stream)?;
    scene.store(64, 1, stream)?;
    ok!(cuLaunchHostFunc(stream, Some(count), notes.data()));
    gives!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    thread::sleep(Duration::from_millis(50));
    same!(notes.calls(), 0);
    Ok(())
}

fn callback_gets_the_failure(scene: &mut Scene) -> Outcome {
    let (stream, notes) = (scene.stream()?, Notes::new());
    scene.busy(stream)?;
    scene.store(64, 1, stream)?;
    ok!(cuStreamAddCallback(
        stream,
        Some(note_status),
        notes.data(),
        0
    ));
    gives!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    for _ in 0..100 {
        if notes.calls() > 0 {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    same!(notes.calls(), 1);
    same!(Code(notes.status.load(Ordering::SeqCst)), ILLEGAL_ADDRESS);
    Ok(())
}

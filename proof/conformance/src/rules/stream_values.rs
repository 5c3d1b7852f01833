//! Streams that write words and wait for them.

use std::time::Duration;

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::{Scene, is_busy, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "stream_values";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(writing_keeps_the_order, "cuStreamWriteValue32", "A stream writes a word when its earlier work has ended."),
    rule!(wide_words_are_written, "cuStreamWriteValue64", "A stream writes a word of eight bytes."),
    rule!(waiting_for_wide_words, "cuStreamWaitValue64", "A stream waits for a word of eight bytes."),
    rule!(waiting_holds_the_stream, "cuStreamWaitValue32",
        "A stream waits until a word is at least the value that another stream writes."),
    rule!(smaller_values_hold_the_stream, "cuStreamWaitValue32",
        "A value that is smaller than the awaited one leaves the stream waiting."),
    rule!(waiting_for_what_is_there, "cuStreamWaitValue32", "A stream that waits for a value that is there goes on."),
    rule!(waiting_for_equality, "CU_STREAM_WAIT_VALUE_EQ", "A wait for equality ends when the word has the value."),
    rule!(waiting_for_bits, "CU_STREAM_WAIT_VALUE_AND", "A wait for bits ends when at least one of them is set in the word."),
    rule!(kernels_count_up_to_the_value, "cuStreamWaitValue32",
        "A stream waits until kernels have counted up to the value, in device memory and in page-locked memory."),
    rule!(host_writes_the_value, "cuStreamWaitValue32",
        "A stream waits for a value that the host writes into page-locked memory."),
    rule!(another_thread_writes_the_value, "cuStreamWaitValue32",
        "A thread that does not call the driver releases the stream that another thread waits for."),
    rule!(batches_keep_their_order, "cuStreamBatchMemOp", "The operations of a batch are done in order."),
    rule!(unknown_operations_are_refused, "cuStreamBatchMemOp",
        "A batch with an operation that does not exist, or with flags, is refused."),
    rule!(words_must_be_aligned, "cuStreamWaitValue32",
        "An address that is no multiple of the word's size is refused, and so is null."),
    rule!(unknown_conditions_are_refused, "cuStreamWaitValue32", "A condition that does not exist is refused."),
];

/// `CU_STREAM_WAIT_VALUE_*`.
const GEQ: u32 = 0;
const EQ: u32 = 1;
const AND: u32 = 2;
/// `CU_STREAM_MEM_OP_*`.
const WAIT_32: u32 = 1;
const WRITE_32: u32 = 2;
const WRITE_64: u32 = 5;
/// Four bytes of 1.
const ONES: u32 = 0x0101_0101;

fn writing_keeps_the_order(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    scene.slow_store(address, 1, stream)?;
    ok!(cuStreamWriteValue32_v2(stream, address, 2, 0));
    holds!(is_busy(stream)?);
    same!(scene.word(address)?, 2);
    Ok(())
}

fn wide_words_are_written(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(8)?);
    ok!(cuStreamWriteValue64_v2(
        stream,
        address,
        0x0102_0304_0506_0708,
        0
    ));
    same!(scene.bytes(address, 8)?, vec![8, 7, 6, 5, 4, 3, 2, 1]);
    Ok(())
}

fn waiting_for_wide_words(scene: &mut Scene) -> Outcome {
    let (waiting, writing) = (scene.non_blocking()?, scene.non_blocking()?);
    let address = scene.device(8)?;
    ok!(cuStreamWaitValue64_v2(waiting, address, 5 << 32, EQ));
    ok!(cuStreamWriteValue64_v2(writing, address, 5, 0));
    ok!(cuStreamSynchronize(writing));
    holds!(is_busy(waiting)?);
    ok!(cuStreamWriteValue64_v2(writing, address, 5 << 32, 0));
    ok!(cuStreamSynchronize(waiting));
    Ok(())
}

/// One stream waits for a word that another writes behind a slow kernel.
fn waits(scene: &mut Scene, value: u32, flags: u32, written: u32) -> Outcome {
    let (waiting, writing) = (scene.non_blocking()?, scene.non_blocking()?);
    let (word, from, to) = (scene.device(4)?, scene.device(4)?, scene.device(4)?);
    scene.slow_store(from, 95, writing)?;
    ok!(cuStreamWriteValue32_v2(writing, word, written, 0));
    ok!(cuStreamWaitValue32_v2(waiting, word, value, flags));
    scene.move_word(to, from, waiting)?;
    same!(scene.word(to)?, 95);
    Ok(())
}

fn waiting_holds_the_stream(scene: &mut Scene) -> Outcome {
    waits(scene, 3, GEQ, 5)
}

fn smaller_values_hold_the_stream(scene: &mut Scene) -> Outcome {
    let (waiting, writing) = (scene.non_blocking()?, scene.non_blocking()?);
    let word = scene.device(4)?;
    ok!(cuStreamWaitValue32_v2(waiting, word, 3, GEQ));
    for (value, holds) in [(2, true), (4, false)] {
        ok!(cuStreamWriteValue32_v2(writing, word, value, 0));
        ok!(cuStreamSynchronize(if holds { writing } else { waiting }));
        same!(is_busy(waiting)?, holds);
    }
    Ok(())
}

fn waiting_for_what_is_there(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    ok!(cuStreamWaitValue32_v2(stream, address, 0, GEQ));
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn waiting_for_equality(scene: &mut Scene) -> Outcome {
    waits(scene, 3, EQ, 3)
}

fn waiting_for_bits(scene: &mut Scene) -> Outcome {
    waits(scene, 6, AND, 4)
}

fn kernels_count_up_to_the_value(scene: &mut Scene) -> Outcome {
    let (waiting, counting) = (scene.non_blocking()?, scene.non_blocking()?);
    // Loading the kernel while a stream waits can block the host.
    let count = scene.kernel("count")?;
    for counter in [scene.device(4)?, scene.pinned(4)?.address()] {
        ok!(cuStreamWaitValue32_v2(waiting, counter, 2, EQ));
        same!(scene.try_launch(count, counting, &[&counter]), SUCCESS);
        ok!(cuStreamSynchronize(counting));
        holds!(is_busy(waiting)?);
        same!(scene.try_launch(count, counting, &[&counter]), SUCCESS);
        ok!(cuStreamSynchronize(waiting));
    }
    Ok(())
}

fn host_writes_the_value(scene: &mut Scene) -> Outcome {
    let (stream, flag) = (scene.stream()?, scene.pinned(4)?);
    ok!(cuStreamWaitValue32_v2(stream, flag.address(), ONES, EQ));
    let event = scene.recorded(stream)?;
    holds!(is_pending(event)?);
    flag.fill(1);
    ok!(cuEventSynchronize(event));
    Ok(())
}

fn another_thread_writes_the_value(scene: &mut Scene) -> Outcome {
    let (stream, flag) = (scene.stream()?, scene.pinned(4)?);
    ok!(cuStreamWaitValue32_v2(stream, flag.address(), ONES, EQ));
    let address = flag.address() as usize;
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        // SAFETY: the page-locked memory ends with the rule's context, after this thread.
        unsafe { (address as *mut u32).write_volatile(ONES) };
    });
    let waited = cu!(cuStreamSynchronize(stream));
    holds!(writer.join().is_ok());
    same!(waited, SUCCESS);
    Ok(())
}

/// The operations of a batch on one word, each with its `CUstreamBatchMemOpType`, its value and its flags.
fn batch<const N: usize>(address: Address, operations: [(u32, u64, u32); N]) -> [BatchMemOp; N] {
    operations.map(|(operation, value, flags)| BatchMemOp {
        operation,
        address,
        value,
        flags,
        rest: [0; 2],
    })
}

fn batches_keep_their_order(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(8)?);
    scene.slow_store(address, 7, stream)?;
    let operations = [(WRITE_32, 1, 0), (WAIT_32, 1, EQ), (WRITE_64, 1 << 40, 0)];
    let operations = batch(address, operations);
    ok!(cuStreamBatchMemOp_v2(stream, 3, operations.as_ptr(), 0));
    holds!(is_busy(stream)?);
    same!(
        scene.bytes(address, 8)?,
        (1_u64 << 40).to_le_bytes().to_vec()
    );
    Ok(())
}

fn unknown_operations_are_refused(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(8)?);
    for (operation, flags) in [((99, 0, 0), 0), ((WRITE_32, 0, 0), 1)] {
        let operations = batch(address, [operation]);
        gives!(
            INVALID_VALUE,
            cuStreamBatchMemOp_v2(stream, 1, operations.as_ptr(), flags)
        );
    }
    Ok(())
}

fn words_must_be_aligned(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(8)?);
    for word in [0, address + 2] {
        gives!(INVALID_VALUE, cuStreamWaitValue32_v2(stream, word, 0, EQ));
        gives!(INVALID_VALUE, cuStreamWriteValue32_v2(stream, word, 0, 0));
    }
    gives!(
        INVALID_VALUE,
        cuStreamWriteValue64_v2(stream, address + 4, 0, 0)
    );
    Ok(())
}

fn unknown_conditions_are_refused(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    gives!(INVALID_VALUE, cuStreamWaitValue32_v2(stream, address, 0, 4));
    Ok(())
}

//! Streams that write words and wait for them.

use crate::rule::{Outcome, Rule};
use crate::scene::{Scene, is_busy};
use crate::{holds, ok, rule, same};

const FAMILY: &str = "stream_values";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        writing_keeps_the_order,
        "cuStreamWriteValue32",
        "A stream writes a word when its earlier work has ended."
    ),
    rule!(
        wide_words_are_written,
        "cuStreamWriteValue64",
        "A stream writes a word of eight bytes."
    ),
    rule!(
        waiting_holds_the_stream,
        "cuStreamWaitValue32",
        "A stream waits until a word is at least the value that another stream writes."
    ),
    rule!(
        waiting_for_what_is_there,
        "cuStreamWaitValue32",
        "A stream that waits for a value that is there goes on."
    ),
    rule!(
        waiting_for_equality,
        "CU_STREAM_WAIT_VALUE_EQ",
        "A wait for equality ends when the word has the value."
    ),
    rule!(
        waiting_for_bits,
        "CU_STREAM_WAIT_VALUE_AND",
        "A wait for bits ends when at least one of them is set in the word."
    ),
];

/// `CU_STREAM_WAIT_VALUE_*`.
const GEQ: u32 = 0;
const EQ: u32 = 1;
const AND: u32 = 2;

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

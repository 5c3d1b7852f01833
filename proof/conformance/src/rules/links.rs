//! Linking of several images into one.

use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, gives};
use crate::scene::{PTX, Scene, c_string};
use crate::{cu, holds, ok, rule, same};

const FAMILY: &str = "links";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        one_text_becomes_an_image,
        "cuLinkComplete",
        "The image linked of one PTX text loads as a module with its kernels."
    ),
    rule!(
        functions_of_another_text_are_called,
        "cuLinkAddData",
        "A kernel calls a function that another text defines."
    ),
    rule!(
        missing_function_is_an_error,
        "cuLinkComplete",
        "A function that no text defines is an error, at the latest when the link is completed."
    ),
    rule!(
        wrong_ptx_is_refused,
        "cuLinkAddData",
        "PTX with an error in it is refused when it is added."
    ),
    rule!(
        unknown_kind_of_input_is_refused,
        "cuLinkAddData",
        "A number that is no kind of input is refused."
    ),
    rule!(
        log_says_what_is_wrong,
        "CU_JIT_ERROR_LOG_BUFFER",
        "A buffer for the error log receives text when PTX does not compile."
    ),
];

/// `CU_JIT_INPUT_PTX`.
const INPUT_PTX: u32 = 1;

const HEADER: &str = ".version 6.3\n.target sm_70\n.address_size 64\n";

const CALLER: &str = ".extern .func (.param .b32 sum) plus_one(.param .b32 value);
.visible .entry call_it(.param .u64 to)
{
    .reg .b32 %value;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    cvta.to.global.u64 %to, %to;
    {
        .param .b32 given;
        .param .b32 came;
        st.param.b32 [given], 41;
        call.uni (came), plus_one, (given);
        ld.param.b32 %value, [came];
    }
    st.global.u32 [%to], %value;
    ret;
}
";

const CALLED: &str = ".visible .func (.param .b32 sum) plus_one(.param .b32 value)
{
    .reg .b32 %value;
    ld.param.b32 %value, [value];
    add.u32 %value, %value, 1;
    st.param.b32 [sum], %value;
    ret;
}
";

fn create() -> Outcome<Handle> {
    let mut state = 0;
    ok!(cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state));
    Ok(state)
}

fn add(state: Handle, kind: u32, text: &str) -> Code {
    let (name, text) = (c_string("text"), c_string(text));
    let bytes = text.as_bytes_with_nul();
    cu!(cuLinkAddData_v2(
        state,
        kind,
        bytes.as_ptr().cast_mut().cast(),
        bytes.len(),
        name.as_ptr(),
        0,
        null_mut(),
        null_mut()
    ))
}

/// The module linked of the texts.
fn linked(texts: &[String]) -> Outcome<Handle> {
    let state = create()?;
    for text in texts {
        gives(SUCCESS, add(state, INPUT_PTX, text), "cuLinkAddData_v2")?;
    }
    let (mut image, mut bytes, mut module) = (null_mut(), 0, 0);
    ok!(cuLinkComplete(state, &mut image, &mut bytes));
    holds!(bytes > 0 && !image.is_null());
    ok!(cuModuleLoadData(&mut module, image.cast_const()));
    ok!(cuLinkDestroy(state));
    Ok(module)
}

fn one_text_becomes_an_image(scene: &mut Scene) -> Outcome {
    let (module, address) = (linked(&[PTX.to_owned()])?, scene.device(4)?);
    let function = scene.kernel_of(module, "count")?;
    same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
    same!(scene.word(address)?, 1);
    Ok(())
}

fn functions_of_another_text_are_called(scene: &mut Scene) -> Outcome {
    let texts = [format!("{HEADER}{CALLER}"), format!("{HEADER}{CALLED}")];
    let (module, address) = (linked(&texts)?, scene.device(4)?);
    let function = scene.kernel_of(module, "call_it")?;
    same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
    same!(scene.word(address)?, 42);
    Ok(())
}

fn missing_function_is_an_error(_: &mut Scene) -> Outcome {
    let state = create()?;
    let mut code = add(state, INPUT_PTX, &format!("{HEADER}{CALLER}"));
    if code == SUCCESS {
        let (mut image, mut bytes) = (null_mut(), 0);
        code = cu!(cuLinkComplete(state, &mut image, &mut bytes));
    }
    holds!(code != SUCCESS);
    ok!(cuLinkDestroy(state));
    Ok(())
}

fn wrong_ptx_is_refused(_: &mut Scene) -> Outcome {
    let state = create()?;
    let text = format!("{HEADER}.visible .entry broken() {{ no such instruction; }}");
    same!(add(state, INPUT_PTX, &text), INVALID_PTX);
    ok!(cuLinkDestroy(state));
    Ok(())
}

fn unknown_kind_of_input_is_refused(_: &mut Scene) -> Outcome {
    let state = create()?;
    same!(add(state, 99, PTX), INVALID_VALUE);
    ok!(cuLinkDestroy(state));
    Ok(())
}

fn log_says_what_is_wrong(_: &mut Scene) -> Outcome {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
    const LOG: [u32; 2] = [5, 6];
    let (mut log, mut state, mut options) = ([0_u8; 1024], 0, LOG);
    let mut values = [log.as_mut_ptr().cast(), log.len() as *mut _];
    ok!(cuLinkCreate_v2(
        2,
        options.as_mut_ptr(),
        values.as_mut_ptr(),
        &mut state
    ));
    let text = format!("{HEADER}.visible .entry broken() {{ no such instruction; }}");
    same!(add(state, INPUT_PTX, &text), INVALID_PTX);
    ok!(cuLinkDestroy(state));
    // SAFETY: the buffer is this function's; the driver wrote to it through the pointer.
    holds!(unsafe { log.as_ptr().read_volatile() } != 0);
    Ok(())
}

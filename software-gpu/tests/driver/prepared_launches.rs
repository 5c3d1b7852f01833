//! Launches that take the block's shape and the arguments from the function: `cuLaunchGrid`.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

/// Stores the grid's and the block's extents, an integer and a float.
const SHAPE: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .entry shape(.param .u64 to, .param .u32 integer, .param .f32 real)
{
    .reg .u32 %r<8>;
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %nctaid.x;
    mov.u32 %r2, %nctaid.y;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %ntid.y;
    ld.param.u32 %r5, [integer];
    ld.param.u32 %r6, [real];
    mov.u32 %r7, %dynamic_smem_size;
    st.global.u32 [%rd1], %r1;
    st.global.u32 [%rd1+4], %r2;
    st.global.u32 [%rd1+8], %r3;
    st.global.u32 [%rd1+12], %r4;
    st.global.u32 [%rd1+16], %r5;
    st.global.u32 [%rd1+20], %r6;
    st.global.u32 [%rd1+24], %r7;
    ret;
}
";

fn launch_grid(kernel: Handle, width: c_int, height: c_int, stream: Handle) -> Result<(), Error> {
    cu!(cuLaunchGridAsync(
        kernel => Handle, width => c_int, height => c_int, stream => Handle,
    ))
}

#[test]
fn a_launch_uses_what_the_function_was_given() {
    let driver = Driver::new();
    let (kernel, stream) = (driver.kernel(SHAPE, "shape"), driver.stream(NON_BLOCKING));
    let to = driver.allocate(28).unwrap();
    assert_eq!(launch_grid(kernel, 3, 2, stream), Err(INVALID_VALUE));
    cu!(cuFuncSetBlockShape(kernel => Handle, 8 => c_int, 4 => c_int, 1 => c_int)).unwrap();
    cu!(cuFuncSetSharedSize(kernel => Handle, 96 => c_uint)).unwrap();
    let address = std::ptr::from_ref(&to).cast::<c_void>();
    cu!(cuParamSetv(kernel => Handle, 0 => c_int, address => *const c_void, 8 => c_uint)).unwrap();
    cu!(cuParamSeti(kernel => Handle, 8 => c_int, 77 => c_uint)).unwrap();
    cu!(cuParamSetf(kernel => Handle, 12 => c_int, 1.5 => f32)).unwrap();
    cu!(cuParamSetSize(kernel => Handle, 16 => c_uint)).unwrap();
    launch_grid(kernel, 3, 2, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    let words = |to| -> Vec<u32> {
        let bytes = driver.read(to, 28);
        let words = bytes.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect()
    };
    assert_eq!(words(to), [3, 2, 8, 4, 77, 1.5_f32.to_bits(), 96]);
    // One value changes, and the others stay.
    cu!(cuParamSeti(kernel => Handle, 8 => c_int, 78 => c_uint)).unwrap();
    cu!(cuLaunch(kernel => Handle)).unwrap();
    driver.synchronize().unwrap();
    assert_eq!(words(to), [1, 1, 8, 4, 78, 1.5_f32.to_bits(), 96]);
}

#[test]
fn shapes_and_arguments_that_cannot_be_are_refused() {
    let driver = Driver::new();
    let kernel = driver.kernel(SHAPE, "shape");
    let shape = cu!(cuFuncSetBlockShape(kernel => Handle, 0 => c_int, 1 => c_int, 1 => c_int));
    assert_eq!(shape, Err(INVALID_VALUE));
    let before = cu!(cuParamSeti(kernel => Handle, -4 => c_int, 0 => c_uint));
    assert_eq!(before, Err(INVALID_VALUE));
    let far = cu!(cuParamSeti(kernel => Handle, 1 << 20 => c_int, 0 => c_uint));
    assert_eq!(far, Err(INVALID_VALUE));
    cu!(cuFuncSetBlockShape(kernel => Handle, 1 => c_int, 1 => c_int, 1 => c_int)).unwrap();
    assert_eq!(launch_grid(kernel, -1, 1, 0), Err(INVALID_VALUE));
    // The kernel takes 16 bytes, and it was given none.
    assert_eq!(launch_grid(kernel, 1, 1, 0), Err(INVALID_VALUE));
}

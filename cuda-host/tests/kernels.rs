//! Kernels on the software GPU: what is loaded, what a launch passes, and what is refused.

use cuda_host::kernel::LoadError;
use cuda_host::launch_attributes::Attribute;
use cuda_host::{kernels, launch};
use cust::context::Context;
use cust::error::CudaError;
use cust::function::FunctionAttribute;
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::stream::{Stream, StreamFlags};
use gpu_kernels::SM_70;
use libcuda::Choice;

kernels! {
    /// One for every kind of parameter.
    pub(crate) struct Kernels;
    use gpu_kernels::{affine_x4, append_kv, bias_gelu, fma_chain, iota, matmul, saxpy, spin};
}

mod one {
    cuda_host::kernels! { use gpu_kernels::affine; }

    pub fn name() -> String {
        format!("{:?}", Kernels::load(gpu_kernels::SM_70).unwrap().affine)
    }
}

struct Bench {
    kernels: Kernels,
    stream: Stream,
    _context: Context,
}

impl Bench {
    fn new() -> Self {
        let context = open();
        Self {
            kernels: Kernels::load(SM_70).unwrap(),
            stream: Stream::new(StreamFlags::NON_BLOCKING, None).unwrap(),
            _context: context,
        }
    }
}

fn open() -> Context {
    libcuda::select(Choice::Software).unwrap();
    cust::quick_init().unwrap()
}

fn buffer(len: usize, value: f32) -> DeviceBuffer<f32> {
    DeviceBuffer::from_slice(&vec![value; len]).unwrap()
}

#[test]
fn slices_pass_pointer_and_length() {
    let bench = Bench::new();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let x = buffer(100, 1.0);
    let mut y = buffer(100, 2.0);
    // SAFETY: the buffers outlive the stream's work; `y` is as long as `x`.
    unsafe {
        // The grid has more threads than the slices have elements: only the length stops them.
        launch!(kernels.affine_x4<<<1, 256, 0, stream>>>(&mut y.index(..50), 2.0, 1.0)).unwrap();
        launch!(kernels.saxpy<<<(1, 1), (256, 1, 1), 0, stream>>>(3.0, &x.index(..75), &mut y))
            .unwrap();
    }
    stream.synchronize().unwrap();
    let expected = [vec![8.0; 50], vec![5.0; 25], vec![2.0; 25]].concat();
    assert_eq!(y.as_host_vec().unwrap(), expected);
}

#[test]
fn the_kernel_and_the_stream_may_be_variables_or_fields() {
    let bench = Bench::new();
    let mut out = DeviceBuffer::from_slice(&[0u32; 4]).unwrap();
    let iota = &bench.kernels.iota;
    // SAFETY: the buffer outlives the stream's work.
    unsafe {
        launch!(iota<<<1, 4, 0, bench.stream>>>(&mut out, 7)).unwrap();
        launch!(bench.kernels.spin<<<2u32, 1u32, 0, bench.stream>>>(0, &mut out)).unwrap();
    }
    bench.stream.synchronize().unwrap();
    assert_eq!(out.as_host_vec().unwrap(), [0, 1, 9, 10]);
}

#[test]
fn a_pointer_parameter_takes_a_slice_or_a_pointer() {
    let Bench {
        kernels, stream, ..
    } = &Bench::new();
    let bias = buffer(2, 0.0);
    let mut data = buffer(4, 0.0);
    // SAFETY: as above; a bias per column.
    unsafe {
        launch!(kernels.bias_gelu<<<1, 32, 0, stream>>>(&mut data, 4, &bias, 2)).unwrap();
        let (data, bias) = (data.as_device_ptr(), bias.as_device_ptr());
        launch!(kernels.bias_gelu<<<1, 32, 0, stream>>>(data, 4, bias, 2)).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(data.as_host_vec().unwrap(), [0.0; 4]);
}

#[test]
fn a_table_of_pointers_is_a_buffer_of_device_pointers() {
    let Bench {
        kernels, stream, ..
    } = &Bench::new();
    let (heads, head_dim, page_tokens) = (1, 4, 1);
    let page = buffer(gpu_kernels::kv_page_len(heads, head_dim, page_tokens), 0.0);
    let pages: DeviceBuffer<DevicePointer<f32>> =
        DeviceBuffer::from_slice(&[page.as_device_ptr()]).unwrap();
    let (keys, values) = (buffer(4, 1.0), buffer(4, 2.0));
    // SAFETY: the cache has one page, of one token.
    unsafe {
        launch!(kernels.append_kv<<<1, 32, 0, stream>>>(
            &pages, 0, 1, &keys, &values, heads, head_dim, page_tokens,
        ))
        .unwrap();
    }
    stream.synchronize().unwrap();
    let expected = [[1.0; 4], [2.0; 4]].concat();
    assert_eq!(page.as_host_vec().unwrap(), expected);
}

#[test]
fn thirteen_parameters_arrive_in_their_order() {
    let Bench {
        kernels, stream, ..
    } = &Bench::new();
    let (a, b, mut c) = (buffer(6, 1.0), buffer(12, 2.0), buffer(8, 0.0));
    // SAFETY: A is 2 by 3, B 3 by 4, C 2 by 4.
    unsafe {
        launch!(kernels.matmul<<<(1, 1, 1), gpu_kernels::MATMUL_THREADS, 0, stream>>>(
            &a, &b, &mut c, 2, 4, 3, 3, 4, 4, 0, 0, 0, 0.5,
        ))
        .unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(c.as_host_vec().unwrap(), [3.0; 8]);
}

#[test]
fn what_the_driver_refuses_is_the_launch_s_error() {
    let Bench {
        kernels, stream, ..
    } = &Bench::new();
    let (input, mut output) = (buffer(1, 0.0), buffer(1, 0.0));
    // SAFETY: nothing is launched.
    let result =
        unsafe { launch!(kernels.fma_chain<<<0, 256, 0, stream>>>(&input, &mut output, 1)) };
    assert_eq!(result, Err(CudaError::InvalidValue));
}

#[test]
fn a_kernel_keeps_its_module_and_knows_its_name() {
    let Bench {
        kernels,
        stream,
        _context,
    } = Bench::new();
    let Kernels { iota, .. } = kernels;
    assert_eq!(iota.name(), "iota");
    let attribute = FunctionAttribute::MaxThreadsPerBlock;
    assert_eq!(iota.function().get_attribute(attribute), Ok(1024));
    assert_eq!(iota.raw(), iota.function().to_raw());
    let mut out = DeviceBuffer::from_slice(&[0u32; 2]).unwrap();
    // SAFETY: the buffer outlives the stream's work.
    unsafe { launch!(iota<<<1, 2, 0, stream>>>(&mut out, 1)).unwrap() };
    stream.synchronize().unwrap();
    assert_eq!(out.as_host_vec().unwrap(), [1, 2]);
    assert_eq!(one::name(), r#"Kernel("affine")"#);
}

#[test]
fn a_module_that_does_not_compile_says_why() {
    let _context = open();
    let text =
        ".version 6.0\n.target sm_70\n.address_size 64\n.entry f() { mov.u32 %nonsense, 1; }\n";
    let error = Kernels::load(text).unwrap_err();
    let LoadError::Module { log, .. } = &error else {
        panic!("{error}");
    };
    assert!(log.contains("PTX line 4"), "{log}");
    assert!(error.to_string().ends_with(log), "{error}");
    let error = Kernels::load("a\0b").unwrap_err();
    assert!(error.to_string().contains("zero byte"), "{error}");
}

#[test]
fn a_kernel_that_the_module_lacks_is_named() {
    let _context = open();
    let empty = ".version 6.0\n.target sm_70\n.address_size 64\n";
    let error = Kernels::load(empty).unwrap_err();
    assert!(
        matches!(
            error,
            LoadError::Kernel {
                name: "affine_x4",
                cause: CudaError::NotFound
            }
        ),
        "{error}"
    );
}

#[test]
fn blocks_that_cannot_all_be_resident_are_refused() {
    let bench = Bench::new();
    let (iota, stream) = (&bench.kernels.iota, &bench.stream);
    let mut out = DeviceBuffer::from_slice(&[0u32; 4]).unwrap();
    // SAFETY: the buffer outlives the stream's work; only the length stops the threads.
    let launched = unsafe { iota.launch_cooperative(132, 32, 0, stream, (&mut out, 7u32)) };
    assert_eq!(launched, Ok(()));
    // SAFETY: as above.
    let refused = unsafe { iota.launch_cooperative(132 * 33, 32, 0, stream, (&mut out, 7u32)) };
    assert_eq!(refused, Err(CudaError::UnknownError));
    stream.synchronize().unwrap();
    assert_eq!(out.as_host_vec().unwrap(), [7, 8, 9, 10]);
}

#[test]
fn more_shared_memory_must_be_allowed() {
    let bench = Bench::new();
    let (iota, stream) = (&bench.kernels.iota, &bench.stream);
    let mut out = DeviceBuffer::from_slice(&[0u32; 4]).unwrap();
    // SAFETY: the buffer outlives the stream's work.
    let mut launched = || unsafe { launch!(iota<<<1, 4, 100 << 10, stream>>>(&mut out, 7)) };
    assert_eq!(launched(), Err(CudaError::InvalidValue));
    iota.allow_dynamic_shared_bytes(100 << 10).unwrap();
    assert_eq!(launched(), Ok(()));
    assert!(iota.allow_dynamic_shared_bytes(1 << 20).is_err());
    stream.synchronize().unwrap();
}

#[test]
fn a_launch_with_attributes_takes_checked_arguments() {
    let bench = Bench::new();
    let mut out = DeviceBuffer::from_slice(&[0u32; 4]).unwrap();
    let early = [Attribute::programmatic_stream_serialization(true)];
    let (iota, stream) = (&bench.kernels.iota, &bench.stream);
    // SAFETY: the buffer outlives the stream's work.
    unsafe { iota.launch_with(&early, 1, 4, 0, stream, (&mut out, 7u32)) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(out.as_host_vec().unwrap(), [7, 8, 9, 10]);

    // More blocks than the portable size of a cluster: the attribute reaches the driver.
    let (nine, one) = (
        [Attribute::cluster([9, 1, 1])],
        [Attribute::cluster([1, 1, 1])],
    );
    // SAFETY: as above.
    let refused = unsafe { launch!(iota<<<9, 4, 0, stream, nine>>>(&mut out, 11)) };
    assert!(refused.is_err());
    // SAFETY: as above.
    unsafe { launch!(iota<<<1, 4, 0, stream, one>>>(&mut out, 11)) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(out.as_host_vec().unwrap(), [11, 12, 13, 14]);
}

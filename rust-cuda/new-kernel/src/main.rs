use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> anyhow::Result<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PTX, &[])?;
    let kernel = module.get_function("scale")?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let data = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
    // SAFETY: these are the kernel's parameters, and `data` lives until the stream has finished.
    unsafe { launch!(kernel<<<4, 256, 0, stream>>>(data.as_device_ptr(), data.len(), 2.0_f32))? };
    stream.synchronize()?;

    let mut result = [0.0_f32; 1000];
    data.copy_to(&mut result)?;
    assert_eq!(result, [2.0; 1000]);
    println!("1000 elements are right");
    Ok(())
}

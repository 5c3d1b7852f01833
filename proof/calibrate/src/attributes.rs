//! What the device says of itself.

use crate::gpu;
use anyhow::Result;
use cust::sys;
use examples_host::device::Device;
use toml::{Table, Value};

/// Replaces what the base's `[device]` says by what the device says, where the driver knows the attribute.
pub fn read(device: &Device, base: &Table) -> Result<Table> {
    let mut table = base
        .get("device")
        .and_then(Value::as_table)
        .cloned()
        .unwrap_or_default();
    table.insert("name".into(), device.name().into());
    table.insert(
        "total_memory_bytes".into(),
        i64::try_from(device.memory_bytes()?)?.into(),
    );
    for (name, number, per_unit) in NAMED {
        if let Some(value) = gpu::attribute(number) {
            table.insert(name.into(), i64::from(value / per_unit).into());
        }
    }
    for (name, first) in [("max_block_dim", 2), ("max_grid_dim", 5)] {
        let extent: Option<Vec<Value>> = (first..first + 3)
            .map(|number| Some(i64::from(gpu::attribute(number)?).into()))
            .collect();
        if let Some(extent) = extent {
            table.insert(name.into(), extent.into());
        }
    }
    let priorities = device.stream_priorities()?;
    table.insert(
        "greatest_stream_priority".into(),
        i64::from(*priorities.start()).into(),
    );
    table.insert(
        "least_stream_priority".into(),
        i64::from(*priorities.end()).into(),
    );
    if let Some(Value::Table(attributes)) = table.get_mut("attributes") {
        for (_, value) in attributes.iter_mut() {
            let pair = value.as_array_mut().map(Vec::as_mut_slice);
            if let Some([Value::Integer(number), known]) = pair
                && let Some(found) = i32::try_from(*number).ok().and_then(gpu::attribute)
            {
                *known = i64::from(found).into();
            }
        }
    }
    Ok(table)
}

/// Fields of `[device]` that are attributes: name, number, and the attribute's units in one of the field's.
const NAMED: [(&str, i32, i32); 19] = {
    use sys::CUdevice_attribute_enum as A;
    [
        (
            "max_threads_per_block",
            A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK as i32,
            1,
        ),
        (
            "max_shared_memory_per_block",
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK as i32,
            1,
        ),
        (
            "total_constant_memory",
            A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY as i32,
            1,
        ),
        ("warp_size", A::CU_DEVICE_ATTRIBUTE_WARP_SIZE as i32, 1),
        (
            "max_registers_per_block",
            A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK as i32,
            1,
        ),
        ("clock_mhz", A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE as i32, 1000),
        (
            "multiprocessor_count",
            A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as i32,
            1,
        ),
        (
            "memory_clock_mhz",
            A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE as i32,
            1000,
        ),
        (
            "global_memory_bus_width",
            A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH as i32,
            1,
        ),
        (
            "l2_cache_size",
            A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE as i32,
            1,
        ),
        (
            "max_threads_per_multiprocessor",
            A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR as i32,
            1,
        ),
        (
            "async_engine_count",
            A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT as i32,
            1,
        ),
        (
            "compute_capability_major",
            A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as i32,
            1,
        ),
        (
            "compute_capability_minor",
            A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as i32,
            1,
        ),
        (
            "max_shared_memory_per_multiprocessor",
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as i32,
            1,
        ),
        (
            "max_registers_per_multiprocessor",
            A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR as i32,
            1,
        ),
        (
            "max_shared_memory_per_block_optin",
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as i32,
            1,
        ),
        ("max_blocks_per_multiprocessor", 106, 1),
        ("reserved_shared_memory_per_block", 111, 1),
    ]
};

//! Speed of the kernels of a small transformer: products, softmax, attention over a paged cache. Their results are
//! checked by `gpu-kernels`' own tests, which run on either device.

use anyhow::{Context as _, Result};
use bench::{argument, device_time, launch, median, open};
use cust::prelude::*;
use gpu_kernels::{SM_70, Signature as _, kv_page_len};
use std::ffi::c_void;

const TIMES: usize = 9;

fn main() -> Result<()> {
    let _context = open()?;
    let module = Module::from_ptx(SM_70, &[]).context("load the baseline module")?;
    let bench = Bench {
        module,
        stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
    };
    println!("medians of {TIMES} launches (measured)");
    for size in [128, 256, 512, 1000, 1024, 2048, 4096] {
        for name in [
            gpu_kernels::matmul::NAME,
            gpu_kernels::matmul_transposed::NAME,
        ] {
            bench.product(name, size)?;
        }
    }
    for columns in [256, 1024, 4096] {
        bench.softmax(columns)?;
    }
    for (heads, tokens) in [(8, 1024), (32, 1024), (32, 4096), (128, 4096)] {
        bench.attention(heads, tokens)?;
    }
    Ok(())
}

struct Bench {
    module: Module,
    stream: Stream,
}

impl Bench {
    /// Median µs of a launch.
    ///
    /// # Safety
    /// As for [`launch()`].
    unsafe fn time(
        &self,
        kernel: &str,
        grid: [u32; 3],
        threads: u32,
        arguments: &[*mut c_void],
    ) -> Result<f64> {
        let function = self.module.get_function(kernel)?;
        // SAFETY: the caller's.
        let once = || unsafe { launch(&function, grid, threads, arguments, &self.stream) };
        once()?;
        let times = (0..TIMES)
            .map(|_| device_time(&self.stream, once))
            .collect::<Result<_>>()?;
        Ok(median(times))
    }

    /// Square matrices.
    fn product(&self, name: &str, size: u32) -> Result<()> {
        let [a, b, c] = [(); 3].map(|()| numbers((size * size) as usize));
        let (a, b, c) = (a?, b?, c?);
        let [pa, pb, pc] = [&a, &b, &c].map(|buffer| buffer.as_device_ptr());
        let (zero, alpha) = (0_u32, 1.0_f32);
        let mut arguments = vec![argument(&pa), argument(&pb), argument(&pc)];
        arguments.extend([argument(&size); 6]);
        arguments.extend([argument(&zero); 3]);
        arguments.push(argument(&alpha));
        let tiles = size.div_ceil(gpu_kernels::MATMUL_TILE);
        // SAFETY: the kernel's parameters, and matrices of these extents.
        let us = unsafe {
            self.time(
                name,
                [tiles, tiles, 1],
                gpu_kernels::MATMUL_THREADS,
                &arguments,
            )?
        };
        let flops = 2.0 * f64::from(size).powi(3);
        println!("{name} {size}: {us:.1} µs, {:.2} TFLOP/s", flops / us / 1e6);
        Ok(())
    }

    /// 16 Mi elements.
    fn softmax(&self, columns: u32) -> Result<()> {
        let rows = (16 << 20) / columns;
        let data = numbers((rows * columns) as usize)?;
        let (pointer, causal) = (data.as_device_ptr(), 0_u32);
        let arguments = [
            argument(&pointer),
            argument(&rows),
            argument(&columns),
            argument(&columns),
            argument(&causal),
        ];
        // SAFETY: the kernel's parameters, and a matrix of this shape.
        let us = unsafe {
            self.time(
                gpu_kernels::softmax_rows::NAME,
                [rows.div_ceil(4), 1, 1],
                128,
                &arguments,
            )?
        };
        let bytes = f64::from(rows * columns) * 8.0;
        println!(
            "softmax of {columns} columns: {us:.1} µs, {:.0} GB/s",
            bytes / us / 1e3
        );
        Ok(())
    }

    /// Pages of 16 tokens, heads of 128 elements.
    fn attention(&self, heads: u32, tokens: u32) -> Result<()> {
        let (head_dim, page_tokens, scale) = (128_u32, 16_u32, 0.088_f32);
        let len = kv_page_len(heads, head_dim, page_tokens);
        let cache = numbers(len * tokens.div_ceil(page_tokens) as usize)?;
        let pages: Vec<u64> = (0..u64::from(tokens.div_ceil(page_tokens)))
            .map(|page| cache.as_device_ptr().as_raw() + page * len as u64 * 4)
            .collect();
        let pages = DeviceBuffer::from_slice(&pages)?;
        let (queries, output) = (
            numbers((heads * head_dim) as usize)?,
            numbers((heads * head_dim) as usize)?,
        );
        let table = pages.as_device_ptr();
        let [queries, output] = [&queries, &output].map(|buffer| buffer.as_device_ptr());
        let arguments = [
            argument(&table),
            argument(&tokens),
            argument(&queries),
            argument(&output),
            argument(&heads),
            argument(&head_dim),
            argument(&page_tokens),
            argument(&scale),
        ];
        let (grid, threads) = ([heads, 1, 1], gpu_kernels::PAGED_ATTENTION_THREADS);
        // SAFETY: the kernel's parameters, and pages for these tokens.
        let us = unsafe {
            self.time(
                gpu_kernels::paged_attention::NAME,
                grid,
                threads,
                &arguments,
            )?
        };
        let bytes = 8.0 * f64::from(heads * tokens) * f64::from(head_dim);
        println!(
            "paged_attention, {heads} heads, {tokens} tokens: {us:.1} µs, {:.0} GB/s",
            bytes / us / 1e3
        );
        Ok(())
    }
}

/// Numbers between 0 and 1.
fn numbers(count: usize) -> Result<DeviceBuffer<f32>> {
    let values: Vec<f32> = (0..count as u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b1) >> 8) as f32 / (1 << 24) as f32)
        .collect();
    Ok(DeviceBuffer::from_slice(&values)?)
}

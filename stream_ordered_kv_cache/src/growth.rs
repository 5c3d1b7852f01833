//! growth: pages are allocated when tokens begin them, and go back when a sequence ends.
//!
//! How long a sequence will be is not known when it begins. One piece of memory for the longest that may come wastes
//! what the others do not fill. Pages, taken from a pool in the order of the appending stream, waste less than one page
//! per layer and sequence, and the page table hides that they are not neighbours:
//!
//! ```text
//! one piece |tttttttttt......................|tttt............................|
//! pages     |tttt|tttt|tt..|                 |tttt|
//! ```
//!
//! The host waits for nothing: the page is the stream's when the append runs. When a sequence ends, its pages go back to
//! the pool behind its last append, and the next sequence gets them. Memory in use beyond the pages, or a pool that grows
//! although it has free pages enough, would prove this wrong.

use crate::cache::{Cache, Kernels, page_len};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::memory::DevicePointer;

/// A stream that appends, and a pool that keeps what is given back to it.
pub struct Growth {
    kernels: Kernels,
    pub append: Stream,
    pub pool: MemoryPool,
    pub page_tokens: usize,
}

/// A sequence, and its cache in all layers.
pub struct Sequence {
    pub layers: Vec<Growing>,
    pub tokens: usize,
    pub length: usize,
}

/// One layer's cache, whose pages become more.
pub struct Growing {
    pub cache: Cache,
    /// The table's entries on the host. Each is written once, so that the host need not wait for the copy of the last.
    pub entries: LockedBuffer<DevicePointer<f32>>,
}

impl Growth {
    pub fn new(page_tokens: usize) -> Result<Self> {
        let append = stream::non_blocking()?.named("append");
        let pool = MemoryPool::new(CurrentContext::get_device()?)?;
        pool.set_release_threshold(u64::MAX)?;
        Ok(Self { kernels: Kernels::load(gpu_kernels::SM_70)?, append, pool, page_tokens })
    }

    /// Appends tokens, one by one, up to a share of the length. Tokens that begin a page get one from the pool.
    pub fn grow(&self, sequence: &mut Sequence, quarters: usize) -> Result<()> {
        for token in sequence.tokens..sequence.length * quarters / 4 {
            for layer in &mut sequence.layers {
                if token.is_multiple_of(self.page_tokens) {
                    layer.add_page(&self.pool, &self.append)?;
                }
                layer.cache.launch_append(&self.kernels, token..token + 1, &self.append)?;
            }
            sequence.tokens = token + 1;
        }
        Ok(())
    }

    /// Gives the pages back, behind what the stream was given so far.
    pub fn end(&self, sequence: &mut Sequence) -> Result<()> {
        for page in sequence.layers.iter_mut().flat_map(|layer| layer.cache.pages.drain(..)) {
            page.drop_async(&self.append)?;
        }
        Ok(())
    }
}

impl Growing {
    /// Takes one more page from the pool and enters it into the table, in the order of the stream. The memory is cleared,
    /// so that what an earlier sequence left cannot pass for a token.
    fn add_page(&mut self, pool: &MemoryPool, append: &Stream) -> Result<()> {
        let number = self.cache.pages.len();
        // SAFETY: whatever uses the page comes behind its allocation in the same stream; the entries outlive the copies.
        unsafe {
            let mut page = pool.alloc_async(page_len(self.cache.table.page_tokens), append)?;
            page.set_8_async(0xFF, append)?;
            self.entries[number] = page.as_device_ptr();
            let mut entry = self.cache.table.addresses.index(number..number + 1);
            entry.async_copy_from(&self.entries[number..number + 1], append)?;
            self.cache.pages.push(page);
        }
        Ok(())
    }
}

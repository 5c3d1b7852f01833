//! What a part had to do, as a hash: results of two runs are comparable only when it is the same.

use crate::part::PartResults;
use sha2::{Digest, Sha256};

/// The hash, in hexadecimal: of the part's name, its options, and of everything that was timed its group (which states the
/// plan: bytes, launches, elements), variant and kind, in order. Times and kernels' code are not in it: to compare
/// those is what it is for.
pub fn hash(example: &str, request: &crate::results::Request, part: &PartResults) -> String {
    let mut hash = Sha256::new();
    let mut add = |field: &str| {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    };
    add(example);
    add(&part.name);
    for option in [
        request.size.map(|size| format!("size {size}")),
        request.chunks.map(|chunks| format!("chunks {chunks}")),
        request.omit_event.then(|| "omit event".to_owned()),
    ] {
        add(&option.unwrap_or_default());
    }
    for timed in &part.timed {
        add(&timed.group);
        add(&timed.variant);
        add(&format!("{:?}", timed.kind));
    }
    let digest = hash.finalize();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

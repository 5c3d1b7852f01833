//! The data of large pages, which would be as large as 250 bytes for each operation.
//!
//! Times and places become differences, which are small numbers and repeat, and the whole is compressed and written in base 64.
//! `unpack.js` undoes it.

use super::PageChart;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// More operations than that make a large page. The data of others stays text that people can read.
const MANY: usize = 20_000;

/// Whether a page of this many operations is packed.
pub(super) fn are_many(operations: usize) -> bool {
    operations > MANY
}

/// Makes differences of a chart's times and places.
pub(super) fn make_differences(chart: &mut PageChart<'_>) {
    let mut last = 0;
    for (_, _, _, _, start, end, ..) in &mut chart.operations {
        *end = end.saturating_sub(*start);
        *start -= std::mem::replace(&mut last, *start);
    }
    let (mut last, mut last_enqueued) = (0, 0);
    for call in &mut chart.calls {
        call.end -= call.start;
        call.start -= std::mem::replace(&mut last, call.start);
        if let Some(enqueued) = &mut call.enqueued {
            *enqueued -= std::mem::replace(&mut last_enqueued, *enqueued);
        }
    }
    for lane in chart.rows.iter_mut().flat_map(|row| &mut row.lanes) {
        let mut last = 0;
        for place in lane {
            *place -= std::mem::replace(&mut last, *place);
        }
    }
}

/// Compressed, in base 64.
pub(super) fn packed(data: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let written = encoder.write_all(data.as_bytes());
    let packed = written.and_then(|()| encoder.finish());
    base64(&packed.unwrap_or_default())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = word >> (18 - 6 * digit) & 63;
            let is_padding = digit as usize > three.len();
            text.push(if is_padding {
                '='
            } else {
                DIGITS[value as usize].into()
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base_64_is_that_of_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}

//! CPython's table of lines: `Objects/locations.md` and `PyCodeLocationInfoKind` of `Include/cpython/code.h`.

/// The line of the instruction at this offset in bytes. The table's entries follow one another: a byte with its highest bit set
/// says how many instructions it is of and which form it has; what follows has that bit clear.
pub(super) fn line(table: &[u8], first_line: u32, offset: usize) -> Option<u32> {
    let (mut line, mut at) = (i64::from(first_line), 0);
    let mut rest = table;
    while let Some((&head, tail)) = rest.split_first() {
        let length = tail
            .iter()
            .position(|byte| byte & 0x80 != 0)
            .unwrap_or(tail.len());
        let (data, next) = tail.split_at(length);
        let form = head >> 3 & 15;
        line += match form {
            11 | 12 => i64::from(form) - 10,
            13 | 14 => signed(data),
            _ => 0,
        };
        at += (usize::from(head & 7) + 1) * 2;
        if offset < at {
            return (form != 15).then(|| u32::try_from(line).ok()).flatten();
        }
        rest = next;
    }
    None
}

/// Six bits a byte, the lowest first; the seventh says that more follow. The lowest bit of all is the sign.
fn signed(data: &[u8]) -> i64 {
    let mut value: u64 = 0;
    for (index, byte) in data.iter().take(8).enumerate() {
        value |= u64::from(byte & 63) << (6 * index);
        if byte & 64 == 0 {
            break;
        }
    }
    let magnitude = (value >> 1).cast_signed();
    if value & 1 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `co_linetable` of a function at line 1, as CPython 3.12.1 writes it, and what its `co_lines()` gives: the end of each range of
    /// instructions, in bytes, with its line.
    const TABLE: &[u8] = &[
        128, 0, 228, 4, 5, 128, 97, 216, 6, 7, 244, 3, 1, 5, 9, 220, 10, 11, 136, 65, 140, 36, 240,
        70, 2, 0, 14, 15, 242, 0, 1, 5, 13, 136, 1, 220, 8, 9, 136, 33, 141, 4, 240, 3, 1, 5, 13,
        228, 11, 12, 216, 8, 9, 243, 3, 1, 12, 11, 240, 0, 1, 5, 11,
    ];
    const LINES: [(usize, u32); 11] = [
        (2, 1),
        (14, 3),
        (16, 4),
        (26, 3),
        (48, 4),
        (58, 71),
        (82, 72),
        (84, 71),
        (94, 73),
        (96, 74),
        (106, 73),
    ];

    #[test]
    fn each_instruction_has_the_line_of_its_entry() {
        let mut offset = 0;
        for (end, expected) in LINES {
            while offset < end {
                assert_eq!(line(TABLE, 1, offset), Some(expected), "at {offset}");
                offset += 2;
            }
        }
        assert_eq!(line(TABLE, 1, offset), None, "behind the last instruction");
        assert_eq!(line(TABLE, 11, 50), Some(81), "counted from the first line");
    }

    #[test]
    fn an_instruction_may_have_no_line_or_only_a_line() {
        let table = [0xf8, 0xe9, 0x43, 0x02, 0x80, 0];
        let lines = [0, 2, 4, 6, 8].map(|offset| line(&table, 70, offset));
        assert_eq!(lines, [None, Some(5), Some(5), Some(5), None]);
    }

    #[test]
    fn deltas_have_signs_and_several_bytes() {
        assert_eq!(signed(&[6]), 3);
        assert_eq!(signed(&[7]), -3);
        assert_eq!(signed(&[0x46, 0x02]), 67);
        assert_eq!(signed(&[]), 0);
        assert_eq!(signed(&[0xff; 20]).signum(), -1);
    }
}

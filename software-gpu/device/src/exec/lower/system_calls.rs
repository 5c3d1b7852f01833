//! The functions that the driver defines: `malloc`, `free`, `vprintf`, `__assertfail`.
//!
//! A call whose result depends on the order of blocks makes the kernel an ordered one: its blocks run one after the other, so addresses
//! and output are the same in every run.
//!
//! The heap belongs to the module. Its first bytes are the allocator's: the next byte that was never allocated, and for each
//! power of two the first free block of that size. A block begins with its size's logarithm or, when free, with the next free one.

use crate::ptx::ir::Instruction;

use super::super::context::Context;
use super::super::op::{Op, Slot};
use super::super::program::Terminator;
use super::super::warp_handlers::{Shape, plain_handler};
use super::assertion::{Assertion, generic_bytes, local, text};
use super::{Lowering, Result};

/// The name of the heap among the addresses of a module's variables: no variable can have it.
pub const HEAP: &str = "malloc heap";
/// The heap's size: CUDA's default.
pub const HEAP_BYTES: u64 = 8 << 20;

/// Bytes of the allocator's own at the beginning of the heap.
const HEAD: u64 = 64 * 8;
/// Bytes in front of what `malloc` returns.
const PREFIX: u64 = 16;

impl Lowering<'_> {
    /// A call of a function that the module only declares.
    pub fn system_call(
        &mut self,
        i: &Instruction,
        name: &str,
        arguments: &[u32],
        returns: &[u32],
        next: u32,
    ) -> Result<Terminator> {
        let (op, end) = match (name, arguments, returns) {
            ("__assertfail", &[message, file, line, function, _], []) => (
                self.op(
                    plain_handler::<Assertion>(),
                    message,
                    [file, line, function],
                ),
                Terminator::Exit,
            ),
            ("vprintf", &[format, list], &[result]) => (
                self.op(plain_handler::<Print>(), result, [format, list, 0]),
                Terminator::Jump(next),
            ),
            ("malloc", &[bytes], &[result]) => {
                let heap = self.heap(i)?;
                (
                    self.op(plain_handler::<Malloc>(), result, [bytes, heap, 0]),
                    Terminator::Jump(next),
                )
            }
            ("free", &[address], []) => {
                let heap = self.heap(i)?;
                (
                    self.op(plain_handler::<Free>(), address, [0, heap, 0]),
                    Terminator::Jump(next),
                )
            }
            ("__assertfail" | "vprintf" | "malloc" | "free", ..) => {
                return Err(self.malformed(i, format!("`{name}` takes other arguments")));
            }
            _ => {
                return Err(
                    self.unsupported(i, format!("function `{name}` is not defined in the module"))
                );
            }
        };
        self.totals.ordered |= name != "__assertfail";
        self.ops.push(Op { x: i.line, ..op });
        Ok(end)
    }

    /// A row with the heap's address.
    fn heap(&mut self, i: &Instruction) -> Result<Slot> {
        let Some(heap) = self.link.heap() else {
            return Err(self.unsupported(i, "a module without memory of its own has no heap"));
        };
        self.literal(heap, crate::ptx::ir::Type::U64)
    }
}

/// Stores a result in the frame's local memory of a lane.
fn give(cx: &Context<'_>, lane: usize, place: u32, bytes: &[u8]) {
    let stack = cx.local.wrapping_add(lane * cx.local_stride as usize);
    let to = stack.wrapping_add((cx.local_base + place) as usize);
    // SAFETY: lowering checked that the variable for the result has that many bytes in the frame.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
}

/// A word of the heap.
fn load(cx: &Context<'_>, address: u64) -> u64 {
    let place = cx.hold.space().storage(address, 8);
    // SAFETY: `storage` says that eight bytes can be read there; blocks of this kernel run one after the other.
    place.map_or(0, |place| unsafe { place.cast::<u64>().read_unaligned() })
}

fn store(cx: &Context<'_>, address: u64, word: u64) {
    if let Some(place) = cx.hold.space().storage(address, 8) {
        // SAFETY: as above.
        unsafe { place.cast::<u64>().write_unaligned(word) };
    }
}

/// `malloc`: bytes at `a`, the heap's address in the row `b`, the result to `d`.
struct Malloc;

impl Shape for Malloc {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        for lane in cx.lanes() {
            // SAFETY: lowering made `b` a row of 64-bit cells.
            let heap = unsafe { (*cx.row::<u64>(op.b))[lane] };
            let address = allocate(cx, heap, local(cx, lane, op.a, 8));
            give(cx, lane, op.d, &address.to_le_bytes());
        }
    }
}

/// The address of new memory, or 0.
fn allocate(cx: &Context<'_>, heap: u64, bytes: u64) -> u64 {
    if bytes == 0 || bytes > HEAP_BYTES {
        return 0;
    }
    let size = (bytes + PREFIX).next_power_of_two().max(2 * PREFIX);
    let class = u64::from(size.trailing_zeros());
    let list = heap + 8 * class;
    let free = load(cx, list);
    let block = if free != 0 {
        store(cx, list, load(cx, free + 8));
        free
    } else {
        let used = load(cx, heap).max(HEAD);
        if used.saturating_add(size) > HEAP_BYTES {
            return 0;
        }
        store(cx, heap, used + size);
        heap + used
    };
    store(cx, block, class);
    block + PREFIX
}

/// `free`: the address at `d`, the heap's in the row `b`.
struct Free;

impl Shape for Free {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        for lane in cx.lanes() {
            // SAFETY: lowering made `b` a row of 64-bit cells.
            let heap = unsafe { (*cx.row::<u64>(op.b))[lane] };
            let block = local(cx, lane, op.d, 8).wrapping_sub(PREFIX);
            if !(heap + HEAD..heap + HEAP_BYTES).contains(&block) {
                continue;
            }
            let list = heap + 8 * load(cx, block).clamp(5, 63);
            store(cx, block + 8, load(cx, list));
            store(cx, list, block);
        }
    }
}

/// `vprintf`: the format's address at `a`, the list's at `b`, the result to `d`.
struct Print;

impl Shape for Print {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        for lane in cx.lanes() {
            let format = text(cx, lane, local(cx, lane, op.a, 8), MAX_TEXT);
            let mut list = PrintfArguments {
                cx,
                lane,
                next: local(cx, lane, op.b, 8),
            };
            let (text, count) = formatted(&format, &mut list);
            use std::io::Write as _;
            // A kernel has no way to learn that the output is closed.
            let _ = std::io::stdout().write_all(text.as_bytes());
            give(cx, lane, op.d, &count.to_le_bytes());
        }
    }
}

/// CUDA's bound of a formatted text.
const MAX_TEXT: u64 = 1024;

/// The arguments of `vprintf`, one behind the other.
struct PrintfArguments<'a, 'g> {
    cx: &'a Context<'g>,
    lane: usize,
    next: u64,
}

impl List for PrintfArguments<'_, '_> {
    fn word(&mut self) -> u64 {
        let at = self.next.saturating_add(7) & !7;
        self.next = at.wrapping_add(8);
        generic_bytes(self.cx, self.lane, at).map_or(0, u64::from_le_bytes)
    }

    fn half_word(&mut self) -> u32 {
        let at = self.next.saturating_add(3) & !3;
        self.next = at.wrapping_add(4);
        generic_bytes(self.cx, self.lane, at).map_or(0, u32::from_le_bytes)
    }

    fn text(&self, address: u64, most: u64) -> String {
        text(self.cx, self.lane, address, most)
    }
}

/// What `printf` prints.
trait List {
    fn word(&mut self) -> u64;
    fn half_word(&mut self) -> u32;
    fn text(&self, address: u64, most: u64) -> String;
}

/// An integer of the list, sign- or zero-extended.
fn integer(list: &mut dyn List, wide: bool, signed: bool) -> i128 {
    match (wide, signed) {
        (true, true) => list.word().cast_signed().into(),
        (true, false) => list.word().into(),
        (false, true) => list.half_word().cast_signed().into(),
        (false, false) => list.half_word().into(),
    }
}

/// C's `printf`: the text, and how many arguments were printed.
fn formatted(format: &str, list: &mut dyn List) -> (String, u32) {
    let (mut text, mut count) = (String::new(), 0);
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        let end = after.find(|c: char| c.is_ascii_alphabetic() && !"hlqjzt".contains(c));
        let Some(end) = end else {
            rest = after;
            break;
        };
        let (specification, after) = after.split_at(end + 1);
        text.push_str(&conversion(specification, list));
        count += 1;
        rest = after;
    }
    text.push_str(rest);
    (text, count)
}

/// One conversion such as `08.3f`, without its per cent sign.
fn conversion(specification: &str, list: &mut dyn List) -> String {
    let flags: String = specification
        .chars()
        .take_while(|c| "-+ #0".contains(*c))
        .collect();
    let rest = &specification[flags.len()..];
    let numbers = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let wide = rest.contains(['l', 'q', 'j', 'z', 't']);
    let (width, precision) = match numbers.split_once('.') {
        Some((width, precision)) => (width, Some(number(precision))),
        None => (numbers, None),
    };
    let kind = rest.chars().last().unwrap_or('d');
    let float = |list: &mut dyn List| f64::from_bits(list.word());
    let body = match kind {
        'd' | 'i' => signed(integer(list, wide, true).to_string(), &flags),
        'u' => integer(list, wide, false).to_string(),
        'x' => format!("{:x}", integer(list, wide, false)),
        'X' => format!("{:X}", integer(list, wide, false)),
        'o' => format!("{:o}", integer(list, wide, false)),
        'c' => char::from(list.half_word() as u8).to_string(),
        'p' => format!("{:#x}", list.word()),
        's' => {
            let address = list.word();
            let most = precision.map_or(MAX_TEXT, |most| most as u64);
            list.text(address, most)
        }
        'f' | 'F' => signed(
            format!("{:.*}", precision.unwrap_or(6), float(list)),
            &flags,
        ),
        'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
            signed(exponential(float(list), precision, kind), &flags)
        }
        _ => return format!("%{specification}"),
    };
    let width = number(width);
    match (
        flags.contains('-'),
        flags.contains('0') && !matches!(kind, 's' | 'c'),
    ) {
        (true, _) => format!("{body:width$}"),
        (false, true) => {
            let (sign, digits) = body.split_at(usize::from(body.starts_with(['-', '+', ' '])));
            format!(
                "{sign}{digits:0>width$}",
                width = width.saturating_sub(sign.len())
            )
        }
        (false, false) => format!("{body:>width$}"),
    }
}

/// A width or precision, bounded by what a text may have.
fn number(digits: &str) -> usize {
    digits
        .parse()
        .map_or(0, |number: usize| number.min(MAX_TEXT as usize))
}

fn signed(text: String, flags: &str) -> String {
    match text.starts_with('-') {
        false if flags.contains('+') => format!("+{text}"),
        false if flags.contains(' ') => format!(" {text}"),
        _ => text,
    }
}

/// `%e`, and what stands for `%g`: the shorter of both forms.
fn exponential(value: f64, precision: Option<usize>, kind: char) -> String {
    let digits = precision.unwrap_or(6);
    let scientific = |digits: usize| {
        let text = format!("{value:.digits$e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) => {
                let (sign, exponent) = match exponent.strip_prefix('-') {
                    Some(exponent) => ('-', exponent),
                    None => ('+', exponent),
                };
                format!("{mantissa}e{sign}{exponent:0>2}")
            }
            None => text,
        }
    };
    if matches!(kind, 'e' | 'E') {
        return scientific(digits);
    }
    let exponent = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    let digits = digits.max(1);
    let trim = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match exponent < -4 || exponent >= digits as i32 {
        true => {
            let text = scientific(digits - 1);
            text.split_once('e')
                .map_or(text.clone(), |(mantissa, exponent)| {
                    format!("{}e{exponent}", trim(mantissa.to_owned()))
                })
        }
        false => trim(format!(
            "{value:.*}",
            (digits as i32 - 1 - exponent).max(0) as usize
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words in order, and one text at every address.
    struct Words(Vec<u64>);

    impl List for Words {
        fn word(&mut self) -> u64 {
            self.0.remove(0)
        }

        fn half_word(&mut self) -> u32 {
            self.word() as u32
        }

        fn text(&self, _address: u64, most: u64) -> String {
            "text"[..4.min(most as usize)].to_owned()
        }
    }

    #[test]
    fn prints_as_c_does() {
        let float = f64::to_bits;
        for (format, words, expected) in [
            ("%s|%5s|%-5s|%.2s", vec![0; 4], "text| text|text |te"),
            ("100%% of %d", vec![u64::MAX], "100% of -1"),
            (
                "%u %lu %lld",
                vec![u64::MAX; 3],
                "4294967295 18446744073709551615 -1",
            ),
            ("%x %X %o %08x", vec![255, 255, 8, 255], "ff FF 10 000000ff"),
            (
                "%5d|%-5d|%05d|%+d",
                vec![7, 7, 0xffff_fff9, 7],
                "    7|7    |-0007|+7",
            ),
            ("%c%p", vec![65, 16], "A0x10"),
            (
                "%f %.2f %8.3f",
                vec![float(1.5), float(2.0 / 3.0), float(-1.0)],
                "1.500000 0.67   -1.000",
            ),
            (
                "%e %.1e",
                vec![float(12345.678), float(1e-9)],
                "1.234568e+04 1.0e-09",
            ),
            (
                "%g %g %g",
                vec![float(0.5), float(1e10), float(100_000.0)],
                "0.5 1e+10 100000",
            ),
        ] {
            let count = words.len() as u32;
            assert_eq!(
                formatted(format, &mut Words(words)),
                (expected.to_owned(), count),
                "{format}"
            );
        }
    }

    #[test]
    fn what_is_no_conversion_stays_and_widths_have_a_bound() {
        assert_eq!(formatted("50%", &mut Words(vec![])).0, "50");
        // More digits than any number has.
        let none = formatted("%99999999999999999999999d", &mut Words(vec![1]));
        assert_eq!(none.0, "1");
        assert_eq!(
            formatted("%99999999d", &mut Words(vec![1])).0.len(),
            MAX_TEXT as usize
        );
    }
}

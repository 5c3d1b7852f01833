//! Mutations that keep more of an input meaningful than changes of single bytes do.

use crate::world::RECORD;

/// Numbers from a seed: xorshift64*.
pub struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() >> 32) as usize % end.max(1)
    }
}

/// Words that PTX is made of, and numbers at the edges of types.
const WORDS: &str = ".version .target .address_size .visible .entry .func .extern .weak .global .shared .local .const .param \
    .reg .align .b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f16 .f16x2 .bf16 .bf16x2 .f32 .f64 .pred \
    .maxntid .reqntid .minnctapersm .maxnreg .reqnctapercluster .explicitcluster .maxclusterrank .noreturn .branchtargets \
    .callprototype .loc .file .section .pragma .ptr sm_70 sm_80 sm_90 6.0 8.0 64 mov add sub mul mad fma div rem abs neg \
    min max and or xor not cnot shl shr shf bfe bfi bfind brev popc clz prmt lop3 sad dp4a dp2a mul24 mad24 addc subc madc \
    setp set selp slct cvt cvta ld st ldu atom red membar fence bar barrier bra brx call ret exit trap brkpt nanosleep \
    vote match activemask shfl redux elect mapa getctarank isspacep prefetch prefetchu discard applypriority createpolicy \
    cp mbarrier griddepcontrol setmaxnreg rcp sqrt rsqrt sin cos lg2 ex2 tanh copysign testp mma wmma ldmatrix tex \
    .lo .hi .wide .sat .rn .rz .rm .rp .rni .rzi .rmi .rpi .approx .full .ftz .cc .eq .ne .lt .le .gt .ge .ltu .neu .nan \
    .num .and .or .xor .add .inc .dec .min .max .exch .cas .v2 .v4 .v8 .volatile .relaxed .acquire .release .acq_rel .sc \
    .cta .cluster .gpu .sys .weak .sync .aligned .arrive .wait .red .popc .all .any .uni .ballot .up .down .bfly .idx \
    .b4e .f4e .rc8 .ecl .ecr .rc16 .wrap .clamp .l .r .shiftamt .nc .ca .cg .cs .lu .cv .wb .wt .async .bulk .commit_group \
    .wait_group .wait_all .init .inval .expect_tx .complete_tx .test_wait .try_wait .pending_count .noinc .shared::cta \
    .shared::cluster .to .noftz .XORSIGN .scale %tid.x %ntid.y %ctaid.z %nctaid.x %laneid %warpid %nwarpid %lanemask_lt \
    %clock %clock64 %globaltimer %smid %nsmid %gridid %envreg0 %dynamic_smem_size %total_smem_size %cluster_ctaid.x \
    %cluster_ctarank %cluster_nctarank %is_explicit_cluster WARP_SZ 0 1 -1 31 32 33 63 64 127 255 256 65535 65536 \
    2147483647 -2147483648 4294967295 9223372036854775807 18446744073709551615 18446744073709551616 0x80000000 0U 0f3F800000 \
    0f7F800000 0fFFFFFFFF 0d7FF0000000000000 0dFFF8000000000000 1.0 { } ( ) [ ] < > ; , : @ ! | + - * / % & ^ ~ ? = _ \
    << >> == != // //next /* */ \" %r1 %rd1 %p1 %f1 %SP %SPL";

/// Tokens of a text as ranges: words with what belongs to them, or single characters.
fn tokens(text: &[u8]) -> Vec<(usize, usize)> {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%');
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let start = at;
        at += 1;
        if in_word(text[start]) || text[start] == b'.' {
            while at < text.len() && (in_word(text[at]) || text[at] == b':') {
                at += 1;
            }
        }
        if !text[start].is_ascii_whitespace() {
            found.push((start, at));
        }
    }
    found
}

/// Replaces `range` of the first `size` bytes; nothing happens if the result is too long.
fn splice(data: &mut [u8], size: usize, limit: usize, range: (usize, usize), with: &[u8]) -> usize {
    let new = size - (range.1 - range.0) + with.len();
    if new > limit.min(data.len()) {
        return size;
    }
    data.copy_within(range.1..size, range.0 + with.len());
    data[range.0..range.0 + with.len()].copy_from_slice(with);
    new
}

/// Changes tokens and lines of a PTX text. Returns its new length.
pub fn ptx(data: &mut [u8], mut size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random::new(seed.into());
    let words: Vec<&str> = WORDS.split_ascii_whitespace().collect();
    for _ in 0..=random.below(4) {
        let text = data[..size].to_vec();
        let tokens = tokens(&text);
        let lines: Vec<(usize, usize)> = text
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| {
                let start = line.as_ptr() as usize - text.as_ptr() as usize;
                (start, start + line.len())
            })
            .collect();
        if tokens.is_empty() {
            return splice(
                data,
                size,
                max_size,
                (0, size),
                b".version 6.0\n.target sm_70\n",
            );
        }
        let token = tokens[random.below(tokens.len())];
        let line = lines[random.below(lines.len())];
        let other = tokens[random.below(tokens.len())];
        let other_line = lines[random.below(lines.len())];
        let word = words[random.below(words.len())].as_bytes();
        size = match random.below(10) {
            0 | 1 => splice(data, size, max_size, token, word),
            2 | 3 => splice(data, size, max_size, token, &text[other.0..other.1]),
            4 => splice(data, size, max_size, (token.1, token.1), word),
            5 => splice(data, size, max_size, token, b""),
            6 => splice(data, size, max_size, line, b""),
            7 => splice(
                data,
                size,
                max_size,
                (line.0, line.0),
                &text[other_line.0..other_line.1],
            ),
            8 => splice(
                data,
                size,
                max_size,
                line,
                &text[other_line.0..other_line.1],
            ),
            _ => splice(
                data,
                size,
                max_size,
                token,
                random.below(80).to_string().as_bytes(),
            ),
        };
    }
    size
}

/// Changes, copies, moves and removes calls of a program. Returns its new length.
pub fn calls(data: &mut [u8], mut size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random::new(seed.into());
    for _ in 0..=random.below(3) {
        let text = data[..size].to_vec();
        let count = size / RECORD;
        let record = |index: usize| (index * RECORD, (index + 1) * RECORD);
        let at = record(random.below(count));
        let from = record(random.below(count));
        let mut new = [0; RECORD];
        new.fill_with(|| random.number() as u8);
        if count == 0 {
            return splice(data, size, max_size, (0, size), &new);
        }
        size = match random.below(6) {
            0 | 1 => splice(data, size, max_size, (at.0, at.0), &new),
            2 => splice(data, size, max_size, (at.0, at.0), &text[from.0..from.1]),
            3 => splice(data, size, max_size, at, &text[from.0..from.1]),
            4 => splice(data, size, max_size, at, b""),
            _ => {
                let byte = at.0 + random.below(RECORD);
                splice(data, size, max_size, (byte, byte + 1), &new[..1])
            }
        };
    }
    size
}

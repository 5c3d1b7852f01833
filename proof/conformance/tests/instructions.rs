//! Every IEEE and integer instruction of the baseline architecture, with every rounding mode and modifier, on the same
//! operands on both devices.
//!
//! Approximate instructions (`ex2.approx`, `div.full`, ..) are not here: their bits are not specified.

use anyhow::Result;
use conformance::{
    device::{RuleDevice, argument, download, upload},
    inputs::{f32_bits, f64_bits, integer_bits},
    vectors::Vectors,
};
use std::fmt::Write as _;

const COUNT: usize = 4096;
const THREADS: u32 = 128;

/// A register type of PTX that a check reads or writes.
#[derive(Clone, Copy, PartialEq)]
struct Type(&'static str);

impl Type {
    fn bytes(self) -> usize {
        self.0[1..].parse::<usize>().map_or(4, |bits| bits / 8)
    }

    /// The type of a register that can hold it: 8-bit values live in 16-bit registers.
    fn register(self) -> String {
        match self.0 {
            "u8" | "s8" => "b16".to_owned(),
            "f16" => "b16".to_owned(),
            other => other.to_owned(),
        }
    }

    /// The type for `ld` and `st`.
    fn memory(self) -> String {
        match self.0 {
            "f16" => "b16".to_owned(),
            other => other.to_owned(),
        }
    }
}

/// One kernel: reads `a`, `b`, `c`, executes `code`, stores `d`.
struct Check {
    name: String,
    operand: Type,
    second: Type,
    result: Type,
    code: String,
}

#[derive(Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn add(
        &mut self,
        instruction: &str,
        operand: &'static str,
        result: &'static str,
        code: String,
    ) {
        self.mixed(instruction, operand, operand, result, code);
    }

    /// `second` is the type of `b` and `c`.
    fn mixed(
        &mut self,
        instruction: &str,
        operand: &'static str,
        second: &'static str,
        result: &'static str,
        code: String,
    ) {
        self.0.push(Check {
            name: instruction.replace(['.', ' '], "_"),
            operand: Type(operand),
            second: Type(second),
            result: Type(result),
            code,
        });
    }

    /// `instruction d, a[, b[, c]];`
    fn plain(
        &mut self,
        instruction: &str,
        operand: &'static str,
        result: &'static str,
        operands: usize,
    ) {
        let list = ["a", "a, b", "a, b, c"][operands - 1];
        self.add(
            instruction,
            operand,
            result,
            format!("{instruction} d, {list};"),
        );
    }
}

fn float(checks: &mut Checks) {
    for ty in ["f32", "f64"] {
        for rounding in ["rn", "rz", "rm", "rp"] {
            for (name, operands) in [
                ("add", 2),
                ("sub", 2),
                ("mul", 2),
                ("fma", 3),
                ("div", 2),
                ("rcp", 1),
                ("sqrt", 1),
            ] {
                checks.plain(&format!("{name}.{rounding}.{ty}"), ty, ty, operands);
                if ty == "f32" {
                    checks.plain(&format!("{name}.{rounding}.ftz.{ty}"), ty, ty, operands);
                }
            }
        }
        for (name, operands) in [
            ("abs", 1),
            ("neg", 1),
            ("min", 2),
            ("max", 2),
            ("copysign", 2),
        ] {
            checks.plain(&format!("{name}.{ty}"), ty, ty, operands);
        }
        for compare in [
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
            "nan",
        ] {
            let code = format!("setp.{compare}.{ty} p, a, b; selp.b32 d, 1, 0, p;");
            checks.add(&format!("setp.{compare}.{ty}"), ty, "u32", code);
        }
        for class in [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ] {
            let code = format!("testp.{class}.{ty} p, a; selp.b32 d, 1, 0, p;");
            checks.add(&format!("testp.{class}.{ty}"), ty, "u32", code);
        }
    }
    for (name, operands) in [
        ("add.rn.sat", 2),
        ("sub.rn.sat", 2),
        ("mul.rn.sat", 2),
        ("fma.rn.sat", 3),
        ("fma.rn.ftz.sat", 3),
    ] {
        checks.plain(&format!("{name}.f32"), "f32", "f32", operands);
    }
    for (name, operands) in [
        ("abs.ftz", 1),
        ("neg.ftz", 1),
        ("min.ftz", 2),
        ("max.ftz", 2),
        ("add", 2),
        ("mul", 2),
    ] {
        checks.plain(&format!("{name}.f32"), "f32", "f32", operands);
    }
    for (name, tail) in [("setp.lt.ftz.f32", ""), ("setp.equ.ftz.f32", "")] {
        checks.add(
            name,
            "f32",
            "u32",
            format!("{name} p, a, b{tail}; selp.b32 d, 1, 0, p;"),
        );
    }
    checks.add(
        "set.lt.f32.f32",
        "f32",
        "f32",
        "set.lt.f32.f32 d, a, b;".into(),
    );
    checks.add(
        "set.geu.u32.f32",
        "f32",
        "u32",
        "set.geu.u32.f32 d, a, b;".into(),
    );
    let combined = "setp.gt.f32 q, b, c; setp.lt.and.f32 p, a, b, !q; selp.f32 d, a, b, p;";
    checks.add("setp.lt.and.f32", "f32", "f32", combined.into());
    checks.add(
        "slct.f32.f32",
        "f32",
        "f32",
        "slct.f32.f32 d, a, b, c;".into(),
    );
    checks.add(
        "slct.ftz.f32.f32",
        "f32",
        "f32",
        "slct.ftz.f32.f32 d, a, b, c;".into(),
    );
}

fn integer(checks: &mut Checks) {
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        for (name, operands) in [
            ("add", 2),
            ("sub", 2),
            ("mul.lo", 2),
            ("mul.hi", 2),
            ("mad.lo", 3),
            ("mad.hi", 3),
            ("div", 2),
            ("rem", 2),
            ("min", 2),
            ("max", 2),
            ("sad", 3),
        ] {
            checks.plain(&format!("{name}.{ty}"), ty, ty, operands);
        }
        if ty.starts_with('s') {
            checks.plain(&format!("abs.{ty}"), ty, ty, 1);
            checks.plain(&format!("neg.{ty}"), ty, ty, 1);
        }
        let compares: &[&str] = if ty.starts_with('s') {
            &["eq", "ne", "lt", "le", "gt", "ge"]
        } else {
            &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"]
        };
        for compare in compares {
            let code = format!("setp.{compare}.{ty} p, a, b; selp.b32 d, 1, 0, p;");
            checks.add(&format!("setp.{compare}.{ty}"), ty, "u32", code);
        }
        checks.mixed(
            &format!("shr.{ty}"),
            ty,
            "u32",
            ty,
            format!("shr.{ty} d, a, b;"),
        );
    }
    for (narrow, wide) in [
        ("u16", "u32"),
        ("s16", "s32"),
        ("u32", "u64"),
        ("s32", "s64"),
    ] {
        let code = format!("mul.wide.{narrow} d, a, b;");
        checks.add(&format!("mul.wide.{narrow}"), narrow, wide, code);
        let code =
            format!(".reg .{wide} w; cvt.{wide}.{narrow} w, c; mad.wide.{narrow} d, a, b, w;");
        checks.add(&format!("mad.wide.{narrow}"), narrow, wide, code);
    }
    for (name, operands) in [("add.sat", 2), ("sub.sat", 2), ("mad.hi.sat", 3)] {
        checks.plain(&format!("{name}.s32"), "s32", "s32", operands);
    }
    for ty in ["u32", "s32"] {
        for half in ["lo", "hi"] {
            checks.plain(&format!("mul24.{half}.{ty}"), ty, ty, 2);
            checks.plain(&format!("mad24.{half}.{ty}"), ty, ty, 3);
        }
        checks.plain(&format!("dp4a.{ty}.{ty}"), ty, ty, 3);
        checks.plain(&format!("dp2a.lo.{ty}.{ty}"), ty, ty, 3);
        checks.plain(&format!("dp2a.hi.{ty}.{ty}"), ty, ty, 3);
    }
    bits(checks);
    let carry = "add.cc.u32 d, a, b; addc.u32 d, d, c;";
    checks.add("addc.u32", "u32", "u32", carry.into());
    checks.add(
        "addc.carry.u32",
        "u32",
        "u32",
        ".reg .u32 t; add.cc.u32 t, a, b; addc.cc.u32 t, b, c; addc.u32 d, t, 0;".into(),
    );
    checks.add(
        "subc.u32",
        "u32",
        "u32",
        ".reg .u32 t; sub.cc.u32 t, a, b; subc.u32 d, c, t;".into(),
    );
    checks.add(
        "madc.u32",
        "u32",
        "u32",
        ".reg .u32 t; mad.lo.cc.u32 t, a, b, c; madc.hi.u32 d, a, b, t;".into(),
    );
}

fn bits(checks: &mut Checks) {
    for (b, u, s) in [("b32", "u32", "s32"), ("b64", "u64", "s64")] {
        for (name, operands) in [
            ("and", 2),
            ("or", 2),
            ("xor", 2),
            ("not", 1),
            ("cnot", 1),
            ("brev", 1),
        ] {
            let list = ["a", "a, b"][operands - 1];
            checks.add(
                &format!("{name}.{b}"),
                u,
                u,
                format!("{name}.{b} d, {list};"),
            );
        }
        for name in ["popc", "clz"] {
            checks.add(
                &format!("{name}.{b}"),
                u,
                "u32",
                format!("{name}.{b} d, a;"),
            );
        }
        checks.mixed(
            &format!("shl.{b}"),
            u,
            "u32",
            u,
            format!("shl.{b} d, a, b;"),
        );
        for ty in [u, s] {
            checks.add(
                &format!("bfind.{ty}"),
                ty,
                "u32",
                format!("bfind.{ty} d, a;"),
            );
            checks.add(
                &format!("bfind.shiftamt.{ty}"),
                ty,
                "u32",
                format!("bfind.shiftamt.{ty} d, a;"),
            );
            checks.mixed(
                &format!("bfe.{ty}"),
                ty,
                "u32",
                ty,
                format!("bfe.{ty} d, a, b, c;"),
            );
        }
        let code = format!(".reg .u32 n; and.b32 n, c, 127; bfi.{b} d, a, a, b, n;");
        checks.mixed(&format!("bfi.{b}"), u, "u32", u, code);
    }
    for direction in ["l", "r"] {
        for mode in ["clamp", "wrap"] {
            checks.plain(&format!("shf.{direction}.{mode}.b32"), "u32", "u32", 3);
        }
    }
    for table in ["0x96", "0xe8", "0x1b"] {
        let code = format!("lop3.b32 d, a, b, c, {table};");
        checks.add(&format!("lop3.b32.{table}"), "u32", "u32", code);
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        checks.add(
            &format!("prmt.b32{mode}"),
            "u32",
            "u32",
            format!("prmt.b32{mode} d, a, b, c;"),
        );
    }
}

fn convert(checks: &mut Checks) {
    const INTEGERS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    let mut cvt = |name: String, from, to| checks.add(&name, from, to, format!("{name} d, a;"));
    for float in ["f32", "f64"] {
        for integer in INTEGERS {
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                cvt(format!("cvt.{rounding}.{integer}.{float}"), float, integer);
            }
            for rounding in ["rn", "rz", "rm", "rp"] {
                cvt(format!("cvt.{rounding}.{float}.{integer}"), integer, float);
            }
        }
        for rounding in ["rni", "rzi", "rmi", "rpi"] {
            cvt(format!("cvt.{rounding}.{float}.{float}"), float, float);
        }
    }
    for rounding in ["rn", "rz", "rm", "rp"] {
        cvt(format!("cvt.{rounding}.f32.f64"), "f64", "f32");
        cvt(format!("cvt.{rounding}.ftz.f32.f64"), "f64", "f32");
    }
    cvt("cvt.f64.f32".into(), "f32", "f64");
    cvt("cvt.ftz.f64.f32".into(), "f32", "f64");
    cvt("cvt.rn.f16.f32".into(), "f32", "f16");
    cvt("cvt.rz.f16.f32".into(), "f32", "f16");
    cvt("cvt.rn.f16.f64".into(), "f64", "f16");
    cvt("cvt.f32.f16".into(), "f16", "f32");
    cvt("cvt.f64.f16".into(), "f16", "f64");
    cvt("cvt.sat.f32.f32".into(), "f32", "f32");
    cvt("cvt.rni.sat.f32.f32".into(), "f32", "f32");
    cvt("cvt.rzi.ftz.s32.f32".into(), "f32", "s32");
    for from in INTEGERS {
        for to in INTEGERS {
            if from != to {
                cvt(format!("cvt.{to}.{from}"), from, to);
            }
            if !holds(to, from) {
                cvt(format!("cvt.sat.{to}.{from}"), from, to);
            }
        }
    }
}

/// Whether integer type `to` holds every value of `from`: then PTX refuses `.sat`.
fn holds(to: &str, from: &str) -> bool {
    let bits = |ty: &str| ty[1..].parse::<u32>().unwrap_or(0);
    match (to.starts_with('s'), from.starts_with('s')) {
        (true, false) => bits(to) > bits(from),
        (false, true) => false,
        _ => bits(to) >= bits(from),
    }
}

fn module(checks: &[Check]) -> Result<String> {
    let mut ptx = ".version 6.0\n.target sm_70\n.address_size 64\n".to_owned();
    for check in checks {
        let (name, code) = (&check.name, &check.code);
        let operands = [
            ("a", check.operand),
            ("b", check.second),
            ("c", check.second),
        ];
        writeln!(
            ptx,
            ".visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{{\n\
             .reg .pred p, q;\n.reg .b32 i, j, k;\n.reg .b64 at, step;"
        )?;
        writeln!(
            ptx,
            "mov.u32 i, %ctaid.x;\nmov.u32 j, %ntid.x;\nmov.u32 k, %tid.x;\nmad.lo.u32 i, i, j, k;"
        )?;
        for (register, ty) in operands {
            writeln!(
                ptx,
                ".reg .{} {register};\nld.param.u64 at, [p{register}];\nmul.wide.u32 step, i, {};\n\
                 add.u64 at, at, step;\nld.global.{} {register}, [at];",
                ty.register(),
                ty.bytes(),
                ty.memory()
            )?;
        }
        let result = check.result;
        writeln!(
            ptx,
            ".reg .{} d;\n{code}\nld.param.u64 at, [pd];\nmul.wide.u32 step, i, {};\nadd.u64 at, at, step;\n\
             st.global.{} [at], d;\nret;\n}}",
            result.register(),
            result.bytes(),
            result.memory()
        )?;
    }
    Ok(ptx)
}

/// `COUNT` operands of a type, as bytes.
fn operands(ty: Type, seed: u64) -> Vec<u8> {
    match ty.0 {
        "f32" => bytemuck::cast_slice(&f32_bits(seed, COUNT)).to_vec(),
        "f64" => bytemuck::cast_slice(&f64_bits(seed, COUNT)).to_vec(),
        _ => integer_bits(seed, COUNT)
            .iter()
            .flat_map(|bits| bits.to_le_bytes()[..ty.bytes()].to_vec())
            .collect(),
    }
}

#[test]
fn every_instruction_gives_the_recorded_bits() -> Result<()> {
    let mut checks = Checks::default();
    float(&mut checks);
    integer(&mut checks);
    convert(&mut checks);
    let device = RuleDevice::open()?;
    let module = device.load(&module(&checks.0)?)?;
    let mut vectors = Vectors::new("instructions", include_str!("instructions.digests"));
    for check in &checks.0 {
        let a = upload(&operands(check.operand, 1))?;
        let b = upload(&operands(check.second, 2))?;
        let c = upload(&operands(check.second, 3))?;
        let d = upload(&vec![0xa5_u8; COUNT * check.result.bytes()])?;
        let pointers = [&a, &b, &c, &d].map(|buffer| buffer.as_device_ptr().as_raw());
        let blocks = (COUNT as u32 / THREADS, THREADS);
        // SAFETY: each of the four pointers is to COUNT elements of the type that the kernel accesses.
        unsafe {
            device.run(
                &module,
                &check.name,
                blocks,
                &pointers.each_ref().map(argument),
            )
        }?;
        vectors.add(&check.name, &download(&d)?, check.result.bytes())?;
    }
    vectors.finish()
}

//! Development check against recorded bits.
use software_gpu::exec::{Executable, Grid, execute};
use software_gpu::memory::{AddressSpace, AllocationKind, WriteHold};

#[path = "../../conformance/src/inputs.rs"]
mod inputs;

const COUNT: usize = 4096;

fn operands(ty: &str, seed: u64) -> Vec<u8> {
    match ty {
        "f32" => bytemuck::cast_slice(&inputs::f32_bits(seed, COUNT)).to_vec(),
        "f64" => bytemuck::cast_slice(&inputs::f64_bits(seed, COUNT)).to_vec(),
        _ => {
            let bytes = ty[1..].parse::<usize>().unwrap() / 8;
            inputs::integer_bits(seed, COUNT)
                .iter()
                .flat_map(|b| b.to_le_bytes()[..bytes].to_vec())
                .collect()
        }
    }
}

#[test]
fn all() {
    let text = std::fs::read_to_string("/tmp/briefs/instructions.ptx").unwrap();
    let only = std::env::var("ONLY").unwrap_or_default();
    let header = text.split(".visible").next().unwrap();
    let (mut good, mut bad) = (0, 0);
    for part in text.split(".visible").skip(1) {
        let name = part
            .split("entry ")
            .nth(1)
            .unwrap()
            .split('(')
            .next()
            .unwrap();
        if !name.contains(&only) {
            continue;
        }
        let memory: Vec<&str> = part
            .lines()
            .filter_map(|l| l.strip_prefix("ld.global."))
            .map(|l| l.split(' ').next().unwrap())
            .collect();
        let source = format!("{header}.visible{part}");
        let module = match software_gpu::ptx::parse(&source) {
            Ok(m) => m,
            Err(e) => {
                println!("{name}: {e}");
                bad += 1;
                continue;
            }
        };
        let executable = match Executable::new(&module, &|_| None) {
            Ok(m) => m,
            Err(e) => {
                println!("{name}: {e}");
                bad += 1;
                continue;
            }
        };
        let expected = std::fs::read(format!("/tmp/h200/vectors/instructions/{name}.bin")).unwrap();
        let width = expected.len() / COUNT;
        let mut space = AddressSpace::new(1 << 30, 1 << 20);
        let mut parameters = Vec::new();
        let mut inputs = Vec::new();
        for (at, kind) in memory.iter().enumerate() {
            let bytes = operands(kind, at as u64 + 1);
            let address = space.allocate(bytes.len(), AllocationKind::Device).unwrap();
            unsafe {
                std::ptr::copy(
                    bytes.as_ptr(),
                    space.find(address).unwrap().storage(),
                    bytes.len(),
                )
            };
            parameters.extend(address.to_le_bytes());
            inputs.push(bytes);
        }
        let d = space
            .allocate(expected.len(), AllocationKind::Device)
            .unwrap();
        parameters.extend(d.to_le_bytes());
        let hold = WriteHold::new(&space);
        let grid = Grid {
            kernel: executable.kernel(name).unwrap(),
            grid: [32, 1, 1],
            block: [128, 1, 1],
            dynamic_shared_bytes: 0,
            parameters: &parameters,
            start_ns: 0,
            clock_mhz: 1000.0,
            multiprocessors: 1,
            instruction_budget: 1 << 40,
            threads: 1,
        };
        if let Err(e) = execute(&grid, &hold) {
            println!("{name}: {e}");
            bad += 1;
            continue;
        }
        hold.finish().land(&space);
        let mut found = vec![0; expected.len()];
        unsafe {
            std::ptr::copy(
                space.find(d).unwrap().storage().cast_const(),
                found.as_mut_ptr(),
                found.len(),
            )
        };
        let show = |b: &[u8]| {
            b.iter()
                .rev()
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
        };
        let differing: Vec<usize> = (0..COUNT)
            .filter(|i| found[i * width..(i + 1) * width] != expected[i * width..(i + 1) * width])
            .collect();
        if differing.is_empty() {
            good += 1;
            continue;
        }
        bad += 1;
        println!("{name}: {} differ", differing.len());
        for i in differing.into_iter().take(5) {
            let ins: Vec<String> = inputs
                .iter()
                .map(|b| {
                    let w = b.len() / COUNT;
                    show(&b[i * w..(i + 1) * w])
                })
                .collect();
            println!(
                "   [{i}] {} -> {} expected {}",
                ins.join(" "),
                show(&found[i * width..(i + 1) * width]),
                show(&expected[i * width..(i + 1) * width])
            );
        }
    }
    println!("{good} agree, {bad} differ");
    assert_eq!(bad, 0);
}

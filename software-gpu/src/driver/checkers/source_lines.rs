//! The source code behind the lines of PTX that reports and faults name.

use std::path::Path;

use crate::call_site::shortened;
use crate::ptx::SourceLines;

/// How reports and faults name a line of the PTX text.
const PTX_LINE: &str = "PTX line ";

/// CUDA C++'s functions in the reports, and what they are called in Rust, in `cuda_std`.
const IN_RUST: [(&str, &str); 3] = [
    ("`atomicAdd`", "`cuda_std::atomic`"),
    ("`__syncthreads`", "`thread::sync_threads`"),
    ("`__syncwarp`", "`warp::sync_warp`"),
];

/// The text with the source line behind each line of PTX: `PTX line 18 (src/lib.rs:7)`; `near` stands before the last line of the
/// program's own above an inlined function of the library. Where the source is Rust, functions have their names in Rust.
pub(in crate::driver) fn add_to(text: &str, lines: &SourceLines) -> String {
    if lines.is_empty() {
        return text.to_owned();
    }
    let mut pieces = text.split(PTX_LINE);
    let mut result = pieces.next().unwrap_or_default().to_owned();
    let mut is_rust = false;
    for piece in pieces {
        let end = piece.find(|character: char| !character.is_ascii_digit());
        let (number, rest) = piece.split_at(end.unwrap_or(piece.len()));
        result += PTX_LINE;
        result += number;
        if let Ok(number) = number.parse()
            && let Some((file, line)) = lines.find(number)
        {
            is_rust |= file.ends_with(".rs");
            let caller = is_of_library(file)
                .then(|| lines.find_before(number, |file| !is_of_library(file)))
                .flatten();
            let near = if caller.is_some() { "near " } else { "" };
            let (file, line) = caller.unwrap_or((file, line));
            result += &format!(" ({near}{}:{line})", shortened(Path::new(file)));
        }
        result += rest;
    }
    if is_rust {
        for (cpp, rust) in IN_RUST {
            result = result.replace(cpp, rust);
        }
    }
    result
}

/// Whether the file is one of Rust's standard library or of `cuda_std`, whose functions are inlined into kernels.
fn is_of_library(file: &str) -> bool {
    let file = file.replace('\\', "/");
    file.starts_with("/rustc/") || file.contains("/cuda_std/src/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::parse;

    fn lines(file: &str) -> SourceLines {
        let text = format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{{\n.loc 1 7 9\nret;\n}}\n.file 1 \"{file}\"\n"
        );
        parse(&text).expect("is PTX").source_lines
    }

    const REPORT: &str =
        "thread 1: load, PTX line 7\n  thread 2: store, PTX line 70: `__syncthreads`";

    #[test]
    fn each_line_of_ptx_is_followed_by_its_source() {
        assert_eq!(
            add_to(REPORT, &lines("k.cu")),
            "thread 1: load, PTX line 7 (k.cu:7)\n  thread 2: store, PTX line 70 (k.cu:7): `__syncthreads`"
        );
    }

    #[test]
    fn functions_of_rust_kernels_have_their_names_in_rust() {
        let here = std::env::current_dir().expect("exists");
        let file = here.join("src/lib.rs");
        let text = add_to(REPORT, &lines(&file.display().to_string()));
        assert!(text.contains("PTX line 7 (src/lib.rs:7)"), "{text}");
        assert!(text.ends_with(": `thread::sync_threads`"), "{text}");
    }

    #[test]
    fn an_inlined_function_of_the_library_is_near_a_line_of_the_kernel() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n.loc 1 7 9\nret;\n.loc 2 50 9\n\
                    ret;\n}\n.file 1 \"src/lib.rs\"\n.file 2 \"/rustc/library/core/src/ptr/mod.rs\"\n";
        let lines = parse(text).expect("is PTX").source_lines;
        assert_eq!(
            add_to("PTX line 9:", &lines),
            "PTX line 9 (near src/lib.rs:7):"
        );
        let alone = text.replace(".loc 1 7 9", "");
        let lines = parse(&alone).expect("is PTX").source_lines;
        assert_eq!(
            add_to("PTX line 9:", &lines),
            "PTX line 9 (/rustc/library/core/src/ptr/mod.rs:50):"
        );
    }

    #[test]
    fn a_text_without_locations_stays() {
        assert_eq!(add_to(REPORT, &SourceLines::default()), REPORT);
    }
}

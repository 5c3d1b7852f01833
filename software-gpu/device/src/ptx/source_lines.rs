//! The lines of source code that a module was compiled from: what `.file` and `.loc` say (PTX ISA, "Debugging Directives").
//!
//! A compiler writes a `.loc` before the instructions of a source line. It holds until the next one, and not beyond the
//! function that it stands in.

use std::collections::BTreeMap;

/// The source lines of a module's instructions.
#[derive(Clone, Debug, Default)]
pub struct SourceLines {
    /// Paths by the numbers of `.file`.
    files: BTreeMap<u64, String>,
    /// From this line of the PTX text on, the instructions are of that file and line; in the order of the text.
    starts: Vec<(u32, Option<(u64, u64)>)>,
}

impl SourceLines {
    /// `.file number "path"`.
    pub(super) fn add_file(&mut self, number: u64, path: &str) {
        self.files.insert(number, path.to_owned());
    }

    /// `.loc file line …` in this line of the PTX text. A compiler's own code has the line 0.
    pub(super) fn add_location(&mut self, ptx_line: u32, file: u64, line: u64) {
        self.starts.push((ptx_line, Some((file, line))));
    }

    /// A function begins in this line of the PTX text.
    pub(super) fn begin_function(&mut self, ptx_line: u32) {
        self.starts.push((ptx_line, None));
    }

    /// Path and line of the source of the instruction in this line of the PTX text, if the text says so.
    pub fn find(&self, ptx_line: u32) -> Option<(&str, u64)> {
        let (_, location) = self.until(ptx_line).last()?;
        self.resolve((*location)?).filter(|(_, line)| *line != 0)
    }

    /// The last location before this line of the PTX text, in the same function, whose file `is_meant`. LLVM writes no `inlined_at`
    /// below PTX 7.2, so this is as near as the text leads to the caller of an inlined function.
    pub fn find_before(
        &self,
        ptx_line: u32,
        is_meant: impl Fn(&str) -> bool,
    ) -> Option<(&str, u64)> {
        let locations = self.until(ptx_line).iter().rev();
        let of_function = locations.map_while(|(_, location)| *location);
        let mut found = of_function.filter_map(|location| self.resolve(location));
        found.find(|(file, line)| *line != 0 && is_meant(file))
    }

    fn until(&self, ptx_line: u32) -> &[(u32, Option<(u64, u64)>)] {
        let end = self.starts.partition_point(|(start, _)| *start <= ptx_line);
        &self.starts[..end]
    }

    fn resolve(&self, (file, line): (u64, u64)) -> Option<(&str, u64)> {
        Some((self.files.get(&file)?, line))
    }

    /// Whether the text has any.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::ptx::parse;

    const TEXT: &str = r#".version 7.0
.target sm_70
.address_size 64
.visible .entry first()
{
    .reg .b32 %r<2>;
    mov.b32 %r1, 0;
    .loc 1 7 9
    mov.b32 %r1, 1;
    mov.b32 %r1, 2;
    .loc 2 8 1, function_name $L__info0, inlined_at 1 7 9
    mov.b32 %r1, 3;
    .loc 1 0 9
    ret;
}
.visible .entry second()
{
    ret;
}
.file 1 "src/lib.rs"
.file 2 "/rustc/library/core/src/lib.rs", 1700000000, 4096
"#;

    #[test]
    fn an_instruction_has_the_location_before_it_in_its_function() {
        let lines = parse(TEXT).expect("is PTX").source_lines;
        assert_eq!(lines.find(7), None, "before the first");
        assert_eq!(lines.find(9), Some(("src/lib.rs", 7)));
        assert_eq!(lines.find(10), Some(("src/lib.rs", 7)));
        assert_eq!(lines.find(12), Some(("/rustc/library/core/src/lib.rs", 8)));
        assert_eq!(lines.find(14), None, "line 0");
        assert_eq!(lines.find(18), None, "another function");

        let own = |file: &str| file.starts_with("src/");
        let before = |line| lines.find_before(line, own);
        assert_eq!(
            before(12),
            Some(("src/lib.rs", 7)),
            "before the inlined one"
        );
        assert_eq!(before(14), Some(("src/lib.rs", 7)), "before line 0");
        assert_eq!(before(7), None, "before the first");
        assert_eq!(before(18), None, "another function");
    }

    #[test]
    fn a_malformed_location_is_skipped() {
        let text = TEXT
            .replace(".loc 1 7 9", ".loc x")
            .replace(".file 1 ", ".file ");
        let lines = parse(&text).expect("is PTX").source_lines;
        assert_eq!(lines.find(9), None);
        assert_eq!(lines.find(12), Some(("/rustc/library/core/src/lib.rs", 8)));
    }
}

//! What the solutions stand for: as Rust, which this test compiles, and as CUDA C++, which scripts/check-cuda-programs compiles.
//! `UPDATE_TRANSLATIONS=1` writes the files again.

use std::fs;
use std::path::Path;

/// Compiles each of these programs.
macro_rules! compiled {
    ($($name:ident: $file:literal,)*) => {
        $(#[path = $file]
        #[allow(dead_code, unused_variables, reason = "it is compiled, and not run")]
        #[allow(clippy::all, clippy::undocumented_unsafe_blocks, reason = "it follows the stream program line by line")]
        mod $name;)*

        const FILES: &[&str] = &[$($file),*];
    };
}

compiled! {
    lab_01: "translations/01_first_stream.rs",
    lab_02: "translations/02_pinned.rs",
    lab_03: "translations/03_event_timing.rs",
    lab_04: "translations/04_default_stream.rs",
    lab_05: "translations/05_missing_event.rs",
    lab_06: "translations/06_recorded_too_early.rs",
    lab_07: "translations/07_wait_before_record.rs",
    lab_08: "translations/08_re_recorded_event.rs",
    lab_09: "translations/09_early_host_read.rs",
    lab_10: "translations/10_buffer_reused.rs",
    lab_12: "translations/12_two_streams.rs",
    lab_13: "translations/13_three_way.rs",
    lab_14: "translations/14_issue_order.rs",
    lab_15: "translations/15_async_alloc.rs",
    lab_16: "translations/16_free_too_early.rs",
    lab_17: "translations/17_pool_threshold.rs",
    lab_20: "translations/20_event_chain.rs",
    lab_21: "translations/21_warp_specialised.rs",
}

#[test]
fn the_translations_are_those_of_the_solutions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut programs = 0;
    for file in fs::read_dir(root.join("labs/solutions")).expect("a folder") {
        let path = file.expect("a file").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let program = stream_program::read(&fs::read_to_string(&path).expect("a text"));
        let program = program.expect("a right program");
        let rust = stream_program::rust::translate(&program);
        let cpp = stream_program::cpp::translate(&program);
        for (text, kind) in [(rust, "rs"), (cpp, "cu")] {
            let file = root
                .join("tests/translations")
                .join(&name)
                .with_extension(kind);
            if std::env::var_os("UPDATE_TRANSLATIONS").is_some() {
                fs::write(&file, &text).expect("a file");
            }
            let kept = fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(kept, text, "{}", file.display());
        }
        assert!(
            FILES.contains(&format!("translations/{name}.rs").as_str()),
            "{name} is not compiled"
        );
        programs += 1;
    }
    assert_eq!(programs, FILES.len());
}

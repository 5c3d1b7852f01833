//! PTX as text.

/// Whether an input is PTX: text with a version.
pub(crate) fn is_ptx(data: &[u8]) -> bool {
    let text = data.split(|byte| *byte == 0).next().unwrap_or_default();
    find(text, b".version").is_some() && std::str::from_utf8(text).is_ok()
}

/// The text as the driver of CUDA 13.0 takes it: a later version of PTX 9 is declared as 9.0. Whatever instruction a later
/// version added is refused by its name when its kernel is launched. The text ends with a zero.
pub(crate) fn for_driver(mut text: Vec<u8>) -> Vec<u8> {
    const VERSION: &[u8] = b".version 9.";
    if let Some(at) = find(&text, VERSION)
        && let Some(minor) = text.get_mut(at + VERSION.len())
    {
        *minor = b'0';
    }
    if text.last() != Some(&0) {
        text.push(0);
    }
    text
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_of_ptx_9_becomes_9_0_and_others_stay() {
        let text =
            |version: &str| format!("// PTX\n.version {version}\n.target sm_90").into_bytes();
        let with_zero = |version: &str| [text(version), vec![0]].concat();
        assert_eq!(for_driver(text("9.5")), with_zero("9.0"));
        assert_eq!(for_driver(with_zero("9.0")), with_zero("9.0"));
        assert_eq!(for_driver(text("8.7")), with_zero("8.7"));
    }

    #[test]
    fn machine_code_is_not_ptx() {
        assert!(is_ptx(b"//\n.version 8.0\n\0"));
        assert!(!is_ptx(b"\x7fELF\0.version 8.0"));
        assert!(!is_ptx(b"BC\xc0\xde"));
    }
}

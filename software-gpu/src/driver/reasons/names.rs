//! Names that a module does not have.

use super::because;
use crate::driver::c_abi::errors::CudaError;

/// Names that a sentence lists at most.
const LISTED: usize = 12;

/// Names that are suggested at most.
const SUGGESTED: usize = 3;

/// The least similarity of two names at which one is suggested for the other: `strsim::normalized_damerau_levenshtein`, 0 to 1.
const SIMILARITY: f64 = 0.6;

/// `CUDA_ERROR_NOT_FOUND`: `owner` ("the module") has no `kind` ("kernel") of that name, but these.
pub(in crate::driver) fn because_unknown<'a>(
    owner: &str,
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> CudaError {
    let known: Vec<&str> = known.collect();
    because(
        CudaError::NotFound,
        format!(
            "{owner} has no {kind} `{name}`: {}",
            inventory(kind, &known)
        ),
        remedy(kind, name, &known),
    )
}

/// What there is: `it has 2 kernels: `affine`, `scale``.
fn inventory(kind: &str, known: &[&str]) -> String {
    let rest = known.len().saturating_sub(LISTED);
    let more = match rest {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    let listed = quoted(&known[..known.len() - rest]);
    match known {
        [] => format!("it has no {kind} at all"),
        [_] => format!("its only {kind} is {listed}"),
        _ => format!("it has {} {kind}s: {listed}{more}", known.len()),
    }
}

fn remedy(kind: &str, name: &str, known: &[&str]) -> String {
    let near = similar(name, known);
    match (known, near.as_slice()) {
        ([], _) if kind == "kernel" => {
            "a kernel is `#[kernel] pub unsafe fn` in Rust and `extern \"C\" __global__` in CUDA C++".to_owned()
        }
        (_, []) => format!("ask for a {kind} of the list, or load the module that has `{name}`"),
        (_, [one]) if is_mangled(one, name) => format!(
            "ask for `{one}`, which is `{name}` as C++ mangles it, or declare the {kind} `extern \"C\"`"
        ),
        (_, near) => format!("did you mean {}?", quoted(near).replace(", ", " or ")),
    }
}

fn quoted(names: &[&str]) -> String {
    let quoted = names.iter().map(|name| format!("`{name}`"));
    quoted.collect::<Vec<_>>().join(", ")
}

/// Whether the Itanium C++ ABI's mangled form of a function or variable `name` is `symbol`: `_Z5scalePff` for `scale`.
fn is_mangled(symbol: &str, name: &str) -> bool {
    let length = name.len();
    symbol.starts_with("_Z") && symbol.contains(&format!("{length}{name}"))
}

/// Known names that may be meant, the most similar first. A mangled form is meant for sure.
fn similar<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let mangled = known.iter().filter(|known| is_mangled(known, name));
    let mangled: Vec<&str> = mangled.copied().take(SUGGESTED).collect();
    if !mangled.is_empty() {
        return mangled;
    }
    let likeness = |known: &str| {
        let (name, known) = (name.to_lowercase(), known.to_lowercase());
        strsim::normalized_damerau_levenshtein(&name, &known)
    };
    let ranked = known.iter().map(|known| (likeness(known), *known));
    let mut ranked: Vec<(f64, &str)> = ranked.filter(|(like, _)| *like >= SIMILARITY).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(SUGGESTED);
    ranked.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_names_are_suggested_first() {
        let known = ["scale_add", "shift", "scale", "scales"];
        assert_eq!(similar("scal", &known), ["scale", "scales"]);
        assert_eq!(similar("SCALE", &known)[0], "scale");
        assert!(similar("histogram", &known).is_empty());
    }

    #[test]
    fn a_mangled_name_is_explained() {
        let known = ["_Z5scalePff", "scales"];
        assert_eq!(similar("scale", &known), ["_Z5scalePff"]);
        assert!(remedy("kernel", "scale", &known).contains("extern \"C\""));
        assert!(!is_mangled("_Z6scalesPff", "scale"));
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..LISTED + 5).map(|index| format!("k{index}")).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = inventory("kernel", &known);
        assert!(text.starts_with("it has 17 kernels: `k0`, "), "{text}");
        assert!(text.ends_with("`k11` and 5 more"), "{text}");
        assert_eq!(inventory("kernel", &[]), "it has no kernel at all");
    }
}

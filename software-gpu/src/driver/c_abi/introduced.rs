//! Which function a name means to a program of some CUDA version.
//!
//! A name of the driver API keeps its spelling in programs when its ABI changes: `cuCtxSynchronize` of CUDA 13.0 takes a
//! context, the one before takes nothing. `introduced.txt` says since which versions each name has had which ABI;
//! `scripts/list-api-versions` writes it from NVIDIA's headers. The n-th ABI of a name is the symbol with the suffix
//! `_vn`; the first one has no suffix.

use std::ffi::{c_int, c_void};

use super::symbols::entry_point;

/// A line for each name: the name, and the versions in ascending order, as 1000 * major + 10 * minor.
static INTRODUCED: &str = include_str!("introduced.txt");

/// The first version with functions for per-thread default streams.
const PER_THREAD_STREAMS: c_int = 7_000;

/// `CUdriverProcAddressQueryResult` of a name without a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
    Symbol = 1,
    /// `CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT`.
    Version = 2,
}

/// The function that `name`, without a suffix, is in the headers of CUDA `version`.
pub(super) fn entry_point_of(
    name: &str,
    version: c_int,
    per_thread_streams: bool,
) -> Result<*const c_void, Missing> {
    let versions = versions_of(name).ok_or(Missing::Symbol)?;
    let symbol = match versions.filter(|introduced| *introduced <= version).count() {
        0 => return Err(Missing::Version),
        1 => name.to_owned(),
        abi => format!("{name}_v{abi}"),
    };
    let per_thread = ["_ptsz", "_ptds"]
        .into_iter()
        .filter(|_| per_thread_streams && version >= PER_THREAD_STREAMS)
        .find_map(|suffix| entry_point(&format!("{symbol}{suffix}")));
    per_thread
        .or_else(|| entry_point(&symbol))
        .ok_or(Missing::Symbol)
}

/// The versions in which the name was introduced and in which its ABI changed.
fn versions_of(name: &str) -> Option<impl Iterator<Item = c_int>> {
    INTRODUCED.lines().find_map(|line| {
        let (introduced, versions) = line.split_once(' ')?;
        (introduced == name).then(|| {
            versions
                .split(' ')
                .filter_map(|version| version.parse().ok())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::entry_points;

    /// Every function of the table is what some version means by its name.
    #[test]
    fn every_function_is_reached_by_name_and_version() {
        for &symbol in entry_points() {
            let per_thread = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
            let plain = symbol.trim_end_matches("_ptsz").trim_end_matches("_ptds");
            let (name, abi) = plain
                .rsplit_once("_v")
                .map_or((plain, 1), |(name, abi)| (name, abi.parse().unwrap()));
            let introduced = versions_of(name).and_then(|mut versions| versions.nth(abi - 1));
            let introduced = introduced.unwrap_or_else(|| panic!("{symbol} has no version"));
            let oldest = if per_thread { PER_THREAD_STREAMS } else { 0 };
            assert_eq!(
                entry_point_of(name, introduced.max(oldest), per_thread),
                Ok(entry_point(symbol).unwrap()),
                "{symbol} of {introduced}"
            );
        }
    }

    /// Functions of CUDA 2 and 3 that have a newer ABI are left out: see docs/software-gpu/limits.md.
    #[test]
    fn every_name_has_a_function_in_every_version_since_cuda_4() {
        let missing = |name: &str, version: i32| {
            version >= 4000 && entry_point_of(name, version, false) == Err(Missing::Symbol)
        };
        let mut found = Vec::new();
        for line in INTRODUCED.lines() {
            let name = line.split(' ').next().unwrap();
            let versions = versions_of(name).unwrap();
            found.extend(
                versions
                    .filter(|&version| missing(name, version))
                    .map(|version| (name, version)),
            );
        }
        assert_eq!(found, []);
    }
}

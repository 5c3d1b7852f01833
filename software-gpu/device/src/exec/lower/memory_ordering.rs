//! What a memory access promises to other threads: its ordering and its scope.

use super::super::memory::Strength;
use super::modifiers::Modifiers;

/// Scopes, which the executor needs for its checkers only: its accesses are visible to all threads.
pub(super) const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// Takes the ordering and the scope of `ld` and `st`. Without an ordering they are weak.
pub(super) fn of_access(m: &mut Modifiers<'_>) -> Strength {
    let everywhere = m.take("volatile") | m.take("mmio");
    let relaxed = m.take("relaxed");
    let (acquires, releases) = (m.take("acquire"), m.take("release"));
    m.take("weak");
    Strength {
        strong: everywhere || relaxed || acquires || releases,
        beyond_cluster: reaches_beyond_cluster(m) || everywhere,
        acquires,
        releases,
    }
}

/// The same for `atom` and `red`, which are relaxed without an ordering.
pub(super) fn of_atomic(m: &mut Modifiers<'_>) -> Strength {
    m.take("relaxed");
    let both = m.take("acq_rel");
    Strength {
        strong: true,
        acquires: m.take("acquire") || both,
        releases: m.take("release") || both,
        beyond_cluster: reaches_beyond_cluster(m),
    }
}

/// Without a scope it is that of the GPU.
fn reaches_beyond_cluster(m: &mut Modifiers<'_>) -> bool {
    let scope = m.pick(|name| SCOPES.into_iter().find(|scope| *scope == name));
    matches!(scope, None | Some("gpu" | "sys"))
}

//! `cuGraphDebugDotPrint`: a graph in the language of Graphviz.

use std::ffi::{CStr, c_char, c_uint};
use std::fmt::Write;

use super::graph::Graphs;
use super::node::Action;
use crate::activity::Kind;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUgraph;
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;

/// All of `CUgraphDebugDot_flags`.
const FLAGS: c_uint = (1 << 16) - 1;

entry_points! {
    /// Shows nodes with their types and what they are about, and edges. The flags, which ask for more, change nothing.
    fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint) {
        if path.is_null() || flags & !FLAGS != 0 {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: not null, so the caller passes a string.
        let path = unsafe { CStr::from_ptr(path) }.to_str().map_err(|_| CudaError::OperatingSystem)?;
        let text = call(Cost::Other, |call| call.graphs.dot(graph))?;
        std::fs::write(path, text).map_err(|_| CudaError::OperatingSystem)
    }
}

impl Graphs {
    /// The text of the whole file.
    fn dot(&self, graph: CUgraph) -> Result<String, CudaError> {
        let mut text = "digraph dot {\n".to_owned();
        self.dot_cluster(graph, &mut 0, &mut text)?;
        text.push_str("}\n");
        Ok(text)
    }

    /// One graph, with those embedded in it behind it. Graphs and their nodes are numbered from 0.
    fn dot_cluster(
        &self,
        graph: CUgraph,
        given: &mut usize,
        text: &mut String,
    ) -> Result<(), CudaError> {
        let number = *given;
        *given += 1;
        let nodes = &self.graph(graph)?.nodes;
        let name = |at: usize| format!("\"graph_{number}_node_{at}\"");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "subgraph cluster_{number} {{");
        let _ = writeln!(text, "label=\"graph_{number}\" graph[style=\"dashed\"];");
        for (at, node) in nodes.iter().enumerate() {
            let label = label(&self.node(*node)?.action);
            let _ = writeln!(
                text,
                "{}[shape=\"rectangle\" label=\"{at}\\n{label}\"];",
                name(at)
            );
        }
        for (at, node) in nodes.iter().enumerate() {
            for dependent in &self.node(*node)?.dependents {
                if let Some(to) = nodes.iter().position(|node| node == dependent) {
                    let _ = writeln!(text, "{} -> {};", name(at), name(to));
                }
            }
        }
        text.push_str("}\n");
        for (at, node) in nodes.iter().enumerate() {
            if let Action::Child(child) = self.node(*node)?.action {
                if !self.graph(child)?.nodes.is_empty() {
                    let first = format!("\"graph_{given}_node_0\"");
                    let _ = writeln!(text, "{} -> {first}[style=\"dashed\"];", name(at));
                }
                self.dot_cluster(child, given, text)?;
            }
        }
        Ok(())
    }
}

/// A node's type as in `CUgraphNodeType`, and the kernel or the direction and size of a copy or memset.
fn label(action: &Action) -> String {
    match action {
        Action::Kernel(kernel) => format!("KERNEL\\n{}", kernel.launch.name()),
        Action::Copy(_, copy) => {
            let direction = Kind::from(copy.kind);
            format!("MEMCPY\\n{direction}, {} bytes", copy.bytes())
        }
        Action::Set(_, set) => format!("MEMSET\\n{} bytes", set.rows.bytes().unwrap_or(0)),
        Action::Host(_) => "HOST".to_owned(),
        Action::Record(_) => "EVENT_RECORD".to_owned(),
        Action::Wait(_) => "WAIT_EVENT".to_owned(),
        Action::Allocate(memory) => format!("MEM_ALLOC\\n{} bytes", memory.bytes),
        Action::Free(memory) => format!("MEM_FREE\\n{} bytes", memory.bytes),
        Action::Empty => "EMPTY".to_owned(),
        Action::Child(_) => "GRAPH".to_owned(),
    }
}

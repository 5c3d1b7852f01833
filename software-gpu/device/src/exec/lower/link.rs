//! What a kernel reaches: the functions it calls, the shared memory they declare, and the addresses of symbols.

use std::collections::HashMap;

use crate::ptx::PtxError;
use crate::ptx::ir::{Body, Function, Kernel, Module, Operand, Space, Symbol};

use super::FunctionSource;

/// The closure of a kernel over calls.
pub(super) struct LinkedKernel<'m> {
    pub module: &'m Module,
    global_addresses: &'m dyn Fn(&str) -> Option<u64>,
    /// The kernel, then the functions it reaches.
    pub sources: Vec<FunctionSource<'m>>,
    indices: HashMap<&'m str, u32>,
    /// Shared variables by (function, variable name); module-scope ones have no function.
    shared: HashMap<(Option<usize>, &'m str), u32>,
    /// Bytes of shared memory before the dynamic part.
    pub static_shared: u32,
    pub recursive: bool,
}

/// No GPU has more shared memory; a bound that keeps offsets in 32 bits.
const MAX_SHARED: u64 = 1 << 20;

impl<'m> LinkedKernel<'m> {
    pub fn new(
        module: &'m Module,
        kernel: &'m Kernel,
        global_addresses: &'m dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, PtxError> {
        let mut link = Self {
            module,
            global_addresses,
            sources: vec![FunctionSource {
                name: &kernel.name,
                parameters: &kernel.parameters,
                returns: &[],
                body: &kernel.body,
                is_kernel: true,
            }],
            indices: HashMap::new(),
            shared: HashMap::new(),
            static_shared: 0,
            recursive: false,
        };
        link.collect_functions();
        link.lay_out_shared()?;
        Ok(link)
    }

    fn collect_functions(&mut self) {
        let mut next = 0;
        let mut edges = Vec::new();
        while next < self.sources.len() {
            let body = self.sources[next].body;
            // A function whose address is taken may be called by any indirect call.
            if calls_indirectly(body) {
                self.recursive = true;
            }
            let taken = match self.recursive {
                true => address_taken(self.module).collect(),
                false => Vec::new(),
            };
            for name in called(body).chain(names(body)).chain(taken) {
                let Some(function) = self.function(name) else {
                    continue;
                };
                let Some(body) = &function.body else {
                    continue;
                };
                let index = *self.indices.entry(&function.name).or_insert_with(|| {
                    self.sources.push(FunctionSource {
                        name: &function.name,
                        parameters: &function.parameters,
                        returns: &function.returns,
                        body,
                        is_kernel: false,
                    });
                    self.sources.len() as u32 - 1
                });
                edges.push((next, index as usize));
            }
            next += 1;
        }
        self.recursive |= has_cycle(self.sources.len(), &edges);
    }

    fn lay_out_shared(&mut self) -> Result<(), PtxError> {
        let mut end = 0u64;
        let mut dynamic = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            let own = source
                .body
                .variables
                .iter()
                .filter(|variable| variable.space == Space::Shared);
            let own = own.map(|variable| (Some(index), variable));
            let module_scope = names(source.body).filter_map(|name| {
                let variable = self
                    .module
                    .globals
                    .iter()
                    .find(|variable| variable.name == name)?;
                (variable.space == Space::Shared).then_some((None, variable))
            });
            for (scope, variable) in own.chain(module_scope) {
                let key = (scope, variable.name.as_str());
                if self.shared.contains_key(&key) {
                    continue;
                }
                if variable.external || variable.bytes == 0 {
                    dynamic.push((key, variable.align));
                    self.shared.insert(key, 0);
                    continue;
                }
                let offset = end.next_multiple_of(u64::from(variable.align));
                end = offset + variable.bytes;
                if end > MAX_SHARED {
                    let message = "more shared memory than any GPU has";
                    return Err(PtxError::syntax(variable.line, &variable.name, message));
                }
                self.shared.insert(key, offset as u32);
            }
        }
        let align = dynamic
            .iter()
            .map(|(_, align)| u64::from(*align))
            .max()
            .unwrap_or(1);
        self.static_shared = end.next_multiple_of(align) as u32;
        for (key, _) in dynamic {
            self.shared.insert(key, self.static_shared);
        }
        Ok(())
    }

    /// The index of a function with a body.
    pub fn index(&self, name: &str) -> Option<u32> {
        self.indices.get(name).copied()
    }

    /// A declared function.
    pub fn function(&self, name: &str) -> Option<&'m Function> {
        self.module
            .functions
            .iter()
            .find(|function| function.name == name)
    }

    /// The space and address of a module-scope variable, or of a function.
    pub fn variable(&self, name: &str) -> Option<(Space, u64)> {
        let mut globals = self.module.globals.iter();
        let Some(variable) = globals.find(|variable| variable.name == name) else {
            return Some((Space::Generic, self.module.function_address(name)?));
        };
        match variable.space {
            Space::Shared => Some((Space::Shared, (*self.shared.get(&(None, name))?).into())),
            space => Some((space, (self.global_addresses)(name)?)),
        }
    }

    /// The functions that an indirect call may reach, by their addresses.
    pub fn callees(&self) -> impl Iterator<Item = (u64, u32)> {
        let functions = self.indices.iter();
        functions.filter_map(|(name, index)| Some((self.module.function_address(name)?, *index)))
    }

    /// Where the heap of `malloc` is.
    pub fn heap(&self) -> Option<u64> {
        (self.global_addresses)(super::super::HEAP)
    }

    /// Where the workspace of a cooperative grid is.
    pub fn grid_workspace(&self) -> Option<u64> {
        (self.global_addresses)(super::super::GRID_WORKSPACE)
    }

    /// The address of a shared variable declared in function `source`.
    pub fn shared_in(&self, source: &FunctionSource<'_>, name: &'m str) -> Option<u64> {
        let index = self
            .sources
            .iter()
            .position(|known| std::ptr::eq(known, source))?;
        self.shared
            .get(&(Some(index), name))
            .map(|offset| u64::from(*offset))
    }
}

/// Names in call instructions. (Names of other symbols do not matter here.)
fn called(body: &Body) -> impl Iterator<Item = &str> {
    let calls = body
        .instructions
        .iter()
        .filter(|instruction| instruction.opcode == "call");
    calls
        .flat_map(|call| call.operands.iter())
        .filter_map(|operand| match operand {
            Operand::Symbol(Symbol::Name(name), 0) => Some(name.as_str()),
            _ => None,
        })
}

/// Whether a call names its function by a register.
fn calls_indirectly(body: &Body) -> bool {
    let mut calls = body.instructions.iter().filter(|i| i.opcode == "call");
    calls.any(|call| {
        call.operands
            .iter()
            .any(|operand| matches!(operand, Operand::Register(_)))
    })
}

/// The names in the initialisers of variables.
fn address_taken(module: &Module) -> impl Iterator<Item = &str> {
    let relocations = module
        .globals
        .iter()
        .flat_map(|variable| &variable.relocations);
    relocations.map(|relocation| relocation.symbol.as_str())
}

/// All module-scope names in operands.
fn names(body: &Body) -> impl Iterator<Item = &str> {
    let operands = body
        .instructions
        .iter()
        .flat_map(|instruction| &instruction.operands);
    operands.filter_map(|operand| {
        let operand = match operand {
            Operand::Address(base, _) => base,
            other => other,
        };
        match operand {
            Operand::Symbol(Symbol::Name(name), _) => Some(name.as_str()),
            _ => None,
        }
    })
}

fn has_cycle(nodes: usize, edges: &[(usize, usize)]) -> bool {
    // Remove functions that call nothing (any more) until only those on or before a cycle are left.
    let mut alive = vec![true; nodes];
    loop {
        let leaf = (0..nodes).find(|node| {
            alive[*node] && !edges.iter().any(|(from, to)| from == node && alive[*to])
        });
        match leaf {
            Some(leaf) => alive[leaf] = false,
            None => return alive.contains(&true),
        }
    }
}

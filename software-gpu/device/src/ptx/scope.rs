//! Names inside a function: nested `{ }` scopes with registers, variables and labels.

use std::collections::HashMap;

use super::ir::{LabelId, RegisterId, Symbol, Type};

/// More registers than any compiler declares; a bound against hostile texts.
const MAX_REGISTERS: u64 = 1 << 22;

/// The scopes of one function. Closed scopes are kept, because labels may be used before their declaration.
pub(super) struct Scopes {
    scopes: Vec<Scope>,
    current: usize,
    pub registers: Vec<Type>,
}

#[derive(Default)]
struct Scope {
    parent: Option<usize>,
    registers: HashMap<String, Named>,
    /// `%r<100>`: prefix → (first register, count).
    ranges: HashMap<String, (Named, u32)>,
    symbols: HashMap<String, Symbol>,
    /// Bytes of an element of each array.
    arrays: HashMap<String, u32>,
    labels: HashMap<String, LabelId>,
}

/// What a register's name stands for: one register, or the consecutive ones of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub first: RegisterId,
    /// Elements of the vector, or 1.
    pub elements: u32,
}

impl Scopes {
    pub fn new() -> Self {
        Self {
            scopes: vec![Scope::default()],
            current: 0,
            registers: Vec::new(),
        }
    }

    /// The innermost open scope.
    pub fn current(&self) -> usize {
        self.current
    }

    /// Opens a scope.
    pub fn open(&mut self) {
        self.scopes.push(Scope {
            parent: Some(self.current),
            ..Scope::default()
        });
        self.current = self.scopes.len() - 1;
    }

    /// Closes the innermost scope; `false` when only the function itself is open.
    pub fn close(&mut self) -> bool {
        let parent = self.scopes[self.current].parent;
        self.current = parent.unwrap_or(self.current);
        parent.is_some()
    }

    /// Declares `name`, or `name0 … name(count-1)`, each with that many elements. `None` when there are too many.
    pub fn declare_registers(
        &mut self,
        name: &str,
        count: Option<u64>,
        kind: Type,
        elements: u32,
    ) -> Option<RegisterId> {
        let first = self.registers.len();
        let named = count.unwrap_or(1).min(MAX_REGISTERS + 1);
        let total = first as u64 + named * u64::from(elements);
        if total > MAX_REGISTERS {
            return None;
        }
        self.registers.resize(total as usize, kind);
        let (first, scope) = (first as RegisterId, &mut self.scopes[self.current]);
        let named = Named { first, elements };
        match count {
            Some(count) => {
                scope.ranges.insert(name.to_owned(), (named, count as u32));
            }
            None => {
                scope.registers.insert(name.to_owned(), named);
            }
        }
        Some(first)
    }

    /// A register without a name.
    pub fn unnamed_register(&mut self, kind: Type) -> RegisterId {
        self.registers.push(kind);
        self.registers.len() as RegisterId - 1
    }

    /// Marks the variable or parameter as an array.
    pub fn declare_array(&mut self, name: &str, element_bytes: u32) {
        let arrays = &mut self.scopes[self.current].arrays;
        arrays.insert(name.to_owned(), element_bytes);
    }

    /// Bytes of an element of the array called `name`.
    pub fn array(&self, name: &str) -> Option<u32> {
        self.outward(self.current)
            .find_map(|scope| scope.arrays.get(name).copied())
    }

    /// Declares a variable or parameter.
    pub fn declare_symbol(&mut self, name: &str, symbol: Symbol) {
        self.scopes[self.current]
            .symbols
            .insert(name.to_owned(), symbol);
    }

    /// Declares a label; `false` when the scope has it already.
    pub fn declare_label(&mut self, name: &str, label: LabelId) -> bool {
        self.scopes[self.current]
            .labels
            .insert(name.to_owned(), label)
            .is_none()
    }

    /// The register called `name`, looking outward from the innermost scope.
    pub fn register(&self, name: &str) -> Option<Named> {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        self.outward(self.current).find_map(|scope| {
            let exact = scope.registers.get(name).copied();
            exact.or_else(|| (1..=digits.min(9)).find_map(|count| scope.in_range(name, count)))
        })
    }

    /// The variable or parameter called `name`.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.outward(self.current)
            .find_map(|scope| scope.symbols.get(name).cloned())
    }

    /// The label called `name` as seen from scope `from`.
    pub fn label(&self, name: &str, from: usize) -> Option<LabelId> {
        self.outward(from)
            .find_map(|scope| scope.labels.get(name).copied())
    }

    fn outward(&self, from: usize) -> impl Iterator<Item = &Scope> {
        let first = self.scopes.get(from);
        std::iter::successors(first, |scope| {
            scope.parent.map(|parent| &self.scopes[parent])
        })
    }
}

impl Scope {
    /// `name` as member of a range whose index has `digits` digits.
    fn in_range(&self, name: &str, digits: usize) -> Option<Named> {
        let (prefix, index) = name.split_at(name.len() - digits);
        if digits > 1 && index.starts_with('0') {
            return None;
        }
        let (range, count) = self.ranges.get(prefix)?;
        let index = index.parse::<u32>().ok()?;
        (index < *count).then(|| Named {
            first: range.first + index * range.elements,
            ..*range
        })
    }
}

//! Several modules made one: what `cuLinkComplete` does to PTX.
//!
//! Symbols with `.visible`, `.weak` or `.common` linkage are known in all modules, the others in their own: where names
//! collide, those are renamed. (PTX ISA, "Linking Directives".)

use std::collections::{BTreeMap, BTreeSet};

use super::ir::{Function, Linkage, Module, Operand, Space, Symbol, Variable};

/// Functions that every device has ("PTX Writer's Guide to Interoperability", "System Calls"). The executor decides which of them it
/// implements.
const SYSTEM_CALLS: [&str; 4] = ["__assertfail", "free", "malloc", "vprintf"];

/// Why modules cannot be made one: a message per symbol, as the driver's linker puts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkError {
    /// Symbols that are defined twice.
    pub multiple: Vec<String>,
    /// Symbols that are used and not defined.
    pub undefined: Vec<String>,
}

/// Makes one module of several, each with the name that messages call it by.
///
/// # Errors
/// Symbols that are defined twice or not at all.
pub fn link(mut units: Vec<(String, Module)>) -> Result<Module, LinkError> {
    rename_locals(&mut units);
    let mut linker = Linker::default();
    for (name, unit) in units {
        linker.add(&name, unit);
    }
    linker.finish()
}

/// Gives local symbols whose names occur in other modules names of their own.
fn rename_locals(units: &mut [(String, Module)]) {
    let mut users: BTreeMap<String, u32> = BTreeMap::new();
    for (_, unit) in units.iter() {
        for name in symbols(unit) {
            *users.entry(name.to_owned()).or_default() += 1;
        }
    }
    for (number, (_, unit)) in units.iter_mut().enumerate() {
        let functions = unit
            .functions
            .iter()
            .filter(|f| f.body.is_some() && f.linkage == Linkage::Local);
        let variables = unit
            .globals
            .iter()
            .filter(|v| !v.external && v.linkage == Linkage::Local);
        let locals = functions.map(|f| &f.name).chain(variables.map(|v| &v.name));
        let shared = locals.filter(|name| users.get(*name).is_some_and(|users| *users > 1));
        let renamed: BTreeMap<String, String> = shared
            .map(|name| (name.clone(), format!("{name}${number}")))
            .collect();
        if !renamed.is_empty() {
            rename(unit, &renamed);
        }
    }
}

/// The names that a module defines or declares, each once.
fn symbols(unit: &Module) -> BTreeSet<&str> {
    let kernels = unit.kernels.iter().map(|kernel| kernel.name.as_str());
    let functions = unit.functions.iter().map(|function| function.name.as_str());
    let variables = unit.globals.iter().map(|variable| variable.name.as_str());
    kernels.chain(functions).chain(variables).collect()
}

fn rename(unit: &mut Module, names: &BTreeMap<String, String>) {
    let change = |name: &mut String| {
        if let Some(new) = names.get(name) {
            name.clone_from(new);
        }
    };
    for variable in &mut unit.globals {
        change(&mut variable.name);
        variable
            .relocations
            .iter_mut()
            .for_each(|relocation| change(&mut relocation.symbol));
    }
    for function in &mut unit.functions {
        change(&mut function.name);
    }
    let kernels = unit.kernels.iter_mut().map(|kernel| &mut kernel.body);
    let functions = unit
        .functions
        .iter_mut()
        .filter_map(|function| function.body.as_mut());
    for body in kernels.chain(functions) {
        let lists: BTreeSet<String> = body
            .target_lists
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let operands = body
            .instructions
            .iter_mut()
            .flat_map(|instruction| &mut instruction.operands);
        operands.for_each(|operand| {
            for_names(operand, &mut |name| {
                if !lists.contains(name) {
                    change(name);
                }
            });
        });
    }
}

/// Calls `visit` for each module-scope name in an operand.
fn for_names(operand: &mut Operand, visit: &mut impl FnMut(&mut String)) {
    match operand {
        Operand::Symbol(Symbol::Name(name), _) => visit(name),
        Operand::Not(inner) | Operand::Address(inner, _) => for_names(inner, visit),
        Operand::Pair(first, second) => [first, second]
            .into_iter()
            .for_each(|inner| for_names(inner, visit)),
        Operand::Vector(inner) | Operand::List(inner) => {
            inner.iter_mut().for_each(|inner| for_names(inner, visit))
        }
        Operand::Tensor(map, _) => for_names(map, visit),
        _ => {}
    }
}

/// The module so far, and what is known of its symbols.
#[derive(Default)]
struct Linker {
    module: Module,
    /// Where each symbol is defined, and whether a stronger definition may replace it.
    defined: BTreeMap<String, (String, bool)>,
    /// Declarations.
    functions: Vec<Function>,
    variables: Vec<Variable>,
    error: LinkError,
}

impl Linker {
    fn add(&mut self, unit: &str, mut module: Module) {
        self.module.version = self.module.version.max(module.version);
        self.module.address_size = module.address_size;
        self.module.has_own_lines |= module.has_own_lines;
        if number(&module.target) >= number(&self.module.target) {
            self.module.target = std::mem::take(&mut module.target);
        }
        for kernel in module.kernels {
            if self.define(unit, &kernel.name, Linkage::Visible) {
                self.module.kernels.push(kernel);
            }
        }
        for function in module.functions {
            if function.body.is_none() {
                self.functions.push(function);
            } else if self.define(unit, &function.name, function.linkage) {
                let known = &mut self.module.functions;
                known.retain(|known| known.name != function.name);
                known.push(function);
            }
        }
        for variable in module.globals {
            if variable.external {
                self.variables.push(variable);
            } else if self.define(unit, &variable.name, variable.linkage) {
                let known = &mut self.module.globals;
                known.retain(|known| known.name != variable.name);
                known.push(variable);
            }
        }
    }

    /// Records a definition. Returns whether it counts.
    fn define(&mut self, unit: &str, name: &str, linkage: Linkage) -> bool {
        let weak = linkage == Linkage::Weak;
        match self.defined.get(name) {
            Some((first, false)) if !weak => {
                self.error.multiple.push(format!(
                    "Multiple definition of '{name}' in '{unit}', first defined in '{first}'"
                ));
                false
            }
            Some((_, replaceable)) if weak || !replaceable => false,
            _ => {
                self.defined
                    .insert(name.to_owned(), (unit.to_owned(), weak));
                true
            }
        }
    }

    /// Keeps the declarations without a definition: system calls, dynamic shared memory, and unused ones.
    fn finish(mut self) -> Result<Module, LinkError> {
        let used = self.uses();
        let undefined = &mut self.error.undefined;
        let mut check = |name: &str| {
            if let Some(unit) = used.get(name) {
                undefined.push(format!("Undefined reference to '{name}' in '{unit}'"));
            }
        };
        let mut seen = BTreeSet::new();
        for function in self.functions {
            if self.defined.contains_key(&function.name) || !seen.insert(function.name.clone()) {
                continue;
            }
            if !SYSTEM_CALLS.contains(&function.name.as_str()) {
                check(&function.name);
            }
            self.module.functions.push(function);
        }
        for variable in self.variables {
            if self.defined.contains_key(&variable.name) || !seen.insert(variable.name.clone()) {
                continue;
            }
            // An external array in shared memory is the dynamic part, which the launch defines.
            if variable.space != Space::Shared {
                check(&variable.name);
            }
            self.module.globals.push(variable);
        }
        match self.error == LinkError::default() {
            true => Ok(self.module),
            false => Err(self.error),
        }
    }

    /// The symbols in code and initialisers that count, and for each a module that uses it.
    fn uses(&mut self) -> BTreeMap<String, String> {
        let defined = &self.defined;
        let unit = |name: &str| defined.get(name).map_or("", |(unit, _)| unit.as_str());
        let mut used = BTreeMap::new();
        let mut note = |name: &str, unit: &str| {
            used.entry(name.to_owned())
                .or_insert_with(|| unit.to_owned());
        };
        for variable in &self.module.globals {
            for relocation in &variable.relocations {
                note(&relocation.symbol, unit(&variable.name));
            }
        }
        let kernels = self.module.kernels.iter_mut();
        let kernels = kernels.map(|kernel| (&kernel.name, &mut kernel.body));
        let functions = self.module.functions.iter_mut();
        let functions =
            functions.filter_map(|function| Some((&function.name, function.body.as_mut()?)));
        for (name, body) in kernels.chain(functions) {
            for instruction in &mut body.instructions {
                for operand in &mut instruction.operands {
                    for_names(operand, &mut |symbol| note(symbol, unit(name)));
                }
            }
        }
        used
    }
}

/// The number in a target such as `sm_90a`.
fn number(target: &str) -> u32 {
    let digits: String = target.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::parse;

    fn linked(texts: &[&str]) -> Result<Module, LinkError> {
        let unit = |(number, text): (usize, &&str)| {
            let text = format!(".version 7.0\n.target sm_7{number}\n.address_size 64\n{text}");
            (format!("unit{number}"), parse(&text).expect("is PTX"))
        };
        link(texts.iter().enumerate().map(unit).collect())
    }

    fn undefined(texts: &[&str]) -> Vec<String> {
        linked(texts).unwrap_err().undefined
    }

    const USE: &str = ".extern .func f();\n.entry k() { call f; ret; }";

    #[test]
    fn a_definition_takes_the_place_of_a_declaration() {
        let module = linked(&[USE, ".visible .func f() { ret; }"]).unwrap();
        assert_eq!(module.functions.len(), 1);
        assert!(module.functions[0].body.is_some());
        assert_eq!(module.target, "sm_71");
    }

    #[test]
    fn what_is_missing_or_twice_there_is_named() {
        assert_eq!(undefined(&[USE]), ["Undefined reference to 'f' in 'unit0'"]);
        let twice = linked(&[".visible .func f() { ret; }", ".visible .func f() { ret; }"]);
        assert_eq!(
            twice.unwrap_err().multiple,
            ["Multiple definition of 'f' in 'unit1', first defined in 'unit0'"]
        );
        let variable =
            ".extern .global .u32 v;\n.entry k() { .reg .b32 %r; ld.global.u32 %r, [v]; ret; }";
        assert_eq!(
            undefined(&[variable]),
            ["Undefined reference to 'v' in 'unit0'"]
        );
    }

    #[test]
    fn declarations_alone_demand_nothing() {
        let module = linked(&[
            ".extern .func f();\n.extern .global .u32 v;\n.entry k() { ret; }",
            ".extern .func f();\n.extern .shared .align 4 .b8 s[];\n.entry l() { .reg .b32 %r; ld.shared.u32 %r, [s]; ret; }",
            ".extern .func __assertfail();\n.entry m() { call __assertfail; ret; }",
        ])
        .unwrap();
        assert_eq!((module.functions.len(), module.globals.len()), (2, 2));
    }

    #[test]
    fn what_a_replaced_definition_uses_does_not_count() {
        let weak = ".extern .func g();\n.weak .func f() { call g; ret; }";
        let strong = ".visible .func f() { ret; }";
        assert!(linked(&[weak, strong]).is_ok() && linked(&[strong, weak]).is_ok());
        assert_eq!(
            undefined(&[weak]),
            ["Undefined reference to 'g' in 'unit0'"]
        );
    }

    #[test]
    fn a_strong_definition_replaces_a_weak_one() {
        let weak = ".weak .func f() { ret; }";
        for texts in [
            [weak, ".visible .func f() { exit; }"],
            [".visible .func f() { exit; }", weak],
        ] {
            let module = linked(&texts).unwrap();
            let body = module.functions[0].body.as_ref().unwrap();
            assert_eq!(
                (module.functions.len(), body.instructions[0].opcode.as_str()),
                (1, "exit")
            );
        }
        assert_eq!(linked(&[weak, weak]).unwrap().functions.len(), 1);
    }

    #[test]
    fn local_symbols_of_one_name_stay_apart() {
        let unit = |name: &str| {
            format!(
                ".global .u32 v;\n.func f() {{ ret; }}\n.entry {name}() {{ .reg .b32 %r; ld.global.u32 %r, [v]; call f; ret; }}"
            )
        };
        let module = linked(&[&unit("a"), &unit("b")]).unwrap();
        let names: BTreeSet<_> = module
            .globals
            .iter()
            .map(|variable| variable.name.as_str())
            .collect();
        assert_eq!(names, BTreeSet::from(["v$0", "v$1"]));
        let called = &module.kernels[1].body.instructions[1].operands[0];
        assert_eq!(*called, Operand::Symbol(Symbol::Name("f$1".to_owned()), 0));
    }
}

//! Function bodies: declarations, labels and instructions in nested scopes.

use super::PtxError;
use super::ir::{Body, Guard, Instruction, LabelId, Operand, Parameter, Space, Symbol, Variable};
use super::lexer::Token;
use super::parser::{Parser, space};
use super::scope::Scopes;

type Result<T> = std::result::Result<T, PtxError>;

/// Scopes nest no deeper in any compiler's output.
const MAX_SCOPES: usize = 256;

/// The parser inside one function.
pub(super) struct BodyParser<'p, 'a> {
    pub parser: &'p mut Parser<'a>,
    pub scopes: &'p mut Scopes,
    body: Body,
    /// The scope of each instruction, for labels that are declared later.
    seen_from: Vec<usize>,
    /// A label that waits for its `.branchtargets`.
    pending_label: Option<(String, LabelId)>,
    pending_lists: Vec<(String, Vec<String>, usize, u32)>,
}

impl<'p, 'a> BodyParser<'p, 'a> {
    pub fn new(
        parser: &'p mut Parser<'a>,
        scopes: &'p mut Scopes,
        parameters: &[Parameter],
        returns: &[Parameter],
    ) -> Self {
        for (index, parameter) in parameters
            .iter()
            .enumerate()
            .filter(|(_, p)| p.register.is_none())
        {
            scopes.declare_symbol(&parameter.name, Symbol::Parameter(index));
        }
        for (index, parameter) in returns
            .iter()
            .enumerate()
            .filter(|(_, p)| p.register.is_none())
        {
            scopes.declare_symbol(&parameter.name, Symbol::Return(index));
        }
        Self {
            parser,
            scopes,
            body: Body::default(),
            seen_from: Vec::new(),
            pending_label: None,
            pending_lists: Vec::new(),
        }
    }

    /// The whole body, from its opening brace to its closing one.
    pub fn body(mut self) -> Result<Body> {
        self.parser.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            let lexeme = self.parser.lexeme();
            match lexeme.token {
                Token::Punctuation('{') => {
                    if depth == MAX_SCOPES {
                        return Err(self.parser.expected("fewer nested scopes"));
                    }
                    self.parser.next();
                    self.scopes.open();
                    depth += 1;
                }
                Token::Punctuation('}') => {
                    self.parser.next();
                    self.scopes.close();
                    depth -= 1;
                }
                Token::Punctuation(';') => {
                    self.parser.next();
                }
                Token::Dotted(word) => self.directive(word)?,
                Token::Punctuation('@') => self.instruction()?,
                Token::Word(_) if self.parser.peek_second() == Token::Punctuation(':') => {
                    self.label()?
                }
                Token::Word(_) => self.instruction()?,
                _ => return Err(self.parser.expected("a statement or `}`")),
            }
        }
        self.resolve_labels()?;
        self.body.registers = std::mem::take(&mut self.scopes.registers);
        Ok(self.body)
    }

    fn directive(&mut self, word: &str) -> Result<()> {
        let lexeme = self.parser.next();
        match word {
            "reg" => self.registers(),
            "local" | "shared" | "param" | "global" | "const" => {
                self.variables(space(word).unwrap_or(Space::Local))
            }
            "loc" => {
                self.parser.location(lexeme.line);
                Ok(())
            }
            "pragma" => {
                self.parser.skip_statement();
                Ok(())
            }
            "branchtargets" => self.target_list(lexeme.line),
            // What is passed says it all: an indirect call copies as many bytes as the function that it reaches takes.
            "callprototype" => {
                self.parser.skip_statement();
                Ok(())
            }
            _ => Err(self.parser.refused(lexeme, "this directive in a function")),
        }
    }

    fn registers(&mut self) -> Result<()> {
        let declaration = self.parser.declaration()?;
        loop {
            let name = self.parser.word("a register name")?;
            let mut count = None;
            if self.parser.accept('<') {
                count = Some(self.parser.integer("a register count")?);
                self.parser.expect('>')?;
            }
            self.parser
                .declare_registers(self.scopes, name, count, &declaration)?;
            if !self.parser.accept(',') {
                return self.parser.expect(';');
            }
        }
    }

    fn variables(&mut self, space: Space) -> Result<()> {
        if matches!(space, Space::Global | Space::Const) {
            return Err(self
                .parser
                .refused(self.parser.lexeme(), "a global variable inside a function"));
        }
        let Self {
            parser,
            scopes,
            body,
            ..
        } = self;
        parser.variables(space, false, |variable: Variable, element| {
            if let Some(element) = element {
                scopes.declare_array(&variable.name, element);
            }
            scopes.declare_symbol(&variable.name, Symbol::Variable(body.variables.len()));
            body.variables.push(variable);
        })
    }

    fn label(&mut self) -> Result<()> {
        let lexeme = self.parser.next();
        self.parser.expect(':')?;
        let label = self.body.labels.len() as LabelId;
        if !self.scopes.declare_label(lexeme.text, label) {
            return Err(PtxError::syntax(
                lexeme.line,
                lexeme.text,
                "label declared twice",
            ));
        }
        self.body.labels.push(self.body.instructions.len());
        self.body.label_names.push(lexeme.text.to_owned());
        self.pending_label = Some((lexeme.text.to_owned(), label));
        Ok(())
    }

    /// `label: .branchtargets a, b, c;`
    fn target_list(&mut self, line: u32) -> Result<()> {
        let Some((name, _)) = self.pending_label.take() else {
            return Err(self.parser.unexpected("a label before `.branchtargets`"));
        };
        let mut targets = Vec::new();
        loop {
            targets.push(self.parser.word("a label")?.to_owned());
            if !self.parser.accept(',') {
                break;
            }
        }
        self.parser.expect(';')?;
        self.pending_lists
            .push((name, targets, self.scopes.current(), line));
        Ok(())
    }

    fn instruction(&mut self) -> Result<()> {
        let guard = self.guard()?;
        let lexeme = self.parser.lexeme();
        let opcode = self.parser.word("an instruction")?.to_owned();
        let mut modifiers = Vec::new();
        while let Token::Dotted(modifier) = self.parser.peek() {
            self.parser.next();
            modifiers.push(modifier.to_owned());
        }
        let operands = self.operands(&opcode)?;
        self.push(Instruction {
            line: lexeme.line,
            guard,
            opcode,
            modifiers,
            operands,
        });
        Ok(())
    }

    /// Appends an instruction.
    pub(super) fn push(&mut self, instruction: Instruction) {
        self.seen_from.push(self.scopes.current());
        self.body.instructions.push(instruction);
    }

    fn guard(&mut self) -> Result<Option<Guard>> {
        if !self.parser.accept('@') {
            return Ok(None);
        }
        let negated = self.parser.accept('!');
        let lexeme = self.parser.lexeme();
        let name = self.parser.word("a predicate")?;
        match self.scopes.register(name) {
            Some(named) => Ok(Some(Guard {
                register: named.first,
                negated,
            })),
            None => Err(PtxError::syntax(
                lexeme.line,
                name,
                "predicate is not declared",
            )),
        }
    }

    /// Turns names that are labels into labels, now that all labels are known.
    fn resolve_labels(&mut self) -> Result<()> {
        for (instruction, from) in self.body.instructions.iter_mut().zip(&self.seen_from) {
            for operand in &mut instruction.operands {
                if let Operand::Symbol(Symbol::Name(name), 0) = operand
                    && let Some(label) = self.scopes.label(name, *from)
                {
                    let is_list = self.pending_lists.iter().any(|(list, ..)| list == name);
                    if !is_list {
                        *operand = Operand::Label(label);
                    }
                }
            }
        }
        for (name, targets, from, line) in std::mem::take(&mut self.pending_lists) {
            let resolve = |target: &String| {
                let label = self.scopes.label(target, from);
                label.ok_or_else(|| PtxError::syntax(line, target, "label is not declared"))
            };
            let labels = targets.iter().map(resolve).collect::<Result<_>>()?;
            self.body.target_lists.push((name, labels));
        }
        Ok(())
    }
}

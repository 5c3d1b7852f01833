//! Module-level directives.

use std::collections::HashMap;

use super::body::BodyParser;
use super::ir::{
    Body, Function, Kernel, Linkage, Module, Parameter, RegisterId, Space, Type, Variable,
};
use super::lexer::{Lexeme, Token, tokens};
use super::scope::Scopes;
use super::{PtxError, PtxErrorKind, SourceLines};

/// A cursor over the tokens of a module.
pub(super) struct Parser<'a> {
    lexemes: Vec<Lexeme<'a>>,
    at: usize,
    /// Bytes of an element of each array at module scope.
    arrays: HashMap<String, u32>,
    /// Kernels that are declared and not yet defined.
    declared: Vec<Declared>,
    source_lines: SourceLines,
}

/// A kernel's declaration: `.entry name(..);`.
struct Declared {
    kernel: Kernel,
    external: bool,
}

type Result<T> = std::result::Result<T, PtxError>;

/// The largest vector.
const MAX_VECTOR_BYTES: u32 = 16;

/// Kernel parameters end here (4 KiB, or 32764 bytes from PTX 8.1 on).
const MAX_PARAMETER_BYTES: u64 = 32764;

impl<'a> Parser<'a> {
    pub fn new(source: &'a str) -> Result<Self> {
        Ok(Self {
            lexemes: tokens(source)?,
            at: 0,
            arrays: HashMap::new(),
            declared: Vec::new(),
            source_lines: SourceLines::default(),
        })
    }

    /// The whole module.
    pub fn module(mut self) -> Result<Module> {
        let mut module = Module {
            address_size: 64,
            ..Module::default()
        };
        self.header(&mut module)?;
        while self.peek() != Token::End {
            self.item(&mut module)?;
        }
        module.source_lines = self.source_lines;
        match self.declared.iter().find(|declared| !declared.external) {
            None => Ok(module),
            Some(Declared { kernel, .. }) => Err(PtxError::syntax(
                kernel.line,
                &kernel.name,
                "kernel is declared and not defined",
            )),
        }
    }

    fn header(&mut self, module: &mut Module) -> Result<()> {
        if self.next().token != Token::Dotted("version") {
            self.at = 0;
            return Err(self.expected("`.version` as the first directive"));
        }
        module.version = match self.next() {
            Lexeme {
                token: Token::Double(_),
                text,
                ..
            } => text
                .split_once('.')
                .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
                .unwrap_or_default(),
            _ => return Err(self.unexpected("a version such as 6.0")),
        };
        Ok(())
    }

    fn item(&mut self, module: &mut Module) -> Result<()> {
        let (mut external, mut linkage) = (false, Linkage::Local);
        loop {
            let lexeme = self.next();
            let Token::Dotted(word) = lexeme.token else {
                return Err(self.unexpected("a directive"));
            };
            match word {
                "target" => module.target = self.target()?,
                "address_size" => self.address_size(module)?,
                "file" => self.file(lexeme.line),
                "loc" => self.location(lexeme.line),
                "section" => self.skip_braces()?,
                "pragma" => self.skip_statement(),
                "alias" => return Err(self.refused(lexeme, "a function alias")),
                "visible" => {
                    linkage = Linkage::Visible;
                    continue;
                }
                "weak" | "common" => {
                    linkage = Linkage::Weak;
                    continue;
                }
                "extern" => {
                    (external, linkage) = (true, Linkage::Visible);
                    continue;
                }
                "entry" => {
                    self.source_lines.begin_function(lexeme.line);
                    if let Some(kernel) = self.kernel(module, external)? {
                        module.kernels.push(kernel);
                    }
                }
                "func" => {
                    self.source_lines.begin_function(lexeme.line);
                    let function = Function {
                        linkage,
                        ..self.function()?
                    };
                    module
                        .functions
                        .retain(|known| known.name != function.name || known.body.is_some());
                    module.functions.push(function);
                }
                "global" | "const" | "shared" => {
                    let space = space(word).unwrap_or(Space::Global);
                    let mut arrays = Vec::new();
                    self.variables(space, external, |variable, element| {
                        arrays.extend(element.map(|element| (variable.name.clone(), element)));
                        module.globals.push(Variable {
                            linkage,
                            ..variable
                        });
                    })?;
                    self.arrays.extend(arrays);
                }
                _ => return Err(self.refused(lexeme, "this directive")),
            }
            return Ok(());
        }
    }

    fn target(&mut self) -> Result<String> {
        let target = self.word("a target such as sm_70")?.to_owned();
        while self.accept(',') {
            let option = self.next();
            if !matches!(option.token, Token::Word("debug" | "texmode_independent")) {
                return Err(self.refused(option, "this target option"));
            }
        }
        Ok(target)
    }

    fn address_size(&mut self, module: &mut Module) -> Result<()> {
        let size = self.next();
        if size.token != Token::Integer(64) {
            return Err(self.refused(size, "an address size other than 64"));
        }
        module.address_size = 64;
        Ok(())
    }

    /// A kernel's definition, or nothing after a declaration.
    fn kernel(&mut self, module: &Module, external: bool) -> Result<Option<Kernel>> {
        let line = self.lexeme().line;
        let name = self.word("a kernel name")?.to_owned();
        let mut kernel = Kernel {
            name: name.clone(),
            parameters: Vec::new(),
            body: Default::default(),
            max_threads: None,
            required_threads: None,
            max_registers: None,
            cluster: Default::default(),
            line,
        };
        if module.kernels.iter().any(|known| known.name == name) {
            return Err(PtxError::syntax(line, name, "kernel is defined twice"));
        }
        let mut scopes = Scopes::new();
        let defined = self
            .kernel_rest(&mut kernel, &mut scopes)
            .map_err(|error| error.inside(&name))?;
        self.check_prototype(&kernel, external || !defined)?;
        if defined {
            self.declared
                .retain(|declared| declared.kernel.name != name);
            return Ok(Some(kernel));
        }
        self.declared.push(Declared { kernel, external });
        Ok(None)
    }

    /// A kernel has the parameters that its declarations give it; one that is `.extern` is defined elsewhere.
    fn check_prototype(&self, kernel: &Kernel, may_be_external: bool) -> Result<()> {
        let layout = |kernel: &Kernel| -> Vec<_> {
            let parameters = kernel.parameters.iter();
            parameters.map(|p| (p.bytes, p.align)).collect()
        };
        let mut others = self.declared.iter();
        let contradicts = others.any(|declared| {
            declared.kernel.name == kernel.name
                && (layout(&declared.kernel) != layout(kernel)
                    || declared.external && !may_be_external)
        });
        match contradicts {
            false => Ok(()),
            true => Err(PtxError::syntax(
                kernel.line,
                &kernel.name,
                "kernel contradicts its declaration",
            )),
        }
    }

    /// Parses the rest after a kernel's name; `false` for a declaration.
    fn kernel_rest(&mut self, kernel: &mut Kernel, scopes: &mut Scopes) -> Result<bool> {
        if self.accept('(') {
            kernel.parameters = self.parameters(scopes)?;
        }
        if self.accept(';') {
            return Ok(false);
        }
        let mut refused = None;
        loop {
            let lexeme = self.lexeme();
            match lexeme.token {
                // Refuses this kernel and nothing else of the module.
                Token::Dotted("blocksareclusters") => {
                    self.at += 1;
                    refused = Some(lexeme);
                }
                Token::Dotted("maxntid") => kernel.max_threads = Some(self.dimensions()?),
                Token::Dotted("reqntid") => kernel.required_threads = Some(self.dimensions()?),
                Token::Dotted("reqnctapercluster") => {
                    kernel.cluster.required = Some(self.dimensions()?);
                }
                Token::Dotted("explicitcluster") => {
                    self.at += 1;
                    kernel.cluster.explicit = true;
                }
                Token::Dotted("maxclusterrank") => {
                    self.at += 1;
                    let blocks = self.integer("a number of blocks")?;
                    kernel.cluster.max_blocks = u32::try_from(blocks).ok();
                }
                Token::Dotted("maxnreg") => {
                    self.at += 1;
                    let registers = self.integer("a number of registers")?;
                    kernel.max_registers = u32::try_from(registers).ok();
                }
                Token::Dotted("minnctapersm" | "maxnctapersm") => {
                    self.at += 1;
                    self.integer("a count")?;
                }
                Token::Dotted("pragma") => {
                    self.at += 1;
                    self.skip_statement();
                }
                Token::Dotted(_) => return Err(self.refused(lexeme, "this kernel directive")),
                _ => break,
            }
        }
        kernel.body = self.body(&kernel.name, scopes, &kernel.parameters, &[])?;
        if let Some(directive) = refused {
            let refusal = self.refused(directive, "this kernel directive");
            kernel.body.refusal = Some(Box::new(refusal.inside(&kernel.name)));
        }
        Ok(true)
    }

    /// The body of a function. An unimplemented instruction makes this function unusable, and nothing else of the module.
    fn body(
        &mut self,
        name: &str,
        scopes: &mut Scopes,
        parameters: &[Parameter],
        returns: &[Parameter],
    ) -> Result<Body> {
        let start = self.at;
        match BodyParser::new(self, scopes, parameters, returns).body() {
            Err(error) if error.kind == PtxErrorKind::Unsupported => {
                self.at = start;
                self.skip_braces()?;
                Ok(Body {
                    refusal: Some(Box::new(error.inside(name))),
                    ..Body::default()
                })
            }
            result => result,
        }
    }

    fn dimensions(&mut self) -> Result<[u32; 3]> {
        self.at += 1;
        let mut extents = [1; 3];
        for extent in &mut extents {
            *extent = self.integer("an extent")?.min(u64::from(u32::MAX)) as u32;
            if !self.accept(',') {
                break;
            }
        }
        Ok(extents)
    }

    fn function(&mut self) -> Result<Function> {
        let line = self.lexeme().line;
        let mut scopes = Scopes::new();
        let returns = match self.accept('(') {
            true => self.parameters(&mut scopes)?,
            false => Vec::new(),
        };
        let name = self.word("a function name")?.to_owned();
        self.function_rest(name.clone(), returns, &mut scopes, line)
            .map_err(|error| error.inside(&name))
    }

    fn function_rest(
        &mut self,
        name: String,
        returns: Vec<Parameter>,
        scopes: &mut Scopes,
        line: u32,
    ) -> Result<Function> {
        let parameters = match self.accept('(') {
            true => self.parameters(scopes)?,
            false => Vec::new(),
        };
        while let Token::Dotted(word) = self.peek() {
            match word {
                "noreturn" => self.at += 1,
                "pragma" => self.skip_statement(),
                _ => return Err(self.refused(self.lexeme(), "this function directive")),
            }
        }
        let body = match self.accept(';') {
            true => None,
            false => Some(self.body(&name, scopes, &parameters, &returns)?),
        };
        Ok(Function {
            name,
            returns,
            parameters,
            linkage: Linkage::Local,
            body,
            line,
        })
    }

    /// The parameters up to the closing parenthesis.
    fn parameters(&mut self, scopes: &mut Scopes) -> Result<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut end = 0u64;
        while !self.accept(')') {
            let lexeme = self.next();
            let mut parameter = match lexeme.token {
                Token::Dotted("param") => self.parameter(scopes, lexeme.line)?,
                Token::Dotted("reg") => self.register_parameter(scopes)?,
                _ => return Err(self.unexpected("`.param` or `.reg`")),
            };
            let offset = end.next_multiple_of(u64::from(parameter.align));
            end = offset + u64::from(parameter.bytes);
            if end > MAX_PARAMETER_BYTES {
                return Err(PtxError::syntax(
                    lexeme.line,
                    parameter.name,
                    "parameters exceed 32764 bytes",
                ));
            }
            parameter.offset = offset as u32;
            parameters.push(parameter);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(parameters)
    }

    fn parameter(&mut self, scopes: &mut Scopes, line: u32) -> Result<Parameter> {
        let declaration = self.declaration()?;
        let name = self.word("a parameter name")?.to_owned();
        if declaration.vector > 1 {
            return Err(PtxError::syntax(
                line,
                name,
                "a parameter cannot be a vector",
            ));
        }
        let length = self.array_length()?;
        if length.is_some() {
            scopes.declare_array(&name, declaration.kind.bytes());
        }
        let bytes = u64::from(declaration.kind.bytes()).saturating_mul(length.unwrap_or(1));
        if bytes > MAX_PARAMETER_BYTES {
            return Err(PtxError::syntax(
                line,
                name,
                "parameter exceeds 32764 bytes",
            ));
        }
        Ok(Parameter {
            name,
            align: declaration.align,
            bytes: bytes as u32,
            offset: 0,
            register: None,
        })
    }

    fn register_parameter(&mut self, scopes: &mut Scopes) -> Result<Parameter> {
        let declaration = self.declaration()?;
        let name = self.word("a register name")?.to_owned();
        let register = self.declare_registers(scopes, &name, None, &declaration)?;
        Ok(Parameter {
            name,
            align: declaration.align,
            bytes: declaration.kind.bytes(),
            offset: 0,
            register: Some(register),
        })
    }

    /// Declares registers and refuses absurd counts.
    pub fn declare_registers(
        &self,
        scopes: &mut Scopes,
        name: &str,
        count: Option<u64>,
        declaration: &Declaration,
    ) -> Result<RegisterId> {
        let line = self.lexeme().line;
        if declaration.vector > 1 && declaration.kind == Type::Pred {
            return Err(PtxError::syntax(line, name, "predicates form no vectors"));
        }
        scopes
            .declare_registers(name, count, declaration.kind, declaration.vector)
            .ok_or_else(|| PtxError::syntax(line, name, "too many registers"))
    }

    /// The words between the space and the name of a declaration: alignment, type, pointer attributes.
    pub fn declaration(&mut self) -> Result<Declaration> {
        let (mut align, mut kind, mut pointer, mut vector, mut managed) =
            (None, None, false, 1, false);
        while let Token::Dotted(word) = self.peek() {
            let lexeme = self.next();
            match word {
                "align" => {
                    let value = self.integer("an alignment")?;
                    if !value.is_power_of_two() || value > 1 << 16 {
                        return Err(PtxError::syntax(
                            lexeme.line,
                            value.to_string(),
                            "alignment is not a power of two",
                        ));
                    }
                    // After `.ptr` it describes the memory pointed to.
                    align = if pointer { align } else { Some(value as u32) };
                }
                "attribute" => {
                    self.expect('(')?;
                    let attribute = self.next();
                    match attribute.token {
                        Token::Dotted("managed") => managed = true,
                        _ => return Err(self.refused(attribute, "this attribute of a variable")),
                    }
                    self.expect(')')?;
                }
                "ptr" => pointer = true,
                "global" | "const" | "shared" | "local" if pointer => {}
                "v2" => vector = 2,
                "v4" => vector = 4,
                _ => match Type::named(word) {
                    Some(Type::B128) | None => {
                        return Err(self.refused(lexeme, "this type or attribute"));
                    }
                    some => kind = some,
                },
            }
        }
        let kind = kind.ok_or_else(|| self.expected("a type"))?;
        let bytes = kind.bytes() * vector;
        if bytes > MAX_VECTOR_BYTES {
            return Err(self.expected("a vector of at most 16 bytes"));
        }
        Ok(Declaration {
            kind,
            vector,
            align: align.unwrap_or(bytes.max(1)),
            managed,
        })
    }

    /// The variables of one declaration in `space`, up to the semicolon, each with the bytes of an element if it is an
    /// array.
    pub fn variables(
        &mut self,
        space: Space,
        external: bool,
        mut declare: impl FnMut(Variable, Option<u32>),
    ) -> Result<()> {
        let declaration = self.declaration()?;
        loop {
            let (variable, is_array) = self.variable(space, external, &declaration)?;
            declare(variable, is_array.then(|| declaration.kind.bytes()));
            if !self.accept(',') {
                return self.expect(';');
            }
        }
    }

    fn variable(
        &mut self,
        space: Space,
        external: bool,
        declaration: &Declaration,
    ) -> Result<(Variable, bool)> {
        let line = self.lexeme().line;
        let name = self.word("a variable name")?.to_owned();
        if declaration.kind == Type::Pred {
            return Err(PtxError::syntax(
                line,
                name,
                "predicates live in registers only",
            ));
        }
        let size = u64::from(declaration.kind.bytes() * declaration.vector);
        let length = self.array_length()?;
        let mut variable = Variable {
            name,
            space,
            align: declaration.align,
            bytes: length
                .unwrap_or(1)
                .checked_mul(size)
                .filter(|bytes| *bytes < 1 << 40)
                .unwrap_or(u64::MAX),
            linkage: Linkage::Local,
            external,
            managed: declaration.managed,
            data: Vec::new(),
            relocations: Vec::new(),
            line,
        };
        if variable.bytes == u64::MAX {
            return Err(PtxError::syntax(
                line,
                variable.name,
                "variable is larger than any device memory",
            ));
        }
        if self.accept('=') {
            self.initialiser(&mut variable, declaration.kind)?;
        }
        Ok((variable, length.is_some()))
    }

    /// `[4][5]` gives 20, `[]` gives 0, nothing gives `None`.
    pub fn array_length(&mut self) -> Result<Option<u64>> {
        let mut length = None;
        while self.accept('[') {
            let extent = match self.accept(']') {
                true => 0,
                false => {
                    let extent = self.integer("an array length")?;
                    self.expect(']')?;
                    extent
                }
            };
            length = Some(length.unwrap_or(1u64).saturating_mul(extent));
        }
        Ok(length)
    }

    /// Bytes of an element of the array at module scope that is called `name`.
    pub fn array(&self, name: &str) -> Option<u32> {
        self.arrays.get(name).copied()
    }

    // The cursor.

    pub fn lexeme(&self) -> Lexeme<'a> {
        self.lexemes[self.at.min(self.lexemes.len() - 1)]
    }

    pub fn peek(&self) -> Token<'a> {
        self.lexeme().token
    }

    pub fn peek_second(&self) -> Token<'a> {
        self.lexemes[(self.at + 1).min(self.lexemes.len() - 1)].token
    }

    pub fn next(&mut self) -> Lexeme<'a> {
        let lexeme = self.lexeme();
        self.at += 1;
        lexeme
    }

    pub fn accept(&mut self, punctuation: char) -> bool {
        let accepted = self.peek() == Token::Punctuation(punctuation);
        self.at += usize::from(accepted);
        accepted
    }

    pub fn expect(&mut self, punctuation: char) -> Result<()> {
        match self.accept(punctuation) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{punctuation}`"))),
        }
    }

    pub fn word(&mut self, what: &str) -> Result<&'a str> {
        match self.next().token {
            Token::Word(word) => Ok(word),
            _ => Err(self.unexpected(what)),
        }
    }

    pub fn integer(&mut self, what: &str) -> Result<u64> {
        match self.next().token {
            Token::Integer(value) => Ok(value),
            _ => Err(self.unexpected(what)),
        }
    }

    /// The integer literal just taken.
    pub fn previous_integer(&self) -> Option<u64> {
        match self.lexemes[self.at.saturating_sub(1).min(self.lexemes.len() - 1)].token {
            Token::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The rest of `.file number "path"`, which began in this line.
    fn file(&mut self, line: u32) {
        if let (Token::Integer(number), Token::Text(path)) = (self.peek(), self.peek_second()) {
            self.source_lines.add_file(number, path);
        }
        self.skip_line(line);
    }

    /// The rest of `.loc file line column`, which began in this line.
    pub fn location(&mut self, line: u32) {
        if let (Token::Integer(file), Token::Integer(source_line)) =
            (self.peek(), self.peek_second())
        {
            self.source_lines.add_location(line, file, source_line);
        }
        self.skip_line(line);
    }

    pub fn skip_line(&mut self, line: u32) {
        while self.peek() != Token::End && self.lexeme().line == line {
            self.at += 1;
        }
    }

    pub fn skip_statement(&mut self) {
        while !matches!(self.next().token, Token::Punctuation(';') | Token::End) {}
    }

    pub fn skip_braces(&mut self) -> Result<()> {
        while !matches!(self.peek(), Token::Punctuation('{') | Token::End) {
            self.at += 1;
        }
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.next().token {
                Token::Punctuation('{') => depth += 1,
                Token::Punctuation('}') => depth -= 1,
                Token::End => return Err(self.unexpected("`}`")),
                _ => {}
            }
        }
        Ok(())
    }

    /// The current token is not what the grammar wants.
    pub fn expected(&self, what: &str) -> PtxError {
        Self::wrong(self.lexeme(), what)
    }

    /// The token just taken is not what the grammar wants.
    pub fn unexpected(&self, what: &str) -> PtxError {
        let last = self.lexemes.len() - 1;
        Self::wrong(self.lexemes[(self.at - 1).min(last)], what)
    }

    fn wrong(lexeme: Lexeme<'_>, what: &str) -> PtxError {
        let text = match lexeme.token {
            Token::End => "end of text",
            _ => lexeme.text,
        };
        PtxError {
            column: lexeme.column,
            ..PtxError::syntax(lexeme.line, text, format!("expected {what}"))
        }
    }

    pub fn refused(&self, lexeme: Lexeme<'_>, what: &str) -> PtxError {
        PtxError {
            column: lexeme.column,
            ..PtxError::unsupported(
                lexeme.line,
                lexeme.text,
                format!("{what} is not implemented"),
            )
        }
    }
}

/// Type and alignment of a declaration.
pub(super) struct Declaration {
    pub kind: Type,
    /// Elements of a vector, or 1.
    pub vector: u32,
    pub align: u32,
    /// `.attribute(.managed)`.
    pub managed: bool,
}

/// The state space called `word`.
pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Global,
        "const" => Space::Const,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "param" => Space::Param,
        _ => return None,
    })
}

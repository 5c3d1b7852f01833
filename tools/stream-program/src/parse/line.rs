//! One line: a recursive descent through its words.

use crate::lex::{Token, tokens};
use crate::syntax::{
    Action, Argument, Array, Call, Elements, Expression, Launch, MemoryKind, Object, Operator,
};

/// Expressions within expressions, at most.
const DEPTH: u32 = 40;

/// The kind of a line.
pub(super) enum Line {
    Empty,
    /// The end of a loop.
    End,
    Action(Action),
}

/// The words that are left of a line.
struct Words {
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
}

type Parsed<T> = Result<T, String>;

impl Line {
    pub(super) fn read(text: &str) -> Parsed<Self> {
        let mut words = Words {
            tokens: tokens(text)?,
            next: 0,
            depth: 0,
        };
        if words.tokens.is_empty() {
            return Ok(Self::Empty);
        }
        if words.is("}") {
            words.end()?;
            return Ok(Self::End);
        }
        let action = words.action()?;
        words.end()?;
        Ok(Self::Action(action))
    }
}

impl Words {
    fn action(&mut self) -> Parsed<Action> {
        let word = self.name("a line begins with a word, such as stream or for")?;
        match word.as_str() {
            "let" => {
                let name = self.name("let needs a name: let CHUNKS = 16")?;
                self.sign("=")?;
                Ok(Action::Let(name, self.expression()?))
            }
            "blocking" => {
                self.keyword("stream")?;
                Ok(Action::Streams(true, self.arrays()?))
            }
            "stream" => Ok(Action::Streams(false, self.arrays()?)),
            "timed" => {
                self.keyword("event")?;
                Ok(Action::Events(true, self.arrays()?))
            }
            "event" => Ok(Action::Events(false, self.arrays()?)),
            "device" => self.memory(MemoryKind::Device),
            "pinned" => self.memory(MemoryKind::Pinned),
            "pageable" => self.memory(MemoryKind::Pageable),
            "for" => self.for_loop(),
            "graph" => {
                let name = self.name("graph needs a name: graph step = work.end_capture()")?;
                self.sign("=")?;
                let word = self.name("a graph comes from STREAM.end_capture()")?;
                let stream = self.object(word)?;
                self.sign(".")?;
                self.keyword("end_capture")?;
                self.sign("(")?;
                self.sign(")")?;
                Ok(Action::EndCapture(name, stream))
            }
            _ if self.is("<<<") => self.launch(word),
            _ if self.is("(") => self.function(&word),
            _ => self.method(word),
        }
    }

    fn arrays(&mut self) -> Parsed<Vec<Array>> {
        let mut arrays = Vec::new();
        loop {
            let name = self.name("a name is missing")?;
            let count = match self.is("[") {
                true => Some(self.bracketed()?),
                false => None,
            };
            arrays.push(Array { name, count });
            if !self.is(",") {
                return Ok(arrays);
            }
        }
    }

    fn memory(&mut self, kind: MemoryKind) -> Parsed<Action> {
        let mut declared = Vec::new();
        loop {
            let name =
                self.name("memory needs a name and a number of elements: device data[1024]")?;
            self.sign("[")?;
            let first = self.bracketed()?;
            let (count, length) = match self.is("[") {
                true => (Some(first), self.bracketed()?),
                false => (None, first),
            };
            declared.push((Array { name, count }, length));
            if !self.is(",") {
                break;
            }
        }
        let stream = match self.peek() {
            Some(Token::Name(word)) if word == "in" && kind == MemoryKind::Device => {
                self.next += 1;
                let word = self.name("in needs a stream")?;
                Some(self.object(word)?)
            }
            _ => None,
        };
        Ok(Action::Memory(kind, declared, stream))
    }

    fn for_loop(&mut self) -> Parsed<Action> {
        let name = self.name("a loop needs a name: for chunk in 0..16 {")?;
        self.keyword("in")?;
        let from = self.expression()?;
        self.sign("..")?;
        let to = self.expression()?;
        self.sign("{")?;
        Ok(Action::For(name, from, to, Vec::new()))
    }

    fn launch(&mut self, kernel: String) -> Parsed<Action> {
        let blocks = self.expression()?;
        self.sign(",")?;
        let threads = self.expression()?;
        self.sign(",")?;
        match self.take() {
            Some(Token::Number(0)) => {}
            _ => return Err("the third number of a launch is 0: no dynamic shared memory".into()),
        }
        self.sign(",")?;
        let word = self.name("the last word of a launch is its stream")?;
        let stream = self.object(word)?;
        self.sign(">>>")?;
        self.sign("(")?;
        let mut arguments = Vec::new();
        while !self.is(")") {
            if !arguments.is_empty() {
                self.sign(",")?;
            }
            arguments.push(self.argument()?);
        }
        Ok(Action::Launch(Launch {
            kernel,
            blocks,
            threads,
            stream,
            arguments,
        }))
    }

    fn argument(&mut self) -> Parsed<Argument> {
        if let Some(Token::Float(number, text)) = self.peek() {
            let argument = Argument::Float(*number, text.clone());
            self.next += 1;
            return Ok(argument);
        }
        let is_indexed = matches!(self.tokens.get(self.next + 1), Some(Token::Sign("[")));
        match self.peek() {
            Some(Token::Name(_)) if is_indexed => Ok(Argument::Memory(self.elements()?)),
            _ => Ok(Argument::Value(self.expression()?)),
        }
    }

    /// A call without an object, whose parenthesis is open.
    fn function(&mut self, name: &str) -> Parsed<Action> {
        let call = match name {
            "copy" => self.copy(None)?,
            "zero" => Call::Zero(self.elements()?),
            "free" => Call::Free {
                stream: None,
                memory: self.an_object("memory")?,
            },
            "synchronize" => Call::Synchronize(None),
            "fill" => {
                let memory = self.elements()?;
                self.sign(",")?;
                Call::Fill(memory, self.expression()?)
            }
            "cpu_work" => Call::CpuWork(self.expression()?),
            "hand_in_time" => {
                let start = self.an_object("an event")?;
                self.sign(",")?;
                let end = self.an_object("an event")?;
                Call::HandInTime { start, end }
            }
            "hand_in" => Call::HandIn(self.an_object("memory")?),
            _ => return Err(format!("{name} is not a call. {}", crate::words::CALLS)),
        };
        self.sign(")")?;
        Ok(Action::Call(call))
    }

    /// A call of an object.
    fn method(&mut self, name: String) -> Parsed<Action> {
        let object = self.object(name)?;
        self.sign(".")?;
        let method = self.name("a call is missing behind the point")?;
        self.sign("(")?;
        let call = match method.as_str() {
            "copy" => self.copy(Some(object))?,
            "free" => Call::Free {
                stream: Some(object),
                memory: self.an_object("memory")?,
            },
            "record" => Call::Record {
                event: object,
                stream: self.an_object("a stream")?,
            },
            "wait" => Call::Wait {
                stream: object,
                event: self.an_object("an event")?,
            },
            "synchronize" => Call::Synchronize(Some(object)),
            "keep" if object.name == "pool" => Call::KeepInPool(self.expression()?),
            "begin_capture" => Call::BeginCapture(object),
            "launch" => Call::LaunchGraph {
                graph: object,
                stream: self.an_object("a stream")?,
            },
            "end_capture" => {
                return Err("the graph needs a name: graph step = STREAM.end_capture()".into());
            }
            _ => return Err(format!("{method} is not a call. {}", crate::words::CALLS)),
        };
        self.sign(")")?;
        Ok(Action::Call(call))
    }

    fn copy(&mut self, stream: Option<Object>) -> Parsed<Call> {
        let to = self.elements()?;
        self.sign(",")?;
        let from = self.elements()?;
        Ok(Call::Copy { stream, to, from })
    }

    fn an_object(&mut self, what: &str) -> Parsed<Object> {
        let name = self.name(&format!("{what} is missing"))?;
        self.object(name)
    }

    fn object(&mut self, name: String) -> Parsed<Object> {
        let index = match self.is("[") {
            true => Some(self.bracketed()?),
            false => None,
        };
        Ok(Object { name, index })
    }

    /// `NAME`, `NAME[INDEX]`, `NAME[FROM..TO]` or `NAME[INDEX][FROM..TO]`.
    fn elements(&mut self) -> Parsed<Elements> {
        let mut memory = Object {
            name: self.name("memory is missing")?,
            index: None,
        };
        while self.is("[") {
            let first = self.expression()?;
            if self.is("..") {
                let range = Some((first, self.expression()?));
                self.sign("]")?;
                return Ok(Elements { memory, range });
            }
            self.sign("]")?;
            if memory.index.replace(first).is_some() {
                return Err("memory has one index, and a range: data[slot][0..1024]".into());
            }
        }
        Ok(Elements {
            memory,
            range: None,
        })
    }

    /// A number, whose opening bracket is taken.
    fn bracketed(&mut self) -> Parsed<Expression> {
        let number = self.expression()?;
        self.sign("]")?;
        Ok(number)
    }

    fn expression(&mut self) -> Parsed<Expression> {
        self.binary(0)
    }

    /// Operators that bind more tightly than `least`, from left to right.
    fn binary(&mut self, least: u8) -> Parsed<Expression> {
        let mut left = self.primary()?;
        while let Some(operator) = self.operator().filter(|own| own.precedence() > least) {
            self.next += 1;
            let right = self.binary(operator.precedence())?;
            left = Expression::Binary(Box::new(left), operator, Box::new(right));
        }
        Ok(left)
    }

    fn primary(&mut self) -> Parsed<Expression> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("this line has too many numbers".into());
        }
        match self.take() {
            Some(Token::Number(number)) => Ok(Expression::Number(number)),
            Some(Token::Name(name)) => Ok(Expression::Name(name)),
            Some(Token::Sign("(")) => {
                let inner = self.expression()?;
                self.sign(")")?;
                Ok(inner)
            }
            other => Err(format!("a number is missing{}", before(other.as_ref()))),
        }
    }

    fn operator(&self) -> Option<Operator> {
        match self.peek()? {
            Token::Sign("+") => Some(Operator::Add),
            Token::Sign("-") => Some(Operator::Subtract),
            Token::Sign("*") => Some(Operator::Multiply),
            Token::Sign("/") => Some(Operator::Divide),
            Token::Sign("%") => Some(Operator::Remainder),
            Token::Sign("<<") => Some(Operator::ShiftLeft),
            _ => None,
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self) -> Option<Token> {
        self.next += 1;
        self.tokens.get(self.next - 1).cloned()
    }

    /// Takes a sign, if it is the next word.
    fn is(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Sign(own)) if *own == sign);
        self.next += usize::from(is);
        is
    }

    fn sign(&mut self, sign: &str) -> Parsed<()> {
        match self.is(sign) {
            true => Ok(()),
            false => Err(format!("{sign} is missing{}", before(self.peek()))),
        }
    }

    fn name(&mut self, missing: &str) -> Parsed<String> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(missing.to_owned()),
        }
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        match self.take() {
            Some(Token::Name(name)) if name == word => Ok(()),
            other => Err(format!("{word} is missing{}", before(other.as_ref()))),
        }
    }

    fn end(&self) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(token) => Err(format!("the line should end before {}", in_words(token))),
        }
    }
}

fn before(token: Option<&Token>) -> String {
    match token {
        Some(token) => format!(" before {}", in_words(token)),
        None => " at the end of the line".to_owned(),
    }
}

fn in_words(token: &Token) -> String {
    match token {
        Token::Name(name) => name.clone(),
        Token::Number(number) => number.to_string(),
        Token::Float(_, text) => text.clone(),
        Token::Sign(sign) => (*sign).to_owned(),
    }
}

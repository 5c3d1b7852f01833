//! Styles of text on a terminal.

use anstyle::{AnsiColor, Style};
use std::fmt::Display;

/// A name or a heading.
pub fn bold(text: impl Display) -> String {
    styled(Style::new().bold(), text)
}

/// What holds.
pub fn good(text: impl Display) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// What does not.
pub fn bad(text: impl Display) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}

/// What matters less.
pub fn quiet(text: impl Display) -> String {
    styled(Style::new().dimmed(), text)
}

/// A letter of a chart, in the colour of its engine.
pub(crate) fn engine(engine: chapter_results::intervals::Engine, text: impl Display) -> String {
    use chapter_results::intervals::Engine;
    let colour = match engine {
        Engine::HostToDevice => AnsiColor::Blue,
        Engine::Kernel => AnsiColor::Green,
        Engine::DeviceToHost => AnsiColor::Magenta,
        Engine::DeviceToDevice | Engine::Set => AnsiColor::Cyan,
        Engine::HostFunction => AnsiColor::Yellow,
    };
    styled(colour.on_default(), text)
}

/// The text without its styles.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

//! `cargo lab watch`: the verdict whenever a file is saved.

use super::next::{first_open, introduce};
use super::session::Session;
use super::{hint, list, run};
use crate::attempt::LabDevice;
use crate::catalogue::Lab;
use crate::progress::Progress;
use crate::show;
use anyhow::{Context, Result};
use chapter_terminal::{Exit, output, style};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::{cursor, terminal};
use notify::{RecursiveMode, Watcher};
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The command line.
#[derive(clap::Args)]
pub struct WatchArguments {
    /// The lab: its number or name; without it, the first that you have not passed
    lab: Option<String>,
    /// Where the labs run
    #[arg(long, value_enum, default_value = "software")]
    device: LabDevice,
}

/// What happens.
enum Happening {
    /// A file in the folder of the exercises was written.
    Saved(PathBuf),
    /// A key was pressed.
    Key(char),
}

/// Editors write a file in several steps; they are over by then.
const SETTLED: Duration = Duration::from_millis(40);

/// Shows the lab, and a verdict whenever its file is saved, until `q` is pressed.
///
/// # Errors
/// The folder cannot be watched, or the tools fail.
pub fn run(arguments: &WatchArguments) -> Result<Exit> {
    let session = Session::open(arguments.device)?;
    let mut place = match &arguments.lab {
        Some(word) => place_of(&session, session.catalogue.find(word)?),
        None => next_place(&session, 0),
    };
    let (send, happenings) = channel();
    let folder = session.root().join("labs/exercises");
    let saved = send.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        if event.kind.is_modify() || event.kind.is_create() {
            for path in event.paths {
                let _ = saved.send(Happening::Saved(path));
            }
        }
    })?;
    watcher
        .watch(&folder, RecursiveMode::NonRecursive)
        .with_context(|| format!("cannot watch {}", folder.display()))?;
    let has_keys = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if has_keys {
        thread::spawn(move || keys(&send));
    }
    clear(has_keys)?;
    introduce(&session.catalogue.labs[place], session.root())?;
    let mut passed = judge(&session, place)?;
    loop {
        status(&session, place, passed, has_keys);
        let Some(happening) = wait(&happenings, has_keys) else {
            return Ok(Exit::LessonHolds);
        };
        match happening {
            Happening::Saved(path) => {
                settle(&happenings);
                let labs = &session.catalogue.labs;
                let saved = labs
                    .iter()
                    .position(|lab| path.file_name() == Some(lab.file().as_ref()));
                let Some(saved) = saved else { continue };
                place = saved;
                clear(has_keys)?;
                passed = judge(&session, place)?;
            }
            Happening::Key('q') => return Ok(Exit::LessonHolds),
            Happening::Key('n') => {
                place = next_place(&session, place + 1);
                clear(has_keys)?;
                introduce(&session.catalogue.labs[place], session.root())?;
                passed = judge(&session, place)?;
            }
            Happening::Key('r') => {
                clear(has_keys)?;
                passed = judge(&session, place)?;
            }
            Happening::Key('h') => hint::show(&session.catalogue, &session.catalogue.labs[place])?,
            Happening::Key('l') => list::show(&session.catalogue),
            Happening::Key('t') => introduce(&session.catalogue.labs[place], session.root())?,
            Happening::Key(_) => {}
        }
    }
}

/// Clears the terminal, so that it shows one verdict at a time.
fn clear(is_terminal: bool) -> Result<()> {
    if is_terminal {
        let all = terminal::Clear(terminal::ClearType::All);
        crossterm::execute!(std::io::stdout(), all, cursor::MoveTo(0, 0))?;
    }
    Ok(())
}

fn place_of(session: &Session, lab: &Lab) -> usize {
    let labs = &session.catalogue.labs;
    labs.iter()
        .position(|other| other.name == lab.name)
        .unwrap_or(0)
}

/// The first lab that has not been passed, from a place on, then from the beginning; the place itself when all have been.
fn next_place(session: &Session, from: usize) -> usize {
    let progress = Progress::read(session.root());
    let labs = &session.catalogue.labs;
    let later = (from..labs.len()).find(|place| !progress.passed(&labs[*place].name));
    let any = || first_open(&session.catalogue, &progress).map(|lab| place_of(session, lab));
    later.or_else(any).unwrap_or(from % labs.len().max(1))
}

/// Tries the lab, shows the verdict and the time that it took, and notes what was reached.
fn judge(session: &Session, place: usize) -> Result<bool> {
    let lab = &session.catalogue.labs[place];
    let start = Instant::now();
    let attempt = session.attempt(lab, &lab.exercise(session.root()))?;
    let (goal, verdict) = session.judge(lab, &attempt);
    output::line(format!(
        "\n{}",
        show::verdict(lab, goal.as_ref(), &attempt, &verdict)
    ));
    output::line(style::quiet(format!(
        "judged in {:.1} s",
        start.elapsed().as_secs_f64()
    )));
    let mut progress = Progress::read(session.root());
    run::note(&mut progress, lab, &verdict);
    progress.write(session.root())?;
    Ok(verdict.passed())
}

/// The status line; on a terminal only.
fn status(session: &Session, place: usize, passed: bool, has_keys: bool) {
    if !has_keys {
        return;
    }
    let labs = &session.catalogue.labs;
    let progress = Progress::read(session.root());
    let done = labs.iter().filter(|lab| progress.passed(&lab.name)).count();
    let state = if passed {
        style::good("passed: n goes on")
    } else {
        style::bad("not passed")
    };
    print!(
        "\n[{done}/{}] {}  {state}  | n next  r run  h hint  t task  l list  q quit ",
        labs.len(),
        labs[place].name
    );
    let _ = std::io::stdout().flush();
}

/// Waits for what happens next; keys come without a return key meanwhile.
fn wait(happenings: &Receiver<Happening>, has_keys: bool) -> Option<Happening> {
    if has_keys {
        let _ = terminal::enable_raw_mode();
    }
    let happening = happenings.recv().ok();
    if has_keys {
        let _ = terminal::disable_raw_mode();
        println!();
    }
    happening
}

/// Takes the rest of a save, so that it is judged once.
fn settle(happenings: &Receiver<Happening>) {
    while happenings.recv_timeout(SETTLED).is_ok() {}
}

/// Passes keys on.
fn keys(send: &Sender<Happening>) {
    while let Ok(event) = crossterm::event::read() {
        let Event::Key(key) = event else { continue };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        let key = match key.code {
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => 'q',
            KeyCode::Char(letter) => letter.to_ascii_lowercase(),
            KeyCode::Enter => 'r',
            _ => continue,
        };
        if send.send(Happening::Key(key)).is_err() {
            return;
        }
    }
}

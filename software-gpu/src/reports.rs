//! The list of what the checkers have found, and the switch that turns them on and off.
//!
//! A report says that the program is wrong even if its result was right: two operations touched the same bytes in no
//! order, or memory was read that was never written. Faults that stop a kernel on a GPU too, such as an address out of
//! bounds, are errors of the driver and do not depend on the switch.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

pub use software_gpu_device::Kind;

/// The environment variable that names the [`ReportMode`] for programs that do not call [`set_mode`].
pub const VARIABLE: &str = "SOFTWARE_GPU_RACES";

/// The treatment of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportMode {
    /// Nothing is checked, at no cost.
    Off,
    /// Each new report is printed to standard error.
    #[default]
    Report,
    /// As [`Report`](Self::Report); and the process is to end with exit code 1.
    Fail,
}

/// One thing found. Its text names both sides, the bytes, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The rule that was broken.
    pub kind: Kind,
    /// Several lines, the first one a summary.
    pub text: String,
    /// How often it was found. Findings that one missing event explains, such as those of the rounds of a loop, are one
    /// report.
    pub count: u64,
    /// The operations that the text is about, by their [`correlation`](crate::activity::Activity::correlation): none, one or
    /// two.
    pub operations: Vec<u64>,
    /// The same of each pair that the text names under `also:`: what repairs this mistake orders them too.
    pub also: Vec<Vec<u64>>,
}

impl fmt::Display for Report {
    /// The text, and how often it was found if that was more than once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.count {
            0 | 1 => Ok(()),
            count => write!(f, "\n  found:   {count} times"),
        }
    }
}

/// Neither `off` nor `report` nor `fail`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mode of the checkers; the modes are off, report and fail")]
pub struct UnknownMode(String);

impl FromStr for ReportMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word {
            "off" => Ok(Self::Off),
            "report" => Ok(Self::Report),
            "fail" => Ok(Self::Fail),
            _ => Err(UnknownMode(word.to_owned())),
        }
    }
}

impl fmt::Display for ReportMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Fail => "fail",
        })
    }
}

#[derive(Default)]
struct ListedFinding {
    mode: ReportMode,
    /// Why the environment names no mode. Cleared when the program chooses one.
    misnamed: Option<String>,
    list: List,
    /// The list from before a [`collect`], while one is under way.
    outer: Option<List>,
    /// The findings since a [`start`].
    since: Option<List>,
}

#[derive(Default)]
struct List {
    reports: Vec<Report>,
    /// Places in `reports`, by the keys of the findings.
    by_key: BTreeMap<(Kind, String), usize>,
    /// The same by what makes two findings one mistake.
    by_mistake: BTreeMap<(Kind, String), usize>,
    /// The keys and mistakes of findings that a report names under `also:`.
    also: BTreeSet<(Kind, String)>,
}

/// What a list does with a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListDecision {
    Known,
    /// The report with that place repairs it too, and did not name it yet.
    Also(usize),
    New,
}

impl List {
    /// Counts a finding with a known key; whether it is one.
    fn counts(&mut self, kind: Kind, key: &str) -> bool {
        let key = (kind, key.to_owned());
        let place = self.by_key.get(&key).copied();
        place.is_some_and(|place| self.count(place)) || self.also.contains(&key)
    }

    /// Takes a finding with a new key.
    fn take(&mut self, finding: &ReportedFinding, mistake: &str) -> ListDecision {
        let (key, mistake) = (
            (finding.kind, finding.key.clone()),
            (finding.kind, mistake.to_owned()),
        );
        if let Some(place) = self.by_mistake.get(&mistake).copied() {
            self.by_key.insert(key, place);
            self.count(place);
            return ListDecision::Known;
        }
        let repaired = finding.repaired_by.as_ref();
        let place = repaired.and_then(|by| self.by_key.get(by).copied());
        let known = self.also.contains(&mistake);
        if place.is_some() || known {
            self.also.extend([key, mistake]);
        }
        match place {
            _ if known => ListDecision::Known,
            Some(place) => ListDecision::Also(place),
            None => ListDecision::New,
        }
    }

    fn count(&mut self, place: usize) -> bool {
        let report = self.reports.get_mut(place);
        report.map(|report| report.count += 1).is_some()
    }

    fn push(&mut self, key: &str, mistake: String, report: Report) {
        let place = self.reports.len();
        self.by_key.insert((report.kind, key.to_owned()), place);
        self.by_mistake.insert((report.kind, mistake), place);
        self.reports.push(report);
    }

    /// Names another pair in the report.
    fn add_pair(&mut self, place: usize, line: &str, operations: &[u64]) {
        if let Some(report) = self.reports.get_mut(place) {
            report.text += "\n  ";
            report.text += line;
            report.also.push(operations.to_vec());
        }
    }
}

static FOUND: LazyLock<Mutex<ListedFinding>> = LazyLock::new(|| {
    let (mode, misnamed) = match mode_from_environment() {
        Ok(mode) => (mode.unwrap_or_default(), None),
        Err(error) => (ReportMode::default(), Some(format!("{VARIABLE}: {error}"))),
    };
    Mutex::new(ListedFinding {
        mode,
        misnamed,
        ..ListedFinding::default()
    })
});

fn found() -> MutexGuard<'static, ListedFinding> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the environment variable [`VARIABLE`] says; `None` when it is not set or empty.
///
/// # Errors
/// When it names no mode.
pub fn mode_from_environment() -> Result<Option<ReportMode>, UnknownMode> {
    let word = env::var_os(VARIABLE).unwrap_or_default();
    if word.is_empty() {
        return Ok(None);
    }
    word.to_string_lossy().parse().map(Some)
}

/// Chooses what becomes of reports from now on.
pub fn set_mode(mode: ReportMode) {
    let mut found = found();
    found.mode = mode;
    found.misnamed = None;
}

/// Why the environment names no mode, unless the program has chosen one.
pub(crate) fn misnamed() -> Option<String> {
    found().misnamed.clone()
}

/// The treatment of reports.
pub fn mode() -> ReportMode {
    found().mode
}

/// All reports so far, in the order in which they were first found.
pub fn all() -> Vec<Report> {
    found().list.reports.clone()
}

/// Runs `body` and returns what is found meanwhile, which is neither printed nor counted among [`all`]: for programs
/// that break a rule on purpose.
///
/// Findings of all threads count. Nested, the outer one gets what its own body has found before.
pub fn collect<R>(body: impl FnOnce() -> R) -> (R, Vec<Report>) {
    let outer = {
        let mut found = found();
        let before = std::mem::take(&mut found.list);
        found.outer.replace(before)
    };
    // Restores the list when `body` panics, too.
    struct Restore(Option<List>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let mut found = found();
            let before = std::mem::replace(&mut found.outer, self.0.take());
            found.list = before.unwrap_or_default();
        }
    }
    let restore = Restore(outer);
    let result = body();
    let reports = std::mem::take(&mut found().list.reports);
    drop(restore);
    (result, reports)
}

/// Whether a [`collect`] is under way.
pub(crate) fn are_collected() -> bool {
    found().outer.is_some()
}

/// Begins to record the findings in addition: for recordings of a part of a program.
pub fn start() {
    found().since = Some(List::default());
}

/// What was found since [`start`], also if the same had been found before, and inside of [`collect`] as well. Nothing is
/// noted any more.
pub fn take() -> Vec<Report> {
    let since = found().since.take();
    since.map_or_else(Vec::new, |list| list.reports)
}

/// A finding as a checker reports it to the list.
pub(crate) struct ReportedFinding {
    pub(crate) kind: Kind,
    /// Findings with the same key count as one.
    pub(crate) key: String,
    pub(crate) operations: Vec<u64>,
    /// The earlier finding whose repair repairs this one too.
    pub(crate) repaired_by: Option<(Kind, String)>,
}

/// The words of a finding, which take long to find.
pub(crate) trait Words {
    /// Findings with the same mistake count as one too. Asked for once for each key.
    fn mistake(&self) -> String;
    /// The text of the report. The first finding's is kept and printed.
    fn text(&self) -> String;
    /// The finding in the report of the one that repairs it too.
    fn also(&self) -> String;
}

/// Adds a finding about these operations. Those with the same `key` count as one; the first one's text is kept and printed.
pub(crate) fn add(kind: Kind, key: String, operations: Vec<u64>, text: impl FnOnce() -> String) {
    struct Plain<F>(String, Cell<Option<F>>);
    impl<F: FnOnce() -> String> Words for Plain<F> {
        fn mistake(&self) -> String {
            self.0.clone()
        }
        fn text(&self) -> String {
            self.1.take().map_or_else(String::new, |text| text())
        }
        fn also(&self) -> String {
            String::new()
        }
    }
    let words = Plain(key.clone(), Cell::new(Some(text)));
    let finding = ReportedFinding {
        kind,
        key,
        operations,
        repaired_by: None,
    };
    add_finding(finding, &words);
}

/// As [`add`], for findings that are more than a text.
pub(crate) fn add_finding(finding: ReportedFinding, words: &impl Words) {
    let mut found = found();
    if found.mode == ReportMode::Off {
        return;
    }
    let ReportedFinding { kind, key, .. } = &finding;
    let known = found.list.counts(*kind, key);
    let since = found.since.as_mut();
    let known_since = since.is_none_or(|list| list.counts(*kind, key));
    if known && known_since {
        return;
    }
    let mistake = words.mistake();
    let verdict = |list: &mut List, known| match known {
        true => ListDecision::Known,
        false => list.take(&finding, &mistake),
    };
    let now = verdict(&mut found.list, known);
    let since = found.since.as_mut();
    let since = since.map_or(ListDecision::Known, |list| verdict(list, known_since));
    let is_printed = found.outer.is_none();
    if [now, since]
        .iter()
        .any(|verdict| matches!(verdict, ListDecision::Also(_)))
    {
        let line = format!("also:    {}", words.also());
        if let ListDecision::Also(place) = now {
            if is_printed {
                crate::say!("software GPU: {line}");
            }
            found.list.add_pair(place, &line, &finding.operations);
        }
        if let (ListDecision::Also(place), Some(list)) = (since, &mut found.since) {
            list.add_pair(place, &line, &finding.operations);
        }
    }
    if now != ListDecision::New && since != ListDecision::New {
        return;
    }
    let report = Report {
        kind: *kind,
        text: words.text(),
        count: 1,
        operations: finding.operations.clone(),
        also: Vec::new(),
    };
    if now == ListDecision::New {
        if is_printed {
            crate::say!("software GPU: {}", report.text);
        }
        found.list.push(key, mistake.clone(), report.clone());
    }
    if let (ListDecision::New, Some(list)) = (since, &mut found.since) {
        list.push(key, mistake, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(key: &str) {
        add(Kind::Race, key.to_owned(), vec![1, 2], || format!("{key}!"));
    }

    /// Tests of the one list take turns.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn findings_with_one_key_are_one_report() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (inner, outer) = collect(|| {
            find("a");
            let ((), inner) = collect(|| find("a"));
            find("a");
            find("b");
            inner
        });
        let counts = |reports: &[Report]| -> Vec<_> {
            reports
                .iter()
                .map(|report| (report.text.clone(), report.count))
                .collect()
        };
        assert_eq!(counts(&inner), [("a!".to_owned(), 1)]);
        assert_eq!(counts(&outer), [("a!".to_owned(), 2), ("b!".to_owned(), 1)]);
        assert_eq!(all(), []);
    }

    #[test]
    fn what_is_found_since_the_start_is_noted_even_if_it_is_not_new() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ((), outer) = collect(|| {
            find("a");
            start();
            find("a");
            collect(|| find("b"));
            find("a");
            let since = take();
            find("c");
            let found = |report: &Report| (report.text.clone(), report.count);
            let found: Vec<_> = since.iter().map(found).collect();
            assert_eq!(found, [("a!".to_owned(), 2), ("b!".to_owned(), 1)]);
            assert_eq!(since[0].operations, [1, 2]);
        });
        assert_eq!(outer[0].count, 3);
        assert_eq!(take(), []);
    }

    struct Plain(&'static str);

    impl Words for Plain {
        fn mistake(&self) -> String {
            self.0.to_owned()
        }
        fn text(&self) -> String {
            "race".to_owned()
        }
        fn also(&self) -> String {
            format!("the same edge orders {}", self.0)
        }
    }

    fn find_mistake(key: &str, mistake: &'static str, repaired_by: Option<&str>) {
        let finding = ReportedFinding {
            kind: Kind::Race,
            key: key.to_owned(),
            operations: Vec::new(),
            repaired_by: repaired_by.map(|key| (Kind::Race, key.to_owned())),
        };
        add_finding(finding, &Plain(mistake));
    }

    #[test]
    fn findings_with_one_cause_are_one_report_that_says_how_many() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ((), found) = collect(|| {
            for key in ["a", "b", "a", "b"] {
                find_mistake(key, "line 3", None);
            }
            find_mistake("c", "line 4", None);
        });
        let texts: Vec<_> = found.iter().map(Report::to_string).collect();
        assert_eq!(texts, ["race\n  found:   4 times", "race"]);
    }

    #[test]
    fn what_an_earlier_report_repairs_is_named_there_once() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ((), found) = collect(|| {
            find_mistake("a", "line 3", None);
            find_mistake("b", "line 4", Some("a"));
            find_mistake("b", "line 4", Some("a"));
            find_mistake("c", "line 4", Some("a"));
            find_mistake("b", "line 4", None);
            find_mistake("d", "line 5", Some("unknown"));
            find_mistake("a", "line 3", Some("d"));
        });
        let texts: Vec<_> = found.iter().map(Report::to_string).collect();
        let first = "race\n  also:    the same edge orders line 4\n  found:   2 times";
        assert_eq!(texts, [first, "race"]);
    }

    #[test]
    fn modes_are_read_by_name() {
        assert_eq!("fail".parse(), Ok(ReportMode::Fail));
        let error = "on".parse::<ReportMode>().expect_err("no mode");
        assert_eq!(
            error.to_string(),
            "`on` is not a mode of the checkers; the modes are off, report and fail"
        );
    }
}

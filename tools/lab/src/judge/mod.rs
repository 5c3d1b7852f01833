//! From an attempt to a verdict.

#[cfg(test)]
mod any_record;
mod checks;
mod priority;
mod structure;

use crate::attempt::{Attempt, LabDevice, LabRun};
use crate::catalogue::{Check, Criterion, Lab};
use crate::goal::{DeviceWork, Goal, counted};
use crate::process::Ended;
use chapter_results::intervals::Recording;
use chapter_results::lab::LabRecord;
use serde::{Deserialize, Serialize};

/// Whether a criterion is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "mark", content = "found")]
pub enum Mark {
    /// It is, with what was found.
    Met(String),
    /// It is not, with what was found instead.
    Missed(String),
    /// It cannot be met while another is not.
    Blocked(String),
    /// It does not count on this device.
    NotJudged(String),
}

impl Mark {
    /// Whether its points are given.
    pub fn is_met(&self) -> bool {
        matches!(self, Self::Met(_))
    }

    /// What was found.
    pub fn found(&self) -> &str {
        match self {
            Self::Met(found)
            | Self::Missed(found)
            | Self::Blocked(found)
            | Self::NotJudged(found) => found,
        }
    }
}

/// The outcome of one criterion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judged {
    /// The criterion.
    pub id: String,
    /// Its points here: none where it is not judged.
    pub of: u32,
    /// What was reached.
    pub points: u32,
    /// Why.
    #[serde(flatten)]
    pub mark: Mark,
    /// The hint if it is not met.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub teaches: String,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The lab.
    pub lab: String,
    /// By criterion.
    pub criteria: Vec<Judged>,
}

impl Verdict {
    /// Nothing was handed in, or nothing was done.
    pub fn of_nothing(lab: &Lab, why: &str) -> Self {
        let judged = |criterion: &Criterion| Judged {
            id: criterion.id.clone(),
            of: criterion.points,
            points: 0,
            mark: Mark::Blocked(why.to_owned()),
            teaches: String::new(),
        };
        Self {
            lab: lab.name.clone(),
            criteria: lab.criteria.iter().map(judged).collect(),
        }
    }

    /// Points reached.
    pub fn points(&self) -> u32 {
        self.criteria.iter().map(|judged| judged.points).sum()
    }

    /// Points that could be reached.
    pub fn of(&self) -> u32 {
        self.criteria.iter().map(|judged| judged.of).sum()
    }

    /// Whether all scored criteria are met.
    pub fn passed(&self) -> bool {
        self.points() == self.of()
    }

    /// The ids of the criteria that are missed by themselves.
    pub fn missed(&self) -> Vec<&str> {
        let missed = self
            .criteria
            .iter()
            .filter(|judged| matches!(judged.mark, Mark::Missed(_)));
        missed.map(|judged| judged.id.as_str()).collect()
    }
}

/// What a check looks at.
struct CheckedRun<'a> {
    lab: &'a Lab,
    device: LabDevice,
    goal: Option<&'a Goal>,
    run: &'a LabRun,
    record: &'a LabRecord,
    /// The operations that count.
    counted: &'a Recording,
}

impl CheckedRun<'_> {
    /// The record that times are taken from, which is that of the shortest run: whatever disturbs a run makes it longer, be it
    /// CUPTI, timing events, or the machine.
    fn timed(&self) -> &LabRecord {
        let time = |record: &&LabRecord| counted(self.lab, &record.recording).makespan();
        let all = [self.record].into_iter().chain(&self.run.without_cupti);
        all.min_by_key(time).unwrap_or(self.record)
    }
}

/// Judges an attempt.
pub fn judge(lab: &Lab, goal: Option<&Goal>, device: LabDevice, attempt: &Attempt) -> Verdict {
    let mark: Box<dyn Fn(&Criterion) -> Mark> = match attempt {
        Attempt::Refused(_) => Box::new(|criterion| match criterion.check {
            Check::Compiles => Mark::Missed("the compiler refuses the file".to_owned()),
            _ => Mark::Blocked("the file does not compile".to_owned()),
        }),
        Attempt::Lacks(what) => Box::new(|_| Mark::NotJudged(what.clone())),
        Attempt::Answered(answers) => Box::new(|criterion| checks::answer(lab, criterion, answers)),
        Attempt::Ran(run) => {
            // What a program has done until it failed is recorded too, and is no work that could be judged.
            let whole = |record: &&LabRecord| record.result.is_some() || ended_well(run);
            let record = run.record.as_ref().filter(whole);
            let counted = record.map(|record| counted(lab, &record.recording));
            Box::new(move |criterion| {
                let (Some(record), Some(counted)) = (record, &counted) else {
                    return without_record(criterion, run);
                };
                let case = CheckedRun {
                    lab,
                    device,
                    goal,
                    run,
                    record,
                    counted,
                };
                unearned(&case, criterion).unwrap_or_else(|| checks::mark(&case, criterion))
            })
        }
    };
    let mut marks: Vec<Mark> = lab.criteria.iter().map(mark).collect();
    block(lab, &mut marks);
    let judged = lab.criteria.iter().zip(marks).map(|(criterion, mark)| {
        let of = if matches!(mark, Mark::NotJudged(_)) {
            0
        } else {
            criterion.points
        };
        Judged {
            id: criterion.id.clone(),
            of,
            points: if mark.is_met() { of } else { 0 },
            teaches: match mark {
                Mark::Missed(_) => criterion.teaches.clone(),
                _ => String::new(),
            },
            mark,
        }
    });
    Verdict {
        lab: lab.name.clone(),
        criteria: judged.collect(),
    }
}

/// Why a criterion is not looked at: without a result, and with less work than the goal's, there is nothing to give points for but
/// that the program compiles. A result that did not come from the device is no result.
fn unearned(case: &CheckedRun, criterion: &Criterion) -> Option<Mark> {
    if case.record.result.is_none() {
        let is_said = matches!(criterion.check, Check::Compiles | Check::Right);
        return (!is_said).then(|| Mark::Blocked("nothing was handed in".to_owned()));
    }
    let goal = case.goal?;
    let (own, mut criteria) = (DeviceWork::of(case.record), case.lab.criteria.iter());
    // A lab that does not ask for the goal's kernels asks for some.
    let has_less = match criteria.any(|other| matches!(other.check, Check::EqualWork)) {
        true => own.is_less_than(&goal.work),
        false => own.launches.is_empty(),
    };
    let is_work = matches!(criterion.check, Check::Compiles | Check::EqualWork);
    let would_count = !is_work && checks::mark(case, criterion).is_met();
    (has_less && would_count)
        .then(|| Mark::Blocked("it counts once the device does all of the work".to_owned()))
}

/// The program ended before it could be recorded, or was ended.
fn without_record(criterion: &Criterion, run: &LabRun) -> Mark {
    match criterion.check {
        Check::Compiles => Mark::Met(String::new()),
        Check::Right => Mark::Missed(format!("the program {} and handed in nothing", run.ended)),
        _ => Mark::Blocked("nothing was handed in".to_owned()),
    }
}

/// What judges the timeline counts only for a right result of the goal's work. Where an order is missing, whatever the program saves
/// by it does not count: a race is never worth more than a slow program that is right.
fn block(lab: &Lab, marks: &mut [Mark]) {
    let holds = |is: fn(&Check) -> bool| {
        let mut of = lab.criteria.iter().zip(marks.iter());
        of.all(|(criterion, mark)| {
            !is(&criterion.check) || !matches!(mark, Mark::Missed(_) | Mark::Blocked(_))
        })
    };
    let right = holds(|check| matches!(check, Check::Right));
    let equal = holds(|check| matches!(check, Check::EqualWork));
    let ordered = holds(|check| matches!(check, Check::Unreported));
    for (criterion, mark) in lab.criteria.iter().zip(marks) {
        let (is_about_time, is_met) = (is_about_time(&criterion.check), mark.is_met());
        let is_order = matches!(criterion.check, Check::Unreported);
        let is_judged = is_met || matches!(mark, Mark::Missed(_));
        let reason = match (right, equal, ordered) {
            (false, ..) if is_about_time && is_judged => "it counts once the result is right",
            (_, false, _) if is_about_time && is_judged || is_order && is_met => {
                "it counts once the work is the goal's"
            }
            (.., false) if is_about_time && is_met => "it counts once no order is missing",
            _ => continue,
        };
        *mark = Mark::Blocked(reason.to_owned());
    }
}

fn is_about_time(check: &Check) -> bool {
    matches!(
        check,
        Check::Overlap { .. }
            | Check::Within { .. }
            | Check::CopiesReturnEarly { .. }
            | Check::Streams { .. }
            | Check::TimeOfKernel { .. }
            | Check::Calls { .. }
            | Check::HostWaits { .. }
            | Check::Allocations { .. }
            | Check::AllFreed
            | Check::EndsEarly { .. }
            | Check::Structure
            | Check::Kernels { .. }
    )
}

/// Whether the program ended as a program should that has handed in a right result.
fn ended_well(run: &LabRun) -> bool {
    run.ended == Ended::Exit(0)
}

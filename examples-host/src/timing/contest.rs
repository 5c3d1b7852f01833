//! Forms of one kernel, timed in several cases: a baseline, and what competes with it.
//!
//! What disturbs a kernel makes it longer: forms are compared by their least times.

use crate::check::{self, Checked};
use crate::compare::Workload;
use crate::expect::right;
use crate::identity::{self, CallCounts, Judged};
use crate::intervals::Engine;
use crate::label::Label;
use crate::part::Part;
use crate::recording::{record, traced};
use crate::results::Kind;
use crate::sweep::sweep;
use crate::table::Table;
use crate::units;
use anyhow::Context;
use std::time::Duration;

/// The kernel's least time of each form in each case.
#[derive(Clone, Debug)]
pub struct Contest<C, F> {
    forms: Vec<F>,
    /// By case, the time of each form.
    times: Vec<(C, Vec<Duration>)>,
}

impl<C: Copy + PartialEq, F: Copy + PartialEq> Contest<C, F> {
    /// The cases.
    pub fn cases(&self) -> impl Iterator<Item = C> {
        self.times.iter().map(|(case, _)| *case)
    }

    /// The time of a form, if it was timed.
    pub fn time(&self, case: C, form: F) -> Option<Duration> {
        let (_, times) = self.times.iter().find(|(of, _)| *of == case)?;
        let place = self.forms.iter().position(|of| *of == form)?;
        times.get(place).copied()
    }

    /// Every time that was taken, with its case.
    pub fn all(&self) -> impl Iterator<Item = (C, Duration)> {
        let of = |(case, times): &(C, Vec<Duration>)| {
            let case = *case;
            times.clone().into_iter().map(move |time| (case, time))
        };
        self.times.iter().flat_map(of)
    }

    /// The fastest of those that compete with the first form, and its time.
    ///
    /// # Errors
    /// The case was not timed, or nothing competes.
    pub fn fastest(&self, case: C) -> anyhow::Result<(F, Duration)> {
        let others = self.forms.iter().skip(1);
        let timed = others.filter_map(|&form| Some((form, self.time(case, form)?)));
        let fastest = timed.min_by_key(|(_, time)| *time);
        fastest.context("a case that was not timed")
    }

    /// How much faster than the first form the fastest of the others is.
    ///
    /// # Errors
    /// As [`Contest::fastest`].
    pub fn gain(&self, case: C) -> anyhow::Result<f64> {
        let (_, fastest) = self.fastest(case)?;
        Ok(self.first(case)?.as_secs_f64() / fastest.as_secs_f64())
    }

    /// The first form's time.
    fn first(&self, case: C) -> anyhow::Result<Duration> {
        let first = self.forms.first().and_then(|&form| self.time(case, form));
        first.context("a case that was not timed")
    }

    /// The first form's best time in these cases, and that of the others.
    fn best(&self, cases: impl Fn(C) -> bool) -> anyhow::Result<[Duration; 2]> {
        let of = || self.cases().filter(|&case| cases(case));
        let own: anyhow::Result<Vec<_>> = of().map(|case| self.first(case)).collect();
        let others: anyhow::Result<Vec<_>> = of().map(|case| Ok(self.fastest(case)?.1)).collect();
        let best = own?.into_iter().min().zip(others?.into_iter().min());
        best.map(|(own, others)| [own, others]).context("no case")
    }
}

impl Part<'_> {
    /// Times the kernel that `launch` enqueues for each form in each case, and checks what it leaves. `id` is the claim
    /// that every element is right, `case_label` and `form_label` are the groups and variants of the times.
    ///
    /// # Errors
    /// What `work` or `launch` returns, or the driver.
    pub fn contest<W: Workload, C: Copy, F: Copy>(
        &mut self,
        id: &str,
        work: &mut W,
        (cases, case_label): (&[C], impl Fn(C) -> Label),
        (forms, form_label): (&[F], impl Fn(F) -> Label),
        launch: impl Fn(&mut W, C, F) -> anyhow::Result<()>,
    ) -> anyhow::Result<Contest<C, F>> {
        let device = self.device().clone();
        let every = |&case: &C| forms.iter().map(move |&form| (case, form));
        let points: Vec<(C, F)> = cases.iter().flat_map(every).collect();
        let (mut checked, mut shapes) = (Ok(Checked::default()), Vec::new());
        let times = sweep(self, 5, &points, |&(case, form), check| {
            work.poison()?;
            let mut trace = None;
            let recording = record(&device, || {
                let (done, calls) = traced(|| launch(work, case, form));
                trace = calls;
                done
            })?;
            if check {
                check::add(&mut checked, work.check())?;
            }
            // With --validate every round is checked: the calls of one are enough.
            if check && shapes.len() < points.len() {
                shapes.extend(
                    trace.map(|trace| (form_label(form), CallCounts::of(&trace, &recording))),
                );
            }
            anyhow::Ok([recording.busy(Engine::Kernel)])
        })?;
        let of_cases = shapes.chunks(forms.len().max(1));
        let same = of_cases.map(|of_case| {
            let judged: Vec<Judged> = of_case.iter().map(Judged::by_calls).collect();
            identity::broken(None, &judged)
        });
        if let Some(broken) = same.into_iter().find(|broken| !broken.is_empty()) {
            self.claim_broken("forms", broken);
        }
        let sentence = "every element is right in every form";
        self.expect(id, sentence, right(&checked, "elements"));
        for ((case, form), [times]) in points.iter().zip(&times) {
            self.timed(case_label(*case), form_label(*form), Kind::Makespan, times);
        }
        let least: Vec<Duration> = times.iter().map(|[times]| times.min()).collect();
        let of_cases = least.chunks(forms.len().max(1)).map(<[_]>::to_vec);
        let times = cases.iter().copied().zip(of_cases).collect();
        let forms = forms.to_vec();
        Some(Contest { forms, times })
            .filter(|contest| !contest.forms.is_empty())
            .context("no form to time")
    }

    /// Prints what the fastest of the competing forms gains in one case, and beside it what the best of them gains over the
    /// best time of the first form, each in whichever of `cases` suits it. Returns both.
    ///
    /// # Errors
    /// A case that was not timed.
    pub fn show_best<C: Copy + PartialEq, F: Copy + PartialEq>(
        &mut self,
        contest: &Contest<C, F>,
        (headline, sentence): (C, &str),
        cases: impl Fn(C) -> bool,
    ) -> anyhow::Result<[f64; 2]> {
        let (gain, [own, others]) = (contest.gain(headline)?, contest.best(cases)?);
        let fair = own.as_secs_f64() / others.as_secs_f64();
        self.say(format!(
            "{sentence}: {}. Best against best: {} / {} = {}.",
            units::ratio(gain),
            units::time(own),
            units::time(others),
            units::ratio(fair),
        ));
        Ok([gain, fair])
    }

    /// Prints the times of all cases, each beside its bound: what titles a case has, the titles of all forms that there
    /// might be, and for each case its cells and its bound.
    pub fn show_contest<C: Copy + PartialEq, F: Copy + PartialEq, const N: usize>(
        &mut self,
        contest: &Contest<C, F>,
        case_titles: [&str; N],
        forms: impl IntoIterator<Item = (&'static str, F)>,
        bounded: impl Fn(C) -> ([String; N], Duration),
    ) {
        let (titles, forms): (Vec<&str>, Vec<F>) = forms.into_iter().unzip();
        let figures = titles.into_iter().chain(["gain", "of the bound"]);
        let mut table = Table::of(case_titles.into_iter().chain(["bound"]).chain(figures));
        for case in contest.cases() {
            let (cells, bound) = bounded(case);
            let time = |&form: &F| {
                let time = contest.time(case, form);
                time.map_or_else(|| "-".to_owned(), units::time)
            };
            let reached = |(_, time): (F, Duration)| bound.as_secs_f64() / time.as_secs_f64();
            let gain = contest.gain(case).map(units::ratio);
            let reached = contest.fastest(case).map(reached).map(units::percent);
            let figures = [gain, reached].map(|figure| figure.unwrap_or_else(|_| "-".to_owned()));
            let times = forms.iter().map(time);
            table.row(
                cells
                    .into_iter()
                    .chain([units::time(bound)])
                    .chain(times)
                    .chain(figures),
            );
        }
        self.say(table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_forms_of_each_case_are_compared() {
        let us = |times: [u64; 3]| times.map(Duration::from_micros).to_vec();
        let contest = Contest {
            forms: vec!["plain", "a", "b"],
            times: vec![(1, us([40, 25, 20])), (4, us([22, 30, 24]))],
        };
        assert_eq!(contest.gain(1).ok(), Some(2.0));
        let fastest = ("b", Duration::from_micros(24));
        assert_eq!(contest.fastest(4).ok(), Some(fastest));
        let best = [22, 20].map(Duration::from_micros);
        assert_eq!(contest.best(|_| true).ok(), Some(best));
        assert!(contest.best(|case| case > 4).is_err());
        assert!(contest.gain(2).is_err());
        assert_eq!(contest.time(1, "c"), None);
    }
}

//! Serving requests one after the other, and what each of them waits.

use crate::call_times::{self, CallTimes};
use crate::check::{self, Checked};
use crate::compare::Workload;
use crate::expect::{right, truth};
use crate::host_clock;
use crate::identity::{self, CallCounts, Differ, Judged};
use crate::label::Label;
use crate::latency::cells;
use crate::part::Part;
use crate::plan::{EqualWork, Plan};
use crate::recording::{is_free, record, traced};
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::tally;
use crate::units;
use anyhow::Context;
use std::time::Duration;

/// Work that comes in requests.
pub trait Requests: Workload {
    /// The parameter that distinguishes the requests, in their order: for example, a length.
    fn requests(&self) -> Vec<String>;
}

/// One way to serve a request.
pub struct Server<'v, S> {
    label: Label,
    waits: usize,
    body: RequestFunction<'v, S>,
}

type RequestFunction<'v, S> = Box<dyn FnMut(&mut S, usize) -> anyhow::Result<()> + 'v>;

/// A way to serve a request: its label, and what serves the request with this number to its end.
pub fn server<'v, S>(
    label: impl Into<Label>,
    body: impl FnMut(&mut S, usize) -> anyhow::Result<()> + 'v,
) -> Server<'v, S> {
    Server {
        label: label.into(),
        waits: 0,
        body: Box::new(body),
    }
}

impl<S> Server<'_, S> {
    /// All requests together make the host wait for the device so often.
    #[must_use]
    pub fn waits(mut self, waits: usize) -> Self {
        self.waits = waits;
        self
    }
}

/// What ways to serve requests differ in: where their memory comes from, and how often the host waits.
const DIFFER: [Differ; 2] = [Differ::Calls, Differ::Waits];

/// What the requests took, served in one of the ways.
#[derive(Clone, Debug)]
pub struct Served {
    /// The median of each request, in their order. One slow call does not move it.
    pub medians: Vec<Duration>,
    /// All of all requests.
    pub latencies: Durations,
    /// The share of them that was spent in the allocator's calls.
    pub in_calls: f64,
}

impl Served {
    /// The medians of all requests together.
    pub fn total(&self) -> Duration {
        self.medians.iter().sum()
    }

    /// The median of the slowest request.
    pub fn slowest(&self) -> Duration {
        self.medians.iter().max().copied().unwrap_or_default()
    }
}

impl Part<'_> {
    /// Serves all requests in each of the ways, in turn, and prints what each request took, named by `title`, and the
    /// distributions. Claims that all do the planned work, that every element is right, and that they differ in the allocator's calls alone. The last round is recorded and
    /// not timed, unless recording changes nothing.
    ///
    /// # Errors
    /// What the work or a way of serving it returns, or the driver.
    pub fn serve<S: Requests, const N: usize>(
        &mut self,
        group: &'static str,
        title: &str,
        plan: Plan,
        work: &mut S,
        mut servers: [Server<'_, S>; N],
    ) -> anyhow::Result<[Served; N]> {
        let requests = work.requests();
        let (mut equal, mut checked) = (EqualWork::new(plan), Ok(Checked::default()));
        let mut found = [const { Times::new() }; N];
        let mut shapes = Vec::new();
        let first = self.warm_up();
        let timed = first..first + self.iterations(25);
        let extra = usize::from(!is_free(self.device()));
        let last = timed.end + extra - 1;
        for round in 0..=last {
            for (server, found) in servers.iter_mut().zip(&mut found) {
                work.poison()?;
                let mut times = Times::new();
                let (label, before) = (server.label.clone(), tally::enqueued());
                let mut serve_all = || {
                    for request in 0..requests.len() {
                        times.add(|| (server.body)(work, request))?;
                    }
                    anyhow::Ok(())
                };
                if round == last {
                    let mut trace = None;
                    let recording = record(self.device(), || {
                        let (done, calls) = traced(serve_all);
                        trace = calls;
                        done
                    })?;
                    shapes.extend(trace.map(|trace| CallCounts::of(&trace, &recording)));
                    self.keep(&label, &recording);
                } else {
                    serve_all()?;
                }
                equal.add(&label.text, tally::enqueued() - before);
                if timed.contains(&round) {
                    found.append(times);
                }
                if round == last || self.options().validate {
                    check::add(&mut checked, work.check())?;
                }
            }
        }
        let sentence = "all variants do the same work";
        let equal = truth(equal.holds(), &equal, "as planned");
        self.expect("equal-work", sentence, equal);
        let sentence = "every element is right with each of them";
        self.expect("elements", sentence, right(&checked, "elements"));

        let judged = servers.iter().zip(&shapes).map(|(server, shape)| Judged {
            name: &server.label,
            required: Vec::new(),
            also: &[],
            waits: server.waits,
            shape,
        });
        let judged: Vec<Judged> = judged.collect();
        self.claim_broken(group, identity::broken(Some(&DIFFER), &judged));
        let labels = servers.map(|server| server.label);
        let served: Option<Vec<Served>> = found
            .into_iter()
            .map(|times| times.served(&requests))
            .collect();
        let served = served.and_then(|served| <[Served; N]>::try_from(served).ok());
        let served = served.context("a request was not timed")?;
        for (label, served) in labels.iter().zip(&served) {
            self.timed(group, label, Kind::Other, &served.latencies);
        }
        self.say_requests(title, &requests, &labels, &served);
        Ok(served)
    }

    fn say_requests(
        &mut self,
        title: &str,
        requests: &[String],
        labels: &[Label],
        served: &[Served],
    ) {
        let mut table = Table::of(
            [title]
                .into_iter()
                .chain(labels.iter().map(|label| label.text.as_str())),
        );
        for (index, request) in requests.iter().enumerate() {
            let medians = served
                .iter()
                .map(|served| units::time(served.medians[index]));
            table.row([request.clone()].into_iter().chain(medians));
        }
        let times = self.device().times();
        self.say(format!("Median of each, {times}:\n{table}"));
        let mut table = Table::new(["latency", "p50", "p99", "max", "in the allocator's calls"]);
        for (label, served) in labels.iter().zip(served) {
            let name = [label.text.clone()].into_iter();
            let share = units::percent(served.in_calls);
            table.row(name.chain(cells(&served.latencies)).chain([share]));
        }
        self.say(table);
    }
}

/// Each request served, with the number of the request, and the allocator's calls in all of them.
struct Times {
    requests: Vec<Duration>,
    calls: Duration,
}

impl Times {
    const fn new() -> Self {
        Self {
            requests: Vec::new(),
            calls: Duration::ZERO,
        }
    }

    /// Times one request.
    fn add(&mut self, serve: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let begin = host_clock::now();
        let ((), calls): ((), CallTimes) = call_times::timed(serve)?;
        self.requests.push(host_clock::now() - begin);
        self.calls += calls.total();
        Ok(())
    }

    fn append(&mut self, mut more: Self) {
        self.requests.append(&mut more.requests);
        self.calls += more.calls;
    }

    /// For several rounds of these requests.
    fn served(self, requests: &[String]) -> Option<Served> {
        let of = |request: usize| {
            let times = self.requests.iter().skip(request).step_by(requests.len());
            Some(Durations::new(times.copied().collect())?.median())
        };
        let whole: Duration = self.requests.iter().sum();
        Some(Served {
            medians: (0..requests.len()).map(of).collect::<Option<_>>()?,
            in_calls: self.calls.as_secs_f64() / whole.as_secs_f64(),
            latencies: Durations::new(self.requests)?,
        })
    }
}

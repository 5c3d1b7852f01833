//! Recordings that are shown together: those of the same part and variant in one file, or in two.

use crate::analysis::facts::Facts;
use chapter_results::Results;
use chapter_results::device::TimeSource;
use chapter_results::intervals::Recording;
use chapter_results::part::{Kind, PartResults};

/// A file's timelines.
#[derive(Clone, Debug)]
pub struct FileTimelines<'a> {
    /// Where the times come from.
    pub times: TimeSource,
    /// On what it ran.
    pub device: String,
    /// What ran when.
    pub timelines: Vec<VariantTimeline<'a>>,
}

/// One timeline of a file.
#[derive(Clone, Copy, Debug)]
pub struct VariantTimeline<'a> {
    /// The part.
    pub part: &'a str,
    /// The question that it answers; may be empty.
    pub question: &'a str,
    /// The variant's identifier.
    pub id: &'a str,
    /// The variant.
    pub variant: &'a str,
    /// The shortest time in microseconds that any schedule could take, if it is known.
    pub bound_us: Option<f64>,
    /// What ran when.
    pub recording: &'a Recording,
    /// What else is known of it, if that is more than it says itself.
    pub facts: Option<&'a Facts>,
}

/// A recording and where it is from.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// Such as `modelled, NVIDIA H200`.
    pub label: String,
    /// The shortest time in microseconds that any schedule could take, if it is known.
    pub bound_us: Option<f64>,
    /// What ran when.
    pub recording: &'a Recording,
    /// What else is known of it, if that is more than it says itself.
    pub facts: Option<&'a Facts>,
}

/// The actions of one variant of a part.
#[derive(Clone, Debug)]
pub struct VariantFigure<'a> {
    /// The part.
    pub part: &'a str,
    /// The question that it answers; may be empty.
    pub question: &'a str,
    /// What programs know the variant by, and how many of the same id came before in its part.
    pub id: (&'a str, usize),
    /// The variant; of those that have the same id in a part, the second is `NAME (2)`.
    pub variant: String,
    /// Its recordings: predictions before measurements.
    pub drawn: Vec<Drawn<'a>>,
}

impl<'a> FileTimelines<'a> {
    /// The timelines of an example's results.
    pub fn of(results: &'a Results) -> Self {
        let parts = results.parts.iter();
        let timelines = parts.flat_map(|part| {
            part.timelines.iter().map(|timeline| VariantTimeline {
                part: &part.name,
                question: &part.question,
                id: &timeline.variant.id,
                variant: &timeline.variant.text,
                bound_us: bound_us(part, &timeline.variant.id),
                recording: &timeline.recording,
                facts: None,
            })
        });
        Self {
            times: results.times,
            device: results.device.name.clone(),
            timelines: timelines.collect(),
        }
    }
}

/// The shortest time in microseconds that the variant of this id could take: the last bound that the part names for the group in
/// which the variant was timed.
pub fn bound_us(part: &PartResults, variant: &str) -> Option<f64> {
    let mut timed = part.timed.iter();
    let timed = timed.find(|timed| timed.kind == Kind::Makespan && timed.variant.id == variant)?;
    let mut bounds = part.bounds.iter();
    let bound = bounds.rfind(|bound| bound.group == timed.group.id)?;
    Some(bound.us)
}

/// The figures of one or more files, in the files' order. A model's timelines come before those that were measured.
pub fn figures<'a>(files: &[FileTimelines<'a>]) -> Vec<VariantFigure<'a>> {
    let mut files: Vec<&FileTimelines<'a>> = files.iter().collect();
    files.sort_by_key(|source| source.times != TimeSource::Modelled);
    let mut figures: Vec<VariantFigure<'a>> = Vec::new();
    for source in files {
        for (i, timeline) in source.timelines.iter().enumerate() {
            let same = |other: &&VariantTimeline<'_>| {
                (other.part, other.id) == (timeline.part, timeline.id)
            };
            let before = source.timelines[..i].iter().filter(same).count();
            let variant = match before {
                0 => timeline.variant.to_owned(),
                before => format!("{} ({})", timeline.variant, before + 1),
            };
            let drawn = Drawn {
                label: format!("{}, {}", source.times, source.device),
                bound_us: timeline.bound_us,
                recording: timeline.recording,
                facts: timeline.facts,
            };
            let id = (timeline.id, before);
            let same = |f: &&mut VariantFigure<'_>| (f.part, f.id) == (timeline.part, id);
            match figures.iter_mut().find(same) {
                Some(figure) => figure.drawn.push(drawn),
                None => figures.push(VariantFigure {
                    part: timeline.part,
                    question: timeline.question,
                    id,
                    variant,
                    drawn: vec![drawn],
                }),
            }
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{results, three_way};
    use chapter_results::part::{Bound, Timed};

    fn shown(files: &[&Results]) -> Vec<(String, Vec<String>)> {
        let sources: Vec<FileTimelines<'_>> = files
            .iter()
            .map(|results| FileTimelines::of(results))
            .collect();
        let figures = figures(&sources).into_iter();
        figures
            .map(|f| (f.variant, f.drawn.into_iter().map(|d| d.label).collect()))
            .collect()
    }

    #[test]
    fn the_same_variant_of_two_files_is_one_figure_with_the_prediction_first() {
        let timelines = vec![("one stream", three_way()), ("no prediction", three_way())];
        let measured = results(TimeSource::Measured, timelines);
        let modelled = results(TimeSource::Modelled, vec![("one stream", three_way())]);
        let [model, machine] =
            ["modelled, NVIDIA H200", "measured, NVIDIA H200"].map(str::to_owned);
        assert_eq!(
            shown(&[&measured, &modelled]),
            [
                ("one stream".to_owned(), vec![model, machine.clone()]),
                ("no prediction".to_owned(), vec![machine]),
            ]
        );
    }

    #[test]
    fn the_bound_is_the_last_of_the_variants_group() {
        let mut results = results(TimeSource::Measured, vec![("one stream", three_way())]);
        let part = &mut results.parts[0];
        assert_eq!(bound_us(part, "one-stream"), None);
        let timed = |variant: &'static str, group: &'static str, kind| Timed {
            group: group.into(),
            variant: variant.into(),
            kind,
            samples_us: vec![1.0],
            unclaimed: false,
        };
        part.timed = vec![
            timed("one-stream", "copies", Kind::Copy),
            timed("one-stream", "all", Kind::Makespan),
            timed("alone", "unbounded", Kind::Makespan),
        ];
        let bound = |group: &str, us| Bound {
            group: group.into(),
            label: "duplex".into(),
            us,
        };
        part.bounds = vec![bound("all", 90.0), bound("all", 60.0), bound("copies", 5.0)];
        assert_eq!(bound_us(part, "one-stream"), Some(60.0));
        assert_eq!(bound_us(part, "alone"), None);
        assert_eq!(
            figures(&[FileTimelines::of(&results)])[0].drawn[0].bound_us,
            Some(60.0)
        );
    }

    #[test]
    fn variants_of_one_name_are_distinguished() {
        let timelines = || vec![("depth-first", three_way()), ("depth-first", three_way())];
        let a = results(TimeSource::Modelled, timelines());
        let b = results(TimeSource::Measured, timelines());
        let shown = shown(&[&a, &b]);
        let names: Vec<_> = shown
            .iter()
            .map(|(name, drawn)| (name.as_str(), drawn.len()))
            .collect();
        assert_eq!(names, [("depth-first", 2), ("depth-first (2)", 2)]);
    }
}

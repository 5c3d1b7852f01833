//! Which recordings are shown together: those of the same part and variant in one file, or in two.

use chapter_results::Results;
use chapter_results::device::TimeSource;
use chapter_results::intervals::Recording;

/// A file's timelines.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// Where the times come from.
    pub times: TimeSource,
    /// On what it ran.
    pub device: String,
    /// What ran when.
    pub timelines: Vec<Timeline<'a>>,
}

/// One timeline of a file.
#[derive(Clone, Copy, Debug)]
pub struct Timeline<'a> {
    /// The part.
    pub part: &'a str,
    /// The question that it answers; may be empty.
    pub question: &'a str,
    /// What programs know the variant by.
    pub id: &'a str,
    /// The variant.
    pub variant: &'a str,
    /// What ran when.
    pub recording: &'a Recording,
}

/// A recording and where it is from.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// Such as `modelled, NVIDIA H200`.
    pub label: String,
    /// What ran when.
    pub recording: &'a Recording,
}

/// What one variant of a part did.
#[derive(Clone, Debug)]
pub struct Figure<'a> {
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

impl<'a> Source<'a> {
    /// The timelines of an example's results.
    pub fn of(results: &'a Results) -> Self {
        let parts = results.parts.iter();
        let timelines = parts.flat_map(|part| {
            part.timelines.iter().map(|timeline| Timeline {
                part: &part.name,
                question: &part.question,
                id: &timeline.variant.id,
                variant: &timeline.variant.text,
                recording: &timeline.recording,
            })
        });
        Self {
            times: results.times,
            device: results.device.name.clone(),
            timelines: timelines.collect(),
        }
    }
}

/// The figures of one or more files, in the files' order. A model's timelines come before those that were measured.
pub fn figures<'a>(files: &[Source<'a>]) -> Vec<Figure<'a>> {
    let mut files: Vec<&Source<'a>> = files.iter().collect();
    files.sort_by_key(|source| source.times != TimeSource::Modelled);
    let mut figures: Vec<Figure<'a>> = Vec::new();
    for source in files {
        for (i, timeline) in source.timelines.iter().enumerate() {
            let same =
                |other: &&Timeline<'_>| (other.part, other.id) == (timeline.part, timeline.id);
            let before = source.timelines[..i].iter().filter(same).count();
            let variant = match before {
                0 => timeline.variant.to_owned(),
                before => format!("{} ({})", timeline.variant, before + 1),
            };
            let drawn = Drawn {
                label: format!("{}, {}", source.times, source.device),
                recording: timeline.recording,
            };
            let id = (timeline.id, before);
            let same = |f: &&mut Figure<'_>| (f.part, f.id) == (timeline.part, id);
            match figures.iter_mut().find(same) {
                Some(figure) => figure.drawn.push(drawn),
                None => figures.push(Figure {
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

    fn shown(files: &[&Results]) -> Vec<(String, Vec<String>)> {
        let sources: Vec<Source<'_>> = files.iter().map(|results| Source::of(results)).collect();
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
    fn variants_of_one_name_are_told_apart() {
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

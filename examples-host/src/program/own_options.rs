//! Which of the command line's options concern which part. Asking a part for another option is bad usage rather than
//! silence.

use crate::options::Options;
use crate::part_info::PartInfo;
use crate::part_option::PartOption;
use chapter_terminal::UsageError;

impl PartOption {
    /// Whether the command line has it.
    pub(crate) fn is_given(self, options: &Options) -> bool {
        match self {
            Self::Iterations => options.iterations.is_some(),
            Self::Size => options.size.is_some(),
            Self::Chunks => options.chunks.is_some(),
            Self::Streams => options.streams.is_some(),
            Self::Rounds => options.rounds.is_some(),
        }
    }
}

impl PartInfo {
    /// The options without those that the part does not use.
    pub(crate) fn own(&self, options: &Options) -> Options {
        Options {
            iterations: options
                .iterations
                .filter(|_| self.uses(PartOption::Iterations)),
            size: options.size.filter(|_| self.uses(PartOption::Size)),
            chunks: options.chunks.filter(|_| self.uses(PartOption::Chunks)),
            streams: options.streams.filter(|_| self.uses(PartOption::Streams)),
            rounds: options.rounds.filter(|_| self.uses(PartOption::Rounds)),
            ..options.clone()
        }
    }
}

/// Refuses an option that a part named by `--part` does not use or, where all parts run, that none of them uses.
pub(crate) fn refuse_unused(options: &Options, parts: &[PartInfo]) -> Result<(), UsageError> {
    for option in PartOption::ALL {
        if !option.is_given(options) {
            continue;
        }
        let (users, others): (Vec<&PartInfo>, _) = parts.iter().partition(|part| part.uses(option));
        let named = |part: &&PartInfo| options.parts.iter().any(|name| name == part.name);
        let who = match others.into_iter().find(named) {
            Some(part) => format!("part {} does", part.name),
            None if users.is_empty() => "the parts of this example do".to_owned(),
            None => continue,
        };
        let users: Vec<&str> = users.iter().map(|part| part.name).collect();
        let advice = match users[..] {
            [] => "leave it out".to_owned(),
            _ => format!("leave it out, or choose from: {}", users.join(", ")),
        };
        return Err(UsageError(format!("{option}: {who} not use it; {advice}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::ByteSize;
    use std::num::NonZeroUsize;

    const KERNELS: PartInfo = PartInfo {
        name: "kernels",
        question: "Do small kernels overlap?",
        uses: &[PartOption::Iterations],
        needs: &[],
    };
    const THREE_WAY: PartInfo = PartInfo {
        name: "three-way",
        question: "How near to the bound?",
        uses: &[PartOption::Iterations, PartOption::Chunks],
        needs: &[],
    };

    fn refused(asked: &[&str], options: Options) -> Option<String> {
        let parts = asked.iter().map(|&name| name.to_owned()).collect();
        let options = Options { parts, ..options };
        let refused = refuse_unused(&options, &[KERNELS, THREE_WAY]);
        refused.err().map(|UsageError(text)| text)
    }

    fn chunks() -> Options {
        Options {
            chunks: NonZeroUsize::new(8),
            ..Options::default()
        }
    }

    #[test]
    fn a_part_that_is_asked_for_must_use_the_option() {
        let both = refused(&["three-way", "kernels"], chunks());
        assert_eq!(
            both.as_deref(),
            Some("--chunks: part kernels does not use it; leave it out, or choose from: three-way")
        );
        assert_eq!(refused(&["three-way"], chunks()), None);
    }

    #[test]
    fn of_all_parts_one_must_use_the_option() {
        assert_eq!(refused(&[], chunks()), None);
        let options = Options {
            rounds: Some(7),
            ..Options::default()
        };
        assert_eq!(
            refused(&[], options).as_deref(),
            Some("--rounds: the parts of this example do not use it; leave it out")
        );
    }

    #[test]
    fn each_option_is_looked_at_and_a_part_sees_only_its_own() {
        let all = Options {
            iterations: Some(3),
            size: Some(ByteSize::mib(1)),
            chunks: NonZeroUsize::new(8),
            streams: NonZeroUsize::new(2),
            rounds: Some(7),
            validate: true,
            ..Options::default()
        };
        assert!(PartOption::ALL.iter().all(|option| option.is_given(&all)));
        let own = THREE_WAY.own(&all);
        let kept = PartOption::ALL.map(|option| option.is_given(&own));
        assert_eq!(kept, PartOption::ALL.map(|option| THREE_WAY.uses(option)));
        assert!(own.validate);
    }
}

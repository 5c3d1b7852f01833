//! Which process of how many this is: what launchers say in the environment.
//!
//! | | `torchrun`, `mpirun` scripts and others | Slurm's `srun` |
//! |---|---|---|
//! | this process | `RANK` | `SLURM_PROCID` |
//! | how many there are | `WORLD_SIZE` | `SLURM_STEP_NUM_TASKS`, else `SLURM_NTASKS` |
//! | its number on this host | `LOCAL_RANK` | `SLURM_LOCALID` |
//! | where rank 0 listens | `MASTER_ADDR`, `MASTER_PORT` | the first of `SLURM_STEP_NODELIST`, a port by `SLURM_JOB_ID` |
//!
//! `RENDEZVOUS_TIMEOUT` is how long the processes wait for each other, in seconds: 60 unless it is set.

use std::env;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// A process among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLaunch {
    /// Its number.
    pub rank: usize,
    /// How many there are.
    pub world: usize,
    /// Its number among those of this host.
    pub local_rank: usize,
    /// The host of rank 0.
    pub master: String,
    /// The port on which rank 0 listens.
    pub port: u16,
    /// How long the processes wait for each other.
    pub timeout: Duration,
}

/// The variables make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LaunchError(String);

impl ProcessLaunch {
    /// What the environment says; `None` where no launcher has started the process.
    ///
    /// # Errors
    /// A variable is missing or makes no sense.
    pub fn from_environment() -> Result<Option<Self>, LaunchError> {
        Self::from_variables(&|name| env::var(name).ok())
    }

    fn from_variables(get: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, LaunchError> {
        let launch = match (get("RANK"), get("SLURM_PROCID")) {
            (Some(_), _) => Self::by_rank(get)?,
            // In a batch script without srun there is a rank and no step.
            (None, Some(_)) if get("SLURM_STEP_NUM_TASKS").is_some() => Self::by_slurm(get)?,
            _ => return Ok(None),
        };
        if launch.rank >= launch.world {
            let Self { rank, world, .. } = launch;
            return Err(LaunchError(format!(
                "rank {rank} of {world} processes: ranks are numbered from 0"
            )));
        }
        Ok(Some(launch))
    }

    fn by_rank(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, LaunchError> {
        let rank = number(get, "RANK")?;
        Ok(Self {
            rank,
            world: number(get, "WORLD_SIZE")?,
            local_rank: or(get, "LOCAL_RANK", rank)?,
            master: get("MASTER_ADDR").unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: or(get, "MASTER_PORT", 29_500)?,
            timeout: timeout(get)?,
        })
    }

    fn by_slurm(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, LaunchError> {
        let nodes = get("SLURM_STEP_NODELIST").or_else(|| get("SLURM_NODELIST"));
        let job: u64 = or(get, "SLURM_JOB_ID", 0)?;
        Ok(Self {
            rank: number(get, "SLURM_PROCID")?,
            world: number(get, "SLURM_STEP_NUM_TASKS")?,
            local_rank: number(get, "SLURM_LOCALID")?,
            master: match (get("MASTER_ADDR"), nodes) {
                (Some(master), _) => master,
                (None, Some(nodes)) => first_node(&nodes),
                (None, None) => return Err(missing("SLURM_STEP_NODELIST")),
            },
            port: or(get, "MASTER_PORT", 20_000 + (job % 10_000) as u16)?,
            timeout: timeout(get)?,
        })
    }
}

fn missing(name: &str) -> LaunchError {
    LaunchError(format!("{name} is not set: a launcher that starts several processes says it"))
}

fn number<T: FromStr<Err: Display>>(
    get: &dyn Fn(&str) -> Option<String>,
    name: &str,
) -> Result<T, LaunchError> {
    let text = get(name).ok_or_else(|| missing(name))?;
    text.trim().parse().map_err(|error| LaunchError(format!("{name} is `{text}`: {error}")))
}

fn or<T: FromStr<Err: Display>>(
    get: &dyn Fn(&str) -> Option<String>,
    name: &str,
    default: T,
) -> Result<T, LaunchError> {
    match get(name) {
        Some(_) => number(get, name),
        None => Ok(default),
    }
}

fn timeout(get: &dyn Fn(&str) -> Option<String>) -> Result<Duration, LaunchError> {
    Ok(Duration::from_secs(or::<u32>(get, "RENDEZVOUS_TIMEOUT", 60)?.max(1).into()))
}

/// The first host of a list as Slurm writes it: `a` of `a,b`, `node07` of `node[07-12,20],other`.
fn first_node(list: &str) -> String {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (name, rest) = list.split_at(end);
    match rest.strip_prefix('[') {
        Some(numbers) => {
            let end = numbers.find([',', '-', ']']).unwrap_or(numbers.len());
            format!("{name}{}", &numbers[..end])
        }
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Result<Option<ProcessLaunch>, LaunchError> {
        let get = |name: &str| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        };
        ProcessLaunch::from_variables(&get)
    }

    #[test]
    fn without_a_launcher_there_is_one_process() {
        assert_eq!(launch(&[]), Ok(None));
        assert_eq!(launch(&[("WORLD_SIZE", "2")]), Ok(None));
        assert_eq!(launch(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), Ok(None));
    }

    #[test]
    fn the_usual_variables() {
        let all = [
            ("RANK", "3"),
            ("WORLD_SIZE", "4"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "a"),
            ("MASTER_PORT", "1234"),
            ("RENDEZVOUS_TIMEOUT", "5"),
        ];
        let expected = ProcessLaunch {
            rank: 3,
            world: 4,
            local_rank: 1,
            master: "a".into(),
            port: 1234,
            timeout: Duration::from_secs(5),
        };
        assert_eq!(launch(&all), Ok(Some(expected)));
    }

    #[test]
    fn slurms_variables() {
        let all = [
            ("SLURM_PROCID", "9"),
            ("SLURM_STEP_NUM_TASKS", "16"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_STEP_NODELIST", "node[07-08]"),
            ("SLURM_JOB_ID", "1234567"),
        ];
        let expected = ProcessLaunch {
            rank: 9,
            world: 16,
            local_rank: 1,
            master: "node07".into(),
            port: 24_567,
            timeout: Duration::from_secs(60),
        };
        assert_eq!(launch(&all), Ok(Some(expected)));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let refused = |variables: &[(&str, &str)]| launch(variables).unwrap_err().to_string();
        assert!(refused(&[("RANK", "0")]).starts_with("WORLD_SIZE is not set"));
        assert!(refused(&[("RANK", "x"), ("WORLD_SIZE", "2")]).starts_with("RANK is `x`"));
        assert!(
            refused(&[("RANK", "2"), ("WORLD_SIZE", "2")]).starts_with("rank 2 of 2 processes")
        );
        assert!(
            refused(&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_PORT", "70000")])
                .starts_with("MASTER_PORT is `70000`")
        );
    }

    #[test]
    fn the_first_host_of_a_list() {
        let first = ["a", "a,b", "node[07-12,20],other", "n[3],m", "gpu-a[1,2]"].map(first_node);
        assert_eq!(first, ["a", "a", "node07", "n3", "gpu-a1"]);
    }
}

//! What the expectations record of a part: modelled times of the software GPU beside measured ones of an H200.

use crate::workspace;
use anyhow::{Context, Result};
use chapter_results::units;
use chapter_terminal::table::Table;
use serde_json::Value;
use std::fs;
use std::time::Duration;

const MODELLED: &str = "software-gpu-nvidia-h200";
const MEASURED: &str = "nvidia-h200-pcie-5-x16-1980-mhz-driver-580";

/// The times of a part's variants on both devices, as a table: of makespans and copies the least, of others the median. `group`
/// selects some of them.
///
/// # Errors
/// One of the devices has no record of the part, or none of the group.
pub fn table(target: &str, part: &str, group: Option<&str>) -> Result<String> {
    let [modelled, measured] = [
        part_of(MODELLED, target, part)?,
        part_of(MEASURED, target, part)?,
    ];
    let same = modelled["workload"] == measured["workload"];
    let mut table = match same {
        true => Table::new(["variant", "software GPU, modelled", "H200, measured"]),
        false => Table::new(["variant", "H200, measured"]),
    };
    let (mut rows, mut unclaimed) = (0, false);
    for time in times(&measured) {
        let name = |field: &str| time[field].as_str().unwrap_or_default();
        if group.is_some_and(|group| group != name("group")) {
            continue;
        }
        let variant = match group {
            Some(_) => name("variant").to_owned(),
            None => format!("{}/{}", name("group"), name("variant")),
        };
        let mut cells = vec![variant];
        if same {
            let twin = times(&modelled).find(|other| {
                other["group"] == time["group"] && other["variant"] == time["variant"]
            });
            unclaimed |= twin.is_some_and(is_unclaimed);
            cells.push(twin.map_or("-".into(), recorded));
        }
        cells.push(recorded(time));
        table.row(cells);
        rows += 1;
    }
    let group = group.unwrap_or("any group");
    (rows > 0)
        .then_some(())
        .with_context(|| format!("{target}:{part} has no times of {group}"))?;
    let runs = &measured["runs"];
    // A part that chooses its work by measuring chooses other work on another device.
    let note = if same {
        ""
    } else {
        "\nThe software GPU's record is of other work.\n"
    };
    let legend = if unclaimed {
        "\n\n*: not claimed of the model; see docs/software-gpu/accuracy.md"
    } else {
        ""
    };
    Ok(format!(
        "{target}:{part}, as recorded in expectations/ (H200: {runs} runs)\n{note}\n{table}{legend}"
    ))
}

fn part_of(device: &str, target: &str, part: &str) -> Result<Value> {
    let path = format!("expectations/{device}/{target}.json");
    let text = fs::read_to_string(workspace().join(&path))
        .with_context(|| format!("cannot read {path}"))?;
    let mut file: Value = serde_json::from_str(&text).with_context(|| path.clone())?;
    let parts = file["parts"]
        .as_array_mut()
        .with_context(|| format!("{path}: no parts"))?;
    let found = parts.iter_mut().find(|found| found["name"] == part);
    Ok(found
        .with_context(|| format!("{path}: no part {part}"))?
        .take())
}

fn times(part: &Value) -> impl Iterator<Item = &Value> {
    part["times"].as_array().into_iter().flatten()
}

/// The time that is expected of a run, or where runs differ too much, the observed one.
fn recorded(time: &Value) -> String {
    let expected = time["us"].as_f64();
    let found = expected
        .or_else(|| time["observed"]["us"].as_f64())
        .map(|us| units::time(Duration::from_secs_f64(us / 1e6)));
    let star = if is_unclaimed(time) { "*" } else { "" };
    found.map_or_else(|| "-".into(), |found| found + star)
}

/// Whether the program says that it is not claimed of the model.
fn is_unclaimed(time: &Value) -> bool {
    time["unclaimed"] == true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_devices_stand_side_by_side_where_the_work_is_the_same() {
        let both = table("basic_streams", "kernels", Some("variants")).unwrap();
        assert!(
            both.contains("modelled") && both.contains("streams-128"),
            "{both}"
        );
        assert!(!both.contains("variants/"), "{both}");
    }

    #[test]
    fn what_is_not_claimed_of_the_model_has_a_star() {
        let marked = table("kv_prefetch_pipeline", "stages", Some("variants")).unwrap();
        assert_eq!(
            marked.matches('*').count(),
            2,
            "a time and the legend: {marked}"
        );
        assert!(marked.contains("*: not claimed of the model"), "{marked}");
        let claimed = table("basic_streams", "kernels", Some("variants")).unwrap();
        assert!(!claimed.contains('*'), "{claimed}");
    }

    #[test]
    fn what_is_not_recorded_is_an_error() {
        assert!(table("basic_streams", "none", None).is_err());
        assert!(table("none", "kernels", None).is_err());
        assert!(table("basic_streams", "kernels", Some("none")).is_err());
    }
}

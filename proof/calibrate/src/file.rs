//! A profile as the text of its file.

use crate::findings::{Findings, SHOWN};
use anyhow::{Context, Result};
use toml::{Table, Value};

/// The text of a complete profile: what was found, and for the rest the base's figures as estimates.
pub fn text(device: &Table, findings: &Findings, about: &str) -> Result<String> {
    let mut text = String::new();
    for line in about.lines() {
        text += &format!("# {line}\n");
    }
    text += "\n[device]\n";
    for (name, value) in device.iter().filter(|(_, value)| !value.is_table()) {
        text += &format!("{name} = {}\n", written(value));
    }
    if let Some(attributes) = device.get("attributes").and_then(Value::as_table) {
        text += "\n# Name without CU_DEVICE_ATTRIBUTE_, number, value.\n[device.attributes]\n";
        let mut attributes: Vec<_> = attributes.iter().collect();
        attributes.sort_by_key(|(_, pair)| pair.get(0).and_then(Value::as_integer));
        for (name, value) in attributes {
            text += &format!("{name} = {}\n", written(value));
        }
    }
    for section in sections(findings.base()) {
        text += &format!("\n[{section}]\n");
        let table = section
            .split('.')
            .try_fold(findings.base(), |table, part| table.get(part)?.as_table())
            .with_context(|| format!("the base profile has no section {section}"))?;
        for (name, word) in table.iter().filter(|(_, value)| value.is_str()) {
            text += &format!("{name} = {}\n", written(word));
        }
        for name in table
            .iter()
            .filter(|(_, figure)| is_figure(figure))
            .map(|(name, _)| name)
        {
            let (value, from) = match findings.found(&section, name) {
                Some(found) if found.from != SHOWN => (rounded(found.value), found.from),
                _ => (findings.of_base(&section, name)?, "estimated"),
            };
            text += &format!("{name} = {{ value = {value:?}, from = \"{from}\" }}\n");
        }
    }
    Ok(text)
}

/// The sections that hold figures; a section within a section is named `kernels.issue_per_cycle`.
fn sections(base: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in base {
        let Value::Table(table) = value else { continue };
        if table.values().any(is_figure) {
            found.push(name.clone());
        }
        if name != "device" {
            found.extend(
                sections(table)
                    .into_iter()
                    .map(|inner| format!("{name}.{inner}")),
            );
        }
    }
    found
}

fn is_figure(value: &Value) -> bool {
    value
        .as_table()
        .is_some_and(|table| table.contains_key("value"))
}

/// Four digits: more than any measurement here has.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A value of `[device]`: a number, a list of them, or a name.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(truth) => truth.to_string(),
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(written).collect();
            format!("[{}]", list.join(", "))
        }
        Value::Table(_) | Value::Datetime(_) => String::new(),
    }
}

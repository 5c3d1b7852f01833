//! Prints the goal of a lab that asks about an export of Nsight Systems: `labs/goals/32_read_nsight.json`.
//!
//! ```console
//! $ cargo run -p chapter-nsight --example lab_goal docs/samples/three-way.sqlite > labs/goals/32_read_nsight.json
//! ```

use serde_json::json;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name the export")?;
    let mut read = chapter_nsight::read(path.as_ref())?;
    let trace = read.traces.pop().ok_or("the export has no operations")?;
    let mut recording = trace.recording;
    // Only the calls that wait: the chart of a goal shows no others.
    recording.calls.retain(|call| call.waits());
    let work = json!({ "bytes_in": 0, "bytes_out": 0, "launches": {}, "threads": 0 });
    let goal = json!({ "recording": recording, "work": work });
    println!("{}", serde_json::to_string_pretty(&goal)?);
    Ok(())
}

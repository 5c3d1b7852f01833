//! Hands in a record that names an operation that it does not have.

fn main() {
    let record = std::env::var("LAB_RECORD").expect("where the record goes");
    let interval = r#"{"engine":"kernel","name":"affine","stream":"work","span":SPAN,"bytes":0}"#;
    let call = r#"{"name":"cuLaunchKernel","thread":"main","span":{"start":0,"end":1},"interval":PLACE}"#;
    let text = r#"{"times":"modelled","device":"H200","recording":{"source":"software-gpu","intervals":[INTERVAL],"calls":[CALL]},
        "threads":0,"result":{"expected":1048576,"elements":1048576,"wrong":0,"first":null}}"#;
    let text = text.replace("INTERVAL", interval).replace("CALL", call);
    let text = text.replace("SPAN", r#"{"start":0,"end":1}"#).replace("PLACE", "99999");
    std::fs::write(record, text).expect("its own file");
}

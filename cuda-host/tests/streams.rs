//! Streams on the software GPU.

use cuda_host::prelude::*;
use cust::context::CurrentContext;
use libcuda::Choice;

#[test]
fn a_priority_is_moved_into_the_devices_range() {
    libcuda::select(Choice::Software).unwrap();
    let _context = cust::quick_init().unwrap();
    let range = CurrentContext::get_stream_priority_range().unwrap();
    let of = |asked| stream::with_priority(asked).unwrap().priority().unwrap();
    assert_eq!(of(range.greatest), range.greatest);
    assert_eq!(of(range.least), range.least);
    assert_eq!(of(range.greatest - 100), range.greatest);
    assert_eq!(of(range.least + 100), range.least);
    assert_eq!(stream::legacy().priority(), Ok(0));
}

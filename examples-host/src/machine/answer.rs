//! What a driver call has answered, in its own words.

use crate::error::name_of;
use cust::error::{CudaError, CudaResult};
use libcuda::observe::take_failure;

/// The name of the code: `CUDA_ERROR_NOT_PERMITTED`; "no error" after a success. Query it right after the call: for
/// codes that cust does not know, such as those of stream capture, the observer of the calls does.
pub fn answer<T>(result: CudaResult<T>) -> String {
    let failure = take_failure();
    match (result, failure) {
        (Ok(_), _) => "no error".to_owned(),
        (Err(CudaError::UnknownError), Some(failure)) => name_of(failure.code),
        (Err(error), _) => name_of(error as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use cuda_host::{capture, stream};
    use libcuda::Choice;

    #[test]
    fn codes_that_cust_does_not_know_have_their_names() {
        let _device = Device::open(Choice::Software).unwrap();
        crate::recording::count_calls();
        let stream = stream::non_blocking().unwrap();
        capture::begin(&stream).unwrap();
        let refused = answer(stream.synchronize());
        assert_eq!(refused, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
        let ended = answer(capture::end(&stream));
        assert_eq!(ended, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED");
        assert_eq!(answer(stream.synchronize()), "no error");
    }
}

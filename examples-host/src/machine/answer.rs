//! What a driver call has answered, in its own words.

use crate::error::name_of;
use cust::error::CudaResult;

/// The name of the code: `CUDA_ERROR_NOT_PERMITTED`; "no error" where there was none.
pub fn answer<T>(result: CudaResult<T>) -> String {
    match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => name_of(error as i32),
    }
}

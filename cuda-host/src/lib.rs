//! What cust 0.3.2 lacks of the driver API, or gets wrong, under the driver's names.
//!
//! A program uses cust's own types wherever cust is right: `Stream`, `Event`, `DeviceBuffer`, `LockedBuffer`. This
//! crate makes the streams that cust cannot make and adds the operations that it does not have. Each function is one
//! call of the driver, which its documentation names. Nothing here measures anything.

pub mod kernel;

//! The same checks on either device.
//!
//! A check runs PTX on the device that `CUDA_DRIVER` chooses and compares the bits of the result with those that an
//! NVIDIA GPU gave: [`vectors`] keeps a digest per check in the repository. The inputs are [`inputs`]: random bit
//! patterns among which every special value of the format appears often.
//!
//! To record on a machine with an NVIDIA GPU: `CUDA_DRIVER=nvidia RECORD_VECTORS=FOLDER`, then run the tests. The
//! folder receives the digests and each check's whole output; with `COMPARE_VECTORS=FOLDER` a later run, on either
//! device, names the first elements that differ.

//!
//! A rule is a check of another kind: it asks the driver API for something and compares codes, data and order with what
//! the documentation says. [`rules`] holds them, [`scene`] what they stand on, [`supervisor`] tries them.

pub mod api;
pub mod device;
pub mod inputs;
pub mod rule;
pub mod rules;
pub mod scene;
pub mod summary;
pub mod supervisor;
pub mod vectors;
pub mod worker;

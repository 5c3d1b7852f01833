//! The driver API's symbols as a shared library.

// They come from it.
use libcuda as _;

//! Timelines of runs: what they say, and how they are shown. It knows recordings, not CUDA.

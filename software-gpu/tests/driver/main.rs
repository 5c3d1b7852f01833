//! Tests of the driver API that only the software GPU allows: modelled costs, reports, properties, and what is left out. Rules that
//! hold on every device are in `proof/conformance`.
//!
//! One program for all: tests take turns by `Driver`, and those that need a process of their own start it with `child`.

#[path = "../driver_support/mod.rs"]
mod driver_support;
#[path = "../graph_support/mod.rs"]
mod graph_support;
#[path = "../pool_support/mod.rs"]
mod pool_support;

mod atomic_values;
mod callback_costs;
mod copies;
mod copies_random;
mod costs;
mod deadlock;
mod default_stream;
mod endless;
mod entry_points;
mod functions;
mod gemm;
mod gone_memory;
mod graph_costs;
mod graph_memory;
mod graph_order;
mod graph_properties;
mod graphs;
mod grid_sync;
mod host;
mod host_accesses;
mod images;
mod kernels;
mod launch_attributes;
mod lazy_loading;
mod linking;
mod managed;
mod memory;
mod memory_checker;
mod model_page;
mod order;
mod pool_lifetimes;
mod pool_properties;
mod pool_reports;
mod pool_unlinked;
mod pools;
mod prepared_launches;
mod profiles;
mod programs;
mod properties;
mod reasons;
mod reductions;
mod refusals;
mod return_codes;
mod robustness;
mod stream_names;
mod stream_values;
mod streams;
mod tensor_maps;
mod tensor_rate;
mod textures;
mod undocumented;
mod unsupported_kernels;

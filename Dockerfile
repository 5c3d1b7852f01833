# Rust, a C linker and the device toolchain. The driver comes from the host, by the NVIDIA Container Toolkit:
#   docker build --tag cuda-streams .
#   docker run --rm --interactive --tty --gpus all --volume "$PWD":/work cuda-streams cargo run -p basic_streams
# Leave out `--gpus all` on a machine without a GPU: the programs then run on the software GPU.
FROM rust:1
RUN rustup component add clippy rustfmt && \
    rustup toolchain install 1.96.0 --profile minimal --component rust-src
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /work

# Targets for people; each is one or two commands that can be run by hand.
CARGO ?= cargo
# The members that declare a place in the chapter.
EXAMPLES := $(patsubst %/Cargo.toml,%,$(shell grep -l '^\[package.metadata.chapter\]' */Cargo.toml))

.PHONY: all help $(EXAMPLES) chapter test browser-test fuzz conformance lint toolchain ptx ptx-check ptxas gpu-bundle shared-library shared-library-check bench doc clean

all: ## build every example
	$(CARGO) build --workspace --locked

$(EXAMPLES): ## build and run one example
	$(CARGO) run --locked -p $@

chapter: ## run the whole chapter and say of each part whether its lesson holds
	$(CARGO) chapter run

help: ## this list
	@sed -n 's/^\([a-z$$][^:]*\):.*## /\1: /p' Makefile | sed 's/$$(EXAMPLES)/$(EXAMPLES)/' | column -ts:

test: ## every test of the workspace; needs no GPU
	SOFTWARE_GPU_RACES=fail $(CARGO) test --workspace --locked
	$(CARGO) test --locked -p chapter-results --features schema --test schema

browser-test: ## the timelines' page in headless Chromium; needs chromium, node and npm
	scripts/browser-test

fuzz: ## fuzz the software GPU for 2 × 5 minutes; needs a C++ compiler
	scripts/fuzz 300

conformance: ## the rules of the driver API on the software GPU; on an NVIDIA GPU with CUDA_DRIVER=nvidia
	$(CARGO) run --locked -p conformance

lint: ## formatting and clippy, as CI runs them
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

toolchain: ## install the compiler that turns the kernels into PTX
	scripts/install-device-toolchain

ptx: ## rebuild the committed PTX from the kernel sources
	GPU_KERNELS_PTX=rebuild $(CARGO) build --locked -p gpu-kernels

ptx-check: ## rebuild the PTX from scratch and compare it with the committed one
	scripts/check-ptx

ptxas: ## assemble the committed PTX for every architecture with NVIDIA's ptxas
	scripts/check-ptxas

gpu-bundle: ## a folder to copy to a GPU machine that has no Rust; run.sh inside
	scripts/make-gpu-bundle gpu-bundle

shared-library: ## libcuda.so.1 for driver-API programs that are not ours
	scripts/make-shared-library shared-library

shared-library-check: ## run a C program on it
	scripts/check-shared-library

bench: ## benchmarks of the software GPU and of the call forwarding
	$(CARGO) bench --workspace --locked

doc: ## API documentation, warnings refused
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf gpu-bundle shared-library

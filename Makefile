# Targets for people; each is one or two commands that can be run by hand.
CARGO ?= cargo
# Packages outside the workspace, with lock files of their own.
OTHER_PACKAGES := proof/fuzz proof/rust-cuda/kernels
# The members that declare a place among the lessons.
EXAMPLES := $(patsubst %/Cargo.toml,%,$(shell grep -l '^\[package.metadata.chapter\]' */Cargo.toml))

.PHONY: all help $(EXAMPLES) chapter book book-check answers test labs handout handout-check grading-check offline browser-test aarch64-check windows-check wasm-check playground playground-test fuzz conformance mutants mutants-quick model-check lint toolchain ptx ptx-check ptxas gpu-bundle shared-library shared-library-check runtime-library cuda-programs-check bench doc clean

all: ## build every example
	$(CARGO) build --workspace --locked

$(EXAMPLES): ## build and run one example
	$(CARGO) run --locked -p $@

chapter: ## run all lessons, with a verdict on each part
	$(CARGO) chapter run

help: ## show this list
	@sed -n 's/^\([a-z$$][^:]*\):.*## /\1: /p' Makefile | sed 's/$$(EXAMPLES)/EXAMPLE/' | column -ts:
	@echo; echo 'The examples:'; printf '    %s\n' $(EXAMPLES)

book: ## build the book
	scripts/build-book

book-check: ## build the book, and compare it with the programs
	$(CARGO) test --quiet --locked -p chapter-book
	scripts/check-book

answers: ## change programs as the answers of the book do, and compare what they print (minutes)
	$(CARGO) book answers

# Where the last command but one fails after an intended change: cargo chapter run --device software --update-expectations
test: ## run every test, and all lessons on the software GPU
	mkdir -p target
	rm -f target/left-out
	LEFT_OUT="$(CURDIR)/target/left-out" SOFTWARE_GPU_RACES=fail $(CARGO) test --workspace --locked
	$(CARGO) test --locked -p chapter-results --features schema --test schema
	$(CARGO) chapter run --device software --races fail --strict
	@scripts/left-out target/left-out

labs: ## verify the labs: exercises, solutions, wrong solutions
	$(CARGO) lab verify

handout: ## write the labs' archive for students
	$(CARGO) lab handout

handout-check: ## build that archive without a network
	scripts/check-handout

grading-check: ## grade a class of wrong and hostile submissions
	scripts/check-grading

offline: ## write the repository with the sources of all libraries
	scripts/make-offline

browser-test: ## test the timeline page and the book in headless Chromium
	scripts/browser-test

aarch64-check: ## run programs for 64-bit ARM in qemu's emulation
	scripts/check-aarch64

windows-check: ## run basic_streams for Windows in Wine
	scripts/check-windows

wasm-check: ## run basic_streams as WebAssembly in Node
	scripts/check-wasm

playground-test: ## test that folder in headless Chromium
	scripts/playground-test

playground: ## build a folder that runs lessons in a browser
	scripts/build-playground

fuzz: ## fuzz the software GPU for 5 minutes
	scripts/fuzz 300

conformance: ## check the driver API's rules on the software GPU
	$(CARGO) run --locked -p conformance

mutants: ## break each lesson in many ways; each must notice
	proof/mutants/run

# Every commit takes the next mutation of each part. The claims of the unchanged parts are those of the last `make test`.
mutants-quick: ## break each part once, as CI does; after `make test`
	proof/mutants/run --quick $(shell git rev-list --count HEAD 2>/dev/null || echo 0) --results $${CARGO_TARGET_DIR:-target}/chapter

model-check: ## compare the models of an H200 and an H100 with their tables
	scripts/check-model

lint: ## run rustfmt and clippy and check the lock files, as CI does
	$(CARGO) fmt --all --check
	for package in $(OTHER_PACKAGES); do \
	    $(CARGO) metadata --locked --format-version 1 --manifest-path $$package/Cargo.toml >/dev/null || exit 1; \
	done
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

toolchain: ## install the compiler for the kernels
	scripts/install-device-toolchain

ptx: ## rebuild the committed PTX
	GPU_KERNELS_PTX=rebuild $(CARGO) build --locked -p gpu-kernels -p rust-cuda-programs

ptx-check: ## compare the committed PTX with a fresh build
	scripts/check-ptx

ptxas: ## assemble the PTX with NVIDIA's ptxas, and compare its code with nvcc's
	scripts/check-ptxas
	scripts/check-slices

gpu-bundle: ## prepare a folder for a GPU machine without Rust
	scripts/make-gpu-bundle gpu-bundle

shared-library: ## build libcuda.so.1 for other programs
	scripts/make-shared-library shared-library

shared-library-check: ## run a C program on that library
	scripts/check-shared-library

runtime-library: shared-library ## build libcudart and cuda-run beside it, for CUDA programs
	scripts/make-runtime-library shared-library

cuda-programs-check: ## compile CUDA programs with nvcc and run them on these libraries
	scripts/check-cuda-programs

bench: ## benchmark the software GPU and the call forwarding
	$(CARGO) bench --workspace --locked

doc: ## build the API documentation; warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf gpu-bundle shared-library

#!/usr/bin/env bash
# Runs on a machine with an NVIDIA GPU: every example, the checks of the kernels' results, and, if nvcc is
# installed, the comparison with the same work in CUDA C++. Needs no Rust. All output goes to results/.
#
#   run.sh [STEP..]      all steps, or those named: examples chapter figures raw labs conformance cuda_programs twins sanitizer software
#                    calibrate compare
#
# ROUNDS sets how often twins starts each program in Rust and in C++; the default is 5.
set -uo pipefail
cd "$(dirname "$0")"
results=${RESULTS:-results}
mkdir -p "$results"
failed=()
skipped=()
all=(examples chapter figures raw labs conformance cuda_programs twins sanitizer software calibrate compare)

step() { # name, command..
    local name=$1
    shift
    local start=$SECONDS
    "$@" >"$results/$name.txt" 2>&1
    local code=$?
    printf '%-28s exit code %d, %d s\n' "$name" "$code" $((SECONDS - start))
    case $code in
    0) ;;
    3) skipped+=("$name (exit code 3: the machine lacks what it needs)") ;;
    *) failed+=("$name") ;;
    esac
    return "$code"
}

# What the examples' manifests declare: the rest of each line that begins with KIND.
declared() { sed -n "s/^$1 //p" bin/chapter-targets.txt; }

examples() {
    local name
    for name in $(declared example); do
        step "$name" "bin/$name" --device nvidia --trace "$results/$name.trace.json" --json "$results/$name.json"
    done
}

# The examples again, through the command for all of them, with timelines; then its table.
chapter() {
    step chapter_doctor bin/chapter doctor
    step chapter_list bin/chapter list --device nvidia
    step chapter_run bin/chapter run --device nvidia --profile minimal --out "$results/chapter"
    step chapter_compare bin/chapter compare "$results/chapter"
}

# The runs with arguments of their own.
figures() {
    local example name arguments
    while read -r example name arguments; do
        # shellcheck disable=SC2086
        step "$name" "bin/$example" --device nvidia $arguments </dev/null
    done < <(declared run)
}

# The programs of one file.
raw() {
    local program
    for program in bin/raw*; do
        CUDA_DRIVER=nvidia step "$(basename "$program")" "$program" </dev/null
    done
}

# Each lab's solution has full points on this GPU, by the limits for GPUs.
labs() {
    LABS_ROOT=. step labs bin/lab verify --device nvidia --without-mistakes --programs bin/labs
}

conformance() {
    CUDA_DRIVER=nvidia step conformance_rules bin/conformance --jobs 3
    CUDA_DRIVER=nvidia step conformance_kernels bin/conformance_kernels
    CUDA_DRIVER=nvidia step conformance_instructions bin/conformance_instructions
    CUDA_DRIVER=nvidia step rust_cuda_programs bin/rust_cuda_programs
    CUDA_DRIVER=nvidia step rust_cuda_mistakes bin/rust_cuda_mistakes
}

# CUDA programs, built by this machine's nvcc, on our runtime and NVIDIA's driver.
cuda_programs() {
    if ! command -v nvcc >/dev/null; then
        skipped+=("cuda_programs (no nvcc on the PATH)")
        return
    fi
    step cuda_programs run_cuda_programs
}

# Prints a table: name, result.
run_cuda_programs() {
    local source name result options code=0 to=$results/cuda_programs
    mkdir -p "$to"
    for source in cuda_programs/*.cu; do
        name=$(basename "$source" .cu)
        options=
        [ "$name" != per_thread_stream ] || options="--default-stream per-thread"
        result=right
        # shellcheck disable=SC2086
        nvcc -std=c++17 -arch=native -cudart shared $options "$source" -o "$to/$name" &&
            LD_LIBRARY_PATH=$PWD/cudart timeout 120 "$to/$name" || result=FAILED
        [ "$result" = right ] || code=1
        printf '%-20s %s\n' "$name" "$result"
    done
    return "$code"
}

twins() {
    if ! command -v nvcc >/dev/null; then
        skipped+=("twins (no nvcc on the PATH)")
        return
    fi
    step nvcc build_twins || return
    local kernels=("$results"/twins/*.cubin)
    step kernels_against_nvcc bin/kernels_against_nvcc "${kernels[@]}"
    step launches_against_cuda bin/launches_against_cuda "$results/twins/launches.so"
    step programs_against_cuda bin/programs_against_cuda --rounds "${ROUNDS:-5}" bin "$results/twins" "${kernels[@]}"
    step gemm_against_cublas bin/gemm_against_cublas "$results/twins/cublas.so"
}

# Everything in CUDA C++, all at the same time. The kernels for this GPU's own architecture, so that they get every
# instruction that it has.
build_twins() {
    local source job jobs=() code=0 to=$results/twins
    mkdir -p "$to"
    for source in cuda/kernels/*.cu; do
        nvcc -O3 -arch=native -cubin "$source" -o "$to/$(basename "$source" .cu).cubin" &
        jobs+=($!)
    done
    for source in cuda/programs/*.cu; do
        nvcc -O3 -std=c++17 "$source" -lcuda -o "$to/$(basename "$source" .cu)" &
        jobs+=($!)
    done
    nvcc -O3 -shared -Xcompiler -fPIC cuda/launches.cpp -lcuda -o "$to/launches.so" &
    jobs+=($!)
    nvcc -O3 -shared -Xcompiler -fPIC cuda/cublas.cpp -lcublas -o "$to/cublas.so" &
    jobs+=($!)
    for job in "${jobs[@]}"; do
        wait "$job" || code=1
    done
    return "$code"
}

sanitizer() {
    if ! command -v compute-sanitizer >/dev/null && ! ls /usr/local/cuda*/bin/compute-sanitizer >/dev/null 2>&1; then
        skipped+=("sanitizer (no compute-sanitizer)")
        return
    fi
    step sanitizer ./sanitizer.sh
}

software() { step basic_streams_software bin/basic_streams --device software --json "$results/modelled.json"; }

# A profile of this GPU.
calibrate() { step calibrate bin/calibrate --device nvidia --contention --out "$results/calibrated.toml" --force; }

# The options of both sides of `compare`, which thus do the same work: as much data as a GPU gets, in a fixed number of pieces where a
# program would choose one by measuring.
same_work=(--gpu-sizes --chunks 8)

# Modelled against measured: this GPU, three times, beside the software GPU with the profile just written and, if this GPU has one, with
# the profile that is shipped.
compare() {
    local run name measured=()
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
    for run in 1 2 3; do
        rm -f "$results/measured_$run.json"
        step "measured_$run" bin/basic_streams --device nvidia "${same_work[@]}" --json "$results/measured_$run.json"
        measured+=("$results/measured_$run.json")
    done
    [ -f "$results/calibrated.toml" ] || calibrate
    compare_with calibrated "$results/calibrated.toml"
    case $name in
    "NVIDIA H200") compare_with h200 h200 ;;
    "NVIDIA H100 80GB HBM3") compare_with h100 h100 ;;
    *) skipped+=("compare with a shipped profile (none was compared with a GPU of the name '$name')") ;;
    esac
}

# Two parts are shown and not judged: in cpu-overlap the host computes, in pinned it copies pageable memory, and no profile is of its CPU.
compare_with() { # name, profile
    rm -f "$results/modelled_$1.json"
    step "modelled_$1" bin/basic_streams --device software --gpu "$2" --races off "${same_work[@]}" --json "$results/modelled_$1.json"
    step "compare_$1" bin/calibrate compare "${measured[@]}" --modelled "$results/modelled_$1.json" \
        --not-judged cpu-overlap --not-judged pinned
}

for name in "$@"; do
    case " ${all[*]} " in
    *" $name "*) ;;
    *)
        echo "error: unknown step $name; the steps are: ${all[*]}" >&2
        exit 2
        ;;
    esac
done
[ $# -gt 0 ] || set -- "${all[@]}"

nvidia-smi --query-gpu=name,driver_version,pcie.link.gen.current --format=csv,noheader || failed+=(nvidia-smi)
for name in "$@"; do
    $name
done

[ ${#skipped[@]} = 0 ] || echo "skipped: ${skipped[*]}"
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]} (see $results/)"
    exit 1
fi
echo "passed: all steps that were not skipped; output in $results/"

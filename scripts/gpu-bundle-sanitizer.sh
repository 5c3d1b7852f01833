#!/usr/bin/env bash
# Runs every example under compute-sanitizer: memcheck with races of stream-ordered allocations, synccheck, racecheck.
# Exit code 1 when a tool reports something. Under the tools the examples are slower than their lessons allow: whether a
# lesson holds does not count here.
#
# Left out: what is racy on purpose (stream_hazards' free-without-order, the allocator's lifetime), errors of calls that an
# example provokes and handles, and racecheck of two kernels: it follows neither barrier.arrive nor one lane's arrival for its
# warp behind a __syncwarp. Of the control program, which has no race, it reports those two forms and not the third.
set -uo pipefail
cd "$(dirname "$0")"
results=${RESULTS:-results}/sanitizer
mkdir -p "$results"
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
if [ -z "$sanitizer" ]; then
    echo "compute-sanitizer is not installed" >&2
    exit 2
fi
reported=0

check() { # tool, its options in one word, program, arguments..
    local tool=$1 options=$2 program=$3
    shift 3
    local name=$tool-$program start=$SECONDS code
    # shellcheck disable=SC2086
    timeout 120 "$sanitizer" --tool "$tool" $options --error-exitcode 99 "bin/$program" --device nvidia "$@" \
        >"$results/$name.txt" 2>&1
    code=$?
    case $code in
    99) reported=1 word="reported something: see $results/$name.txt" ;;
    0 | 1) word=clean ;;
    124) reported=1 word="not finished" ;;
    *) reported=1 word="exit code $code" ;;
    esac
    printf '%-10s %-26s %s, %d s\n' "$tool" "$program" "$word" $((SECONDS - start))
}

for tool in memcheck synccheck racecheck; do
    case $tool in
    memcheck) options="--track-stream-ordered-races all --report-api-errors no" ;;
    synccheck) options="" ;;
    racecheck) options="--kernel-name-exclude kernel_substring=named_barriers,kernel_substring=cp_async" ;;
    esac
    check "$tool" "$options" basic_streams --size 4MiB --iterations 1
    check "$tool" "$options" multi_stream_pipeline --size 4MiB --iterations 1
    check "$tool" "$options" stream_hazards --part missing-event --part early-host-read --part buffer-reused \
        --part re-recorded-event --part wait-before-record --part callback-waits
    if [ "$tool" = racecheck ]; then # takes minutes for more
        check "$tool" "$options" stream_ordered_allocator --part cost --part llm-scratch --size 256KiB --iterations 1
    else
        check "$tool" "$options" stream_ordered_allocator --part cost --part pool --part llm-scratch --size 1MiB
    fi
    check "$tool" "$options" stream_ordered_kv_cache --size 1MiB
done

if command -v nvcc >/dev/null && nvcc -O3 -std=c++17 -arch=native cuda/sanitizer/control.cu -o "$results/control"; then
    "$sanitizer" --tool racecheck "$results/control" >"$results/control.txt" 2>&1
    echo "control program, no race in it; racecheck reports:"
    grep -oE 'Race reported.*(named|ring<[^>]*>)|[0-9]+ of [0-9]+ elements are wrong|RACECHECK SUMMARY.*' "$results/control.txt" | sed 's/^/  /'
fi
exit "$reported"

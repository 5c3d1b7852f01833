#!/usr/bin/env bash
# Runs the examples under compute-sanitizer, as their manifests declare: memcheck with races of stream-ordered allocations,
# synccheck, racecheck.
# Exit code 1 when a tool reports something. Under the tools the examples are slower than their lessons allow: whether a
# lesson holds does not count here.
#
# Left out: parts that race on purpose, errors of calls that an example provokes and handles, and racecheck of two kernels: it
# follows neither barrier.arrive nor one lane's arrival for its warp behind a __syncwarp. Of the control program, which has no
# race, it reports those two forms and not the third.
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
    while read -r program tools arguments; do
        case ,$tools, in *,"$tool",*) ;; *) continue ;; esac
        # shellcheck disable=SC2086
        check "$tool" "$options" "$program" $arguments </dev/null
    done < <(sed -n 's/^sanitizer //p' bin/chapter-targets.txt)
done

for name in $(sed -n 's/^example //p' bin/chapter-targets.txt); do
    grep -q "^sanitizer $name " bin/chapter-targets.txt || echo "$name declares no run under compute-sanitizer"
done

if command -v nvcc >/dev/null && nvcc -O3 -std=c++17 -arch=native cuda/sanitizer/control.cu -o "$results/control"; then
    "$sanitizer" --tool racecheck "$results/control" >"$results/control.txt" 2>&1
    echo "control program, no race in it; racecheck reports:"
    grep -oE 'Race reported.*(named|ring<[^>]*>)|[0-9]+ of [0-9]+ elements are wrong|RACECHECK SUMMARY.*' "$results/control.txt" | sed 's/^/  /'
fi
exit "$reported"

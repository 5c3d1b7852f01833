# How `.ci/run` runs its steps: each prints its seconds, and those that nothing has changed for are left out.
# shellcheck shell=bash

# The steps that passed in the last green run on this machine, one per line: hash of its inputs, commit, date, name.
record=${CI_RECORD:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/cuda-streams-ci/green}
passed_before=$(cat "$record" 2>/dev/null || true)
new_record=
rows=()
step_name=
not_run=
# Two steps at the same time may need packages.
apt_lock=$(mktemp -d)/apt
started=$SECONDS
cpu_started=0

# Processor seconds of all commands that have ended so far: fields 16 and 17 of proc_pid_stat(5).
cpu_seconds() {
    local stat
    read -r -a stat <"/proc/$BASHPID/stat"
    echo $(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
}

begin_step() { # name
    step_name=$1
    started=$SECONDS
    cpu_started=$(cpu_seconds)
    printf '\n== %s   (disk: %s free)\n' "$1" "$(df -h --output=avail . | tail -1 | tr -d ' ')"
}

end_step() { # result
    [ -n "$step_name" ] || return 0
    local seconds=$((SECONDS - started)) cpu=$(($(cpu_seconds) - cpu_started))
    rows+=("$(printf '%7d %6d  %-8s %s' "$seconds" "$cpu" "$1" "$step_name")")
    printf -- '-- %s: %s after %d s, %d s of processor time\n' "$step_name" "$1" "$seconds" "$cpu"
    step_name=
}

# step NAME COMMAND..: a step of every run.
step() {
    not_run=
    begin_step "$1"
    "${@:2}"
    [ -z "$not_run" ] || {
        end_step 'NOT RUN'
        return
    }
    end_step passed
}

# Called by a step that this machine cannot run, with the reason. It is not recorded as passed.
cannot_run() {
    not_run=1
    echo "NOT RUN: $1"
}

# step_for NAME "INPUT.." COMMAND..: a step that is left out when its inputs are those of the last green run on this machine.
# An input is a package of the workspace, with all packages that it depends on, or a path.
step_for() {
    local hash before
    # shellcheck disable=SC2086
    hash=$(.ci/inputs $2)
    before=$(awk -F'\t' -v hash="$hash" -v name="$1" '$1 == hash && $4 == name' <<<"$passed_before")
    if [ -n "$before" ] && [ -z "${CI_ALL:-}" ]; then
        local commit date
        IFS=$'\t' read -r _ commit date _ <<<"$before"
        printf '\n== %s\nleft out: its inputs are those of commit %s, which passed on %s; CI_ALL=1 runs it\n' "$1" "$commit" "$date"
        rows+=("$(printf '%7d %6d  %-8s %s' 0 0 'left out' "$1 (inputs of ${commit:0:8}, $date)")")
        new_record+="$before"$'\n'
        return
    fi
    step "$1" "${@:3}"
    [ -z "$not_run" ] || return 0
    new_record+="$hash"$'\t'"$(git rev-parse HEAD)"$'\t'"$(date +%F)"$'\t'"$1"$'\n'
}

# lanes FUNCTION..: functions of steps, at the same time. The first one's output is shown as it comes, the others' behind it. A
# step that fails ends its own lane alone.
lanes() {
    local folder lane lanes=() failed=
    folder=$(mktemp -d)
    for lane in "$@"; do
        if [ "$lane" = "$1" ]; then
            run_lane "$lane" "$folder" &
        else
            run_lane "$lane" "$folder" >"$folder/$lane.output" 2>&1 </dev/null &
        fi
        lanes+=($!)
    done
    for lane in "${lanes[@]}"; do
        wait "$lane" || failed=1
    done
    for lane in "$@"; do
        [ "$lane" = "$1" ] || cat "$folder/$lane.output"
        mapfile -t -O "${#rows[@]}" rows <"$folder/$lane.rows"
        new_record+=$(cat "$folder/$lane.record")$'\n'
    done
    rm -rf "$folder"
    [ -z "$failed" ] || exit 1
}

# In a subshell: what it adds to the table and to the record goes through files.
run_lane() { # function, folder
    rows=()
    new_record=
    # shellcheck disable=SC2064
    trap "end_lane \$? $1 '$2'" EXIT
    "$1"
}

end_lane() { # exit code, function, folder
    [ "$1" = 0 ] || end_step FAILED
    printf '%s\n' "${rows[@]}" >"$3/$2.rows"
    printf '%s' "$new_record" >"$3/$2.record"
}

print_table() {
    printf '\nseconds    CPU  result   step\n'
    printf '%s\n' "${rows[@]}"
    printf '%7d         all steps\n' "$SECONDS"
}

# The table is printed whatever happens. Only a green run of a commit is recorded.
finish() {
    local code=$? lane
    for lane in $(jobs -p); do
        kill "$lane" || true
    done
    rm -rf "$(dirname "$apt_lock")"
    [ "$code" = 0 ] || end_step FAILED
    print_table
    if [ "$code" = 0 ]; then
        write_record || echo "the green run could not be recorded in $record: the next one runs every step"
        printf '\nCI: all checks passed\n'
    fi
}
trap finish EXIT

write_record() {
    local new
    git diff --quiet HEAD || return 0
    mkdir -p "$(dirname "$record")" && [ ! -d "$record" ] && new=$(mktemp "$record.XXXXXX") &&
        printf '%s' "$new_record" >"$new" && mv "$new" "$record"
}

# What a step built for itself: a fresh machine's disk may be small.
spent() { rm -rf "$@"; }

need() { # command, Debian package
    command -v "$1" >/dev/null && return
    (
        flock 9
        [ -e "$apt_lock.updated" ] || apt-get update -qq
        touch "$apt_lock.updated"
        apt-get install -y -qq --no-install-recommends "$2"
    ) 9>"$apt_lock"
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the stages of run.sh share; run.sh sources it. `work` is where everything is kept, `end` and `stage_end` are when the time
# is over, in seconds since 1970.
# shellcheck disable=SC2154 # run.sh's variables

say() { printf '%s\n' "$*"; }

now() { date +%s; }

# Seconds that this stage may still take.
left() {
    if [ "$stage_end" -lt "$end" ]; then say $((stage_end - $(now))); else say $((end - $(now))); fi
}

# rounds COUNT: the numbers of COUNT rounds.
rounds() { seq 1 "${TRACESMITH_GPU_ROUNDS:-$1}"; }

# limited SECONDS COMMAND...: with what is left of the time at most. A command whose time is over leaves the stacks of all its
# threads in the results. SECONDS count TRACESMITH_GPU_PATIENCE times, but not those of limit_of.
limited() {
    case $1 in
    =*) most=${1#=} ;;
    *) most=$(($1 * patience)) ;;
    esac
    shift
    [ "$most" -le "$(left)" ] || most=$(left)
    [ "$most" -gt 0 ] || return 124
    sh "$here/guard.sh" "$most" "$work/stacks.new" "$@"
    limited_code=$?
    if [ -s "$work/stacks.new" ]; then
        hangs=$(find "$work" -maxdepth 1 -name 'hang-*.txt' | wc -l)
        { say "after $most s: $*" && cat "$work/stacks.new"; } >"$work/hang-$((hangs + 1)).txt"
        rm -f "$work/stacks.new"
    fi
    return $limited_code
}

# One line for a cell of a table.
cell() { printf %s "$1" | tr '|\n' '/ '; }

# verdict WHAT HOW: a line of the table of facts.
verdict() {
    printf '| %s | %s |\n' "$1" "$(cell "$2")" >>"$work/facts"
    write_progress
    say "$1: $2"
}

# Kept apart for the list above the tables: what is printed here may go to a file of the caller's.
untrue() {
    say "NOT TRUE: $*"
    say "**Not true: $***  " >>"$work/wrong"
    failures=$((failures + 1))
}

# ended CODE FILE...: how a command ended, with the last line that it left in the files.
ended() {
    ended_code=$1
    shift
    case $ended_code in
    124) say "did not end in its time; its stacks are below" ;;
    127 | 126) say "could not be started: $(cat "$@" 2>/dev/null | tail -n 1)" ;;
    *) say "ended with $ended_code: $(cat "$@" 2>/dev/null | grep -v -e '^tracesmith: next: ' -e '^tracesmith: .*\.sbt: ' | tail -n 1)" ;;
    esac
}

# row WHAT VALUE ASKED [MET]: a line of the table of figures. MET is what `met` says, where a number is asked for.
row() {
    row_line=$(printf '| %s | %s | %s | %s |' "$1" "$(cell "$2")" "$3" "${4-}")
    say "$row_line" >>"$work/figures"
    [ "${4-}" != no ] || say "**Not met: $1: $2, asked $3**  " >>"$work/missed"
    write_progress
    say "$row_line"
}

# met CONDITION VALUE...: "yes" or "no", of values a, b, c in awk's words; "not measured" where one is not there.
met() {
    condition=$1
    shift
    for value in "$@"; do
        case $value in '' | *[!0-9.e+-]* | -) say "not measured" && return 0 ;; esac
    done
    if awk -v a="$1" -v b="${2-}" -v c="${3-}" "BEGIN { exit !($condition) }"; then say yes; else say no; fi
}

# answer QUESTION ANSWER DETAIL: a line of the table of CUDA replay's questions.
answer() {
    printf '| %s | %s | %s |\n' "$1" "$2" "$(cell "$3")" >>"$work/answers"
    write_progress
    say "$1: $2: $3"
}

# step NAME: whether there is time for it.
step() {
    [ "$(left)" -gt 5 ] && return 0
    untimed=$((untimed + 1))
    verdict "$1" "not run: the time was over"
    return 1
}

# ask TRACE SQL: one value.
ask() { limited 60 "$tracesmith" query --csv "$1" "$2" 2>>"$work/query.err" | tail -n +2 | head -n 1 | tr -d '"\r'; }

# fact WHAT IS WANTED
fact() {
    [ "$2" = "$3" ] || untrue "$1: the trace has '$2', the program '$3'"
}

count_and_bytes() { ask "$1" "SELECT count(*) || ' ' || coalesce(sum(bytes), 0) FROM $2"; }

# compare NAME TRACE: the lines the program printed against its trace.
compare() {
    trace=$2
    while read -r what first second third; do
        case $what in
        kernel) fact "$1: kernel $first" \
            "$(ask "$trace" "SELECT count(*) FROM kernel WHERE name = '$first' OR name LIKE '$first(%'")" "$second" ;;
        kernels-least)
            count=$(ask "$trace" "SELECT count(*) FROM kernel")
            [ "${count:-0}" -ge "$first" ] || fact "$1: kernels" "$count" "$first at least"
            ;;
        memcpy-least) # libraries copy for themselves too
            count=$(ask "$trace" "SELECT count(*) >= $second AND coalesce(sum(bytes), 0) >= $third FROM memcpy WHERE direction = '$first'")
            fact "$1: copies $first, $second of $third bytes at least" "$count" 1
            ;;
        memcpy) fact "$1: copies $first" "$(count_and_bytes "$trace" "memcpy WHERE direction = '$first'")" "$second $third" ;;
        range | marker) fact "$1: $what $first" "$(ask "$trace" "SELECT count(*) FROM $what WHERE name = '$first'")" "$second" ;;
        projected) fact "$1: kernels launched in $first" "$(limited 60 "$tracesmith" analyze --csv --only ranges "$trace" |
            awk -F, -v name="$first" '$3 == name { print $8; exit }')" "$second" ;;
        collective) fact "$1: $first" "$(count_and_bytes "$trace" "collective WHERE name = '$first'")" "$second $third" ;;
        memset) fact "$1: fills" "$(count_and_bytes "$trace" memset)" "$first $second" ;;
        esac
    done <"$work/$1.txt"
    fact "$1: lost" "$(ask "$trace" "SELECT coalesce(sum(lost), 0) FROM loss ${but-}")" 0
    fact "$1: tracks of calls whose thread CUPTI does not name" \
        "$(ask "$trace" "SELECT count(*) FROM tracks WHERE name = 'calls of unknown threads'")" 0
    fact "$1: kernels without a time" "$(ask "$trace" "SELECT count(*) FROM kernel WHERE duration IS NULL")" 0
}

# absent NAME: why a program is not there; its exit code: whether that is no fault.
absent() {
    if [ -s "$programs/logs/$1.absent" ]; then
        say "not there: $(cat "$programs/logs/$1.absent")"
    elif [ -s "$programs/logs/$1.log" ]; then
        say "does not compile: $(grep -m 1 -i error "$programs/logs/$1.log")"
        return 1
    else
        say "not there: it was not built"
    fi
}

# limit_of NAME SECONDS: its own limit, which TRACESMITH_GPU_LIMITS='NAME=SECONDS...' may name.
limit_of() {
    for limit_word in ${TRACESMITH_GPU_LIMITS-}; do
        [ "${limit_word%%=*}" != "$1" ] || { say "=${limit_word#*=}" && return 0; }
    done
    say "$2"
}

# prove NAME [ARGUMENT...]: runs a program under profile and compares. `options` are profile's, `as` another name of it.
prove() {
    name=$1
    shift
    as=${as:-$name}
    if [ ! -x "$programs/$name" ]; then
        why=$(absent "$name") || untrue "$as $why"
        verdict "$as" "$why"
        return 0
    fi
    step "$as" || return 0
    before=$failures code=0
    # shellcheck disable=SC2086 # options are words
    limited "$(limit_of "$as" "${limit:-40}")" "$tracesmith" profile ${options-} -o "$work/$as.sbt" -- "$programs/$name" "$@" \
        >"$work/$as.txt" 2>"$work/$as.err" || code=$?
    if [ "$code" -eq 77 ]; then
        verdict "$as" "$(grep -m 1 '^skipped: ' "$work/$as.txt" || head -n 1 "$work/$as.txt")"
        return 0
    fi
    missing=$(sed -n 's/.*error while loading shared libraries: \([^:]*\):.*/\1/p' "$work/$as.err" | head -n 1)
    if [ -n "$missing" ]; then
        verdict "$as" "not there: $missing"
        return 0
    fi
    if [ "$code" -ne 0 ]; then
        why=$(grep -v -e '^tracesmith: next: ' -e '^tracesmith: .*\.sbt: ' "$work/$as.err" | tail -n 1)
        [ "$code" -ne 124 ] || why="its time was over; its stacks are below"
        untrue "$as ended with $code: $why"
        verdict "$as" "ended with $code${why:+: $why}"
        return 0
    fi
    compare "$as" "$work/$as.sbt" >"$work/$as.untrue" # not in a subshell: failures are counted
    cat "$work/$as.untrue"
    if [ "$before" -eq "$failures" ]; then
        verdict "$as" "as the program counted"
    else
        verdict "$as" "$(head -n 1 "$work/$as.untrue")"
    fi
}

# figure FILE NAME: a value that the program printed.
figure() { awk -v name="$2" '$1 == "figure" && $2 == name { print $3 }' "$1"; }

# least FILE VALUE: keeps the least of several runs.
least() {
    [ -n "$2" ] || return 0
    if [ ! -s "$1" ] || awk -v a="$2" -v b="$(cat "$1")" 'BEGIN { exit !(a < b) }'; then say "$2" >"$1"; fi
}

value() { if [ -s "$work/$1" ]; then cat "$work/$1"; else say -; fi; }

# difference A B: "-" where one is not known.
difference() { awk -v a="$1" -v b="$2" 'BEGIN { if (a != "-" && b != "-") printf "%.0f", a - b; else print "-" }'; }

# ---- results

# table FILE HEADING...: the lines of a file under a heading, if there are any.
table() {
    [ -s "$work/$1" ] || return 0
    file=$1
    shift
    printf '\n|'
    for heading in "$@"; do
        printf ' %s |' "$heading$simulated"
        simulated=
    done
    printf '\n|'
    for heading in "$@"; do printf -- '---|'; done
    printf '\n'
    cat "$work/$file"
}

# Each reason that TraceSmith gave in a run, and how often: what a count alone does not explain.
what_was_said() {
    cat "$work"/*.err 2>/dev/null | grep '^tracesmith: ' | grep -v -e '^tracesmith: next: ' -e '^tracesmith: [^ ]*\.sbt: ' |
        cut -c 1-400 | tr '|' '/' | sort | uniq -c | sort -rn | head -n 25 | sed 's/^ *\([0-9]*\) \(.*\)/| \1 | \2 |/' >"$work/said"
}

compose() {
    note=
    [ ! -e "$work/simulated" ] || note=' (simulated)'
    say "# On a GPU$note"
    say
    [ -z "$note" ] || printf '%s\n\n' "**Everything here is simulated: the driver and CUPTI are mocks, and no figure is a GPU's.**"
    cat "$work/about" 2>/dev/null
    say
    cat "$work/conclusion" "$work/wrong" "$work/missed" 2>/dev/null
    simulated=$note table stages stage what 'how it ended' seconds
    simulated=$note table facts 'compared with its trace' result
    simulated=$note table figures what measured asked met
    simulated=$note table clocks 'CUPTI has, at' 'ns from CLOCK_REALTIME' 'ns from CLOCK_MONOTONIC' 'result'
    simulated=$note table answers "question of CUDA replay" answer detail
    what_was_said
    simulated=$note table said times 'said by tracesmith'
    simulated=$note table machine machine 'what is there'
    simulated=$note table libraries 'library' 'where'
    cat "$work/devices" 2>/dev/null
    for hang in "$work"/hang-*.txt; do
        [ -s "$hang" ] || continue
        printf '\nNot ended in its time%s:\n\n```\n' "$note"
        head -n 120 "$hang" | cut -c 1-300
        printf '```\n'
    done
    say
    say "End of the results, written $(date -u '+%Y-%m-%d %H:%M:%S') UTC."
}

# Files in --out are always complete: each file is written under another name and then renamed.
write_progress() { compose >"$out/results.md.new" && mv "$out/results.md.new" "$out/results.md"; }

write_results() {
    write_progress
    # Traces of a million launches are no test data; the rest is small.
    (cd "$work" && find . -maxdepth 1 -type f -size -2000k | sed 's|^\./||' | grep -v '^\(code\|.*\.new\)$' |
        tar -czf "$out/raw.tar.gz.new" -T -) 2>/dev/null
    if [ "$(wc -c <"$out/raw.tar.gz.new")" -gt 15000000 ]; then
        (cd "$work" && find . -maxdepth 1 -type f -size -300k ! -name '*.sbt' | tar -czf "$out/raw.tar.gz.new" -T -) 2>/dev/null
    fi
    mv "$out/raw.tar.gz.new" "$out/raw.tar.gz"
}

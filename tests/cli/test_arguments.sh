#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command line: accepted forms, error messages, and exit codes.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect CODE WORDS-ON-STDERR ARGUMENT...
expect() {
    wanted=$1
    words=$2
    shift 2
    "$TRACESMITH" "$@" >"$work/out" 2>"$work/err"
    code=$?
    if [ "$code" != "$wanted" ]; then
        echo "tracesmith $*: exit code $code and not $wanted"
        cat "$work/err"
        failed=1
    fi
    if [ -n "$words" ] && ! grep -q -e "$words" "$work/err"; then
        echo "tracesmith $*: no '$words' in: $(cat "$work/err")"
        failed=1
    fi
    # What makes no sense leaves nothing on standard output that could be taken for an answer.
    if [ "$wanted" = 2 ] && [ $# -gt 0 ] && [ -s "$work/out" ]; then
        echo "tracesmith $*: wrote to standard output"
        failed=1
    fi
}

expect 2 ''
expect 0 '' --help
expect 0 '' -h
expect 0 '' --version
expect 0 '' help
expect 0 '' version --json
expect 0 '' view --help
expect 0 '' view --help --stats
expect 0 '' --no-color view -h
expect 0 '' view --version
expect 2 "did you mean 'view'" veiw file
expect 2 "did you mean 'benchmark'" bench
expect 2 "see 'tracesmith help'" xyzzy
expect 2 "did you mean '--version'" --verson
expect 2 'before the command' -x
expect 2 'needs FILE' view
expect 2 "('file' was taken as the value of --permute)" replay --permute file
expect 2 "unexpected argument 'b'" view a b
# The second would find standard input empty.
expect 2 'named 2 times, but can be read only once' analyze - -
expect 2 'named 3 times, but can be read only once' analyze --ranks - "$work" - -
expect 2 'can be read only once' diff - -
expect 2 'can be read only once' diff --base a,- -
expect 2 'can be read only once' diff --base -,- new
expect 2 'can be read only once' merge -o "$work/none.sbt" - -
expect 2 'can be read only once' import -o "$work/none.sbt" - -
expect 2 'can be read only once' studio - -
expect 2 'cannot both come from standard input' query - -
expect 2 "did you mean '--stats'" view --stat file
expect 2 "did you mean '--format'" view --formt=json file
expect 2 "unknown option '-x'" view -x file
expect 2 'text, json, csv' view -f yaml file
expect 2 "did you mean 'kernel'" view -t kernl file
expect 2 "unknown value ''" view -t kernel, file
expect 2 'is not a number' view -n x file
expect 2 'is not a number' view -n 12x file
expect 2 'is not a number' view -n 99999999999999999999 file
expect 2 'needs a value' view file -n
expect 2 'takes no value' view --json=yes file
expect 2 'cannot be combined' view --stats --timeline file
expect 2 'cannot be combined' view --json -f csv file
expect 2 'cannot be combined' view --json --format text file
expect 2 'needs the name of a file' profile -o '' true
expect 2 'needs the name of a file' recover --output= file
expect 2 'cannot be written to standard output' profile -o - true
expect 2 'needs' profile
expect 2 'need each other' profile --ptp /dev/ptp0 true
expect 2 'need each other' profile --ptp-error 1us true
expect 2 'is not a time' profile --ptp /dev/ptp0 --ptp-error near true
expect 2 '/dev/null is no PTP hardware clock' profile --ptp /dev/null --ptp-error 1us -o "$work/ptp.sbt" true
expect 2 'is not a size' profile -b 3Q true
expect 2 'is not a size' profile --buffer=0 true
expect 2 'drop-newest, drop-oldest, block' profile --overflow never true
expect 2 'opencl' profile --api metal true
expect 2 'given twice' profile --api opencl --api cuda true
expect 2 "unknown command" help nonsense
expect 2 'is not a number' benchmark -n 0
expect 2 'unexpected argument' devices now
expect 2 "if '2s' is the value of --flight, write --flight=2s" attach 1 --flight 2s
expect 2 "if '2s' is the value of --flight, write --flight=2s" attach --flight 2s 1
expect 127 "if '99' is the value of --sample, write --sample=99" profile --sample 99 true
mkdir "$work/archive"
: >"$work/archive/traces.otf2"
for command in info analyze import; do
    expect 3 'archive: is an OTF2 archive' "$command" "$work/archive"
done
expect 127 'No such file' profile "$work/missing"
expect 127 'not found in PATH' profile tracesmith-no-such-program
expect 126 'cannot be run' profile "$work"
: >"$work/plain"
expect 126 'cannot be run' profile "$work/plain"
echo precious >"$work/precious"
expect 2 'was not changed' profile -o "$work/precious" true
# Options of agents: nothing is run, and no file is touched.
expect 2 "did you mean 'cuda.graphs'" profile --agent-option cuda.grafs -o "$work/none.sbt" -- true
expect 2 'cuda.pc-samples' profile --agent-option=opencl.x -o "$work/none.sbt" -- true
expect 2 'not a number from 5 to 31' profile --agent-option cuda.pc-samples=4 -o "$work/none.sbt" -- true
expect 2 'takes no value' profile --agent-option cuda.graphs=1 -o "$work/none.sbt" -- true
expect 2 'which is not selected' profile --cuda graphs --api opencl -o "$work/none.sbt" -- true
[ ! -e "$work/none.sbt" ] || { echo "a refused option left a file"; failed=1; }
[ "$(cat "$work/precious")" = precious ] || {
    echo "profile overwrote a file that is no trace"
    failed=1
}

# An answer that cannot be written is an error; a reader that closed the pipe is not.
"$TRACESMITH" help >/dev/full 2>"$work/err"
[ $? = 4 ] || {
    echo "help >/dev/full succeeded"
    failed=1
}
grep -q 'No space left' "$work/err" || failed=1
("$TRACESMITH" help --as events; echo $? >"$work/code") 2>"$work/err" | head -n 1 >/dev/null
[ -s "$work/err" ] && {
    echo "a closed pipe was complained about: $(cat "$work/err")"
    failed=1
}
[ "$(cat "$work/code")" = 0 ] || {
    echo "a closed pipe gave $(cat "$work/code")"
    failed=1
}
exit $failed

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The workflows are YAML with the parts that GitHub asks for, the files they run exist, .ci/run names its steps, and the notes of a
# release are the section of its version and nothing else.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
# The steps that .ci/run names are those that it has.
sed -n 's/^step "\([^"]*\)".*/\1/p' .ci/run >"$work/steps"
[ "$(wc -l <"$work/steps")" -ge 10 ] || fail "the steps were not found"
bash .ci/run --list >"$work/listed"
cmp "$work/steps" "$work/listed" || fail ".ci/run --list"
# Only the step that is asked for runs. 'format' would take long: a step that fails at once shows it as well.
bash .ci/run 'no such step' >"$work/none"
grep -qx '0 passed, 0 failed' "$work/none" || fail "a step ran that was not asked for: $(cat "$work/none")"

cat >"$work/log.md" <<'EOF'
# Changelog

## 2.0.0

- two ([docs](docs/two.md), [web](https://example.org/a))

  more

## 1.0.0 (unreleased)

- one
EOF
# shellcheck disable=SC2016 # backticks of Markdown
printf -- '- two (`docs/two.md`, [web](https://example.org/a))\n\n  more\n' >"$work/expected"
packaging/release_notes.sh 2.0.0 "$work/log.md" | cmp - "$work/expected" || fail "the notes of 2.0.0"
[ "$(packaging/release_notes.sh 1.0.0 "$work/log.md")" = '- one' ] || fail "the notes of 1.0.0"
! packaging/release_notes.sh 1.0 "$work/log.md" 2>/dev/null || fail "notes of a version that is not there"
packaging/release_notes.sh "$(packaging/version.sh)" >/dev/null

for workflow in .github/workflows/*.yml; do
    grep -oE '(\.ci|\./dev|packaging|tests)[A-Za-z0-9_./-]*' "$workflow" | sort -u | while read -r file; do
        case $file in
        ./dev) file=dev ;;
        esac
        [ -x "$file" ] || fail "$workflow runs $file, which is not there"
    done
    grep -oE '\./dev [a-z]+' "$workflow" | sort -u | while read -r _ verb; do
        ./dev | grep -q "^  $verb\b" || fail "$workflow runs ./dev $verb"
    done
done
command -v python3 >/dev/null || { echo "skipped: no python3: the workflows were not parsed"; exit 77; }
. tests/support/python.sh
parser=
for candidate in python3 "$python"; do
    "$candidate" -c 'import yaml' 2>/dev/null && parser=$candidate
done
[ -n "$parser" ] || { echo "the workflows were not parsed: no PyYAML"; exit 0; }
"$parser" -B - .github/workflows/*.yml <<'EOF'
import sys, yaml
for path in sys.argv[1:]:
    workflow = yaml.safe_load(open(path, encoding="utf-8"))
    assert set(workflow) == {"name", True, "permissions", "jobs"}, (path, set(workflow))  # YAML reads "on" as true
    for name, job in workflow["jobs"].items():
        assert "runs-on" in job and job["steps"], (path, name)
        assert job.get("needs", name) in workflow["jobs"], (path, name)
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), (path, step)
            assert set(step) <= {"run", "uses", "id", "env", "name", "with"}, (path, step)
EOF

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The job files of examples/cluster: their syntax, as far as tools are here, and what the Slurm job does with a stand-in for srun.
set -eu
jobs=$TRACESMITH_SOURCE_DIR/examples/cluster
loop=$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

for file in "$jobs"/*.sh; do
    sh -n "$file" || fail "$file"
done
if command -v shellcheck >/dev/null; then
    shellcheck "$jobs"/*.sh || fail "shellcheck"
else
    echo "skipped: no shellcheck"
fi
for file in "$jobs"/*; do
    [ "${file##*/}" = README.md ] || grep -q "](${file##*/})" "$jobs/README.md" || fail "README.md does not have ${file##*/}"
done
if python3 -c 'import yaml' 2>/dev/null; then
    python3 - "$jobs"/*.yaml <<'E2'
import sys
import yaml
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    jobs = [document for document in documents if document["kind"] == "Job"]
    assert len(jobs) == 1 and jobs[0]["apiVersion"] == "batch/v1", path
    spec = jobs[0]["spec"]
    pod = spec["template"]["spec"]
    assert spec["completions"] == spec["parallelism"] and spec["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never", path
    assert {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}, path
    command = " ".join(pod["containers"][0]["command"])
    assert "JOB_COMPLETION_INDEX" in command, path
    if "nnodes" in command:
        assert "--nnodes %d " % spec["completions"] in command and "--nproc-per-node %s " % pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] in command, path
E2
else
    echo "skipped: no PyYAML"
fi

mkdir "$work/bin"
ln -s "$TRACESMITH" "$work/bin/tracesmith"
cat >"$work/bin/srun" <<'E2'
#!/bin/sh
# Two tasks of a step, one after the other; the exit code is the worst.
worst=0
for rank in 0 1; do
    SLURM_STEP_ID=0 SLURM_PROCID=$rank SLURM_NTASKS=2 SLURM_LOCALID=$rank SLURM_NODEID=0 "$@" || worst=$?
done
exit "$worst"
E2
chmod +x "$work/bin/srun"
cd "$work"
PATH=$work/bin:$PATH SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=2 sh "$jobs/record-slurm.sh" "$loop" -n 5 >out 2>&1 || fail "the job: $(cat out)"
for rank in 0 1; do
    "$TRACESMITH" info "traces-7/run.$rank.sbt" | grep -q "^rank  *rank $rank of 2, local rank $rank, node 0 (slurm, job 7)" || fail "rank $rank: $(cat out)"
done
[ -s traces-7/ranks.html ] || fail "no comparison: $(cat out)"
status=0
PATH=$work/bin:$PATH SLURM_JOB_ID=8 sh "$jobs/record-slurm.sh" sh -c "exit 5" >out 2>&1 || status=$?
[ "$status" = 5 ] || fail "the job ends with the exit code of the program, not $status"

# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import unittest

import made
import tracesmith as ts

# Kernels of one queue without a gap: the queue alone decides how long it takes.
KERNELS = [(("gemm", "relu")[i % 2], 1_000_000 + 10_000 * i, 10_000, None) for i in range(100)]


def command(*arguments):
    """The answer of `tracesmith simulate`, or None where it refuses one."""
    done = subprocess.run([os.environ["TRACESMITH"], "simulate", "--json", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        return None
    answer = json.loads(done.stdout)
    return answer["model"], answer["answers"][0]


class Simulate(unittest.TestCase):
    def same(self, got, wanted):
        model, answer = wanted
        self.assertEqual((got.recorded, got.error, got.held_out_error, got.held_out_covered),
                         (model["recorded_ns"], model["error"], model["held_out_error"], model["held_out_covered"]))
        self.assertEqual((list(got.interval), list(got.open), got.affected),
                         (answer["interval_ns"], answer["open_ns"], answer["affected"]))
        self.assertEqual((got.unknown_launches, got.untimed, got.device_busy),
                         (answer["unknown_launches"], answer["untimed"], answer["device_busy_ns"]))
        self.assertEqual([(part["what"], part["name"], part["count"], part["time"]) for part in got.path],
                         [(part["what"], part["name"], part["count"], part["time_ns"]) for part in answer["path"]])
        self.assertEqual(json.loads(json.dumps(got.to_dict()))["affected"], got.affected)

    def test_same_as_the_command(self):
        asked = [
            ({"scale": {"kernel": {"*": 0.5}}}, ["--scale", "kernel=*:0.5"]),
            ({"scale": {"host": {"*": 0.25}, "copy": {"*": 2}}}, ["--scale", "host=*:0.25", "--scale", "copy=*:2"]),
            ({"drop_sync": ["*"]}, ["--drop-sync", "*"]),
            ({"graph": 1000}, ["--graph", "1us"]),
            ({"policy": "round-robin"}, ["--policy", "round-robin"]),
        ]
        compared = 0
        for path in made.corpus():
            with ts.open(path) as trace:
                for how, arguments in asked:
                    wanted = command(*arguments, path)
                    if wanted is None:
                        self.assertRaises(ts.Error, trace.simulate, **how)
                    else:
                        self.same(trace.simulate(**how), wanted)
                        compared += 1
        if made.corpus():
            self.assertGreater(compared, 4)

    def test_made(self):
        made.write_kineto("made.json", KERNELS)
        with ts.open("made.json") as trace:
            half = trace.simulate({"kernel": {"gemm": 0.5}})
            self.assertEqual((half.recorded, half.affected, half.makespan), (1_000_000, 50, (750_000, 750_000)))
            self.assertLessEqual(half.saves[0], 250_000)
            self.assertGreaterEqual(half.saves[1], 250_000)
            self.same(half, command("--scale", "kernel=gemm:0.5", "made.json"))
            for wrong in ({"scale": {"nothing": {}}}, {"scale": {"kernel": {"nothing": 2}}}, {"policy": "nothing"},
                          {"scale": {"kernel": {"*": -1}}}):
                self.assertRaises(ts.ArgumentError, trace.simulate, **wrong)
            self.assertRaises(TypeError, trace.simulate, drop_sync="*")
        self.assertRaises(ts.StateError, trace.simulate)
        made.write_kineto("empty.json", [])
        with ts.open("empty.json") as trace:
            self.assertRaises(ts.NotFoundError, trace.simulate)


if __name__ == "__main__":
    unittest.main()

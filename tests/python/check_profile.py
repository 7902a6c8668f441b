# SPDX-License-Identifier: Apache-2.0
import importlib.util
import itertools
import os
import random
import subprocess
import sys
import unittest
import warnings

import tracesmith as ts

A = ts.ProfilerAction
HERE = os.path.dirname(os.path.abspath(__file__))
PRELUDE = f"import sys; sys.path.insert(0, {HERE!r})\nimport opencl, tracesmith as ts\n"


def python(code, *before):
    """Runs a program with the Python of this process; its standard output."""
    command = [*before, sys.executable, "-B", "-W", "error", "-c", PRELUDE + code]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{code}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def has_opencl():
    return python("print(opencl.fill(1))") == "True\n"


def column(path, kind, name="name"):
    with ts.open(path) as trace:
        return [value for _, value in sorted(trace.events(kind, columns=["start", name]))]


class Schedule(unittest.TestCase):
    def test_cycles_as_they_are_described(self):
        for skip, wait, warmup, active, repeat in itertools.product((0, 3), (0, 2), (0, 1), (1, 3), (0, 1, 2)):
            cycle = [A.NONE] * wait + [A.WARMUP] * warmup + [A.RECORD] * (active - 1) + [A.RECORD_AND_SAVE]
            wanted = [A.NONE] * skip + cycle * (repeat or 10) + [A.NONE] * 5 * (repeat != 0)
            action = ts.schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip)
            self.assertEqual([action(step) for step in range(len(wanted))], wanted)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no PyTorch")
    def test_is_pytorch_s(self):
        from torch.profiler import schedule as pytorch_s

        chance = random.Random(16)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2000):
                numbers = {"wait": chance.randrange(5), "warmup": chance.randrange(4), "active": chance.randrange(1, 5),
                           "repeat": chance.randrange(4), "skip_first": chance.randrange(4), "skip_first_wait": chance.randrange(2)}
                ours, theirs = ts.schedule(**numbers), pytorch_s(**numbers)
                self.assertEqual([ours(step).name for step in range(60)], [theirs(step).name for step in range(60)], numbers)
                self.assertEqual([ours(step).value for step in range(9)], [theirs(step).value for step in range(9)])
            for wrong in ({"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}):
                numbers = {"wait": 1, "warmup": 1, "active": 1, **wrong}
                self.assertRaises(Exception, pytorch_s, **numbers)
                self.assertRaises(ValueError, ts.schedule, **numbers)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no PyTorch")
    def test_steps_are_pytorch_s(self):
        """Together with torch.profiler in one loop: the same calls of on_trace_ready, the same warnings, the same steps in the files."""
        import json

        from torch.profiler import ProfilerAction as PyTorchs, ProfilerActivity, profile

        chance = random.Random(17)
        for _ in range(6):
            actions = [chance.choice((A.NONE, A.WARMUP, A.RECORD, A.RECORD_AND_SAVE)) for _ in range(12)] + [A.NONE] * 8
            ours, theirs, recorded = [], [], set()

            def ready(profiler):
                theirs.append(profiler.step_num)
                profiler.export_chrome_trace("theirs.json")
                with open("theirs.json", encoding="utf-8") as file:
                    recorded.update(event["name"] for event in json.load(file)["traceEvents"]
                                    if event.get("name", "").startswith("ProfilerStep#"))

            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with ts.profile("ours.sbt", apis=["opencl"], schedule=lambda step: actions[step],
                                on_trace_ready=lambda p: ours.append(p.step_num)) as our, \
                        profile(activities=[ProfilerActivity.CPU], schedule=lambda step: PyTorchs(actions[step].value),
                                on_trace_ready=ready) as their:
                    for _ in range(chance.randrange(1, 18)):
                        our.step()
                        their.step()
            self.assertEqual(ours, theirs, actions)
            said = [str(warning.message) for warning in caught if "ncorrect schedule" in str(warning.message)]
            self.assertEqual(len(said) % 2, 0, (said, actions))
            # What ends without being saved is in our file all the same.
            self.assertLessEqual(recorded, {name for name in column("ours.sbt", "range")})

    def test_wrong_numbers(self):
        for wrong in ({"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}):
            self.assertRaises(ValueError, ts.schedule, **{"wait": 0, "warmup": 0, "active": 1, **wrong})
        self.assertRaises(TypeError, ts.schedule)
        self.assertRaises(ValueError, ts.schedule(wait=0, warmup=0, active=1), -1)

    def run_steps(self, path, schedule, steps):
        """The steps whose marks are in the file, the windows, and the steps at which the callback came."""
        called = []
        with ts.profile(path, schedule=schedule, on_trace_ready=lambda p: called.append(p.step_num)) as profile:
            for step in range(steps):
                ts.mark(str(step))
                with ts.range(f"range {step}"):
                    pass
                profile.step()
        return [int(name) for name in column(path, "marker")], profile, called

    def test_what_is_active_is_recorded(self):
        chance = random.Random(16)
        for _ in range(20):
            schedule = ts.schedule(wait=chance.randrange(3), warmup=chance.randrange(3), active=chance.randrange(1, 4),
                                   repeat=chance.randrange(3), skip_first=chance.randrange(3))
            steps = chance.randrange(1, 20)
            marks, profile, called = self.run_steps("steps.sbt", schedule, steps)
            active = [step for step in range(steps) if schedule(step) in (A.RECORD, A.RECORD_AND_SAVE)]
            self.assertEqual(marks, active)
            names = [name for name in column("steps.sbt", "range") if name.startswith("ProfilerStep#")]
            tail = [steps] if schedule(steps) in (A.RECORD, A.RECORD_AND_SAVE) else []  # begun by the last step()
            self.assertEqual(names, [f"ProfilerStep#{step}" for step in active + tail])
            # As torch.profiler: at the step after each window, and at the stop for one that is open.
            ends = [step + 1 for step in range(steps) if schedule(step) is A.RECORD_AND_SAVE]
            self.assertEqual(called, ends + tail)
            self.assertEqual(len(profile.windows), len(called))
            self.assertTrue(all(start <= end for start, end in profile.windows))

    def test_schedules_of_the_programs_own(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            marks, profile, called = self.run_steps("own.sbt", lambda step: A.RECORD if step % 3 == 1 else A.NONE, 6)
        self.assertEqual((marks, called, len(profile.windows)), ([1, 4], [], 2))
        self.assertEqual([str(warning.message) for warning in caught],
                         ["Incorrect schedule: RECORD followed by NONE"] * 2)

    def test_without_a_schedule_everything_is_recorded(self):
        marks, profile, called = self.run_steps("all.sbt", None, 3)
        self.assertEqual((marks, called, len(profile.windows)), ([0, 1, 2], [3], 1))
        self.assertEqual(column("all.sbt", "range"), ["range 0", "range 1", "range 2"])

    def test_step_outside(self):
        profile = ts.profile("outside.sbt")
        self.assertRaises(ts.StateError, profile.step)
        with profile:
            pass
        profile.step()
        self.assertEqual(profile.step_num, 0)

    def test_exception_in_a_step(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            with ts.profile("raised.sbt", schedule=ts.schedule(wait=0, warmup=0, active=2)):
                ts.mark("before")
                raise KeyError("mine")
        self.assertEqual((column("raised.sbt", "marker"), column("raised.sbt", "range")), (["before"], ["ProfilerStep#0"]))

    def test_environment_is_as_before(self):
        before = dict(os.environ)
        with ts.profile("environment.sbt"):
            inside = dict(os.environ)
            child = dict(line.split("=", 1) for line in subprocess.run(["env"], capture_output=True, text=True).stdout.splitlines()
                         if "=" in line)
            self.assertNotEqual(inside, before)
            self.assertEqual(child["TRACESMITH_SESSION"], inside["TRACESMITH_SESSION"])
        self.assertEqual(dict(os.environ), before)

    def test_options_that_do_not_exist(self):
        self.assertRaises(ts.Error, ts.profile("x.sbt", apis=["no such api"]).start)
        self.assertFalse(os.path.exists("x.sbt"))
        self.assertRaises(ValueError, ts.profile("x.sbt", apis=[]).start)
        self.assertRaises(TypeError, ts.profile, "x.sbt", no_such_option=1)
        with ts.profile("after.sbt"):
            ts.mark("after that")
        self.assertEqual(column("after.sbt", "marker"), ["after that"])


class Programs(unittest.TestCase):
    """A program is recorded together with what it says."""

    @classmethod
    def setUpClass(cls):
        if not has_opencl():
            raise unittest.SkipTest("no OpenCL device")
        note = python("import warnings; warnings.simplefilter('ignore')\nwith ts.profile('probe.sbt') as p: pass\nprint(p.note)")
        if "does not support layers" in note:
            raise unittest.SkipTest(note.strip())

    def test_this_process(self):
        python("with ts.profile('own_calls.sbt', stacks=True):\n with ts.range('work'): opencl.fill(25)")
        with ts.open("own_calls.sbt") as trace:
            self.assertEqual(trace.info["kinds"]["memset"], 25)
            self.assertEqual(trace.info["kinds"]["range"], 1)
            # The calls are inside the range, on the same clock and thread.
            inside = trace.sql("SELECT count(*) FROM api, range WHERE api.name = 'clEnqueueFillBuffer' AND "
                               "api.start >= range.start AND api.end <= range.end AND api.track = range.track")
            self.assertEqual(list(inside), [(25,)])

    def test_schedule_switches_agents(self):
        python("with ts.profile('windows.sbt', schedule=ts.schedule(wait=1, warmup=1, active=2, repeat=2)) as p:\n"
               " for step in range(10):\n"
               "  opencl.fill(10 + step)\n"
               "  p.step()")
        with ts.open("windows.sbt") as trace:  # steps 2, 3, 6 and 7
            self.assertEqual(trace.info["kinds"]["memset"], 12 + 13 + 16 + 17)
            self.assertLessEqual(set(trace.info["lost"]), {"no_timing"})  # rusticl does not time fills

    def test_children_are_recorded(self):
        python("import subprocess\nwith ts.profile('children.sbt'):\n"
               f" code = {PRELUDE + 'opencl.fill(7)' + chr(10) + 'with ts.range(chr(99)): pass'!r}\n"
               " for environment in (None, __import__('os').environ.copy()):\n"
               "  subprocess.run([sys.executable, '-c', code], env=environment, check=True)")
        with ts.open("children.sbt") as trace:
            self.assertEqual((trace.info["kinds"]["memset"], trace.info["kinds"]["range"]), (14, 2))

    def test_too_late_is_said(self):
        said = python("import warnings\nopencl.fill(1)\nwith warnings.catch_warnings(record=True) as caught:\n"
                      " warnings.simplefilter('always')\n"
                      " with ts.profile('late.sbt') as p:\n  opencl.fill(5); ts.mark('mark')\n"
                      "print([type(w.message) is ts.IncompleteRecordingWarning for w in caught], p.note)")
        self.assertTrue(said.startswith("[True] not recorded in this process: too late to profile OpenCL"), said)
        self.assertEqual(column("late.sbt", "marker"), ["mark"])
        shown = subprocess.run([sys.executable, "-m", "tracesmith", "info", "late.sbt"], capture_output=True, text=True)
        self.assertIn("too late to profile OpenCL", shown.stdout + shown.stderr)

    def test_program_that_is_started_recorded(self):
        with open("script.py", "w", encoding="utf-8") as file:
            file.write(PRELUDE + "import threading\n@ts.range('work')\ndef work(): ts.mark(sys.argv[1])\n"
                       "opencl.fill(3)\nthreads = [threading.Thread(target=work) for _ in range(4)]\n"
                       "[t.start() for t in threads]; [t.join() for t in threads]\n"
                       "with ts.session('inner.sbt'): ts.mark('inner')\nts.mark('end')\nsys.exit(5)\n")
        command = [sys.executable, "-m", "tracesmith", "run", "-o", "run.sbt", "script.py", "argument"]
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 5)
        self.assertEqual((column("run.sbt", "marker"), column("run.sbt", "range")),
                         (["argument"] * 4 + ["end"], ["work"] * 4))
        self.assertEqual(column("inner.sbt", "marker"), ["inner"])
        with ts.open("run.sbt") as trace:
            self.assertEqual(trace.info["kinds"]["memset"], 3)
            self.assertLessEqual(set(trace.info["lost"]), {"no_timing"})

    def test_profile_inside_of_a_recording(self):
        said = python("import warnings; warnings.simplefilter('ignore')\n"
                      "with ts.profile('inside.sbt') as p:\n opencl.fill(5); ts.mark('inside')\n"
                      "ts.mark('outside'); print(p.note)",
                      sys.executable, "-m", "tracesmith", "profile", "-o", "outside.sbt", "--")
        self.assertIn("already", said)
        self.assertEqual((column("inside.sbt", "marker"), column("outside.sbt", "marker")), (["inside"], ["outside"]))
        self.assertEqual(len(column("outside.sbt", "memset")), 5)


class Run(unittest.TestCase):
    def test_usage(self):
        for words in ([], ["-m"], ["-o"], ["-o", "x.sbt"]):
            done = subprocess.run([sys.executable, "-m", "tracesmith", "run", *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, "usage:" in done.stderr), (2, True), words)
        done = subprocess.run([sys.executable, "-m", "tracesmith", "run", "--help"], capture_output=True, text=True)
        self.assertEqual((done.returncode, "usage:" in done.stdout), (0, True))

    def test_words(self):
        from tracesmith._cli import run_arguments as arguments

        rest = ["--", sys.executable]
        self.assertEqual(arguments(["a.py", "-o", "x"]), ["profile", *rest, "a.py", "-o", "x"])
        self.assertEqual(arguments(["-o", "x", "--stacks", "a.py"]), ["profile", "-o", "x", "--stacks", *rest, "a.py"])
        self.assertEqual(arguments(["--cuda=graphs", "-m", "json.tool", "-h"]),
                         ["profile", "--cuda=graphs", *rest, "-m", "json.tool", "-h"])
        self.assertEqual(arguments(["--", "-c", "1"]), ["profile", *rest, "-c", "1"])


if __name__ == "__main__":
    if not has_opencl():
        print("skipped: recording of GPU calls, for want of an OpenCL device")
    unittest.main()

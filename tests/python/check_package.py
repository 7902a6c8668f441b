# SPDX-License-Identifier: Apache-2.0
import ast
import glob
import importlib.metadata
import inspect
import os
import subprocess
import sys
import sysconfig
import unittest

import tracesmith as ts

FOLDER = os.path.dirname(ts.__file__)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True)


class Package(unittest.TestCase):
    def test_comes_from_the_wheel(self):
        self.assertTrue(FOLDER.startswith(sysconfig.get_path("purelib") + os.sep), FOLDER)

    def test_version_is_the_librarys(self):
        self.assertEqual(ts.__version__, importlib.metadata.version("tracesmith"))
        self.assertEqual(run(sys.executable, "-m", "tracesmith", "--version").stdout, f"tracesmith {ts.__version__}\n")

    def test_import_loads_nothing_large(self):
        code = "import sys; before = set(sys.modules); import tracesmith; print(*sorted(set(sys.modules) - before))"
        loaded = run(sys.executable, "-c", code).stdout.split()
        self.assertEqual(loaded, ["tracesmith", "tracesmith._native"])

    def test_both_commands_are_the_command(self):
        wanted = run(os.environ["TRACESMITH"], "--help").stdout
        self.assertGreater(len(wanted), 500)
        for name in ("tracesmith", "tracesmith-cli"):
            command = os.path.join(sysconfig.get_path("scripts"), name)
            self.assertEqual(run(command, "--help").stdout, wanted)

    def test_command_gives_its_own_exit_status(self):
        for arguments, status in ((["no-such-command"], 2), (["info", "/nonexistent"], None)):
            direct = subprocess.run([os.environ["TRACESMITH"], *arguments], capture_output=True, text=True)
            packed = subprocess.run([sys.executable, "-m", "tracesmith", *arguments], capture_output=True, text=True)
            self.assertNotEqual(packed.returncode, 0)
            self.assertEqual((packed.returncode, packed.stderr), (direct.returncode, direct.stderr))
            if status is not None:
                self.assertEqual(packed.returncode, status)

    def test_agents_lie_where_the_library_looks(self):
        built = os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "lib", "tracesmith")
        packed = {name for name in os.listdir(os.path.join(FOLDER, "lib", "tracesmith"))}
        self.assertLessEqual({"libtracesmith-cuda.so", "libtracesmith-nvtx.so"}, packed)
        # Tests build agents of their own next to these.
        self.assertLessEqual(packed, set(os.listdir(built)))

    def test_wheel_is_for_every_later_python_and_small(self):
        wheels = glob.glob(os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "python", "wheel", "*.whl"))
        self.assertEqual(len(wheels), 1)
        self.assertIn("-cp310-abi3-linux_", wheels[0])
        self.assertLess(os.path.getsize(wheels[0]), 6_000_000)
        native = os.path.basename(sys.modules["tracesmith._native"].__file__)
        self.assertEqual(native, "_native.abi3.so")

    def test_extension_uses_the_stable_interface_only(self):
        symbols = run("nm", "-D", "--undefined-only", sys.modules["tracesmith._native"].__file__).stdout.split()
        used = {name for name in symbols if name.startswith(("Py", "_Py"))}
        self.assertGreater(len(used), 30)
        # What macros of the limited API expand to; all of it is in the stable ABI (Misc/stable_abi.toml).
        allowed = {"_Py_Dealloc", "_Py_NoneStruct", "_Py_FalseStruct", "_Py_TrueStruct", "_Py_BuildValue_SizeT",
                   "_PyArg_ParseTuple_SizeT", "_PyArg_ParseTupleAndKeywords_SizeT", "_PyObject_CallFunction_SizeT",
                   "_PyObject_CallMethod_SizeT"}
        self.assertLessEqual({name for name in used if name.startswith("_")}, allowed)


class Interface(unittest.TestCase):
    def test_every_name_is_there(self):
        for name in ts.__all__:
            getattr(ts, name)
            self.assertIn(name, dir(ts))
        with self.assertRaises(AttributeError):
            ts.no_such_name

    def test_stubs_name_what_there_is(self):
        with open(os.path.join(FOLDER, "__init__.pyi"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        named = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        self.assertEqual(named | {"__version__"}, set(ts.__all__))
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "py.typed")))

    def test_stubs_of_the_extension_name_its_members(self):
        with open(os.path.join(FOLDER, "_native.pyi"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        native = sys.modules["tracesmith._native"]
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
                real = {name for name in vars(getattr(native, node.name)) if not name.startswith("__")}
                self.assertEqual({name for name in members if not name.startswith("__")}, real)
        named = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(named, {name for name in vars(native) if not name.startswith("_")} - {"library_version"})

    def test_everything_public_is_documented(self):
        for name in ts.__all__:
            value = getattr(ts, name)
            if isinstance(value, str):
                continue
            self.assertTrue(inspect.getdoc(value), name)
            for member, thing in vars(value).items() if inspect.isclass(value) else ():
                if not member.startswith("_") and (callable(thing) or isinstance(thing, property)):
                    self.assertTrue(inspect.getdoc(thing), f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()

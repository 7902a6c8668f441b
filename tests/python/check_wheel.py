# SPDX-License-Identifier: Apache-2.0
"""auditwheel puts all libraries that other machines may lack into the wheel, accepts the outcome for them, and it has less than
6 MB. The wheel of the tests has two parts that `./dev wheel` makes in another way or leaves out, and which are left out here."""
import base64
import glob
import hashlib
import os
import re
import subprocess
import sys
import zipfile

OF_THIS_MACHINE = ("libexec/tracesmith/tracesmith-studio", "lib/tracesmith/libtracesmith-oclgrind.so")


def copy(old, new):
    """Without these parts; a wheel has a list of its files."""
    lines = []
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as out:
        for info in source.infolist():
            if info.filename.endswith(OF_THIS_MACHINE) or info.is_dir():
                continue
            if info.filename.endswith(".dist-info/RECORD"):
                record = info
                continue
            data = source.read(info)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{info.filename},sha256={digest},{len(data)}\n")
            out.writestr(info, data)
        out.writestr(record, "".join([*lines, f"{record.filename},,\n"]))


def auditwheel(*arguments):
    done = subprocess.run([sys.executable, "-m", "auditwheel", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


name = os.path.basename(sys.argv[1])
copy(sys.argv[1], name)
auditwheel("repair", "--wheel-dir", "repaired", name)
(repaired,) = glob.glob("repaired/*.whl")
shown = auditwheel("show", repaired)
tag = re.search(r'platform tag: "([^"]*)"', shown)
assert tag and tag.group(1).startswith("manylinux"), shown
assert tag.group(1) in repaired, (repaired, shown)
with zipfile.ZipFile(repaired) as wheel:
    added = [os.path.basename(file) for file in wheel.namelist() if ".libs/" in file]
# The loader of OpenCL is the machine's: it finds the drivers.
assert added and not [file for file in added if file.startswith(("libOpenCL", "libLLVM", "libstdc++"))], added
assert os.path.getsize(repaired) < 6_000_000, os.path.getsize(repaired)
print(os.path.basename(repaired), os.path.getsize(repaired), "bytes")

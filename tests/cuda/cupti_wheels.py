# SPDX-License-Identifier: Apache-2.0
"""Takes CUPTI's headers out of PyPI's wheels: cupti_wheels.py FOLDER. Called by './dev cupti --install'.

FOLDER gets VERSION/include (VERSION: 12.3), VERSION/lib where the list says 'library', and cuda-MAJOR/include with the
headers of CUDA itself. What is there already is not downloaded again: FOLDER/NAME.done holds the wheel's checksum.
"""
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile

PLATFORMS = "manylinux2014 manylinux1 manylinux_2_17 manylinux_2_25 manylinux_2_28".split()


def download(requirement, folder):
    platforms = [word for name in PLATFORMS for word in ("--platform", name + "_x86_64")]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
         "--python-version", "3.12", "--dest", folder, *platforms, requirement], check=True)
    (wheel,) = os.listdir(folder)
    return os.path.join(folder, wheel)


def place(name, version, what, member):
    """Where a file of the wheel goes, below FOLDER; None: nowhere."""
    number = re.match(r"\d+\.\d+", version)[0]
    header = re.search(r"/include/([\w./]+\.h)$", member)
    if header and ".." not in member:
        folder = "cuda-" + number.split(".")[0] if what == "cuda" else number
        return os.path.join(folder, "include", header[1])
    if what == "library" and re.search(r"/lib/libcupti\.so\.[\d.]+$", member):
        return os.path.join(number, "lib", os.path.basename(member))
    return None


def install(root, requirement, what, checksum):
    name, version = requirement.split("==")
    done = os.path.join(root, requirement + ".done")
    if os.path.exists(done) and open(done).read() == checksum + what:
        return
    with tempfile.TemporaryDirectory(dir=root) as folder:
        wheel = download(requirement, folder)
        with open(wheel, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if found != checksum:
            sys.exit(f"cupti_wheels: {requirement}: checksum {found}, {checksum} is expected")
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                to = place(name, version, what, member)
                if to:
                    os.makedirs(os.path.join(root, os.path.dirname(to)), exist_ok=True)
                    with open(os.path.join(root, to), "wb") as file:
                        file.write(archive.read(member))
    with open(done, "w") as file:
        file.write(checksum + what)


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for line in open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cupti_wheels.txt")):
        if not line.startswith("#"):
            install(sys.argv[1], *line.rstrip("\n").split("\t"))


main()

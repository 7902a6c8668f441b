#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The numbers of drivers' calls are those of the system's own headers, where it has them.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || {
    echo "skipped: no python3 to judge with"
    exit 77
}
python3 - "$TRACESMITH_SOURCE_DIR/src/watch/driver_names.c" <<'PY'
import os, re, sys
ours = {name: int(number, 0) for number, name in re.findall(r'\{(\w+), "(\w+)"\}', open(sys.argv[1]).read())}
headers = [("/usr/include/linux/kfd_ioctl.h", r"#define\s+(AMDKFD_IOC_\w+)\s*\\?\s*AMDKFD_IO\w*\(\s*(0x[0-9A-Fa-f]+)"),
           ("/usr/include/drm/drm.h", r"#define\s+(DRM_IOCTL_\w+)\s*\\?\s*DRM_IO\w*\(\s*(0x[0-9A-Fa-f]+)"),
           ("/usr/include/libdrm/drm.h", r"#define\s+(DRM_IOCTL_\w+)\s*\\?\s*DRM_IO\w*\(\s*(0x[0-9A-Fa-f]+)")]
there = [(path, pattern) for path, pattern in headers if os.path.exists(path)]
if not there:
    print("skipped: no header of a driver is here")
    sys.exit(77)
checked = 0
for path, pattern in there:
    for name, number in re.findall(pattern, open(path).read()):
        if name in ours:
            assert ours[name] == int(number, 16), (path, name, number, ours[name])
            checked += 1
assert checked >= 20, checked
print(checked, "names agree")
PY

# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# To be sourced: builds the wheel, installs it into a virtual environment of its own, and sets venv_python to that one's
# Python. Only the extension module is compiled; the library, the agents and the command are those of the build that is
# tested (`./dev wheel` builds all of it, as pip does). Built again only when something of it is newer. Nothing is
# downloaded. Exits with 77 and the reason where it cannot be built.
#
# In a build with AddressSanitizer the extension module is sanitized as well, and venv_python is a script that loads the
# sanitizer's runtime into Python (LD_PRELOAD). Python then removes it from its environment: programs that it starts are not
# sanitized, or contain a runtime of their own. Python's objects come from malloc, so that their use after release is seen.
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/support/python.sh
. "$TRACESMITH_SOURCE_DIR/tests/support/python.sh"
case ${TRACESMITH_SANITIZE-} in
'' | *address*) ;;
*)
    echo "skipped: no runtime of '$TRACESMITH_SANITIZE' can be loaded into $python"
    exit 77
    ;;
esac
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || {
    echo "skipped: no Python 3.10 or newer ($python)"
    exit 77
}
"$python" -c 'import scikit_build_core, ensurepip, pip' 2>/dev/null || {
    echo "skipped: no scikit-build-core and pip for $python (./dev python --install; TRACESMITH_PYTHON names another Python)"
    exit 77
}
header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
[ -f "$header" ] || {
    echo "skipped: no $header (./dev python --install; Debian: python3-dev)"
    exit 77
}
package=$TRACESMITH_BUILD_DIR/python
venv_python=$package/venv/bin/python
mkdir -p "$package"

# The tests are run side by side; one of them builds.
exec 9>"$package/lock"
flock 9
is_fresh() {
    [ -f "$package/stamp" ] && [ "$(cat "$package/stamp")" = "$python" ] && (
        cd "$TRACESMITH_SOURCE_DIR" || exit
        [ -z "$(find bindings pyproject.toml include LICENSE README.md "$TRACESMITH_BUILD_DIR/bin/tracesmith" \
            "$TRACESMITH_BUILD_DIR"/lib/libtracesmith.so.*.*.* "$TRACESMITH_BUILD_DIR"/lib/tracesmith \
            -newer "$package/stamp" | head -n 1)" ]
    )
}
# load_runtime SITE-PACKAGES: venv_python becomes a script that loads the sanitizer's runtime first. Its path is what Python
# programs that start another Python know as sys.executable.
load_runtime() {
    runtime=$("${CC:-cc}" -print-file-name="libclang_rt.asan-$(uname -m).so")
    [ -f "$runtime" ] || runtime=$("${CC:-cc}" -print-file-name=libasan.so)
    # The runtime looks for the functions of C++ exceptions when it is loaded, which is before Python loads any C++.
    runtime=$(realpath "$runtime"):$(realpath "$("${CC:-cc}" -print-file-name=libstdc++.so.6)") || return
    mv "$venv_python" "$venv_python.plain"
    cat >"$venv_python" <<EOF || return
#!/bin/sh
export LD_PRELOAD="$runtime\${LD_PRELOAD:+:\$LD_PRELOAD}" PYTHONMALLOC=malloc
# Python leaves memory to the system when it exits; checks of growth are in check_life.py.
export ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=8:thread_local_quarantine_size_kb=64:handle_segv=0:handle_abort=0\${ASAN_OPTIONS:+:\$ASAN_OPTIONS}"
exec "$venv_python.plain" "\$@"
EOF
    chmod +x "$venv_python"
    cat >"$1/aa_runtime.pth" <<EOF
import os, sys; sys.executable = "$venv_python"; before = os.environ.pop("LD_PRELOAD", "").split(":")[2:]; before and os.environ.update(LD_PRELOAD=":".join(before))
EOF
}
build_package() {
    rm -rf "$package/wheel" "$package/venv" "$package/stamp" "$package/installed"
    touch "$package/begun" # what changes while it is built is newer
    strip=--strip
    [ -z "${TRACESMITH_SANITIZE-}" ] || strip=
    cmake --install "$TRACESMITH_BUILD_DIR" $strip --prefix "$package/installed" || return
    "$python" -m pip wheel --no-index --no-build-isolation --no-deps --wheel-dir "$package/wheel" \
        --config-settings=build-dir="$package/cmake" --config-settings=cmake.source-dir=bindings/python \
        --config-settings=cmake.define.TRACESMITH_INSTALLED="$package/installed" \
        --config-settings=cmake.define.TRACESMITH_SANITIZE="${TRACESMITH_SANITIZE-}" \
        --config-settings=install.strip="$([ "$strip" ] && echo true || echo false)" \
        --config-settings=cmake.define.TRACESMITH_WERROR=ON "$TRACESMITH_SOURCE_DIR" || return
    "$python" -m venv "$package/venv" || return
    "$venv_python" -m pip install --no-index --no-deps "$package/wheel"/*.whl || return
    # The data frame libraries are those of the Python that was found; they come last, so they hide nothing.
    site=$("$venv_python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/zz_frames.pth" || return
    [ -z "${TRACESMITH_SANITIZE-}" ] || load_runtime "$site" || return
    echo "$python" >"$package/stamp"
    touch -r "$package/begun" "$package/stamp"
}
if ! is_fresh && ! build_package >"$package/log" 2>&1; then
    tail -n 60 "$package/log"
    echo "the Python package could not be built"
    exit 1
fi
exec 9>&-

# watched COMMAND...: ends before ctest's timeout (tests/CMakeLists.txt), and then says where it was.
watched() {
    limit=480
    [ -z "${TRACESMITH_SANITIZE-}" ] || limit=720
    [ -z "${TRACESMITH_SOAK-}" ] || limit=21000
    "$python" -B "$TRACESMITH_SOURCE_DIR/tests/python/watch.py" "$limit" "$@"
}

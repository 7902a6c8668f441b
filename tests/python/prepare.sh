# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# To be sourced: builds the wheel, installs it into a virtual environment of its own, and sets venv_python to that one's
# Python. Only the extension module is compiled; the library, the agents and the command are those of the build that is
# tested (`./dev wheel` builds all of it, as pip does). Built again only when something of it is newer. Nothing is
# downloaded. Exits with 77 and the reason where it cannot be built.
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/support/python.sh
. "$TRACESMITH_SOURCE_DIR/tests/support/python.sh"
if [ -n "${TRACESMITH_SANITIZE-}" ]; then
    echo "skipped: the library is built with a sanitizer, $python is not"
    exit 77
fi
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
build_package() {
    rm -rf "$package/wheel" "$package/venv" "$package/stamp" "$package/installed"
    touch "$package/begun" # what changes while it is built is newer
    cmake --install "$TRACESMITH_BUILD_DIR" --strip --prefix "$package/installed" || return
    "$python" -m pip wheel --no-index --no-build-isolation --no-deps --wheel-dir "$package/wheel" \
        --config-settings=build-dir="$package/cmake" --config-settings=cmake.source-dir=bindings/python \
        --config-settings=cmake.define.TRACESMITH_INSTALLED="$package/installed" \
        --config-settings=cmake.define.TRACESMITH_WERROR=ON "$TRACESMITH_SOURCE_DIR" || return
    "$python" -m venv "$package/venv" || return
    "$venv_python" -m pip install --no-index --no-deps "$package/wheel"/*.whl || return
    # The data frame libraries are those of the Python that was found; they come last, so they hide nothing.
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        >"$("$venv_python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/zz_frames.pth" || return
    echo "$python" >"$package/stamp"
    touch -r "$package/begun" "$package/stamp"
}
if ! is_fresh && ! build_package >"$package/log" 2>&1; then
    tail -n 60 "$package/log"
    echo "the Python package could not be built"
    exit 1
fi
exec 9>&-

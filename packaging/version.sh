#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the version of TraceSmith: the one that CMakeLists.txt states. tests/packages/test_recipes.sh compares all others with it.
set -eu
sed -n 's/^project(TraceSmith VERSION \([0-9.]*\) .*/\1/p' "$(dirname "$0")/../CMakeLists.txt"

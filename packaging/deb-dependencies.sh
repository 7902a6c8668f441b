#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the build dependencies of the Debian packages, one per line.
set -eu
sed -n '/^Build-Depends:/,/^[^ ]/s/^ \([a-z0-9.+-]*\).*/\1/p' "$(dirname "$0")/debian/control" | sed 's/^debhelper-compat$/debhelper/'

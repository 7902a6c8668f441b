#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `tracesmith attach` refuses, and what happens to programs that die, replace themselves or lose their recorder meanwhile.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach_refused.py" "$programs" "$work"

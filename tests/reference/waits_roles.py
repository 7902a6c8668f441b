# SPDX-License-Identifier: Apache-2.0
"""What the name of a call says of waiting."""
import re

ROLES = (("DeviceSynchronize", "sync_device"), ("CtxSynchronize", "sync_device"), ("StreamSynchronize", "sync_queue"),
         ("EventSynchronize", "sync_event"))
EVENT_CALLS = re.compile(r"(?:cuda|hip|cu)(?:EventRecord|StreamWaitEvent)")
COMPILES = re.compile(r"(?:cuda|hip|cu)(?:ModuleLoad|LibraryLoad)")


def role_of(name):
    found = re.match(r"(?:cuda|hip|cu)(?=[A-Z])(.*)", name)
    rest = found.group(1) if found else ""
    if rest.startswith("Memcpy") and "Async" not in rest:
        return "blocking_call"
    return next((role for prefix, role in ROLES if rest.startswith(prefix)), None)

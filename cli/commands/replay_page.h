// SPDX-License-Identifier: Apache-2.0
// Of `replay`: its answer as a page (--html, --markdown).
#ifndef CLI_REPLAY_PAGE_H
#define CLI_REPLAY_PAGE_H

#include "cli/page.h"
#include "tracesmith/replay.h"

// Whether pages are asked for and can be made with the other options; false after a complaint.
bool replay_check_page(const struct invocation *invocation);
// Writes the open pages about a replay of the recording in `path`; an exit code.
int replay_write_page(struct page_files *files, const char *path, tsmith_recording *recording,
                      const tsmith_replay *replay);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef CLI_REPLAY_NOTICE_H
#define CLI_REPLAY_NOTICE_H

// Prints once per user that a replay runs native code of the recording.
void replay_notice(void);

#endif

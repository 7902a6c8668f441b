// SPDX-License-Identifier: Apache-2.0
// Texts of the program as string ids of the agent's channel. What was seen before takes no lock: an agent whose program gives a
// text with each call (roctx) asks for it each time.
#ifndef AGENTKIT_TEXTS_H
#define AGENTKIT_TEXTS_H

#include <stdint.h>

// 0 for NULL, and if the table of strings is full. Any thread, once the agent is attached.
uint32_t texts_id(const char *text);

#endif

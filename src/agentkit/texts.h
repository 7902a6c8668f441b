// SPDX-License-Identifier: Apache-2.0
// Texts of the program as string ids of the agent's channel. A text that was seen before takes no lock, so that an agent whose API
// passes a text with each call (roctx) can look it up each time.
#ifndef AGENTKIT_TEXTS_H
#define AGENTKIT_TEXTS_H

#include <stdint.h>

// 0 for NULL, and if the table of strings is full. Any thread, once the agent is attached.
uint32_t texts_id(const char *text);

#endif

// SPDX-License-Identifier: Apache-2.0
// Texts of the program as string ids of the agent's channel. A text that was seen before takes no lock, so that an agent whose API
// passes a text with each call (roctx) can look it up each time.
#ifndef AGENTKIT_TEXTS_H
#define AGENTKIT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "agentkit/agent.h"

// The string id of a text that never changes.
#define TEXT_ONCE(text)                                                                                      \
    __extension__({                                                                                          \
        static _Atomic uint32_t id_;                                                                         \
        channel_string_once(agent.channel, &id_, text);                                                      \
    })
// The same of names[at]; 0: there is none.
#define TEXT_AT(names, at)                                                                                   \
    __extension__({                                                                                          \
        static _Atomic uint32_t ids_[sizeof(names) / sizeof *(names)];                                       \
        const size_t index_ = (at);                                                                          \
        const bool named_ = index_ < sizeof(names) / sizeof *(names) && (names)[index_];                     \
        named_ ? channel_string_once(agent.channel, &ids_[index_], (names)[index_]) : 0;                     \
    })

// 0 for NULL, and if the table of strings is full. Any thread, once the agent is attached.
uint32_t texts_id(const char *text);

#endif

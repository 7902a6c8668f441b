// SPDX-License-Identifier: Apache-2.0
// The life of an agent: attaching, fork, and the end. Rules: agent.h.
#include "agentkit/agent.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentkit/sums.h"
#include "wire/environment.h"

struct agent agent;
__thread struct agent_thread agent_thread;

static const struct agent_spec *_Atomic spec;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *given_directory, *given_options; // to a late agent, in place of the environment
static bool prepared, parked;
static bool is_quiet = true; // no thread of the kit uses the channel
enum { LEAVE_MS = 1000, UNLOAD_MS = 50 };

static void fork_child(void) {
    const struct agent_spec *mine = atomic_load(&spec);
    atomic_fetch_add(&agent.generation, 1);
    agent_thread.busy = 0;
    if (mine->not_in_children)
        atomic_store(&agent.over, true);
    if (mine->fork_child)
        mine->fork_child();
}

// The user asked for sums.
static void note_events(const struct agent_spec *mine) {
    char text[128];
    snprintf(text, sizeof text,
             "%s: this agent adds nothing up (--aggregate); each of its events is in the trace", mine->api);
    agent_notice(text);
}

// Each session that asks for sums gets them, or the notice.
static void begin_sums(const struct agent_spec *mine) {
    if (mine->sums == AGENT_SUMS_OF_RECORDS)
        sums_start_of_records(agent.channel);
    else if (channel_aggregate(agent.channel) && mine->sums == AGENT_SUMS_NONE)
        note_events(mine);
}

static void attach(void) {
    const struct agent_spec *mine = atomic_load(&spec);
    const char *directory = given_directory ? given_directory : secure_getenv(CHANNEL_ENVIRONMENT);
    struct channel *channel = NULL;
    if (agent.channel || !directory || !*directory)
        return;
    prepared = prepared || !mine->prepare || mine->prepare();
    if (!prepared || channel_open(directory, mine->api, &channel) != TSMITH_OK)
        return;
    agent.tsc = channel_tick_is_tsc(channel);
    if (mine->not_in_children)
        channel_not_in_children(channel);
    agent.channel = channel;
    if (mine->begin)
        mine->begin();
    begin_sums(mine);
    pthread_atfork(NULL, NULL, fork_child);
}

bool agent_attach(const struct agent_spec *what) {
    const struct agent_spec *none = NULL;
    atomic_compare_exchange_strong(&spec, &none, what);
    pthread_once(&once, attach);
    return agent_recording();
}

static bool attach_again(const struct agent_spec *what, const char *directory) {
    struct channel *channel = NULL;
    if (!what->again || channel_open_again(agent.channel, directory, what->api, &channel) != TSMITH_OK)
        return false;
    if (what->not_in_children)
        channel_not_in_children(channel);
    agent.channel = channel;
    agent.tsc = channel_tick_is_tsc(channel);
    parked = false;
    what->again();
    begin_sums(what);
    atomic_store(&agent.over, false);
    return true;
}

bool agent_is_free(void) {
    return !agent.channel || parked;
}

bool agent_attach_late(const struct agent_spec *what, const char *directory, const char *options) {
    if (!agent_is_free())
        return false;
    given_options = options;
    if (parked)
        return attach_again(what, directory);
    given_directory = directory;
    bool begun = agent_attach(what);
    // An earlier recording was given up, and its session removed, before the agent had opened it.
    if (!begun && !agent.channel) {
        attach();
        begun = agent_recording();
    }
    given_directory = NULL;
    return begun;
}

void agent_leave(void) {
    atomic_store(&agent.over, true);
    is_quiet = sums_end_of_records(LEAVE_MS);
    sums_write();
    channel_close(agent.channel);
}

void agent_park(void) {
    if (!is_quiet)
        return;
    channel_park(agent.channel);
    parked = true;
}

const char *agent_option(const char *api, const char *key) {
    const char *at = given_options ? given_options : secure_getenv(AGENT_OPTIONS), *value = NULL;
    const size_t api_length = strlen(api), key_length = strlen(key);
    while (at && *at) {
        const char *name = at + api_length + 1;
        const size_t length = strcspn(at, ",");
        if (length > api_length && memcmp(at, api, api_length) == 0 && at[api_length] == '.' &&
            strcspn(name, "=,") == key_length && memcmp(name, key, key_length) == 0)
            value = name + key_length + (name[key_length] == '=');
        at += length + (at[length] == ',');
    }
    return value;
}

void agent_notice(const char *text) {
    char key[64];
    if (!agent.channel)
        return;
    snprintf(key, sizeof key, "notice.%s", atomic_load(&spec)->api);
    channel_attribute(agent.channel, key, text);
}

void agent_not_recorded(const char *what) {
    static char text[512];
    char key[64];
    const size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "", what);
    snprintf(key, sizeof key, "%s.not_recorded", atomic_load(&spec)->api);
    channel_attribute(agent.channel, key, text);
}

void agent_untraced(const char *format, ...) {
    char text[1400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    agent_notice(text);
    channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
}

// Without this the process would be taken for one that was killed.
__attribute__((destructor)) static void at_unload(void) {
    if (!agent_recording())
        return;
    const struct agent_spec *mine = atomic_load(&spec);
    if (mine->end)
        mine->end();
    const uint64_t left = mine->in_flight ? mine->in_flight() : 0;
    if (left)
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, left);
    atomic_store(&agent.over, true);
    (void)sums_end_of_records(UNLOAD_MS);
    sums_write();
    agent_thread.busy++; // calls from the destructors of others go straight on
    channel_close(agent.channel);
}

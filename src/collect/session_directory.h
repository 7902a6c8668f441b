// SPDX-License-Identifier: Apache-2.0
// The session directory: made by who collects, found by who records through its environment.
#ifndef COLLECT_SESSION_DIRECTORY_H
#define COLLECT_SESSION_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/control_file.h"
#include "tracesmith/capture.h"
#include "tracesmith/dictionary.h"
#include "wire/layout.h"

struct session_directory {
    char path[4096];
    // Of a session that is where an attached process with another root sees it: the path there, and the path by which other
    // processes here find it; `path` is by `parent` then, which holds its folder when the process has ended. Else "" and -1.
    char there[256], shown[320];
    int parent, fd;
    struct layout_control *control; // a private copy; session_directory_publish writes it out
    struct control_file file;       // of a session made here
    uid_t user;                     // whose it is: of the directory and of its control file
    pid_t owner; // the process that made it; a forked child of it changes nothing. 0: not made here
    bool
        private_copy; // recover: nothing in the directory is changed, but for the final comparison of the clocks
};

#define SESSION_DIRECTORY_PREFIX "tracesmith-" // of its name

// Makes one (0700, unpredictable name) with its control file. `options` may be NULL. With `attach_pid`, where that process sees it.
tsmith_status session_directory_create(struct session_directory *directory,
                                       const tsmith_capture_options *options, tsmith_error *error);
// Names the file that all that is delivered is written to, so that recover can begin with it; before the collector is
// created. What is no regular file cannot be read again, and is not named.
void session_directory_set_output(struct session_directory *directory, const char *path);
// What is recorded, for people.
void session_directory_set_command(struct session_directory *directory, const char *text);
// Opens one to look at it; a private copy of its control file.
tsmith_status session_directory_look(struct session_directory *directory, const char *path,
                                     tsmith_error *error);
// Opens one whose collector is gone. BUSY when it is not gone.
tsmith_status session_directory_open(struct session_directory *directory, const char *path,
                                     tsmith_error *error);
// Switches recording on or off. Any thread.
void session_directory_arm(const struct session_directory *directory, bool on);
// For a recording with the range "signal": async-signal-safe.
void session_directory_trigger(const struct session_directory *directory);
// Whether this process is a forked child of the one that made it.
bool session_directory_is_of_parent(const struct session_directory *directory);
// Notifies the recording side that the session is over.
void session_directory_end(struct session_directory *directory);
void session_directory_close(struct session_directory *directory);
// The number of processes that reported that they could not attach to the session.
uint32_t session_directory_unrecorded(const struct session_directory *directory);
// Removes it with everything in it.
void session_directory_remove(struct session_directory *directory);
// Whether its collector is alive.
bool session_directory_collected(const struct session_directory *directory);
// Bytes that it takes.
uint64_t session_directory_bytes(const struct session_directory *directory);
// Whether the machine has not been started anew since: ticks and processes still mean something.
bool session_directory_same_boot(const struct session_directory *directory);
// Sets the attributes of the session's trace: the tool, the host, where the session is, and when it began.
void session_directory_describe(const struct session_directory *directory, tsmith_dictionary *dictionary);

#endif

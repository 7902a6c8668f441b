// SPDX-License-Identifier: Apache-2.0
// `tracesmith studio --export`: a folder that any web server with range requests can serve, in place of this server. docs/studio.md
// describes it.
#ifndef CLI_STUDIO_EXPORT_H
#define CLI_STUDIO_EXPORT_H

#include "cli/studio/server.h"

// Makes the folder, which must not exist or be empty, and goes into it; writes into it the page, and the traces of the command line as SBT.
// The server's files are then those of the folder. False after a complaint.
bool export_traces(struct server *server, const char *folder);
// What is left when the files were opened and their tiles filled: details of timelines, answers, and the list of all. False after a
// complaint.
bool export_answers(struct server *server);

// Writes what is read of a trace before any event to a file of its own, and adds `"parts"` to its entry of the list, if that makes sense.
// False after a complaint.
bool export_parts(struct text *list, const struct file *file, size_t number);

// Writes a new file; false after a complaint.
bool export_file(const char *path, const char *bytes, size_t length);

#endif

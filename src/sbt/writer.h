// SPDX-License-Identifier: Apache-2.0
// The writer from inside: what recovery needs besides the sink (frames carried over as they are).
#ifndef SBT_WRITER_H
#define SBT_WRITER_H

#include "sbt/format.h"
#include "sbt/totals.h"

struct sbt_writer;

// The compression level from which on every size reduction is tried, at any cost in time, and SBT 1.1 is used.
enum { SBT_SMALL_LEVEL = 4 };

tsmith_status sbt_writer_create(const char *path, const tsmith_sbt_write_options *options,
                                struct sbt_writer **out, tsmith_error *error);
// Into a descriptor, which stays open and the caller's. `name` is for messages.
tsmith_status sbt_writer_create_fd(int fd, const char *name, const tsmith_sbt_write_options *options,
                                   struct sbt_writer **out, tsmith_error *error);
tsmith_status sbt_writer_write(struct sbt_writer *writer, const tsmith_dictionary *dictionary,
                               const tsmith_batch *batch, tsmith_error *error);
// Writes a frame with a payload made elsewhere, under the next sequence number. `batch` holds the columns of
// an EVENTS frame that the totals are made of; NULL for other types.
tsmith_status sbt_writer_carry(struct sbt_writer *writer, const struct frame_header *header,
                               const void *payload, const tsmith_batch *batch, tsmith_error *error);
// States that all rows of the dictionary are in the file (in frames that were carried over).
tsmith_status sbt_writer_set_dictionary(struct sbt_writer *writer, const tsmith_dictionary *dictionary);
// From here on the file is made for one reading soon: bytes hardly count, up to a size that does.
void sbt_writer_make_quick(struct sbt_writer *writer);
// For all events so far.
struct totals sbt_writer_totals(const struct sbt_writer *writer);
tsmith_status sbt_writer_finish(struct sbt_writer *writer, const tsmith_dictionary *dictionary,
                                tsmith_error *error);
void sbt_writer_destroy(struct sbt_writer *writer);

#endif

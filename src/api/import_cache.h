// SPDX-License-Identifier: Apache-2.0
// Keeps what was made of traces: of foreign ones, so that the next question about one is not preceded by another import; of any, the
// detail of its timeline (trace_tiles.c).
//
// An entry is the SBT file that an import made, under the name <key>-<check>.sbt:
//   key    hash of the source's content and size, of its device, inode and time, and of the build of this library (the
//          build id of the object that has the importers): another file, content or importer has another key. Of detail: hash of
//          what the caller says, and of the build.
//   check  hash of the entry. One that does not match is removed.
// Entries are written under another name and renamed when they are whole. They are not written to afterwards, so several
// processes need no lock. The time of an entry is when it was used last; the oldest go when there is no room.
//
// The folder has to be the user's own and closed to others (0700), or nothing of it is used. No failure here is one of the
// caller: at worst a trace is imported again.
#ifndef API_IMPORT_CACHE_H
#define API_IMPORT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/chunk.h"

enum { IMPORT_CACHE_LEAST = 1 << 20 }; // bytes: a smaller source is imported as quickly as it is looked up

struct import_cache {
    int folder;     // -1: nothing is kept
    int source;     // -1: the key is the caller's
    uint64_t limit; // bytes of all entries
    struct chunk_hash key;
};

// `folder` is made when it is not there; NULL: no cache. `source` is borrowed until import_cache_close; its position is left
// alone. `limit` 0: 4 GiB.
void import_cache_open(struct import_cache *cache, const char *folder, uint64_t limit, int source);
// The same for what is found by something else than a file: `identity` is a hash of all that it depends on but the library's build.
void import_cache_open_by(struct import_cache *cache, const char *folder, uint64_t limit,
                          struct chunk_hash identity);
// The entry of the source, whole, to be read and closed; -1: there is none.
int import_cache_find(struct import_cache *cache);
// Keeps a copy of the file `made`, unless the source is no longer what it was at import_cache_open.
void import_cache_keep(struct import_cache *cache, int made);
// Removes the entry.
void import_cache_remove(struct import_cache *cache);
void import_cache_close(struct import_cache *cache);

#endif

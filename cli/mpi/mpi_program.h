// SPDX-License-Identifier: Apache-2.0
// tracesmith-mpi: `analyze --partial` on the ranks of an MPI job, each on its share of the traces, and a reduction in a tree.
//
// MPI starts the ranks and tells them where the others are (job.c). Each forks a process for the work, because a launcher ends all ranks
// when one is killed. The partials travel over connections of their own (network.c, tree.c), because a message of MPI 3 cannot be given
// up when its sender dies, and the end of a connection is seen at once. Traces are read in child processes (map.c), so that a trace that
// kills its reader costs this trace only.
//
// docs/partials.md describes what is lost with a rank.
#ifndef MPI_PROGRAM_H
#define MPI_PROGRAM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/ranks.h"

// ---- the help (help.c)

struct text;
void help_add_text(struct text *text); // for a terminal
void help_add_page(struct text *text); // the man page, as roff

// ---- the job (job.c)

struct job {
    int rank, size;
    void *library; // NULL: no launcher of MPI has started this process
};

// Initializes the MPI whose launcher started this process; false after a complaint.
bool job_start(struct job *job);
// Collective. `all` has room for `size` bytes of each rank, in the order of the ranks.
bool job_gather_to_all(const struct job *job, const void *mine, size_t size, void *all);
// Collective. The strings of all ranks, which rank 0 frees, and NULL elsewhere; false after a complaint.
bool job_gather_texts(const struct job *job, const char *mine, char ***texts);
// Forks the process that does the work; it is killed with the rank. As fork().
pid_t job_fork(void);
// Leaves MPI. If the other ranks do not, exits with `code` after some seconds.
void job_end(const struct job *job, int code);

// ---- the traces (map.c)

struct files {
    char **paths; // sorted
    size_t count, capacity;
};

// The files of a folder that a user sees; false after a complaint.
bool files_list(const char *folder, struct files *files);
void files_finish(struct files *files);
// A number of the names, sizes and times of the files: that of two hosts is the same if they see the same folder.
uint64_t files_digest(const struct files *files);
// Keeps every size-th file, beginning with the first-th.
void files_keep(struct files *files, size_t first, size_t size);

struct map {
    const char *command; // tracesmith
    const struct files *files;
    size_t next, batch; // the files of the running child: `batch` of them from `next`
    bool alone;         // the last child was killed: its files are read one by one
    size_t alone_until;
    int child, bytes_fd; // process id, and what it writes; 0 and -1: none runs
    int end_fd;          // readable once the child has ended
    tsmith_ranks *ranks; // receives the partials
    int code;            // worst exit code
};

// Starts reading the next files. False: all were read.
bool map_next(struct map *map);
// Waits for the child, and takes over what it wrote.
void map_take(struct map *map);
// Runs `tracesmith analyze` on a partial; its exit code.
int map_answer(const char *command, const void *partial, size_t size, char *const *options, size_t count);

// ---- connections (network.c)

enum { TOKEN_SIZE = 32 };

// Where a rank is, as the others know it.
struct place {
    uint64_t host;               // a number of the host and its network
    uint64_t digest;             // files_digest
    char name[64];               // of the host
    uint32_t listens;            // 0: it could not
    struct sockaddr_in6 address; // IPv4 as a mapped address
    uint8_t token[TOKEN_SIZE];   // the job uses that of rank 0
};

// Host, name and token of this process; false after a complaint.
bool place_learn(struct place *place);
// Listens on the loopback address, or on the first address that `network` (an interface, an address, or ADDRESS/BITS) selects, and
// fills in the address. The descriptor; -1 after a complaint.
int place_listen(struct place *place, const char *network);
// Connects to a rank, and shows the token; -1: no process listens there.
int place_connect(const struct place *to, const uint8_t token[TOKEN_SIZE]);

// A connection that was accepted, and has not yet shown the token.
struct stranger {
    int fd;
    size_t size;
    uint8_t hello[8 + TOKEN_SIZE];
    int64_t since; // ms
};
// Reads what came: 1: it has the token; 0: more has to come; -1: it is to be closed.
int stranger_read(struct stranger *stranger, const uint8_t token[TOKEN_SIZE]);
int64_t network_now(void); // ms

// ---- the tree (tree.c)

struct tree {
    const struct job *job;
    const struct place *places; // of all ranks
    int listener;
    struct map *map;
    tsmith_ranks *ranks;
    uint8_t *covered; // by rank: its traces are in `ranks`
    // Called on rank 0 when all that will come has come; its exit code is that of the program.
    int (*answer)(struct tree *tree, const void *context);
    const void *context;
};

// Runs the map, receives the parts of the ranks below this one, and hands all of them to the rank above; the exit code.
int tree_run(struct tree *tree);

#endif

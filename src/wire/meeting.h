// SPDX-License-Identifier: Apache-2.0
// Lets the copies of this code in one process find each other, so that they share the process's channels. Each agent,
// libtracesmith.so and a program that contains it have a copy with hidden symbols. channel.c calls this when a channel is opened.
//
// Each copy has a meeting point, and a note among the notes of its ELF file (PT_NOTE) which says where that lies. When a library is
// loaded, its copy looks at the notes of all loaded objects, and agrees with the others on one point. So it takes no exported
// symbol and no binding of the linker or the loader: copies meet whichever linker made them, loaded with RTLD_LOCAL or
// RTLD_DEEPBIND, and in a program that exports nothing. A unique symbol (STB_GNU_UNIQUE), which is the obvious way, is one object
// only where references to it go through the loader: with -Bsymbolic only GNU ld leaves them so, and only glibc unifies them.
//
// Agreed on is the point that was agreed on before, else the first one in the order of loading, up to the own one, in an object
// that stays loaded. Two threads that look at once come to the same point: glibc runs one callback of dl_iterate_phdr at a
// time; other C libraries unload nothing. The loader lists the objects of the caller's namespace only: those of another one
// (dlmopen) have a point of their own, and so channels of their own. In a forked child the lists are those of its parent; the
// look at the time of loading makes it unnecessary to take the loader's lock there, which a thread of the parent may have had.
//
// The agreed point is the head of a list that only grows. An entry is complete before it is published by one compare-and-swap;
// there is no lock that a fork or a signal handler could find taken. What entries of different builds have in common is
// these structs, which never change. All else of an entry is known only to code of the same build.
#ifndef WIRE_MEETING_H
#define WIRE_MEETING_H

#include <stdatomic.h>
#include <stdint.h>

struct meeting {
    struct meeting *next; // an older entry
    const char *build;    // whose it is: the version, and a hash of the sources that share memory
};

#define MEETING_NOTE_OWNER "TraceSmith"
#define MEETING_NOTE_TYPE 1
#define MEETING_MAGIC_0 0x746e696f70736d74 // "tmspoint"
#define MEETING_MAGIC_1 0x97b1c5e22d6af843

// The loader relocates nothing in it: it is valid as soon as its object is listed.
struct meeting_point {
    uint64_t magic[2];
    _Atomic uint64_t agreed;        // 1: on this point
    struct meeting *_Atomic newest; // entry, of an agreed point
};

// The name of this build.
const char *meeting_build(void);
// Makes this copy's library stay loaded when its users close it, before its memory is published. One that was linked without
// -z nodelete takes the loader's lock for that: the caller has no lock that the code of a library being loaded could wait for.
void meeting_stay(void);
// The entry of this build; NULL: there is none yet.
struct meeting *meeting_find(void);
// Publishes an entry, which stays, after meeting_stay. Returns it, or the entry of the same build that another library has
// published meanwhile. That of a library which may be unloaded is returned and not published.
struct meeting *meeting_publish(struct meeting *own);
// The build of an entry of other code in this process; NULL: there is none.
const char *meeting_other_build(void);

#endif

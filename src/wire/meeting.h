// SPDX-License-Identifier: Apache-2.0
// Lets the copies of this code in one process find each other. Each agent and libtracesmith.so has a copy of wire
// with hidden symbols; they share the process's channels through one exported object, which the dynamic linker makes one
// for all libraries of a namespace, however they were loaded (STB_GNU_UNIQUE). A library in another namespace (dlmopen) and
// a program that exports nothing have an object of their own, and so channels of their own.
//
// The object is the head of a list that only grows. An entry is complete before it is published by one compare-and-swap;
// there is no lock that a fork or a signal handler could find taken. What entries of different builds have in common is
// this struct, which never changes. All else of an entry is known only to code of the same build.
#ifndef WIRE_MEETING_H
#define WIRE_MEETING_H

#include <stdatomic.h>

struct meeting {
    struct meeting *next; // an older entry
    const char *build;    // whose it is: the version, and a hash of the sources that share memory
};

// The name of this build.
const char *meeting_build(void);
// The entry of this build; NULL: there is none yet.
struct meeting *meeting_find(void);
// Publishes an entry, which stays. Returns it, or the entry of the same build that another library has published meanwhile.
struct meeting *meeting_publish(struct meeting *own);
// The build of an entry of other code in this process; NULL: there is none.
const char *meeting_other_build(void);

#endif

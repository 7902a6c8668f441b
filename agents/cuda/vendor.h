// SPDX-License-Identifier: Apache-2.0
// What differs between vendors whose interface for tools has the form of NVIDIA's CUPTI: one table per vendor, in vendors/. All else
// of this folder is the same for all of them, and each table makes a library of its own. docs/new-agent.md says how to add one.
//
// "CUPTI" and "CUDA" in the names and comments of this folder stand for the vendor's interface and API.
#ifndef CUDA_VENDOR_H
#define CUDA_VENDOR_H

#include <stdbool.h>
#include <stdint.h>

// Lists end with NULL; NULL: there are none.
typedef const char *const *vendor_list;

struct vendor {
    const char *api;       // the agent is libtracesmith-API.so; keys of attributes begin with it
    const char *platform;  // what messages call the API
    const char *interface; // what messages call the interface for tools
    const char *key;       // of the attribute with the library that was taken
    const char *company;   // of the devices
    const char *prefix;    // of the interface's functions
    const char *library;   // the beginning of its library's name
    const char *variable;  // of the environment: the path of the library
    const char *named;     // where one was found that it names, in words
    const char *install;   // what to do if there is none, in words
    const char *
        next; // the variable with the tool that was to be injected before the agent; NULL: there is no such way

    // Where the library may be: next to the runtime of the program (patterns relative to it); in folders of Python's packages and in
    // prefixes of Python; by the names that the dynamic linker knows; in the folders of toolkits and of a variable.
    const char *runtime; // the beginning of its name
    vendor_list near, packages, prefixes, names;
    const char *home_variable;
    vendor_list homes, in_home;
    const char *driver,
        *driver_version; // the library and its function like cuDriverGetVersion; NULL: not known

    // Calls have the names of CUDA's, with these words in place of "cu" and "cuda". `launches` are those that launch a kernel and have
    // no counterpart of that name.
    const char *driver_calls, *runtime_calls;
    vendor_list launches;

    // Records have the form of this version of CUPTI (cuptiGetVersion). 0: of the version that the library states, at least `oldest`.
    uint32_t form, oldest;
    // The kinds that are enabled, a bit per number.
    uint64_t kinds;
    // Functions of the callback interface may be missing, and calls need not name threads as the system does.
    bool partial;

    const char *const *copies; // names of copies, by direction
    const char *set;           // name of sets
};
extern const struct vendor vendor __attribute__((visibility("hidden")));

enum { VENDOR_COPY_NAMES = 6 };

// The name of a call of this vendor as CUDA has it, in `out`.
const char *vendor_cuda_name(int domain, const char *name, char out[128]);
// An attribute of the trace, "API.key".
void vendor_attribute(const char *key, const char *text);

#endif

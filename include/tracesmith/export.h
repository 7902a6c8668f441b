// SPDX-License-Identifier: Apache-2.0
// What makes a symbol part of the library's ABI.
#ifndef TRACESMITH_EXPORT_H
#define TRACESMITH_EXPORT_H

// Code that runs inside other programs (agents) is built with TSMITH_AGENT_RUNTIME: no symbol of ours may
// meet the host program's there.
#if defined(__GNUC__) && !defined(TSMITH_AGENT_RUNTIME)
#define TSMITH_API __attribute__((visibility("default")))
#else
#define TSMITH_API
#endif

#if defined(__GNUC__)
#define TSMITH_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#else
#define TSMITH_PRINTF(format_index, first_arg)
#endif

#endif

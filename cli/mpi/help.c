// SPDX-License-Identifier: Apache-2.0
// The help and the man page of tracesmith-mpi, from one table. The man page is made when TraceSmith is built (cli/cli.cmake).
#include <string.h>

#include "cli/present/text.h"
#include "mpi_program.h"
#include "tracesmith/version.h"

enum { WIDTH = 100, INDENT = 21 };

static const char SYNOPSIS[] = "tracesmith-mpi analyze FOLDER [--network NETWORK] [OPTION]...";
static const char *const ABOUT[] = {"Compares the traces in FOLDER as 'tracesmith analyze --ranks' does, and "
                                    "gives the same answer. The ranks share the files "
                                    "among them: those of each host, if FOLDER is on its own disk. Each "
                                    "OPTION is passed to 'tracesmith analyze', which writes "
                                    "the answer on rank 0.",
                                    "A rank works in a child process. If that is killed, or the rank's host "
                                    "is lost, the traces of this rank are missing in "
                                    "the answer, which names them. For a lost host, or a rank that is killed "
                                    "itself, the launcher must let the others go on: "
                                    "'mpirun --enable-recovery' of Open MPI.",
                                    NULL};
static const struct {
    const char *option, *doc;
} OPTIONS[] = {
    {"--network NETWORK",
     "the network between the hosts: an interface (eth0), an address or a range (10.1.0.0/16). Needed if "
     "there are several hosts; on one, the loopback is used"},
    {"--help", "show this text"},
    {"--version", "show the version"},
    {NULL, NULL}};

void help_add_text(struct text *text) {
    text_add_format(text, "usage: mpirun -n RANKS %s\n", SYNOPSIS);
    for (size_t i = 0; ABOUT[i]; i++) {
        text_add_char(text, '\n');
        text_add_wrapped(text, text_string(ABOUT[i]), 0, 0, WIDTH);
    }
    text_add_char(text, '\n');
    for (size_t i = 0; OPTIONS[i].option; i++) {
        const size_t from = text->length;
        text_add_format(text, "  %s", OPTIONS[i].option);
        text_pad_right(text, text->length - from, INDENT);
        text_add_wrapped(text, text_string(OPTIONS[i].doc), INDENT, INDENT, WIDTH);
    }
}

// Text for roff: hyphens stay hyphens, and no line begins with a quote, which would be a request.
static void add_roff(struct text *text, const char *words) {
    for (; *words; words++) {
        if (*words == '-')
            text_add_char(text, '\\');
        text_add_char(text, *words);
    }
    text_add_char(text, '\n');
}

void help_add_page(struct text *text) {
    text_add_format(text,
                    ".TH TRACESMITH\\-MPI 1 \"\" \"TraceSmith %s\"\n.SH NAME\ntracesmith\\-mpi \\- compare "
                    "the ranks of a run "
                    "on the ranks of an MPI job\n.SH SYNOPSIS\n.B mpirun \\-n RANKS ",
                    TSMITH_VERSION_STRING);
    add_roff(text, SYNOPSIS);
    text_add_cstr(text, ".SH DESCRIPTION\n");
    for (size_t i = 0; ABOUT[i]; i++) {
        text_add_cstr(text, ".PP\n");
        add_roff(text, ABOUT[i]);
    }
    text_add_cstr(text, ".SH OPTIONS\n");
    for (size_t i = 0; OPTIONS[i].option; i++) {
        text_add_cstr(text, ".TP\n.B ");
        add_roff(text, OPTIONS[i].option);
        add_roff(text, OPTIONS[i].doc);
    }
    text_add_cstr(text, ".SH EXIT STATUS\nThat of\n.BR tracesmith\\-analyze (1).\n.SH SEE ALSO\n"
                        ".BR tracesmith\\-analyze (1),\n.BR tracesmith (1)\n");
}

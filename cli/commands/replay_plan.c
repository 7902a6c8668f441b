// SPDX-License-Identifier: Apache-2.0
// `tracesmith replay --hazards` and `--permute`: what the program leaves open.
#include "replay_plan.h"

#include <inttypes.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"

void add_plan_command(struct text *text, const tsmith_plan_command *command, const struct sites *sites,
                      uint64_t pid, bool json) {
    if (json) {
        text_add_format(text, "{\"command\":%" PRIu64 ",\"what\":\"%s\",\"queue\":%" PRIu64 ",\"kernel\":",
                        command->command, command->what, command->queue);
        if (command->kernel)
            text_add_json_cstr(text, command->kernel);
        else
            text_add_cstr(text, "null");
        sites_add(text, sites, pid, command->correlation, true);
        text_add_char(text, '}');
        return;
    }
    if (strcmp(command->what, "host") == 0) {
        text_add_format(text, "the program itself, after %" PRIu64 " %s", command->command,
                        plural(command->command, "command", "commands"));
        return;
    }
    text_add_cstr(text, command->what);
    if (command->kernel) {
        text_add_char(text, ' ');
        text_add_safe(text, text_string(command->kernel), 60);
    }
    text_add_format(text, " (command %" PRIu64 ", queue %" PRIu64 ")", command->command, command->queue);
    sites_add(text, sites, pid, command->correlation, false);
}

static void add_name(struct text *text, const tsmith_plan_command *command) {
    text_add_cstr(text, command->what);
    if (command->kernel) {
        text_add_char(text, ' ');
        text_add_safe(text, text_string(command->kernel), 60);
    }
    text_add_format(text, " (command %" PRIu64 ")", command->command);
}

// What would order the two. Words only: the same in JSON and in text.
static void add_fix(struct text *text, const tsmith_plan_command *first, const tsmith_plan_command *second) {
    const bool by_host[] = {strcmp(first->what, "host") == 0, strcmp(second->what, "host") == 0};
    if (by_host[1]) {
        text_add_cstr(text, strcmp(first->what, "map") == 0 ? "make the map blocking, or wait for its event, "
                                                            : "wait for the event of ");
        if (strcmp(first->what, "map") != 0) {
            add_name(text, first);
            text_add_cstr(text, " (clWaitForEvents) ");
        }
        text_add_cstr(text, "before the program uses that memory");
    } else if (by_host[0]) {
        text_add_cstr(text, "enqueue ");
        add_name(text, second);
        text_add_cstr(text, " after the program is done with that memory");
    } else {
        text_add_cstr(text, "pass the event of ");
        add_name(text, first);
        text_add_cstr(text, " in the wait list of ");
        add_name(text, second);
        text_add_cstr(text, first->queue == second->queue ? ", or put a barrier between them" : "");
    }
}

static void add_hazard_json(struct text *text, const tsmith_hazard *hazard, const struct sites *sites) {
    text_add_format(text,
                    "{\"kind\":\"%s\",\"pid\":%" PRIu64 ",\"first\":", tsmith_hazard_kind_name(hazard->kind),
                    hazard->pid);
    add_plan_command(text, &hazard->first, sites, hazard->pid, true);
    text_add_cstr(text, ",\"second\":");
    add_plan_command(text, &hazard->second, sites, hazard->pid, true);
    text_add_format(text,
                    ",\"memory\":\"%s\",\"buffer\":%" PRIu64 ",\"from\":%" PRIu64 ",\"to\":%" PRIu64
                    ",\"count\":%" PRIu64 ",\"assumed\":%s,\"trial\":\"%s\",\"possible\":%s,\"fix\":",
                    hazard->memory, hazard->buffer, hazard->from, hazard->to, hazard->count,
                    hazard->assumed ? "true" : "false", tsmith_hazard_trial_name(hazard->trial),
                    hazard->possible ? "true" : "false");
    struct text fix = {0};
    add_fix(&fix, &hazard->first, &hazard->second);
    text_add_json_cstr(text, text_cstr(&fix));
    text_finish(&fix);
    text_add_char(text, '}');
}

// It is not known that both use the same bytes in a way that matters; or it made no difference.
static bool is_only_possible(const tsmith_hazard *hazard) {
    return (hazard->assumed && hazard->trial == TSMITH_HAZARD_TRIAL_SAME) ||
           (hazard->possible && hazard->trial != TSMITH_HAZARD_TRIAL_DIFFERENT);
}

static void add_hazard_text(struct text *text, const tsmith_hazard *hazard, const struct sites *sites) {
    text_add_cstr(text, is_only_possible(hazard) ? "possible " : "");
    text_add_format(text, "%s  ", tsmith_hazard_kind_name(hazard->kind));
    add_plan_command(text, &hazard->first, sites, hazard->pid, false);
    text_add_cstr(text, sites->count ? "\n  and " : " and ");
    add_plan_command(text, &hazard->second, sites, hazard->pid, false);
    text_add_cstr(text, "\n    nothing orders them, and both use ");
    if (strcmp(hazard->memory, "host memory") == 0)
        text_add_format(text, "memory of the program at 0x%" PRIx64 " (%" PRIu64 " %s)", hazard->from,
                        hazard->to - hazard->from, plural(hazard->to - hazard->from, "byte", "bytes"));
    else
        text_add_format(text, "bytes %" PRIu64 " to %" PRIu64 " of %sbuffer %" PRIu64, hazard->from,
                        hazard->to, strcmp(hazard->memory, "mapping") == 0 ? "what is mapped of " : "",
                        hazard->buffer);
    if (hazard->assumed)
        text_add_cstr(text, " (of a kernel: at most these)");
    if (hazard->count > 1) {
        text_add_cstr(text, "; ");
        text_add_times(text, hazard->count);
    }
    if (hazard->trial == TSMITH_HAZARD_TRIAL_DIFFERENT)
        text_add_cstr(text, "\n    in the other order a result is different");
    else if (hazard->trial == TSMITH_HAZARD_TRIAL_SAME)
        text_add_cstr(
            text,
            hazard->assumed
                ? "\n    in the other order every result is the same: the kernels may use different bytes"
                : "\n    in the other order every result is the same here");
    text_add_cstr(text, "\n    fix: ");
    add_fix(text, &hazard->first, &hazard->second);
    text_add_char(text, '\n');
}

static void add_limits(struct text *text, const tsmith_plan_summary *summary) {
    if (summary->callbacks)
        text_add_cstr(text,
                      "note: the program has callbacks: they may order commands that are listed here\n");
    if (summary->unknown)
        text_add_format(text, "note: %" PRIu64 " %s not checked: the memory used is unknown\n",
                        summary->unknown, plural(summary->unknown, "command was", "commands were"));
    if (summary->never)
        text_add_format(text, "note: %" PRIu64 " %s for an event that never completed\n", summary->never,
                        plural(summary->never, "command waits", "commands wait"));
    if (summary->unchecked)
        text_add_format(text, "note: %" PRIu64 " %s of memory not checked: there were too many\n",
                        summary->unchecked, plural(summary->unchecked, "use was", "uses were"));
}

static int plan_failed(tsmith_plan *plan, tsmith_status status, const tsmith_error *error) {
    complain("%s", error->message);
    tsmith_plan_destroy(plan);
    return status == TSMITH_ERROR_LIMIT || status == TSMITH_ERROR_MISSING ? EXIT_LACKING
                                                                          : exit_code_of_input(status);
}

static const char nothing_to_check[] = "nothing to check: the recording has no command that uses memory\n";

// What is only possible is listed where it was tried.
static bool is_shown(const tsmith_hazard *hazard, bool confirmed) {
    return confirmed || !is_only_possible(hazard);
}

static void add_ordered(struct text *text, size_t possible, bool confirmed) {
    text_add_cstr(text, possible ? "every known conflicting use of memory is ordered\n"
                                 : "every conflicting use of memory is ordered\n");
    if (possible && !confirmed)
        text_add_format(
            text,
            "note: %zu %s of commands in no fixed order may use the same memory (atomics, or unknown "
            "parts of a buffer): --confirm runs them in the other order\n",
            possible, plural(possible, "pair", "pairs"));
}

int answer_hazards(tsmith_recording *recording, const tsmith_replay_options *confirm,
                   const struct sites *sites, struct text *text, bool json) {
    tsmith_plan *plan;
    tsmith_error error;
    tsmith_hazard hazard = {.size = sizeof hazard};
    tsmith_plan_summary summary = {.size = sizeof summary};
    size_t count = 0, possible = 0;
    uint64_t replays = 0;
    tsmith_status status = tsmith_plan_create(recording, &plan, &error);
    if (status == TSMITH_OK && confirm)
        status = tsmith_plan_try_hazards(plan, confirm, &replays, &error);
    if (status < 0)
        return plan_failed(plan, status, &error);
    tsmith_plan_summarize(plan, &summary);
    if (json)
        text_add_format(text,
                        ",\"plan\":{\"nodes\":%" PRIu64 ",\"edges\":%" PRIu64 ",\"never\":%" PRIu64
                        ",\"unknown\":%" PRIu64 ",\"unchecked\":%" PRIu64
                        ",\"callbacks\":%s,\"commands\":%" PRIu64 ",\"uses\":%" PRIu64 "},\"hazards\":[",
                        summary.commands, summary.edges, summary.never, summary.unknown, summary.unchecked,
                        summary.callbacks ? "true" : "false", summary.device_commands, summary.uses);
    for (; tsmith_plan_hazard_get(plan, count, &hazard); count++) {
        text_add_cstr(text, json && count ? ",\n" : "");
        if (json)
            add_hazard_json(text, &hazard, sites);
        else if (is_shown(&hazard, confirm != NULL))
            add_hazard_text(text, &hazard, sites);
        possible += is_only_possible(&hazard);
    }
    if (json)
        text_add_format(text, "],\"possible\":%zu,\"replays\":%" PRIu64, possible, replays);
    else
        add_limits(text, &summary);
    const bool any = summary.device_commands && summary.uses;
    if (!json && !any)
        text_add_cstr(text, nothing_to_check);
    else if (!json && count == possible)
        add_ordered(text, possible, confirm != NULL);
    tsmith_plan_destroy(plan);
    return count > possible ? EXIT_NO : any ? EXIT_DONE : EXIT_LACKING;
}

// ---- other orders

static void add_dependency(struct text *text, const tsmith_dependency *dependency, const struct sites *sites,
                           bool json) {
    if (json) {
        text_add_format(text, "{\"pid\":%" PRIu64 ",\"first\":", dependency->pid);
        add_plan_command(text, &dependency->first, sites, dependency->pid, true);
        text_add_cstr(text, ",\"second\":");
        add_plan_command(text, &dependency->second, sites, dependency->pid, true);
        text_add_format(text, ",\"result\":\"%s\",\"buffer\":%" PRIu64 ",\"result_command\":%" PRIu64 "}",
                        dependency->result, dependency->result_buffer, dependency->result_command);
        return;
    }
    text_add_cstr(text, "missing  ");
    add_plan_command(text, &dependency->first, sites, dependency->pid, false);
    text_add_cstr(text, sites->count ? "\n  before " : " before ");
    add_plan_command(text, &dependency->second, sites, dependency->pid, false);
    text_add_format(text, "\n    nothing orders them; in the other order, buffer %" PRIu64 " is different %s",
                    dependency->result_buffer,
                    strcmp(dependency->result, "at the end") == 0 ? "at the end"
                    : strcmp(dependency->result, "map") == 0      ? "when it is mapped"
                                                                  : "when it is read");
    if (strcmp(dependency->result, "at the end") != 0)
        text_add_format(text, " by command %" PRIu64, dependency->result_command);
    text_add_cstr(text, "\n    fix: ");
    add_fix(text, &dependency->first, &dependency->second);
    text_add_char(text, '\n');
}

static bool has_orders(const tsmith_permutation_summary *summary) {
    return summary->results && summary->others;
}

static const char *permutation_summary(const tsmith_permutation_summary *summary) {
    return !summary->results  ? "nothing to check: the recording has no result that could be compared\n"
           : !summary->others ? "1 legal order; nothing else to try\n"
           : summary->counted && summary->orders == summary->others
               ? "every legal order gives the same results\n"
               : "every order that was tried gives the same results\n";
}

static void add_permutation(struct text *text, const tsmith_permutation_summary *summary, bool json) {
    if (json) {
        text_add_format(
            text,
            ",\"permutation\":{\"orders\":%" PRIu64 ",\"replays\":%" PRIu64 ",\"results\":%" PRIu64
            ",\"noisy\":%" PRIu64 ",\"commands\":%" PRIu64 ",\"legal_orders\":",
            summary->orders, summary->replays, summary->results, summary->noisy, summary->commands);
        if (summary->counted)
            text_add_u64(text, summary->others + 1);
        else
            text_add_cstr(text, "null");
        text_add_char(text, '}');
        return;
    }
    if (!has_orders(summary))
        return;
    text_add_count(text, summary->orders);
    if (summary->counted) {
        text_add_cstr(text, " of ");
        text_add_count(text, summary->others);
    }
    text_add_cstr(text, plural(summary->counted ? summary->others : summary->orders,
                               " other legal order tried, ", " other legal orders tried, "));
    text_add_counted(text, summary->results, "result", "results");
    text_add_cstr(text, " compared in each, ");
    text_add_counted(text, summary->replays, "replay\n", "replays\n");
    if (summary->noisy)
        text_add_format(text, "note: %" PRIu64 " %s even in the recorded order, and %s left out\n",
                        summary->noisy, plural(summary->noisy, "result differs", "results differ"),
                        plural(summary->noisy, "was", "were"));
}

int answer_permute(tsmith_recording *recording, const tsmith_permute_options *options,
                   const struct sites *sites, struct text *text, bool json) {
    tsmith_plan *plan;
    tsmith_permutation *permutation = NULL;
    tsmith_error error;
    tsmith_dependency dependency = {.size = sizeof dependency};
    tsmith_permutation_summary summary = {.size = sizeof summary};
    size_t count = 0;
    tsmith_status status = tsmith_plan_create(recording, &plan, &error);
    if (status == TSMITH_OK)
        status = tsmith_plan_permute(plan, options, &permutation, &error);
    if (status < 0)
        return plan_failed(plan, status, &error);
    text_add_cstr(text, json ? ",\"missing\":[" : "");
    for (; tsmith_permutation_get(permutation, count, &dependency); count++) {
        text_add_cstr(text, json && count ? ",\n" : "");
        add_dependency(text, &dependency, sites, json);
    }
    text_add_cstr(text, json ? "]" : "");
    tsmith_permutation_summarize(permutation, &summary);
    if (!json && !count)
        text_add_cstr(text, permutation_summary(&summary));
    add_permutation(text, &summary, json);
    tsmith_permutation_destroy(permutation);
    tsmith_plan_destroy(plan);
    return count ? EXIT_NO : summary.results ? EXIT_DONE : EXIT_LACKING;
}

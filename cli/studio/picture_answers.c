// SPDX-License-Identifier: Apache-2.0
// Overview, tiles and names of an opened trace as answers of the server.
#include "cli/studio/live.h"
#include "cli/studio/picture.h"

void answer_overview(struct file *file, struct answer *out) {
    tsmith_error error;
    file_enter(file);
    const bool is_whole = tsmith_trace_ended(file->trace, &error) == TSMITH_OK;
    const bool is_live = file->live && file->live->state == LIVE_RECORDING;
    picture_overview(&(struct picture){.path = file->path,
                                       .format = tsmith_trace_format(file->trace),
                                       .sbt = file->sbt,
                                       .dictionary = file->dictionary,
                                       .tiles = file->tiles,
                                       .live = is_live ? &file->live->totals : NULL,
                                       .is_filled = (file->live && !file->live->generation) ||
                                                    atomic_load(&file->is_filled),
                                       .is_loaded = atomic_load(&file->is_loaded),
                                       .incomplete = is_whole ? NULL : error.message},
                     &out->text);
    file_leave(file);
}

void answer_tile(struct file *file, const char *rest, struct answer *out) {
    tsmith_error error;
    file_enter(file);
    const tsmith_status status = picture_tile(file->tiles, rest, &out->text, &error);
    file_leave(file);
    if (status == TSMITH_OK)
        out->type = "application/octet-stream";
    else
        answer_failure(
            out, status == TSMITH_ERROR_INVALID_ARGUMENT || status == TSMITH_ERROR_NOT_FOUND ? 404 : 500,
            "%s", error.message);
}

void answer_tiles(struct file *file, const struct request *request, struct answer *out) {
    const char *list = request->parameter(request, "at");
    file_enter(file);
    picture_tiles(file->tiles, list, &out->text);
    file_leave(file);
    out->type = "application/octet-stream";
}

void answer_first_tiles(struct file *file, uint64_t width, size_t most, struct text *out) {
    file_enter(file);
    picture_first_tiles(file->tiles, width, most, out);
    file_leave(file);
}

void answer_names(struct file *file, const struct request *request, struct answer *out) {
    const char *ids = request->parameter(request, "ids");
    file_enter(file);
    picture_names(file->dictionary, ids, &out->text);
    file_leave(file);
}

// SPDX-License-Identifier: Apache-2.0
// Copies of submissions, which the program may forget when its call returns (held.h).
#include "held.h"

#include <stdlib.h>
#include <string.h>

// A copy that goes with the submission; NULL of nothing.
static void *keep_bytes(struct held *held, const void *bytes, size_t count, size_t size) {
    if (!bytes || !count || held->failed)
        return NULL;
    void *copy = held->kept_count < sizeof held->kept / sizeof *held->kept ? calloc(count, size) : NULL;
    held->failed |= !copy;
    if (!copy)
        return NULL;
    memcpy(copy, bytes, count * size);
    return held->kept[held->kept_count++] = copy;
}
#define KEEP(items, count) keep_bytes(held, items, count, sizeof *(items))

static void keep_info(struct held *held, VkSubmitInfo *info) {
    const VkTimelineSemaphoreSubmitInfo *chain = info->pNext;
    VkTimelineSemaphoreSubmitInfo *values = NULL;
    if (chain && (chain->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO || chain->pNext)) {
        held->failed = true;
        return;
    }
    if (chain)
        values = KEEP(chain, 1);
    if (values) {
        values->pWaitSemaphoreValues = KEEP(chain->pWaitSemaphoreValues, chain->waitSemaphoreValueCount);
        values->pSignalSemaphoreValues =
            KEEP(chain->pSignalSemaphoreValues, chain->signalSemaphoreValueCount);
    }
    info->pNext = values;
    info->pWaitSemaphores = KEEP(info->pWaitSemaphores, info->waitSemaphoreCount);
    info->pWaitDstStageMask = KEEP(info->pWaitDstStageMask, info->waitSemaphoreCount);
    info->pCommandBuffers = KEEP(info->pCommandBuffers, info->commandBufferCount);
    info->pSignalSemaphores = KEEP(info->pSignalSemaphores, info->signalSemaphoreCount);
}

static void keep_info2(struct held *held, VkSubmitInfo2 *info) {
    held->failed |= info->pNext != NULL;
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
        held->failed |= info->pWaitSemaphoreInfos[i].pNext != NULL;
    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
        held->failed |= info->pCommandBufferInfos[i].pNext != NULL;
    for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++)
        held->failed |= info->pSignalSemaphoreInfos[i].pNext != NULL;
    info->pWaitSemaphoreInfos = KEEP(info->pWaitSemaphoreInfos, info->waitSemaphoreInfoCount);
    info->pCommandBufferInfos = KEEP(info->pCommandBufferInfos, info->commandBufferInfoCount);
    info->pSignalSemaphoreInfos = KEEP(info->pSignalSemaphoreInfos, info->signalSemaphoreInfoCount);
}

bool held_add(struct device *device, const struct given *given) {
    struct held *held = calloc(1, sizeof *held), **at = &device->held;
    if (!held)
        return false;
    held->given = *given;
    if (given->second) {
        VkSubmitInfo2 *infos = KEEP((const VkSubmitInfo2 *)given->infos, given->count);
        for (uint32_t i = 0; infos && i < given->count; i++)
            keep_info2(held, &infos[i]);
        held->given.infos = infos;
    } else {
        VkSubmitInfo *infos = KEEP((const VkSubmitInfo *)given->infos, given->count);
        for (uint32_t i = 0; infos && i < given->count; i++)
            keep_info(held, &infos[i]);
        held->given.infos = infos;
    }
    if (held->failed) {
        held_free(held);
        return false;
    }
    while (*at)
        at = &(*at)->next;
    *at = held;
    return true;
}

void held_take(struct device *device, struct held *held) {
    struct held **at = &device->held;
    while (*at && *at != held)
        at = &(*at)->next;
    if (*at)
        *at = held->next;
}

void held_free(struct held *held) {
    for (size_t i = 0; i < held->kept_count; i++)
        free(held->kept[i]);
    free(held);
}

bool held_has(const struct device *device, VkQueue queue) {
    const struct held *at = device->held;
    while (at && at->given.queue != queue)
        at = at->next;
    return at != NULL;
}

static bool signals(const struct given *given, VkSemaphore semaphore) {
    for (uint32_t i = 0; i < given->count; i++) {
        const VkSubmitInfo *info = given->second ? NULL : (const VkSubmitInfo *)given->infos + i;
        const VkSubmitInfo2 *info2 = given->second ? (const VkSubmitInfo2 *)given->infos + i : NULL;
        for (uint32_t j = 0; info && j < info->signalSemaphoreCount; j++)
            if (info->pSignalSemaphores[j] == semaphore)
                return true;
        for (uint32_t j = 0; info2 && j < info2->signalSemaphoreInfoCount; j++)
            if (info2->pSignalSemaphoreInfos[j].semaphore == semaphore)
                return true;
    }
    return false;
}

bool held_signals(const struct device *device, const struct held *until, VkSemaphore semaphore) {
    for (const struct held *at = device->held; at && at != until; at = at->next)
        if (signals(&at->given, semaphore))
            return true;
    return false;
}

// SPDX-License-Identifier: Apache-2.0
// Submissions. A submission of a captured frame is written with the state before it, and with what it may have
// written after it. Rules: recorder.h.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "held.h"
#include "recorder.h"

// ---- the layer above, which makes the events of the trace

static uint64_t (*correlation)(void);

static void find_correlation(void) {
    static const char other[] = "libtracesmith-vulkan.so";
    char path[4096];
    Dl_info own;
    if (!dladdr(__extension__(void *) find_correlation, &own) || !own.dli_fname)
        return;
    const char *slash = strrchr(own.dli_fname, '/');
    const size_t length = slash ? (size_t)(slash - own.dli_fname) + 1 : 0;
    if (length + sizeof other > sizeof path)
        return;
    memcpy(path, own.dli_fname, length);
    memcpy(path + length, other, sizeof other);
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        correlation = __extension__(uint64_t(*)(void)) dlsym(library, "tracesmith_vulkan_correlation");
}

static uint64_t current_correlation(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_correlation);
    return correlation ? correlation() : 0;
}

// ---- a submission

struct submission {
    struct device *device;
    struct queue *queue; // NULL: not known
    struct object **buffers;
    size_t count, capacity;
    uint64_t correlation;
    bool works, unknown;
    const struct held *until; // what was held back before this one comes before it; NULL: all of it
    bool
        waits_for_later; // for a value of a semaphore that it does not have yet, or for a signal that is held back
    struct promise {
        VkSemaphore semaphore;
        uint64_t value;
    } * promises; // what earlier parts of the same call signal
    size_t promise_count, promise_capacity;
    uint64_t frame; // that is captured; 0: none
    struct content_want *wants;
    size_t want_count, want_capacity;
};

static void add_buffer(struct submission *submission, VkCommandBuffer handle) {
    struct object *buffer = object_find(VULKAN_COMMANDS, (uint64_t)(uintptr_t)handle);
    if (!buffer || !ARRAY_RESERVE(submission->buffers, submission->capacity, submission->count + 1)) {
        submission->unknown = true;
        return;
    }
    submission->buffers[submission->count++] = buffer;
    submission->works |= buffer->works;
}

// A semaphore without values waits for the last signal that was submitted before, whatever value is given.
static void add_wait(struct submission *submission, VkSemaphore semaphore, uint64_t value) {
    struct device *device = submission->device;
    const bool has_values = semaphore_has_values(device, semaphore);
    uint64_t now = 0;
    for (size_t i = 0; i < submission->promise_count; i++)
        if (submission->promises[i].semaphore == semaphore &&
            (!has_values || submission->promises[i].value >= value))
            return;
    if (!has_values)
        submission->waits_for_later |= held_signals(device, submission->until, semaphore);
    else if (value && device->next.GetSemaphoreCounterValue &&
             device->next.GetSemaphoreCounterValue(device->handle, semaphore, &now) == VK_SUCCESS &&
             now < value)
        submission->waits_for_later = true;
}

// Without memory for it the frame is not captured.
static void add_promise(struct submission *submission, VkSemaphore semaphore, uint64_t value) {
    if (ARRAY_RESERVE(submission->promises, submission->promise_capacity, submission->promise_count + 1))
        submission->promises[submission->promise_count++] = (struct promise){semaphore, value};
    else
        submission->unknown = true;
}

// Each object once; one of which the content cannot be copied is a reason to give up, unless nothing is in it.
static void want_content(struct submission *submission, struct object *object, bool verify) {
    for (size_t i = 0; i < submission->want_count; i++)
        if (submission->wants[i].object == object)
            return;
    if (ARRAY_RESERVE(submission->wants, submission->want_capacity, submission->want_count + 1))
        submission->wants[submission->want_count++] = (struct content_want){object, verify};
    else
        submission->unknown = true;
}

static bool is_resource(const struct object *object) {
    return object->kind == VULKAN_BUFFER || object->kind == VULKAN_IMAGE;
}

// ---- what command buffers use

typedef void visit(struct submission *submission, struct object *resource, bool written);

static void visit_made(struct submission *submission, const struct object *object, bool written,
                       visit *each) {
    for (size_t i = 0; i < object->use_count; i++) {
        struct object *inner = object->uses[i].object;
        if (is_resource(inner))
            each(submission, inner, written);
        else if (inner->kind == VULKAN_IMAGE_VIEW || inner->kind == VULKAN_BUFFER_VIEW)
            visit_made(submission, inner, written, each);
    }
}

static void visit_use(struct submission *submission, const struct use *use, visit *each) {
    struct object *object = use->object;
    if (is_resource(object))
        each(submission, object, use->written);
    else if (object->kind == VULKAN_IMAGE_VIEW || object->kind == VULKAN_BUFFER_VIEW ||
             object->kind == VULKAN_FRAMEBUFFER)
        visit_made(submission, object, use->written, each);
    for (size_t i = 0; object->kind == VULKAN_SET && i < object->write_count; i++)
        for (size_t j = 0; j < object->writes[i].use_count; j++)
            if (object->writes[i].uses[j].object->alive)
                visit_use(submission, &object->writes[i].uses[j], each);
}

static void visit_all(struct submission *submission, visit *each) {
    for (size_t i = 0; i < submission->count; i++)
        for (size_t j = 0; j < submission->buffers[i]->use_count; j++)
            visit_use(submission, &submission->buffers[i]->uses[j], each);
}

// ---- whether it can be captured

// The layout that a plane is expected to have by the first command buffer that changes it; UNDEFINED: its content is not needed.
static VkImageLayout expected_plane(const struct submission *submission, const struct object *image,
                                    uint32_t plane) {
    for (size_t i = 0; i < submission->count; i++)
        for (size_t j = 0; j < submission->buffers[i]->effect_count; j++)
            if (submission->buffers[i]->effects[j].image == image &&
                submission->buffers[i]->effects[j].plane == plane)
                return submission->buffers[i]->effects[j].from;
    return image->planes[plane].layout;
}

static const struct effect *effect_on(const struct object *commands, const struct object *image) {
    for (size_t i = 0; i < commands->effect_count; i++)
        if (commands->effects[i].image == image)
            return &commands->effects[i];
    return NULL;
}

// Whether a descriptor set of the submission names the image.
static bool is_described(const struct submission *submission, const struct object *image) {
    for (size_t i = 0; i < submission->count; i++)
        for (size_t j = 0; j < submission->buffers[i]->use_count; j++) {
            const struct object *set = submission->buffers[i]->uses[j].object;
            for (size_t k = 0; set->kind == VULKAN_SET && k < set->write_count; k++)
                for (size_t l = 0; l < set->writes[k].use_count; l++) {
                    const struct object *view = set->writes[k].uses[l].object;
                    if (view->kind == VULKAN_IMAGE_VIEW && view->use_count && view->uses[0].object == image)
                        return true;
                }
        }
    return false;
}

// Whether the first that is done to the image, besides barriers, is to write all of it: some programs keep what a layout had until a pass clears it.
static bool is_fresh(const struct submission *submission, const struct object *image) {
    for (size_t i = 0; i < submission->count; i++) {
        const struct effect *effect = effect_on(submission->buffers[i], image);
        if (effect && effect->fresh && !effect->touched)
            return image->plane_count == 1 && !is_described(submission, image);
        if ((effect && effect->touched) || effect_is_viewed(submission->buffers[i], image))
            return false;
    }
    return false;
}

static bool needs_content(const struct submission *submission, const struct object *image) {
    if (is_fresh(submission, image))
        return false;
    for (uint32_t i = 0; i < image->plane_count; i++)
        if (expected_plane(submission, image, i) != VK_IMAGE_LAYOUT_UNDEFINED)
            return true;
    return false;
}

static void check(struct submission *submission, struct object *resource, bool written) {
    struct device *device = submission->device;
    (void)written;
    if (device->gave_up)
        return;
    if (resource->in_transfer && !resource->known)
        refuse(device, "vkQueueSubmit", "a resource changes its queue family as the frame begins");
    else if (resource->kind == VULKAN_BUFFER && !content_bytes(resource))
        refuse(device, "vkQueueSubmit", "the content of a buffer cannot be copied (sparse, or over 2 GiB)");
    else if (resource->kind == VULKAN_IMAGE && !resource->known &&
             (!content_bytes(resource) || (resource->plane_count > 1 && !content_is_defined(resource))) &&
             needs_content(submission, resource))
        refuse(device, "vkQueueSubmit",
               "the content of an image cannot be copied (samples, format, or several layouts)");
    else if (resource->kind == VULKAN_IMAGE && resource->parent && !resource->known &&
             needs_content(submission, resource))
        refuse(device, "vkQueueSubmit", "an image of a swapchain is used with what an earlier frame drew");
}

static const char waits_for_later[] = "a submission waits for a semaphore that is signaled later";

static bool can_capture(struct submission *submission) {
    struct device *device = submission->device;
    if (device->missing[0])
        refuse(device, "vkCreateDevice", device->missing);
    if (device->has_addresses)
        refuse(device, "vkGetBufferDeviceAddress", "a buffer with a device address");
    if (submission->unknown)
        refuse(device, "vkQueueSubmit", "a command buffer that is not known");
    if (!submission->queue)
        refuse(device, "vkQueueSubmit", "a queue that is not known");
    if (submission->waits_for_later)
        refuse(device, "vkQueueSubmit", waits_for_later);
    for (size_t i = 0; i < submission->count && !device->gave_up; i++) {
        const struct object *buffer = submission->buffers[i];
        if (buffer->words.missing[0])
            refuse(device, "vkQueueSubmit", buffer->words.missing);
        for (size_t j = 0; j < buffer->use_count && !device->gave_up; j++)
            if (buffer->uses[j].object->words.missing[0])
                refuse(device, "vkQueueSubmit", buffer->uses[j].object->words.missing);
    }
    if (!device->gave_up)
        visit_all(submission, check);
    return !device->gave_up;
}

// Two buffers in the same bytes of memory would be two memories in a replay, as would images that say that they are aliased. Other images
// lose their content where they are.
static int by_place(const void *left, const void *right) {
    const struct object *a = *(struct object *const *)left, *b = *(struct object *const *)right;
    if (a->memory != b->memory)
        return a->memory < b->memory ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

// ---- writing it

static void write_commands(struct object *buffer) {
    struct recording_writer *writer = record_open(RECORDING_VULKAN_COMMANDS);
    recording_put(writer, RECORDING_KEY_OBJECT, buffer->number);
    recording_put(writer, RECORDING_KEY_CONTEXT, buffer->device->number);
    recording_put_bytes(writer, RECORDING_KEY_DATA, buffer->words.bytes, buffer->words.length);
    writer->failed |= buffer->words.failed;
    record_close();
    buffer->recorded = true;
    buffer->changed = false;
}

// All resources of the device with the content that they have, at the beginning of a frame; later those that the program may have
// written without a command.
static void want_contents(struct submission *submission, bool all) {
    submission->want_count = 0;
    for (struct object *object = recorder.first; object; object = object->after) {
        const bool defined = object->kind == VULKAN_BUFFER ||
                             (object->kind == VULKAN_IMAGE && !object->parent && content_is_defined(object));
        if (object->device != submission->device || !object->alive || !defined || !content_bytes(object) ||
            (object->memory && !object->memory->alive) || object->in_transfer)
            continue;
        if (all || object->host || !object->has_hash)
            want_content(submission, object, false);
        object->known = true;
        object->defined = true;
    }
}

static VkDeviceSize span_of(const struct object *object) {
    return object->kind == VULKAN_BUFFER ? object->size : object->span;
}

static void note_use(struct submission *submission, struct object *resource, bool written) {
    (void)written;
    resource->used = submission->frame;
}

// Those that no submission of the frame uses do not count: some programs make a second buffer of the same bytes for usages that are rare.
static bool is_aliased(const struct submission *submission) {
    struct object **all = NULL;
    bool aliased = false;
    size_t count = 0, capacity = 0;
    for (struct object *object = recorder.first; object && !aliased; object = object->after) {
        if (object->device != submission->device || !object->alive || !object->memory ||
            object->used != submission->frame || (object->kind != VULKAN_BUFFER && !object->aliases))
            continue;
        if (ARRAY_RESERVE(all, capacity, count + 1))
            all[count++] = object;
        else
            aliased = true; // out of memory: it is not known
    }
    if (count)
        qsort(all, count, sizeof *all, by_place);
    for (size_t i = 1; i < count; i++)
        aliased |=
            all[i]->memory == all[i - 1]->memory && all[i]->offset < all[i - 1]->offset + span_of(all[i - 1]);
    free(all);
    return aliased;
}

static void forget_hashes(const struct device *device) {
    for (struct object *object = recorder.first; object; object = object->after)
        if (object->device == device) {
            object->has_hash = false;
            object->known = false;
            object->owed = false;
            object->defined = object->kind == VULKAN_BUFFER;
        }
}

// Those of other queues that were not captured. What is captured is complete when its call returns.
static bool wait_all(const struct submission *submission) {
    struct device *device = submission->device;
    bool good = content_wait(device, submission->queue, content_patience);
    for (uint32_t i = 0; i < device->queue_count && good; i++)
        good = !device->queues[i].busy || content_wait(device, &device->queues[i], content_patience);
    return good;
}

static bool write_state(struct submission *submission) {
    struct device *device = submission->device;
    const bool first = device->frame != submission->frame;
    if (!wait_all(submission)) {
        refuse(device, "vkQueueSubmit", "earlier work did not end within 20 seconds");
        return false;
    }
    if (first)
        forget_hashes(device);
    objects_write(device);
    if (first) {
        struct recording_writer *writer = record_open(RECORDING_VULKAN_FRAME);
        recording_put(writer, RECORDING_KEY_CONTEXT, device->number);
        recording_put(writer, RECORDING_KEY_INDEX, submission->frame);
        record_close();
    }
    device->frame = submission->frame;
    want_contents(submission, first);
    visit_all(submission, note_use);
    if (is_aliased(submission)) {
        refuse(device, "vkBindBufferMemory2", "buffers or images share bytes of memory");
        return false;
    }
    if (!content_write(device, submission->queue, submission->wants, submission->want_count)) {
        refuse(device, "vkQueueSubmit", "the content of its resources could not be copied");
        return false;
    }
    for (struct object *object = recorder.first; object; object = object->after)
        if (object->device == device && object->kind == VULKAN_SET && object->recorded &&
            (first || object->changed))
            set_write(object);
    for (size_t i = 0; i < submission->count; i++)
        if (!submission->buffers[i]->recorded || submission->buffers[i]->changed)
            write_commands(submission->buffers[i]);
    return true;
}

static void write_submission(const struct submission *submission) {
    struct recording_writer *writer = record_open(RECORDING_COMMAND);
    uint64_t *numbers = calloc(submission->count + 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < submission->count; i++)
        numbers[i] = submission->buffers[i]->number;
    recording_put(writer, RECORDING_KEY_COMMAND, RECORDING_COMMAND_SUBMIT);
    recording_put(writer, RECORDING_KEY_CONTEXT, submission->device->number);
    recording_put(writer, RECORDING_KEY_QUEUE,
                  (uint64_t)(submission->queue - submission->device->queues) + 1);
    recording_put(writer, RECORDING_KEY_INDEX, submission->frame);
    recording_put_list(writer, RECORDING_KEY_LIST, numbers, numbers ? submission->count : 0);
    if (submission->correlation)
        recording_put(writer, RECORDING_KEY_CORRELATION, submission->correlation);
    writer->failed |= !numbers;
    record_close();
    free(numbers);
}

static void want_result(struct submission *submission, struct object *resource, bool written) {
    resource->owed |= written;
    if (resource->owed && !resource->in_transfer) {
        resource->owed = false;
        if (content_bytes(resource) && (resource->kind == VULKAN_BUFFER || content_is_defined(resource)))
            want_content(submission, resource, true);
    }
    if (resource->kind == VULKAN_IMAGE)
        resource->known = true;
}

static void write_results(struct submission *submission) {
    write_submission(submission);
    submission->want_count = 0;
    visit_all(submission, want_result);
    if (!content_wait(submission->device, submission->queue, content_patience))
        refuse(submission->device, "vkQueueSubmit", "a submission did not end within 20 seconds");
    else if (!content_write(submission->device, submission->queue, submission->wants, submission->want_count))
        refuse(submission->device, "vkQueueSubmit", "what it wrote could not be copied");
}

// Decides whether the submission is captured, and writes the state before it.
static void before(struct submission *submission) {
    struct device *device = submission->device;
    if (!submission->frame)
        return;
    if (device->frame != submission->frame)
        device->gave_up = false;
    else if (device->gave_up)
        submission->frame = 0;
    if (submission->frame && (!can_capture(submission) || !write_state(submission))) {
        device->frame = submission->frame;
        submission->frame = 0;
    }
}

// The family that uses a resource owns it from then on.
static void own_resource(struct submission *submission, struct object *resource, bool written) {
    (void)written;
    resource->owner = submission->queue->family + 1;
}

static void submission_free(struct submission *submission) {
    free(submission->buffers);
    free(submission->promises);
    free(submission->wants);
}

static void after(struct submission *submission, VkResult result) {
    for (size_t i = 0; result == VK_SUCCESS && i < submission->count; i++)
        effects_apply(submission->buffers[i]);
    if (submission->queue && result == VK_SUCCESS) {
        submission->queue->busy = true;
        if (submission->device->has_families)
            visit_all(submission, own_resource);
    }
    if (submission->frame && result == VK_SUCCESS)
        write_results(submission);
    file_flush();
    submission_free(submission);
}

static const VkTimelineSemaphoreSubmitInfo *values_of(const VkBaseInStructure *at) {
    for (; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            return (const void *)at;
    return NULL;
}

static void add_info(struct submission *submission, const VkSubmitInfo *info) {
    const VkTimelineSemaphoreSubmitInfo *values = values_of(info->pNext);
    const uint64_t *wait_values = values ? values->pWaitSemaphoreValues : NULL,
                   *signal_values = values ? values->pSignalSemaphoreValues : NULL;
    for (uint32_t i = 0; i < info->commandBufferCount; i++)
        add_buffer(submission, info->pCommandBuffers[i]);
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
        add_wait(submission, info->pWaitSemaphores[i],
                 wait_values && i < values->waitSemaphoreValueCount ? wait_values[i] : 0);
    for (uint32_t i = 0; i < info->signalSemaphoreCount; i++)
        add_promise(submission, info->pSignalSemaphores[i],
                    signal_values && i < values->signalSemaphoreValueCount ? signal_values[i] : 0);
}

static void add_info2(struct submission *submission, const VkSubmitInfo2 *info) {
    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
        add_buffer(submission, info->pCommandBufferInfos[i].commandBuffer);
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
        add_wait(submission, info->pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value);
    for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++)
        add_promise(submission, info->pSignalSemaphoreInfos[i].semaphore,
                    info->pSignalSemaphoreInfos[i].value);
}

struct queue *queue_find(struct device *device, VkQueue handle) {
    for (uint32_t i = 0; i < device->queue_count; i++)
        if (device->queues[i].handle == handle)
            return &device->queues[i];
    return NULL;
}

// ---- calls, which may be held back

static struct submission submission_of(struct device *device, const struct given *given,
                                       const struct held *until) {
    struct submission submission = {.device = device,
                                    .until = until,
                                    .queue = queue_find(device, given->queue),
                                    .correlation = given->correlation,
                                    .frame = given->frame};
    for (uint32_t i = 0; i < given->count; i++)
        if (given->second)
            add_info2(&submission, (const VkSubmitInfo2 *)given->infos + i);
        else
            add_info(&submission, (const VkSubmitInfo *)given->infos + i);
    return submission;
}

static VkResult pass_on(const struct device *device, const struct given *given) {
    return given->second ? device->next.QueueSubmit2(given->queue, given->count, given->infos, given->fence)
                         : device->next.QueueSubmit(given->queue, given->count, given->infos, given->fence);
}

// The driver refused a submission that the program takes for made. Its fence and semaphores are never signaled, and what was
// held back behind it may wait for them. Vulkan has one answer for that: the device is lost, from now on and for all that ask.
static void lose_device(struct device *device) {
    device->lost = true;
    refuse(device, "vkQueueSubmit", "the driver refused a submission that was held back: the device is lost");
    while (device->held) {
        struct held *held = device->held;
        held_take(device, held);
        held_free(held);
    }
}

// One that was held back. Another thread may use its queue now.
static void submit_held(struct device *device, struct held *held, bool captured) {
    if (!captured)
        held->given.frame = 0;
    struct submission submission = submission_of(device, &held->given, held);
    held_take(device, held);
    before(&submission);
    pthread_mutex_lock(&submission.queue->lock);
    const VkResult result = pass_on(device, &held->given);
    pthread_mutex_unlock(&submission.queue->lock);
    if (result != VK_SUCCESS)
        lose_device(device);
    after(&submission, result);
    held_free(held);
}

// All, as they are: the driver lets them wait. The frame is not captured.
void held_release_all(struct device *device) {
    if (device->held) {
        device->frame = device->held->given.frame;
        refuse(device, "vkQueueSubmit", waits_for_later);
    }
    while (device->held)
        submit_held(device, device->held, false);
}

static bool is_ready(struct device *device, const struct held *held) {
    struct submission submission = submission_of(device, &held->given, held);
    const bool ready = !submission.waits_for_later;
    submission_free(&submission);
    return ready;
}

// The next one whose values are there, and that is the first of its queue; NULL: none.
static struct held *find_ready(struct device *device) {
    for (struct held *held = device->held; held; held = held->next) {
        const struct held *first = device->held;
        while (first->given.queue != held->given.queue)
            first = first->next;
        if (first == held && is_ready(device, held))
            return held;
    }
    return NULL;
}

void held_release_ready(struct device *device) {
    struct held *held;
    while (!device->gave_up && (held = find_ready(device)))
        submit_held(device, held, true);
    if (device->gave_up)
        held_release_all(device);
}

static VkResult submit(struct device *device, struct given *given) {
    VkResult result = VK_SUCCESS;
    recorder_lock();
    given->correlation = current_correlation();
    struct submission submission = submission_of(device, given, NULL);
    given->frame = submission.frame = recorder.on ? frames_submitted(submission.works) : 0;
    if (device->held && device->held->given.frame != given->frame)
        held_release_all(device);
    const bool waits = submission.waits_for_later || held_has(device, given->queue),
               may = given->frame && submission.queue && !submission.unknown &&
                     !(device->frame == given->frame && device->gave_up);
    if (device->lost)
        submission.frame = 0;
    if (waits && may && !device->lost && held_add(device, given)) {
        device->gave_up = false; // that was an earlier frame
        submission_free(&submission);
    } else {
        if (waits)
            held_release_all(device);
        before(&submission);
        result = device->lost ? VK_ERROR_DEVICE_LOST : pass_on(device, given);
        after(&submission, result);
        held_release_ready(device);
    }
    recorder_unlock();
    return result;
}

VkResult record_QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
    return submit(device_of(queue),
                  &(struct given){.queue = queue, .count = count, .infos = infos, .fence = fence});
}

VkResult record_QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence) {
    return submit(
        device_of(queue),
        &(struct given){.queue = queue, .second = true, .count = count, .infos = infos, .fence = fence});
}

VkResult record_SignalSemaphore(VkDevice handle, const VkSemaphoreSignalInfo *info) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.SignalSemaphore(handle, info);
    recorder_lock();
    held_release_ready(device);
    recorder_unlock();
    return result;
}

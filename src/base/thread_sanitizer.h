// SPDX-License-Identifier: Apache-2.0
// For handlers that run in a forked child: ThreadSanitizer attributes earlier accesses of the parent's threads to threads of the
// child, which has one thread. After the handlers it ignores accesses in such a child by itself.
#ifndef BASE_THREAD_SANITIZER_H
#define BASE_THREAD_SANITIZER_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_THREAD_SANITIZER
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif
#endif

static inline void thread_sanitizer_pause(void) {
#ifdef WITH_THREAD_SANITIZER
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

static inline void thread_sanitizer_resume(void) {
#ifdef WITH_THREAD_SANITIZER
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

#endif

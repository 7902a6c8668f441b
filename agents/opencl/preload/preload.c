// SPDX-License-Identifier: Apache-2.0
// The layer, for loaders that know no layers: put before the loader by LD_PRELOAD, this library takes the
// program's calls and hands them to the layer's table, as a loader with layers would.
//
// Rules: ../agent.h. States: nothing is looked up before the program's first OpenCL call. That call finds the
// loader that it would have reached, lets it start, and asks the layer whether the loader has called it by then. If
// so, every call goes straight to the loader; if not, the layer is initialized from here.
//
// The loader is the next library that defines the function, or the caller's own: packages of Python bring a loader
// under a name of their own, or link it into the library that uses it (LightGBM), and neither is in the global scope.
//
// Not seen: calls through pointers that the program fetches from the loader's own handle (dlopen, then
// dlsym), and extension functions. A loader with layers has neither gap.
#include "opencl_calls/calls.h"

#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define LAYER_LIBRARY "libtracesmith-opencl.so"

static cl_icd_dispatch loader; // the functions of the loader behind us
static cl_icd_dispatch active; // those of the layer, or of the loader where the layer has none
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread bool looking;       // the loader may call us back while it starts
static __thread const void *caller; // of the call that finds the loader

static const char here; // an address of this library

// The library of this address, if it or one that it was linked with defines the functions: not this one again.
static void *library_of(const void *address) {
    Dl_info at, self, found;
    if (!address || !dladdr(address, &at) || !at.dli_fname || !dladdr(&here, &self))
        return NULL;
    void *library = dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *function = library ? dlsym(library, "clGetPlatformIDs") : NULL;
    return function && dladdr(function, &found) && found.dli_fbase != self.dli_fbase ? library : NULL;
}

static void find_loader(void) {
    void *library = RTLD_NEXT;
    if (!dlsym(RTLD_NEXT, "clGetPlatformIDs"))
        library = library_of(caller);
    if (!library)
        library = dlopen("libOpenCL.so.1", RTLD_LAZY);
    if (!library)
        return;
#define FIND(name) loader.name = (OPENCL_POINTER(name))dlsym(library, #name);
    OPENCL_CALLS(FIND)
    OPENCL_ASKED(FIND)
#undef FIND
}

// The layer next to this library, or NULL.
static void *open_layer(void) {
    Dl_info self;
    char path[4096];
    if (!dladdr(&here, &self) || !self.dli_fname)
        return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    const size_t directory = slash ? (size_t)(slash - self.dli_fname) + 1 : 0;
    if (directory + sizeof LAYER_LIBRARY > sizeof path)
        return NULL;
    memcpy(path, self.dli_fname, directory);
    memcpy(path + directory, LAYER_LIBRARY, sizeof LAYER_LIBRARY);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// The layer asks these without looking.
static bool is_complete(void) {
#define HAS(name) &&loader.name
    return true OPENCL_ASKED(HAS);
#undef HAS
}

static void use_layer(void *library) {
    const pfn_clGetLayerInfo ask = (pfn_clGetLayerInfo)dlsym(library, "clGetLayerInfo");
    const pfn_clInitLayer init = (pfn_clInitLayer)dlsym(library, "clInitLayer");
    const cl_icd_dispatch *layer = NULL;
    cl_uint count = 0;
    cl_uint in_use = 1;
    if (!ask || !init || ask(LAYER_INFO_IN_USE, sizeof in_use, &in_use, NULL) != CL_SUCCESS || in_use ||
        init(sizeof loader / sizeof(void *), &loader, &count, &layer) != CL_SUCCESS)
        return;
#define USE(name)                                                                                            \
    if (layer->name)                                                                                         \
        active.name = layer->name;
    OPENCL_CALLS(USE)
#undef USE
}

static void find_driver(void) {
    cl_uint platforms = 0;
    looking = true;
    find_loader();
    active = loader;
    if (loader.clGetPlatformIDs)
        loader.clGetPlatformIDs(0, NULL, &platforms);
    void *library = is_complete() ? open_layer() : NULL;
    if (library)
        use_layer(library);
    looking = false;
}

static const cl_icd_dispatch *table(const void *from) {
    if (looking)
        return &loader;
    caller = from;
    pthread_once(&once, find_driver);
    return &active;
}

// A function that the loader behind us lacks cannot have been linked by the program: it is not called.
#define FORWARD(name, result, parameters, arguments, ...)                                                    \
    __attribute__((visibility("default"))) result CL_API_CALL name parameters {                              \
        return table(__builtin_return_address(0))->name arguments;                                           \
    }
#define FORWARD_CALL(name) OPENCL_DEFINE(FORWARD, name, )
OPENCL_EXPORTED_CALLS(FORWARD_CALL)

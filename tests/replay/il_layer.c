// SPDX-License-Identifier: Apache-2.0
// A driver that takes programs in SPIR-V, made of one that takes LLVM's bitcode (PoCL): llvm-spirv translates them, and each
// is built as a binary. What it was given is counted in $IL_LAYER_COUNT. Stands in for drivers that this machine has not.
#include "../opencl/layer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, DEVICES = 64 };

static cl_program programs[MOST];
static size_t program_count;

static unsigned char *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) {
        *size = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*size);
        if (bytes && fread(bytes, 1, *size, file) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

static int run_translator(const char *in, const char *out) {
    const char *tool = getenv("LLVM_SPIRV");
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        unsetenv("OPENCL_LAYERS");
        execlp(tool ? tool : "llvm-spirv", "llvm-spirv", "-r", in, "-o", out, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Bitcode in memory that the caller frees, or NULL.
static unsigned char *translate(const void *il, size_t length, size_t *size) {
    char folder[] = "/tmp/il_layer_XXXXXX", in[64], out[64];
    unsigned char *bitcode = NULL;
    if (!mkdtemp(folder))
        return NULL;
    snprintf(in, sizeof in, "%s/in.spv", folder);
    snprintf(out, sizeof out, "%s/out.bc", folder);
    FILE *file = fopen(in, "wb");
    if (file) {
        const int written = fwrite(il, 1, length, file) == length;
        if (fclose(file) == 0 && written && run_translator(in, out))
            bitcode = read_all(out, size);
    }
    unlink(in);
    unlink(out);
    rmdir(folder);
    return bitcode;
}

static void count(size_t length) {
    const char *path = getenv("IL_LAYER_COUNT");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%zu\n", length);
        fclose(file);
    }
}

static cl_program make_program(cl_context context, const void *il, size_t length, cl_int *error) {
    cl_device_id devices[DEVICES];
    const unsigned char *binaries[DEVICES];
    size_t sizes[DEVICES], bytes = 0, size = 0;
    cl_int status = CL_INVALID_VALUE;
    cl_program program = NULL;
    unsigned char *bitcode = translate(il, length, &size);
    count(length);
    next->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes);
    for (size_t i = 0; i < DEVICES; i++) {
        binaries[i] = bitcode;
        sizes[i] = size;
    }
    if (bitcode)
        program = next->clCreateProgramWithBinary(context, (cl_uint)(bytes / sizeof *devices), devices, sizes,
                                                  binaries, NULL, &status);
    if (program && program_count < MOST)
        programs[program_count++] = program;
    if (error)
        *error = status;
    free(bitcode);
    return program;
}

static cl_int build(cl_program program, cl_uint device_count, const cl_device_id *devices,
                    const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    char more[1024];
    for (size_t i = 0; i < program_count; i++)
        if (programs[i] == program) {
            snprintf(more, sizeof more, "%s -x spir -spir-std=1.2", options ? options : "");
            options = more;
            break;
        }
    return next->clBuildProgram(program, device_count, devices, options, notify, user);
}

static void layer_begin(void) {
    layer.clCreateProgramWithIL = make_program;
    layer.clBuildProgram = build;
}

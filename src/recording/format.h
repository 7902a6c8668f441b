// SPDX-License-Identifier: Apache-2.0
// What a recording is made of: one table of record types, one of keys, one of commands. The agent that records writes
// them, docs/sbt-format.md describes them, replay reads them. Numbers never change their meaning.
#ifndef RECORDING_FORMAT_H
#define RECORDING_FORMAT_H

enum {
    RECORDING_MAGIC = 0x31525354,     // "TSR1", before every record
    RECORDING_HEADER = 16,            // magic, u16 type, u16 zero, u32 length of the body, CRC32C of it all
    RECORDING_CHUNK_BYTES = 64 << 10, // payload is cut into pieces of this size
    RECORDING_HASH = 16,              // bytes of a chunk's hash; all zero: a chunk of zeros, kept nowhere
    RECORDING_BODY_MOST = 64 << 20,   // the limit of writer and reader
    RECORDING_DIMENSIONS = 3
};

// X(NAME, number, "name")
#define RECORDING_TYPE_TABLE(X)                                                                              \
    X(PROCESS, 1, "process")       /* the first record of a file: PID, FLAGS */                              \
    X(CHUNK, 2, "chunk")           /* HASH, DATA */                                                          \
    X(DEVICE, 3, "device")         /* OBJECT, TEXTs */                                                       \
    X(CONTEXT, 4, "context")       /* OBJECT, DEVICES */                                                     \
    X(QUEUE, 5, "queue")           /* OBJECT, CONTEXT, DEVICE, FLAGS */                                      \
    X(BUFFER, 6, "buffer")         /* OBJECT, CONTEXT, FLAGS, SIZE, CHUNKS of the host pointer */            \
    X(SUB_BUFFER, 7, "sub-buffer") /* OBJECT, PARENT, FLAGS, OFFSET, SIZE */                                 \
    X(PROGRAM, 8, "program")       /* OBJECT, CONTEXT, FORM, SIZE, CHUNKS */                                 \
    X(BUILD, 9, "build") /* PROGRAM, TEXT: options; NAME: the folder it was in, where files were included */ \
    X(KERNEL, 10, "kernel")              /* OBJECT, PROGRAM, NAME; or CLONED */                              \
    X(ARGUMENT, 11, "argument")          /* KERNEL, INDEX, FORM, SIZE, DATA or TARGET */                     \
    X(SAMPLER, 12, "sampler")            /* OBJECT, CONTEXT, LIST: normalized, addressing, filter */         \
    X(COMMAND, 13, "command")            /* COMMAND, QUEUE, WAITS, EVENT, and what the command takes */      \
    X(USER_EVENT, 14, "user event")      /* OBJECT, CONTEXT */                                               \
    X(USER_STATUS, 15, "user event set") /* OBJECT, STATUS */                                                \
    X(WAIT, 16, "wait")                  /* the host waited: for QUEUE, or for WAITS */                      \
    X(VERIFY, 17, "verify")              /* VERIFY, OBJECT: its content here was copied */                   \
    X(STATE, 18, "state")                /* VERIFY, SIZE, CHUNKS: that copy; or TEXT: why there is none */   \
    X(RELEASE, 19, "release")            /* OBJECT: the program let go of it */                              \
    X(REFUSED, 20, "cannot be replayed") /* NAME: function, TEXT: why, WRITES: what it may have written */   \
    X(END, 21, "end")                    /* the program ended in order */                                    \
    X(CONTENT, 22, "content")            /* VERIFY, OBJECT: what it holds here, by a STATE; nothing */       \
                                         /* recorded brought it there */                                     \
    X(IMAGE, 23, "image")                /* OBJECT, CONTEXT, FLAGS, LIST, SIZE, CHUNKS; PARENT, pitch */     \
    X(SHARED, 24, "shared memory")       /* OBJECT, CONTEXT, FLAGS, SIZE, ADDRESS in the program */          \
    X(COMPILE, 25, "compile")            /* as BUILD, and LIST: headers, DATA: their names */                \
    X(LINK, 26, "link")                  /* OBJECT, CONTEXT, TEXT: options, LIST: programs */                \
    X(USES, 27, "uses")                  /* KERNEL, LIST: the shared memory it uses by pointers */           \
    X(INCLUDED, 28, "included file")     /* PROGRAM, NAME: its path, SIZE, CHUNKS; before the build */       \
    X(CHANGED, 29, "changed on its way") /* TRANSFER, HOST, SIZE: memory of that write is not as it was */   \
    X(VULKAN_DEVICE, 30,                                                                                     \
      "Vulkan device") /* OBJECT, NAME, VENDOR, VERSION, DRIVER, FLAGS: enabled features */                  \
    X(VULKAN_OBJECT, 31, "Vulkan object") /* OBJECT, CONTEXT: device, INDEX: kind, NAME: the function */     \
                                          /* that made it, DATA: words; PARENT, ADDRESS, OFFSET: memory */   \
    X(VULKAN_COMMANDS, 32, "Vulkan commands") /* OBJECT: a command buffer, CONTEXT, DATA: words */           \
    X(VULKAN_SET, 33, "Vulkan descriptors")   /* OBJECT: a set, DATA: words of what was written to it */     \
    X(VULKAN_FRAME, 34, "Vulkan frame")       /* CONTEXT: device, INDEX: its number in this process; what */ \
                                              /* follows is the state before its first submission */

enum recording_type {
#define RECORDING_TYPE_ENUM(NAME, number, name) RECORDING_##NAME = number,
    RECORDING_TYPE_TABLE(RECORDING_TYPE_ENUM)
#undef RECORDING_TYPE_ENUM
        RECORDING_TYPE_LIMIT
};

// X(NAME, number): an entry of a record. The reader decides whether an entry is an integer, bytes or a list of
// integers; an unknown one is skipped.
#define RECORDING_KEY_TABLE(X)                                                                               \
    X(OBJECT, 1)                                                                                             \
    X(CONTEXT, 2)                                                                                            \
    X(DEVICE, 3)                                                                                             \
    X(DEVICES, 4)                                                                                            \
    X(QUEUE, 5)                                                                                              \
    X(PARENT, 6)                                                                                             \
    X(PROGRAM, 7)                                                                                            \
    X(KERNEL, 8)                                                                                             \
    X(EVENT, 9)                                                                                              \
    X(WAITS, 10)                                                                                             \
    X(FLAGS, 11)                                                                                             \
    X(SIZE, 12)                                                                                              \
    X(OFFSET, 13)                                                                                            \
    X(FORM, 14)                                                                                              \
    X(INDEX, 15)                                                                                             \
    X(NAME, 16)                                                                                              \
    X(TEXT, 17)                                                                                              \
    X(DATA, 18)                                                                                              \
    X(HASH, 19)                                                                                              \
    X(CHUNKS, 20)                                                                                            \
    X(COMMAND, 21)                                                                                           \
    X(SOURCE, 22)                                                                                            \
    X(TARGET, 23)                                                                                            \
    X(SOURCE_ORIGIN, 24)                                                                                     \
    X(TARGET_ORIGIN, 25)                                                                                     \
    X(REGION, 26)                                                                                            \
    X(SOURCE_PITCH, 27)                                                                                      \
    X(TARGET_PITCH, 28)                                                                                      \
    X(BLOCKING, 29)                                                                                          \
    X(MAPPING, 30)                                                                                           \
    X(RANGES, 31)                                                                                            \
    X(GLOBAL_OFFSET, 32)                                                                                     \
    X(GLOBAL, 33)                                                                                            \
    X(LOCAL, 34)                                                                                             \
    X(STATUS, 35)                                                                                            \
    X(VERIFY, 36)                                                                                            \
    X(WRITES, 37)                                                                                            \
    X(CLONED, 38)                                                                                            \
    X(LIST, 39)                                                                                              \
    X(HOST, 47) /* where the program's memory of a transfer is: tells transfers that share it */             \
    X(PID, 40)                                                                                               \
    X(VERSION, 41)                                                                                           \
    X(DRIVER, 42)                                                                                            \
    X(VENDOR, 43)                                                                                            \
    X(ADDRESS, 44)                                                                                           \
    X(CORRELATION, 45) /* of the command's API event in the trace; not there: it is in no trace */           \
    X(TRANSFER, 48)    /* the number of a write that did not block; of a CHANGED that of its write */        \
    X(THREAD, 46)      /* of the host, from 1 in the order of their first commands */

enum recording_key {
#define RECORDING_KEY_ENUM(NAME, number) RECORDING_KEY_##NAME = number,
    RECORDING_KEY_TABLE(RECORDING_KEY_ENUM)
#undef RECORDING_KEY_ENUM
        RECORDING_KEY_LIMIT
};

// X(NAME, number, "name")
#define RECORDING_COMMAND_TABLE(X)                                                                           \
    X(KERNEL, 1, "kernel")                                                                                   \
    X(READ, 2, "read")                                                                                       \
    X(WRITE, 3, "write")                                                                                     \
    X(COPY, 4, "copy")                                                                                       \
    X(FILL, 5, "fill")                                                                                       \
    X(READ_RECT, 6, "read box")                                                                              \
    X(WRITE_RECT, 7, "write box")                                                                            \
    X(COPY_RECT, 8, "copy box")                                                                              \
    X(MAP, 9, "map")                                                                                         \
    X(UNMAP, 10, "unmap")                                                                                    \
    X(MIGRATE, 11, "migrate")                                                                                \
    X(MARKER, 12, "marker")                                                                                  \
    X(BARRIER, 13, "barrier")                                                                                \
    X(READ_IMAGE, 14, "read image")                                                                          \
    X(WRITE_IMAGE, 15, "write image")                                                                        \
    X(COPY_IMAGE, 16, "copy image")                                                                          \
    X(FILL_IMAGE, 17, "fill image")                                                                          \
    X(IMAGE_TO_BUFFER, 18, "copy image to buffer")                                                           \
    X(BUFFER_TO_IMAGE, 19, "copy buffer to image")                                                           \
    X(SUBMIT, 20, "submit") /* Vulkan: QUEUE, CONTEXT, LIST: command buffers */

enum recording_command {
#define RECORDING_COMMAND_ENUM(NAME, number, name) RECORDING_COMMAND_##NAME = number,
    RECORDING_COMMAND_TABLE(RECORDING_COMMAND_ENUM)
#undef RECORDING_COMMAND_ENUM
        RECORDING_COMMAND_LIMIT
};

enum recording_program_form { RECORDING_PROGRAM_SOURCE = 1, RECORDING_PROGRAM_BINARY, RECORDING_PROGRAM_IL };
enum recording_argument_form {
    RECORDING_ARGUMENT_VALUE = 1,
    RECORDING_ARGUMENT_LOCAL,
    RECORDING_ARGUMENT_OBJECT,  // a buffer, an image, or a sampler
    RECORDING_ARGUMENT_NULL,    // no buffer
    RECORDING_ARGUMENT_REFUSED, // cannot be replayed: TEXT has the reason
    RECORDING_ARGUMENT_SHARED   // a place in shared memory: TARGET, OFFSET
};
// What LIST of an IMAGE has, in this order: the API's numbers, and sizes in pixels.
enum recording_image_word {
    RECORDING_IMAGE_ORDER,
    RECORDING_IMAGE_TYPE,
    RECORDING_IMAGE_KIND,
    RECORDING_IMAGE_WIDTH,
    RECORDING_IMAGE_HEIGHT,
    RECORDING_IMAGE_DEPTH,
    RECORDING_IMAGE_LAYERS,
    RECORDING_IMAGE_ELEMENT, // bytes of a pixel
    RECORDING_IMAGE_ROW,     // pitches of an image that is in a buffer
    RECORDING_IMAGE_WORDS
};
// FLAGS of a PROCESS: data was not wanted, only hashes of it; it is of Vulkan, else of OpenCL.
enum { RECORDING_HASHES_ONLY = 1, RECORDING_OF_VULKAN = 2 };
// FLAGS of a STATE: its hashes are kept, and data only as far as something else has the same.
enum { RECORDING_STATE_HASHES = 1 };
// FLAGS of a VERIFY: it was taken after one command to find the first that goes wrong, not because the program let go.
// 2: parts of the image may never have been written, and are undefined.
enum { RECORDING_VERIFY_COMMAND = 1, RECORDING_VERIFY_UNDEFINED = 2 };
// FLAGS of an ARGUMENT: the kernel only reads the buffer, by its declaration.
enum { RECORDING_ARGUMENT_CONSTANT = 1 };

#endif

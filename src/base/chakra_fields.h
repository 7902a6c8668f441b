// SPDX-License-Identifier: Apache-2.0
// Numbers of the fields of Chakra's execution traces, which are read (src/import/chakra) and written (src/export/chakra.c). Source:
// schema/protobuf/et_def.proto of MLCommons' Chakra.
#ifndef BASE_CHAKRA_FIELDS_H
#define BASE_CHAKRA_FIELDS_H

enum {
    METADATA_VERSION = 1,
    METADATA_ATTR = 2,
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CTRL_DEPS = 4,
    NODE_DATA_DEPS = 5,
    NODE_START = 6,
    NODE_DURATION = 7,
    NODE_INPUTS = 8,
    NODE_OUTPUTS = 9,
    NODE_ATTR = 10
};

#endif

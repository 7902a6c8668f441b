// SPDX-License-Identifier: Apache-2.0
// Feeds every file named on the command line, and every file of every folder named there, to the fuzz
// target it is linked with: the kept corpus as a test, for compilers without libFuzzer.
// A folder that holds nothing is an error: a corpus that was not found must not look like one that passed.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size) {
    int result = -1;
    uint8_t *data = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) {
        goto done;
    }
    // Exactly as large as the input, so that a read one byte past it is seen.
    data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size) {
        goto done;
    }
    (void)LLVMFuzzerTestOneInput(data, size);
    result = 0;
done:
    if (result) {
        perror(path);
    }
    free(data);
    if (file) {
        fclose(file);
    }
    return result;
}

// Returns how many inputs were fed, or -1.
static long replay(const char *path) {
    struct stat st;
    if (stat(path, &st)) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode)) {
        return replay_file(path, (size_t)st.st_size) ? -1 : 1;
    }
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        return -1;
    }
    long total = 0;
    for (struct dirent *entry = readdir(dir); entry && total >= 0; entry = readdir(dir)) {
        char child[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        int length = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        long fed = length > 0 && (size_t)length < sizeof child ? replay(child) : -1;
        total = fed < 0 ? -1 : total + fed;
    }
    closedir(dir);
    return total;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE-OR-FOLDER...\n", argv[0]);
        return 2;
    }
    long total = 0;
    for (int i = 1; i < argc; i++) {
        long fed = replay(argv[i]);
        if (fed <= 0) {
            fprintf(stderr, "%s: %s\n", argv[i], fed ? "could not be replayed" : "holds no input");
            return 1;
        }
        total += fed;
    }
    printf("%ld inputs replayed\n", total);
    return 0;
}

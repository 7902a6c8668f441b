// SPDX-License-Identifier: Apache-2.0
// Linked into tests/programs under AddressSanitizer. They represent foreign programs: some leak on purpose,
// and their OpenCL driver leaks as it likes. Damage is still found in them; leaks are looked for in our own tests
// and in the command.

const char *__asan_default_options(void);

const char *__asan_default_options(void) {
    return "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_abort=0"; // and signals stay what they are
}

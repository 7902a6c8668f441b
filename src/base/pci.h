// SPDX-License-Identifier: Apache-2.0
// The address of a PCI device in the form of a device identity: "pci:0000:65:00.0".
#ifndef BASE_PCI_H
#define BASE_PCI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PCI_IDENTITY_SIZE = 32 };

// "" if it is not a valid address.
static inline void pci_identity(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function,
                                char out[PCI_IDENTITY_SIZE]) {
    out[0] = '\0';
    if (bus <= 0xff && device <= 0x1f && function <= 7)
        (void)snprintf(out, PCI_IDENTITY_SIZE, "pci:%04x:%02x:%02x.%x", domain, bus, device, function);
}

// A hexadecimal number of up to 8 digits and what follows it. False when there is none.
static inline bool pci_number(const char **at, char after, uint32_t *out) {
    *out = 0;
    int digits = 0;
    for (; digits < 8; digits++, ++*at) {
        const char digit = **at;
        if (digit >= '0' && digit <= '9')
            *out = *out << 4 | (uint32_t)(digit - '0');
        else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
            *out = *out << 4 | (uint32_t)((digit | 0x20) - 'a' + 10);
        else
            break;
    }
    return digits > 0 && *(*at)++ == after;
}

// From "00000000:65:00.0", NVIDIA's form; the domain may have up to 8 digits. "" for another form.
static inline void pci_identity_of(const char *text, char out[PCI_IDENTITY_SIZE]) {
    uint32_t domain, bus, device, function;
    out[0] = '\0';
    if (pci_number(&text, ':', &domain) && pci_number(&text, ':', &bus) && pci_number(&text, '.', &device) &&
        pci_number(&text, '\0', &function))
        pci_identity(domain, bus, device, function, out);
}

#endif

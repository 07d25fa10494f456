/* GLIBC_TUNABLES, as far as it changes what loads: room for static TLS, CPU features switched off. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "load/process.h"

enum {
    NAMESPACES_MAX = 16,
    NAMESPACES = 4,    /* glibc.rtld.nns by itself */
    LIBC_BYTES = 192,  /* of initial-exec TLS, for the libc of each further namespace */
    OTHER_BYTES = 144, /* and for what else is in each */
};

#define OPTIONAL_MAX (UINT64_C(1) << 30) /* more fits into no process that starts */

/* Features that the levels of glibc-hwcaps ask for, by the names that glibc.cpu.hwcaps has for them. */
static const struct feature {
    const char *name;
    unsigned level;
} features[] = {
    { "POPCNT", 2 }, { "SSE3", 2 },  { "SSE4_1", 2 },  { "SSE4_2", 2 },   { "SSSE3", 2 },    { "AVX", 3 },
    { "AVX2", 3 },   { "BMI1", 3 },  { "BMI2", 3 },    { "FMA", 3 },      { "LZCNT", 3 },    { "MOVBE", 3 },
    { "AVX512F", 4 }, { "AVX512BW", 4 }, { "AVX512CD", 4 }, { "AVX512DQ", 4 }, { "AVX512VL", 4 },
};

/* "-AVX2,-AVX512F": a level without one of its features is not used, nor are those above it. */
static void take_hwcaps(struct load_process *proc, const char *value, size_t len)
{
    for (const char *at = value, *end = value + len; at < end;) {
        size_t n = strcspn(at, ",");
        if (n > (size_t)(end - at))
            n = (size_t)(end - at);
        for (size_t i = 0; i < ARRAY_LEN(features) && *at == '-'; i++)
            if (strlen(features[i].name) == n - 1 && strncmp(at + 1, features[i].name, n - 1) == 0 &&
                features[i].level <= proc->top_level)
                proc->top_level = features[i].level - 1;
        at += n + 1;
    }
}

void tunables_read(struct load_process *proc, const char *text)
{
    static const char *const names[] = { "glibc.rtld.nns=", "glibc.rtld.optional_static_tls=", "glibc.cpu.hwcaps=" };
    uint64_t namespaces = NAMESPACES;
    proc->tls_optional = 512;
    proc->top_level = 4;
    while (text && *text) {
        size_t which = 0;
        while (which < ARRAY_LEN(names) && !str_starts(text, names[which]))
            which++;
        size_t n = strcspn(text, ":");
        if (which < ARRAY_LEN(names)) {
            const char *value = text + strlen(names[which]);
            uint64_t number = strtoull(value, NULL, 0);
            if (which == 0 && number >= 1 && number <= NAMESPACES_MAX)
                namespaces = number;
            else if (which == 1)
                proc->tls_optional = number < OPTIONAL_MAX ? number : OPTIONAL_MAX;
            else if (which == 2)
                take_hwcaps(proc, value, n - strlen(names[which]));
        }
        text += n + (text[n] ? 1 : 0);
    }
    if (proc->top_level < 3 && proc->libc.platform && str_eq(proc->libc.platform, "haswell"))
        proc->libc.platform = "x86_64"; /* glibc's own name asks for the same features */
    proc->tls_surplus = (namespaces - 1) * LIBC_BYTES + namespaces * OTHER_BYTES + proc->tls_optional;
}

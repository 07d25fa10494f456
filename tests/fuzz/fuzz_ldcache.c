/* ld.so.cache: whatever the file says, an answer lies inside of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "load/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "libc.so.6", "libcudart.so.12", "libz.so.1", "libhw.so.1", "a", "" };
    static const char *const levels[] = { "x86-64-v4", "x86-64-v3", "x86-64-v2" };
    const struct cache_want want = {
        .flags = 0x303, .hwcap = 2, .platform = UINT64_MAX, .levels = levels, .n_levels = 3, .isa_usable = 15
    };
    struct arena a = { 0 };
    const struct cache *c = cache_open(&a, data, size);
    for (size_t i = 0; c && i < sizeof(names) / sizeof(*names); i++) {
        const char *path = cache_find(c, names[i], &want);
        const char *end = (const char *)data + size;
        if (path && (path < (const char *)data || path >= end || !memchr(path, '\0', (size_t)(end - path))))
            abort();
    }
    arena_done(&a);
    return 0;
}

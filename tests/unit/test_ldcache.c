/* ld.so.cache, from tables written by hand in each of its three forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "load/cache.h"

struct row {
    const char *name, *path;
    int32_t flags;
    uint64_t hwcap;
};

#define LEVEL(level, index) (UINT64_C(1) << 62 | (uint64_t)((level)-1) << 32 | (index))

/* Sorted downwards by cache_compare, as ldconfig writes them. */
static const struct row rows[] = {
    { "libz.so.1", "/usr/lib/libz.so.1", 0x303, 0 },
    { "libonly32.so.1", "/lib32/libonly32.so.1", 0x003, 0 },
    { "libhw.so.1", "/l/glibc-hwcaps/x86-64-v2/libhw.so.1", 0x303, LEVEL(2, 0) },
    { "libhw.so.1", "/l/glibc-hwcaps/x86-64-v3/libhw.so.1", 0x303, LEVEL(3, 1) },
    { "libhw.so.1", "/l/libhw.so.1", 0x303, 0 },
    { "libcuda.so.12", "/c/libcuda.so.12", 0x303, 0 },
    { "libcuda.so.2", "/c/libcuda.so.2", 0x303, 0 },
    { "libboth.so.1", "/lib64/libboth.so.1", 0x303, 0 },
    { "libboth.so.1", "/lib32/libboth.so.1", 0x003, 0 },
    { "libavx.so.1", "/l/avx512_1/libavx.so.1", 0x303, 4 },
    { "libavx.so.1", "/l/libavx.so.1", 0x303, 0 },
};

struct file {
    unsigned char *at;
    size_t n;
};

static void put(struct file *f, const void *from, size_t n)
{
    f->at = xreallocarray(f->at, f->n + n + 1, 1);
    memcpy(f->at + f->n, from, n);
    f->n += n;
}

static void put32(struct file *f, uint32_t v)
{
    put(f, &v, sizeof(v));
}

static void put_string(struct file *f, const char *s)
{
    put(f, s, strlen(s) + 1);
}

/* The new format; offsets count from where the header stands, so that it can follow an old table. */
static void put_new(struct file *f, unsigned char endian)
{
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3" };
    size_t n = ARRAY_LEN(rows), at = 48 + 24 * n;
    put(f, "glibc-ld.so.cache1.1", 20);
    put32(f, (uint32_t)n);
    put32(f, 0);
    unsigned char flags[4] = { endian };
    put(f, flags, 4);
    size_t extension_at = f->n;
    for (int i = 0; i < 4; i++)
        put32(f, 0);
    for (size_t i = 0; i < n; i++) {
        put32(f, (uint32_t)rows[i].flags);
        put32(f, (uint32_t)at);
        at += strlen(rows[i].name) + 1;
        put32(f, (uint32_t)at);
        at += strlen(rows[i].path) + 1;
        put32(f, 0);
        put(f, &rows[i].hwcap, 8);
    }
    for (size_t i = 0; i < n; i++) {
        put_string(f, rows[i].name);
        put_string(f, rows[i].path);
    }
    uint32_t names[2];
    for (size_t i = 0; i < 2; i++) {
        names[i] = (uint32_t)f->n; /* these count from the file's start */
        put_string(f, levels[i]);
    }
    while (f->n % 4)
        put(f, "", 1);
    uint32_t extension = (uint32_t)f->n;
    memcpy(f->at + extension_at, &extension, 4);
    put32(f, (uint32_t)-358342284);
    put32(f, 1);
    put32(f, 1);
    put32(f, 0);
    put32(f, extension + 24);
    put32(f, 8);
    put(f, names, 8);
}

static void put_old(struct file *f, size_t n)
{
    uint32_t at = 0;
    put(f, "ld.so-1.7.0", 12);
    put32(f, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        put32(f, (uint32_t)rows[i].flags);
        put32(f, at);
        at += (uint32_t)strlen(rows[i].name) + 1;
        put32(f, at);
        at += (uint32_t)strlen(rows[i].path) + 1;
    }
    for (size_t i = 0; i < n; i++) {
        put_string(f, rows[i].name);
        put_string(f, rows[i].path);
    }
}

static const char *const levels[] = { "x86-64-v4", "x86-64-v3", "x86-64-v2" };
static const struct cache_want plain = { .flags = 0x303, .hwcap = 2, .platform = UINT64_MAX, .isa_usable = 1 };
static const struct cache_want v3 = {
    .flags = 0x303, .hwcap = 2, .platform = UINT64_MAX, .levels = levels + 1, .n_levels = 2, .isa_usable = 7
};
static const struct cache_want v2 = {
    .flags = 0x303, .hwcap = 2, .platform = UINT64_MAX, .levels = levels + 2, .n_levels = 1, .isa_usable = 3
};

static const struct lookup {
    const char *name;
    const struct cache_want *want;
    const char *path;     /* in a new cache */
    const char *old_path; /* in an old one */
} lookups[] = {
    { "libz.so.1", &plain, "/usr/lib/libz.so.1", "/usr/lib/libz.so.1" },
    { "libz.so", &plain, NULL, NULL },
    { "liba.so", &plain, NULL, NULL },
    { "zzz", &plain, NULL, NULL },
    { "", &plain, NULL, NULL },
    { "libonly32.so.1", &plain, NULL, NULL },
    { "libboth.so.1", &plain, "/lib64/libboth.so.1", "/lib64/libboth.so.1" },
    { "libcuda.so.2", &plain, "/c/libcuda.so.2", "/c/libcuda.so.2" },
    { "libcuda.so.12", &plain, "/c/libcuda.so.12", "/c/libcuda.so.12" },
    { "libcuda.so.012", &plain, "/c/libcuda.so.12", "/c/libcuda.so.12" }, /* digits compare as numbers */
    { "libhw.so.1", &plain, "/l/libhw.so.1", NULL },
    { "libhw.so.1", &v2, "/l/glibc-hwcaps/x86-64-v2/libhw.so.1", NULL },
    { "libhw.so.1", &v3, "/l/glibc-hwcaps/x86-64-v3/libhw.so.1", NULL },
    { "libavx.so.1", &plain, "/l/libavx.so.1", NULL },
};

static void check(const struct file *f, bool old)
{
    struct arena a = { 0 };
    struct cache *c = cache_open(&a, f->at, f->n);
    assert_non_null(c);
    for (size_t i = 0; i < ARRAY_LEN(lookups); i++) {
        const char *expected = old ? lookups[i].old_path : lookups[i].path;
        const char *path = cache_find(c, lookups[i].name, lookups[i].want);
        if (old && !expected)
            continue; /* such rows are not written for old caches */
        if (!expected)
            assert_null(path);
        else
            assert_string_equal(path, expected);
    }
    arena_done(&a);
}

static void test_new(void **state)
{
    (void)state;
    struct file f = { 0 };
    put_new(&f, 2);
    check(&f, false);
    free(f.at);
}

static void test_old(void **state)
{
    (void)state;
    struct file f = { 0 };
    put_old(&f, ARRAY_LEN(rows));
    check(&f, true);
    free(f.at);
}

static void test_old_with_new(void **state)
{
    (void)state;
    struct file f = { 0 };
    put_old(&f, 0);
    while (f.n % 8)
        put(&f, "", 1);
    put_new(&f, 0);
    check(&f, false);
    free(f.at);
}

static void test_refused(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct file f = { 0 };
    put_new(&f, 3);
    assert_null(cache_open(&a, f.at, f.n)); /* big-endian */
    f.at[28] = 1;
    assert_null(cache_open(&a, f.at, f.n)); /* marked invalid */
    f.at[28] = 2;
    assert_non_null(cache_open(&a, f.at, f.n));
    f.at[22] = 0x7f;
    assert_null(cache_open(&a, f.at, f.n)); /* more entries than the file has room for */
    assert_null(cache_open(&a, "", 0));
    assert_null(cache_open(&a, "glibc-ld.so.cache1.1", 20));
    assert_null(cache_open(&a, "ld.so-1.7.0\0\0\0\0\0", 16));
    free(f.at);
    arena_done(&a);
}

/* Every cut and every changed byte: no read outside, no answer outside. */
static void test_damaged(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        struct file f = { 0 };
        if (form)
            put_old(&f, ARRAY_LEN(rows));
        else
            put_new(&f, 2);
        for (size_t i = 0; i < 2 * f.n; i++) {
            size_t n = i < f.n ? i : f.n;
            unsigned char *copy = xmalloc(n + 1);
            memcpy(copy, f.at, n);
            if (i >= f.n)
                copy[i - f.n] = (unsigned char)(copy[i - f.n] + 1 + i % 255);
            unsigned char *exact = xmalloc(n ? n : 1); /* so that a sanitizer sees the end */
            memcpy(exact, copy, n);
            struct arena a = { 0 };
            struct cache *c = cache_open(&a, exact, n);
            for (size_t k = 0; c && k < ARRAY_LEN(lookups); k++) {
                const char *path = cache_find(c, lookups[k].name, lookups[k].want);
                if (path)
                    assert_in_range((uintptr_t)path + strlen(path), (uintptr_t)exact, (uintptr_t)exact + n);
            }
            arena_done(&a);
            free(exact);
            free(copy);
        }
        free(f.at);
    }
}

static void test_compare(void **state)
{
    (void)state;
    assert_int_equal(cache_compare("libz.so.1", "libz.so.1"), 0);
    assert_true(cache_compare("libz.so.10", "libz.so.9") > 0);
    assert_true(cache_compare("libz.so.09", "libz.so.9") == 0);
    assert_true(cache_compare("liba", "libb") < 0);
    assert_true(cache_compare("lib1", "liba") > 0);
    assert_true(cache_compare("liba", "lib1") < 0);
    assert_true(cache_compare("lib", "libz") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),     cmocka_unit_test(test_old),     cmocka_unit_test(test_old_with_new),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_damaged), cmocka_unit_test(test_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Reads ld.so.cache as the loader does: binary search over a sorted table of names, then the best entry among those
 * with the same name. Layout: sysdeps/generic/dl-cache.h of glibc, and files written by ldconfig. */
#include "load/cache.h"

#include <string.h>

#include "base/span.h"

#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"

enum {
    OLD_HEADER = 16, /* magic, padded to 4; number of entries */
    OLD_ENTRY = 12,  /* flags, name, path */
    NEW_HEADER = 48,
    NEW_ENTRY = 24, /* flags, name, path, unused, 64 bits of hwcap */
    EXTENSION_HEADER = 8,
    EXTENSION_SECTION = 16,
    EXTENSION_HWCAPS = 1,
    MAX_LEVELS = 1024, /* subfolder names in one cache; a real one has below ten */
};

#define EXTENSION_MAGIC ((uint32_t)-358342284)
#define HWCAP_EXTENSION (UINT64_C(1) << 62)
#define HWCAP_ISA_MASK UINT64_C(0x3ff) /* of the upper half */
#define HWCAP_PLATFORM (UINT64_C(0xf) << 48)
#define HWCAP_TLS (UINT64_C(1) << 63)

struct cache {
    struct span strings; /* what name and path offsets count from, to the end of the file */
    struct span entries;
    size_t entry_size;
    uint32_t n;
    struct span levels; /* offsets of the subfolder names (4 bytes each) */
    struct span level_names; /* what these offsets count from */
};

struct entry {
    int32_t flags;
    uint32_t key, value;
    uint64_t hwcap;
};

static uint32_t get32(struct span s, size_t at)
{
    uint32_t v = 0;
    (void)span_copy(s, at, &v, sizeof(v));
    return v;
}

/* The names of the glibc-hwcaps subfolders; none when the section is missing or damaged. */
static void read_levels(struct cache *c, struct span table, struct span file)
{
    uint32_t at = get32(table, 32);
    if (at == 0 || at % 4 != 0 || get32(file, at) != EXTENSION_MAGIC)
        return;
    uint32_t n = get32(file, at + 4);
    struct span sections;
    if (n > file.left / EXTENSION_SECTION ||
        !span_part(file, (size_t)at + EXTENSION_HEADER, (size_t)n * EXTENSION_SECTION, &sections))
        return;
    struct span found = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        size_t row = (size_t)i * EXTENSION_SECTION;
        struct span part;
        if (!span_part(file, get32(sections, row + 8), get32(sections, row + 12), &part))
            return;
        if (get32(sections, row) == EXTENSION_HWCAPS)
            found = part;
    }
    size_t offset = found.left ? (size_t)(found.at - file.at) : 0;
    if (found.left % 4 == 0 && offset % 4 == 0 && found.left / 4 <= MAX_LEVELS) {
        c->levels = found;
        c->level_names = file;
    }
}

static bool big_endian_or_invalid(struct span table)
{
    unsigned char flags = 0;
    (void)span_copy(table, 28, &flags, 1);
    return flags != 0 && (flags & 3) != 2;
}

static bool is_new(struct span s)
{
    return s.left >= NEW_HEADER && memcmp(s.at, NEW_MAGIC, sizeof(NEW_MAGIC) - 1) == 0;
}

static bool take_new(struct cache *c, struct span table, struct span file)
{
    if (big_endian_or_invalid(table))
        return false;
    c->n = get32(table, 20);
    c->entry_size = NEW_ENTRY;
    if (!span_part(table, NEW_HEADER, (size_t)c->n * NEW_ENTRY, &c->entries))
        return false;
    /* The loader counts offsets from the new header but allows as many as the whole file has bytes; what lies
     * behind the file would be a fault, here it is not found. */
    c->strings = table;
    read_levels(c, table, file);
    return true;
}

struct cache *cache_open(struct arena *a, const void *at, size_t len)
{
    struct span file = { at, len };
    struct cache *c = arena_new(a, struct cache);
    if (len > NEW_HEADER && is_new(file))
        return take_new(c, file, file) ? c : NULL;
    if (len <= OLD_HEADER || memcmp(at, OLD_MAGIC, sizeof(OLD_MAGIC) - 1) != 0)
        return NULL;
    uint32_t n = get32(file, 12);
    if ((len - OLD_HEADER) / OLD_ENTRY < n)
        return NULL;
    size_t end = OLD_HEADER + (size_t)n * OLD_ENTRY, aligned = (end + 7) & ~(size_t)7;
    struct span inner;
    if (aligned <= len && span_part(file, aligned, len - aligned, &inner) && is_new(inner))
        return take_new(c, inner, file) ? c : NULL;
    c->n = n;
    c->entry_size = OLD_ENTRY;
    (void)span_part(file, OLD_HEADER, (size_t)n * OLD_ENTRY, &c->entries);
    (void)span_part(file, end, len - end, &c->strings);
    return c;
}

static struct entry entry_at(const struct cache *c, uint32_t i)
{
    size_t at = i * c->entry_size;
    struct entry e = { (int32_t)get32(c->entries, at), get32(c->entries, at + 4), get32(c->entries, at + 8), 0 };
    if (c->entry_size == NEW_ENTRY)
        (void)span_copy(c->entries, at + 16, &e.hwcap, sizeof(e.hwcap));
    return e;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static uint32_t take_number(const char **s)
{
    uint32_t v = 0;
    for (; is_digit(**s); ++*s)
        v = v * 10 + (uint32_t)(**s - '0');
    return v;
}

int cache_compare(const char *a, const char *b)
{
    while (*a) {
        if (is_digit(*a) != is_digit(*b))
            return is_digit(*a) ? 1 : -1;
        if (is_digit(*a)) {
            uint32_t m = take_number(&a), n = take_number(&b);
            if (m != n)
                return (int32_t)(m - n);
        } else if (*a != *b) {
            return (signed char)*a - (signed char)*b;
        } else {
            a++;
            b++;
        }
    }
    return (signed char)*a - (signed char)*b;
}

/* Rank of the subfolder number index, 1 the best; 0: not for this CPU. */
static uint32_t level_rank(const struct cache *c, uint32_t index, const struct cache_want *want)
{
    if (index >= c->levels.left / 4)
        return 0;
    const char *name = span_string(c->level_names, get32(c->levels, (size_t)index * 4));
    for (size_t i = 0; name && i < want->n_levels; i++)
        if (strcmp(name, want->levels[i]) == 0)
            return (uint32_t)i + 1;
    return 0;
}

static bool is_level_entry(const struct entry *e)
{
    return ((e->hwcap >> 32) & ~HWCAP_ISA_MASK) == HWCAP_EXTENSION >> 32;
}

/* Index of one entry with this name, or -1. *last: the loader looks at no entry behind it. */
static int64_t search(const struct cache *c, const char *name, int64_t *last)
{
    int64_t left = 0, right = (int64_t)c->n - 1;
    while (left <= right) {
        int64_t middle = (left + right) / 2;
        const char *key = span_string(c->strings, entry_at(c, (uint32_t)middle).key);
        if (!key)
            return -1;
        int order = cache_compare(name, key);
        *last = right;
        if (order == 0)
            return middle;
        /* the table is sorted downwards */
        if (order < 0)
            left = middle + 1;
        else
            right = middle - 1;
    }
    return -1;
}

static bool has_name(const struct cache *c, uint32_t i, const char *name)
{
    const char *key = span_string(c->strings, entry_at(c, i).key);
    return key && cache_compare(name, key) == 0;
}

const char *cache_find(const struct cache *c, const char *name, const struct cache_want *want)
{
    int64_t last = 0, at = search(c, name, &last);
    if (at < 0)
        return NULL;
    uint32_t i = (uint32_t)at;
    while (i > 0 && has_name(c, i - 1, name))
        i--;
    const char *best = NULL;
    uint32_t best_rank = 0;
    uint64_t excluded = ~(want->hwcap | HWCAP_PLATFORM | HWCAP_TLS);
    for (; i <= last && has_name(c, i, name); i++) {
        struct entry e = entry_at(c, i);
        const char *path = span_string(c->strings, e.value);
        if (e.flags != want->flags || !path)
            continue;
        if (!is_level_entry(&e)) {
            if (best)
                break;
            uint64_t platform = e.hwcap & HWCAP_PLATFORM;
            if ((e.hwcap & excluded) || (platform && platform != want->platform))
                continue;
            return path;
        }
        unsigned level = 1U << ((e.hwcap >> 32) & HWCAP_ISA_MASK & 31);
        uint32_t rank = level & want->isa_usable ? level_rank(c, (uint32_t)e.hwcap, want) : 0;
        if (rank && (!best || rank < best_rank)) {
            best = path;
            best_rank = rank;
        }
    }
    return best;
}

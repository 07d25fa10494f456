/* Inside src/place: the table of what was asked and the two ways of asking (live, root). */
#ifndef ORTFIT_PLACE_INTERNAL_H
#define ORTFIT_PLACE_INTERNAL_H

#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/str.h"
#include "place/place.h"

/* FNV-1a, in place of uthash's own, which falls through its cases unmarked. It starts from the random bytes that the
 * kernel gives each process: a hostile tree of names that all fall into one bucket would take minutes. */
static inline unsigned place_hash(const void *key, size_t n)
{
    const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    unsigned h = 2166136261u;
    if (random)
        memcpy(&h, random, sizeof(h));
    for (const unsigned char *s = key, *end = s + n; s < end; s++)
        h = (h ^ *s) * 16777619u;
    return h;
}
#define HASH_FUNCTION(key, n, h) ((h) = place_hash((key), (n)))
#include <uthash.h>

/* The answer of readlink, realpath and sha256. */
struct name_answer {
    enum known known;
    int error;
    const char *name; /* PRESENT only */
};

struct sha_answer {
    struct name_answer digest;
    uint64_t max_bytes; /* of the call that was answered; a larger limit asks again */
};

/* Everything asked about one path; NULL parts were not asked. */
struct entry {
    UT_hash_handle hh;
    const char *path;
    struct file_info *stat, *lstat;
    struct name_answer *link, *real;
    struct listing *list;
    struct text *text[TEXT_PARTS];
    struct place_elf *elf;
    struct place_gpu_code *gpu;
    struct sha_answer *sha;
};

struct env_entry {
    UT_hash_handle hh;
    const char *name, *value; /* value NULL: not set */
};

struct call_entry {
    UT_hash_handle hh;
    const char *name;
    struct text text;
};

/* How a place reaches its files. Paths are absolute and shorter than PATH_MAX. NULL in a snapshot. */
struct backing {
    int (*open)(const struct place *p, const char *path, int flags); /* descriptor or -errno */
    int (*stat)(const struct place *p, const char *path, bool follow, struct stat *ret); /* 0 or -errno */
    int (*readlink)(const struct place *p, const char *path, char buf[PATH_MAX]);        /* 0 or -errno */
    int (*realpath)(const struct place *p, const char *path, char buf[PATH_MAX]);        /* 0 or -errno */
};

struct place {
    enum place_kind kind;
    const struct backing *backing;
    struct arena arena;
    const char *name, *cwd;
    int root_fd;  /* PLACE_ROOT, else -1 */
    bool walker;  /* PLACE_ROOT: no openat2 here */
    struct entry *entries;
    struct env_entry *env;
    struct call_entry *calls;
    struct place_machine *machine; /* NULL until asked */
    struct redaction *redaction;   /* NULL until asked: redact.c */
    size_t kept_max;               /* bytes; more is not kept of one place */
    int short_errno;               /* what this process ran out of, 0 nothing; see place_complete */
    const char *short_path;
};

extern const struct backing place_backing_live;
extern const struct backing place_backing_root;

struct place *place_new(enum place_kind kind, const char *name);
/* The entry of a path, made when new. NULL: the path is too long to exist. */
struct entry *place_entry(struct place *p, const char *path);
struct env_entry *place_env_entry(struct place *p, const char *name);
struct call_entry *place_call_entry(struct place *p, const char *name);
/* ENOENT and ENOTDIR mean absent, 0 present, others failed. */
enum known place_known_of(int error);

void place_read_text(struct place *p, int fd, uint64_t size_bytes, enum text_part part, struct text *ret);
void place_read_list(struct place *p, const char *path, struct listing *ret);
int place_sort_names(const void *a, const void *b); /* qsort order of struct dir_entry */
void place_see_machine(struct place *p, struct place_machine *ret);
/* 0 or -errno, -EFBIG when there are more than max_bytes (fstat need not know); hex gets 64 digits and NUL. */
int place_digest(int fd, uint64_t max_bytes, char hex[65]);

/* Walks path inside root_fd component by component; never leaves it. With flags O_PATH|O_NOFOLLOW the last
 * component may be a link. ret_real (or NULL) gets the resolved path. A descriptor or -errno. */
int place_walk(int root_fd, const char *path, int flags, char *ret_real);

/* Names of the parts in a record. */
extern const char *const place_part_names[TEXT_PARTS];

/* Writes the record as it is. */
void place_write(struct place *p, struct json *to);
/* The same as a compact JSON object. Caller frees. */
char *place_record(struct place *p, size_t *ret_len);
/* Writes the members of the record with the names replaced. */
void place_write_redacted(struct place *p, struct json *to);
struct json_t;
/* A snapshot place from the parsed document. */
int place_load(const struct json_t *doc, const char *name, struct place **ret, struct err *e);

#endif

/* A place is what is looked at: the live machine, a root folder (--root) or a snapshot file (--from).
 * Probes and the loader's prediction see a machine only through these calls. Every answer is remembered by its
 * path: asking twice costs nothing, and what was asked is exactly what a snapshot holds. A snapshot place answers
 * from that record alone, so every later stage runs on it as on the machine; what it does not hold is
 * KNOWN_NOT_LOOKED, never absent.
 *
 * Paths are absolute, inside the place, and need not be clean. Nothing escapes the root: --root opens with
 * openat2(RESOLVE_IN_ROOT), or with a component walker where the kernel has none.
 * Results are owned by the place and live as long as it does. No call executes or loads anything of the place,
 * except place_call, which runs a built-in helper in a child process and only on the live machine. */
#ifndef ORTFIT_PLACE_PLACE_H
#define ORTFIT_PLACE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "elf/elf.h"
#include "elf/fatbin.h"

enum known { KNOWN_NOT_LOOKED, KNOWN_ABSENT, KNOWN_PRESENT, KNOWN_FAILED };
enum place_kind { PLACE_LIVE, PLACE_ROOT, PLACE_SNAPSHOT };
enum file_type { FILE_NONE, FILE_REGULAR, FILE_DIR, FILE_LINK, FILE_OTHER };

struct place;

struct file_info {
    enum known known;  /* PRESENT; ABSENT: ENOENT or ENOTDIR; FAILED: another errno */
    int error;         /* errno for ABSENT and FAILED */
    enum file_type type;
    uint64_t size_bytes, dev, ino;
    uint32_t mode;     /* st_mode & 07777 */
    int64_t mtime_s;
};

struct dir_entry {
    const char *name;
    enum file_type type; /* FILE_NONE when the file system does not say */
};

struct listing {
    enum known known;
    int error;
    const struct dir_entry *at; /* sorted by name (bytes), without . and .. */
    size_t n;
    bool cut; /* more than the cap of 200,000 names: the rest was not read */
};

/* What is read of a text file. The record keeps just this part, and of lines picked out 1 MiB at most. */
enum text_part {
    TEXT_WHOLE,         /* up to 256 KiB */
    TEXT_HEADERS,       /* up to the first blank line, 64 KiB at most: METADATA, PKG-INFO */
    TEXT_ORT_RECORD,    /* lines that begin with "onnxruntime" (a RECORD is CSV with the path first), 4 MiB read at most */
    TEXT_FIRST_LINE,    /* 4 KiB at most */
    TEXT_VERSION_LINES, /* lines of a C header or small Python file with "#define ", "version", "VERSION" or "__version__", 1 MiB read at most */
    TEXT_DPKG_GPU,      /* of /var/lib/dpkg/status: Package/Status/Version of packages whose name has cuda, cudnn, cublas, nvinfer, nvidia, tensorrt, cufft, curand, nvrtc, onnxruntime; 64 MiB read at most */
    TEXT_PCI_NVIDIA,    /* of pci.ids: the device lines of vendor 10de; 8 MiB read at most */
    TEXT_LDCACHE,       /* /etc/ld.so.cache: all of it, 16 MiB at most (a binary file) */
    TEXT_PARTS
};

struct text {
    enum known known;
    int error;
    const char *at; /* NUL-ended; may hold NUL bytes before len when the file does */
    size_t len;
    bool cut;       /* the cap was reached */
};

struct place_elf {
    enum known known; /* ABSENT/FAILED: open failed with error, as the loader's open would */
    int error;
    const struct elf *elf; /* with its problem, when PRESENT */
};

struct place_gpu_code {
    enum known known;
    int error;
    struct gpu_code code;
};

/* Facts about the machine that no file holds. */
struct place_machine {
    enum known known;
    const char *arch;     /* uname machine: "x86_64" */
    unsigned isa_usable;  /* x86 levels usable, as in struct elf: bit 0 baseline, 1 v2, 2 v3, 3 v4 */
    const char *platform; /* glibc's name of it: "x86_64", "haswell" (Intel), "xeon_phi" */
    uint64_t hwcap2;      /* AT_HWCAP2 */
    uint64_t page_size_bytes;
    const char *hostname, *user, *home; /* for --redact and ~ ; may be NULL */
    uint32_t uid;
    int64_t now_s;        /* time of looking, UTC seconds */
};

int place_open_live(struct place **ret, struct err *e);
int place_open_root(const char *dir, struct place **ret, struct err *e);
int place_open_snapshot(const char *file, struct place **ret, struct err *e);
void place_free(struct place *p); /* NULL is fine */

enum place_kind place_kind(const struct place *p);
const char *place_name(const struct place *p); /* "this machine", the --root folder, or the snapshot's file name */
struct arena *place_arena(struct place *p);    /* for texts that should live as long as the place */

/* The working folder that relative names start from: the process's own (live), "/" (root), recorded (snapshot). */
const char *place_cwd(const struct place *p);
void place_set_cwd(struct place *p, const char *dir);
/* join with cwd when relative; not cleaned (a ".." may pass a link) */
const char *place_absolute(struct place *p, const char *path);
/* Environment of the place: the process's own (live), only what --setenv gave (root), recorded (snapshot; only the
 * names that were asked). NULL: not set (or, on a snapshot, not known). */
const char *place_getenv(struct place *p, const char *name);
void place_setenv(struct place *p, const char *name, const char *value_or_null);

const struct place_machine *place_machine(struct place *p);
const struct file_info *place_stat(struct place *p, const char *path);  /* follows links */
const struct file_info *place_lstat(struct place *p, const char *path);
const char *place_readlink(struct place *p, const char *path); /* NULL: no link, or it cannot be read */
const char *place_realpath(struct place *p, const char *path); /* NULL: does not exist, or not known */
const struct listing *place_list(struct place *p, const char *path);
const struct text *place_text(struct place *p, const char *path, enum text_part part);
const struct place_elf *place_elf(struct place *p, const char *path);
const struct place_gpu_code *place_gpu_code(struct place *p, const char *path);
/* SHA-256 as 64 hex digits, files of at most max_bytes; NULL: larger, unreadable or not known. */
const char *place_sha256(struct place *p, const char *path, uint64_t max_bytes);

/* Runs run(ctx-free helper) in a child with a time limit, on the live machine only; what it writes to out_fd is the
 * text. KNOWN_FAILED with error text in at: crashed, timed out. KNOWN_NOT_LOOKED on --root. */
const struct text *place_call(struct place *p, const char *name, void (*run)(int out_fd), int timeout_ms);

/* Something of the run that made the record and that a replay must know, such as the environment that was asked for.
 * Texts are copied; noted gives NULL for what was never noted. */
void place_note(struct place *p, const char *name, const char *value);
const char *place_noted(struct place *p, const char *name);

/* 0 while every answer is about the place. ERR_READ or ERR_LIMIT: this process ran out of descriptors or memory, or the
 * place holds more than is kept of one; answers since then are no facts, and what follows from them is none. */
int place_complete(const struct place *p, struct err *e);

/* The first path, by name, of which something could not be read because disk or network failed (not for want of
 * permission); NULL: none so far. */
const char *place_damage(const struct place *p, int *ret_error);

/* Shorthands: anything but PRESENT is false. */
bool place_exists(struct place *p, const char *path);
bool place_is_dir(struct place *p, const char *path);

/* Writes the record as the members of an object that the caller has begun. redact replaces user, host and home
 * names everywhere (paths too, consistently, so that the snapshot still replays). */
struct json;
void place_save(struct place *p, bool redact, struct json *to);
/* The same replacement in a text that goes along with a redacted record. NULL stays NULL; lives as long as the place.
 * To be asked when everything else was. */
const char *place_redacted(struct place *p, const char *text);

#endif

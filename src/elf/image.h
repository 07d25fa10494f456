/* Inside src/elf only: a file seen through its load segments, as it would lie in memory.
 * The whole file is mapped read-only. Should it shrink while it is mapped, the pages that are gone read as zeros
 * (a SIGBUS handler is in place as long as any image lives) and `shrunk` says so. */
#ifndef ORTFIT_ELF_IMAGE_H
#define ORTFIT_ELF_IMAGE_H

#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

/* One PT_LOAD, cut at pages as the loader maps it. Addresses are those of the file, before relocation. */
struct segment {
    uint64_t start, map_end;   /* pages backed by the file */
    uint64_t data_end, mem_end; /* end of the bytes taken from the file; end with the zeros that follow */
    uint64_t offset;           /* in the file, of start */
    uint32_t flags;            /* PF_* */
};

struct image {
    const unsigned char *base; /* NULL when the file is empty */
    uint64_t size_bytes;       /* of the file */
    size_t length;             /* readable bytes: the size, rounded up to a page */
    struct segment *segments;  /* in the order of the program headers; later ones lie over earlier ones */
    size_t n_segments;
    volatile sig_atomic_t shrunk;
    struct image *next;        /* list of all that live */
};

#define IMAGE_PAGE 4096u

/* Where an address of the file's own numbering lies. */
enum spot {
    SPOT_NOWHERE, /* nothing is mapped there: the loader would crash */
    SPOT_FILE,    /* bytes of the file */
    SPOT_ZERO,    /* zeros behind a segment's file part */
    SPOT_CUT,     /* pages of the file that the file no longer has: bus error */
};

/* Maps the file behind fd of that size. On failure nothing is held. */
int image_map(struct image *img, int fd, uint64_t size_bytes, struct err *e);
void image_unmap(struct image *img);
/* The bytes of the file itself, from its first. */
struct span image_file(const struct image *img);
/* ret_bytes: from that address to where its segment's bytes end; empty unless SPOT_FILE. May be NULL. */
enum spot image_at(const struct image *img, uint64_t address, struct span *ret_bytes);
/* The whole range [address, address + n): the worst of its spots, NOWHERE before CUT. */
enum spot image_range(const struct image *img, uint64_t address, uint64_t n);

/* Copies n bytes at the address, through zeros and from segment to segment; false when some are not there. */
bool image_copy(const struct image *img, uint64_t address, void *to, size_t n);

static inline uint64_t page_down(uint64_t v)
{
    return v & ~(uint64_t)(IMAGE_PAGE - 1);
}

static inline uint64_t page_up(uint64_t v)
{
    return page_down(v + IMAGE_PAGE - 1);
}

#endif

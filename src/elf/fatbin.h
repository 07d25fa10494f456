/* GPU code inside a library: the fatbin containers that nvcc embeds in .nv_fatbin, headers only.
 * Layout (little endian), read off real wheels: container u32 magic 0xBA55ED50, u16 version, u16 header size,
 * u64 payload size, 8-aligned; entry u16 kind (1 PTX, 2 cubin) @0, u32 header size @4, u64 payload size @8,
 * u32 arch number @28, u64 flags @40 (0x100000: architecture-specific, the `a` suffix). */
#ifndef ORTFIT_ELF_FATBIN_H
#define ORTFIT_ELF_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct gpu_arch {
    uint32_t number;    /* 90 for sm_90 */
    bool ptx;           /* PTX (compute_XX) rather than a cubin (sm_XX) */
    bool specific;      /* sm_90a: runs on exactly that */
    uint32_t containers; /* in how many containers it is */
};

struct gpu_code {
    uint32_t containers; /* 0: the library has no GPU code (or no .nv_fatbin) */
    const struct gpu_arch *arch; /* by ptx, number, specific; no doubles */
    size_t n_arch;
    bool truncated;      /* a header pointed outside: what was read before is kept */
};

/* fd: a regular ELF file, read with pread; touches headers only. ERR_READ when a read fails: what was read before it
 * says nothing then. */
int fatbin_read(int fd, struct arena *a, struct gpu_code *ret, struct err *e);

#endif

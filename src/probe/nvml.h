/* NVIDIA's management library, asked in a child process of the live machine: its crash or hang is
 * an answer too. */
#ifndef ORTFIT_PROBE_NVML_H
#define ORTFIT_PROBE_NVML_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "place/place.h"

#define NVML_GPUS_MAX 64

/* Returned by NVML itself (nvmlReturn_t). */
enum {
    NVML_OK = 0,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_RM_MISMATCH = 18, /* "Driver/library version mismatch" */
};

struct nvml_gpu {
    const char *name, *pci; /* NULL: NVML did not say */
    int cc;                 /* 89; 0 unknown */
    uint64_t memory_bytes;  /* 0 unknown */
    int compute_mode;       /* 0 default, 2 prohibited, 3 exclusive process; -1 unknown */
    int mig;                /* 1: MIG is on; -1 unknown */
};

struct nvml_answer {
    enum known known;   /* NOT_LOOKED: not a live machine. ABSENT: no library. FAILED: reason says
                           why. PRESENT */
    const char *reason; /* "Driver/library version mismatch (18) in nvmlInit_v2"; NULL unless FAILED
                           or ABSENT */
    int error;          /* nvmlReturn_t of the call that failed; 0 when none did */
    const char *driver; /* "550.54.14" or NULL */
    int cuda;           /* as nvmlSystemGetCudaDriverVersion says: 12040; 0 unknown */
    const struct nvml_gpu *gpus;
    size_t n_gpus;
};

/* Texts live in a. timeout_ms bounds the child. */
void nvml_ask(struct place *p, struct arena *a, int timeout_ms, struct nvml_answer *ret);

#endif

/* The kb laid out for the search: every property a number or a set of bits. Private to match/. */
#ifndef ORTFIT_MATCH_DOMAIN_H
#define ORTFIT_MATCH_DOMAIN_H

#include "match/match.h"

enum {
    M_PLATFORMS = 3, /* in the order of enum kb_platform, which starts at 1 */
    M_PYTHONS = 32,
    M_DRIVERS = 40,  /* branches, and the numbers that were asked for */
    M_CCS = 32,
    M_ORTS = 64,
    M_TORCHES = 512,
    M_NUMPYS = 128,
    M_MAJORS = 20    /* of CUDA, cuDNN, TensorRT */
};

struct m_bits {
    uint64_t w[2];
};
static inline bool m_bits_meet(const struct m_bits *a, const struct m_bits *b)
{
    return (a->w[0] & b->w[0]) || (a->w[1] & b->w[1]);
}
static inline void m_bits_set(struct m_bits *b, size_t i)
{
    b->w[i / 64] |= 1ULL << (i % 64);
}

/* Sets of Pythons, GPUs and drivers: bit i is value i of the domain. */
struct m_wheel { /* a release on one platform */
    uint32_t py;
    int glibc;                      /* minor that its tag asks for; 0: none */
    uint32_t cubin, ptx, partial;   /* GPUs */
    int ptx_cuda;
    bool code_known;
    struct m_bits numpy[M_PYTHONS]; /* releases that its metadata allows */
    uint32_t numpy_py;              /* Pythons for which one of those has a wheel */
};
struct m_ort {
    const char *version;
    const struct kb_ort *kb;     /* a feed's line: the newest release of that line on the public index */
    const struct kb_feed *feed;
    int line_minor;              /* of "1.19.x"; -1: an exact release */
    int date;
    int cuda, cuda_major, cudnn_major, tensorrt_major, numpy_abi;
    const struct kb_opset *opset;
    bool exec_stack;
    struct m_wheel wheel[M_PLATFORMS];
};
struct m_torch {
    const struct kb_torch_build *kb;
    bool labelled;
    int date, platform, glibc;
    uint32_t py, cubin, cudnn_cc; /* GPUs that its cuDNN serves */
};
struct m_drivers {
    size_t n;
    const char *text[M_DRIVERS];
    int native[M_DRIVERS];
    uint32_t known[M_DRIVERS];            /* GPUs */
    uint64_t floor_ok[2][M_MAJORS];       /* drivers, by Windows and CUDA major */
};

struct match_domain {
    struct m_ort ort[M_ORTS];
    size_t n_ort, n_pypi;  /* those of the public index come first */
    struct m_torch torch[M_TORCHES];
    size_t n_torch;
    size_t n_py;
    const char *py[M_PYTHONS]; /* "cp312" */
    size_t n_cc;
    int cc[M_CCS];
    size_t n_numpy;
    const char *numpy[M_NUMPYS];
    uint32_t numpy_py[M_PLATFORMS][M_NUMPYS];
    struct m_bits numpy_of_py[M_PLATFORMS][M_PYTHONS]; /* releases with a wheel for it */
    struct m_bits numpy_1;                             /* releases before 2 */
    struct m_drivers drivers;
    uint32_t cudnn_8_cc, pre_turing;
};

/* The k-th release from the newest on, the public index before the feeds. */
static inline size_t m_ort_order(const struct match_domain *d, size_t k)
{
    return k < d->n_pypi ? d->n_pypi - 1 - k : d->n_ort - 1 - (k - d->n_pypi);
}

/* Adds a driver to the values; false when there is no room. */
bool m_driver_add(const struct match_domain *d, struct m_drivers *drivers, const char *text);
/* GPUs that a cuDNN serves by its number. */
uint32_t m_cudnn_cc(const struct match_domain *d, const char *cudnn);
/* Bit of a python tag; 0: not of this domain. */
uint32_t m_py_bit(const struct match_domain *d, const char *tag);
/* "3.12", "3.13t" for bit i. */
const char *m_py_text(const struct match_domain *d, size_t i, struct arena *a);

#endif

/* Wishes read against the domain. Private to match/. */
#ifndef ORTFIT_MATCH_QUERY_H
#define ORTFIT_MATCH_QUERY_H

#include "match/domain.h"

/* What one wish leaves over; a field that its kind does not touch holds everything. */
struct m_wish {
    uint64_t ort;
    bool torch[M_TORCHES];
    uint32_t cuda, tensorrt;     /* majors */
    uint32_t cudnn_cc[M_MAJORS]; /* GPUs, by cuDNN major: 0 where the major does not serve */
    uint64_t drivers, glibc;     /* glibc: bit m is glibc 2.m */
    uint32_t cc, py, platforms;
    struct m_bits numpy;
    struct match_model model;
    int as_of;
};

struct m_query {
    const struct match_domain *d;
    const struct match_query *q;
    struct m_drivers drivers;
    struct m_wish wish[MATCH_WISHES];
    unsigned kinds[WISH_KINDS];   /* wishes of each kind, as a mask */
    uint32_t platforms;           /* where neither os nor arch is wished */
    unsigned torch_cpu;           /* wishes that asked for "+cpu": no CUDA in it */
    uint64_t orts;                /* of the channel */
};

/* ret lives as long as a and q. */
int m_query_read(const struct match_domain *d, const struct match_query *q, struct arena *a, struct m_query *ret,
                 struct err *e);

/* What a set of wishes leaves over. */
struct m_allowed {
    unsigned mask;
    uint64_t ort, drivers, glibc;
    uint32_t cuda, tensorrt, cc, py, platforms;
    uint32_t cudnn_cc[M_MAJORS];
    struct m_bits numpy;
    struct match_model model;
    int as_of;
    bool torch, gpu, driver, numpy_wished, glibc_wished;
};
void m_allow(const struct m_query *mq, unsigned mask, struct m_allowed *ret);

/* Does every torch wish of the set take this build? */
bool m_torch_allowed(const struct m_query *mq, unsigned mask, size_t t);

/* One candidate, narrowed by rule after rule. */
struct m_candidate {
    const struct m_ort *o;
    const struct m_wheel *w;
    const struct m_torch *t; /* NULL: none asked for */
    int platform;
    enum match_sharing sharing;
    int torch_cuda;          /* major; 0: none */
    uint32_t py, cc;
    uint64_t drivers;
    bool ptx, partial;       /* out: how the GPU is served */
    bool take_partial;       /* in: code that only some kernels have counts */
};
struct m_rule {
    const char *id;          /* of kb/rules.tsv */
    unsigned kinds;          /* the wishes that it weighs, bit by enum wish_kind */
    bool (*holds)(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c);
};
extern const struct m_rule m_rules[];
extern const size_t m_rules_n;
uint32_t m_rule_bit(const char *id);

/* Does the candidate hold? c holds o, t, platform, take_partial; the rest is filled in. */
bool m_holds(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c);
/* The rules that the candidate breaks, as bits: each is left out for what comes after it. */
uint32_t m_failing(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c);
/* The fewest rules whose loss would let the wishes hold together with shared libraries; where one is enough, each
 * that is. 0: they hold. */
uint32_t m_fewest_failing(const struct m_query *mq, unsigned mask);
/* The best that any candidate reaches; stops at MATCH_SHARED. */
enum match_sharing m_satisfiable(const struct m_query *mq, unsigned mask);
/* Best sharing by release; ret has M_ORTS places. Returns the newest release that is MATCH_SHARED, or -1. */
int m_solve(const struct m_query *mq, const struct m_allowed *w, bool take_partial, enum match_sharing *ret,
            bool *ret_ptx);

void m_conflicts(const struct m_query *mq, struct arena *a, struct match_answer *answer);
void m_nearest(const struct m_query *mq, struct arena *a, struct match_answer *answer);
void m_choices(const struct m_query *mq, struct arena *a, struct match_answer *answer);
/* Sentences of why a set of wishes cannot hold. */
void m_because(const struct m_query *mq, unsigned mask, struct arena *a, struct match_conflict *conflict);

#endif

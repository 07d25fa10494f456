/* The exact search: releases that hold, all minimal sets of wishes that clash, single changes that help. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "match/query.h"
#include "version/pep440.h"

void m_allow(const struct m_query *mq, unsigned mask, struct m_allowed *ret)
{
    *ret = (struct m_allowed){ .mask = mask, .ort = mq->orts, .drivers = UINT64_MAX, .glibc = UINT64_MAX,
                               .cuda = UINT32_MAX, .tensorrt = UINT32_MAX, .cc = UINT32_MAX, .py = UINT32_MAX,
                               .platforms = mq->platforms, .numpy = { { UINT64_MAX, UINT64_MAX } } };
    memset(ret->cudnn_cc, 0xff, sizeof(ret->cudnn_cc));
    for (size_t i = 0; i < mq->q->n; i++) {
        const struct m_wish *w = &mq->wish[i];
        if (!(mask >> i & 1))
            continue;
        ret->ort &= w->ort;
        ret->drivers &= w->drivers;
        ret->glibc &= w->glibc;
        ret->cuda &= w->cuda;
        ret->tensorrt &= w->tensorrt;
        ret->cc &= w->cc;
        ret->py &= w->py;
        ret->platforms &= w->platforms;
        ret->numpy.w[0] &= w->numpy.w[0];
        ret->numpy.w[1] &= w->numpy.w[1];
        for (size_t m = 0; m < M_MAJORS; m++)
            ret->cudnn_cc[m] &= w->cudnn_cc[m];
        if (w->model.opset > ret->model.opset)
            ret->model.opset = w->model.opset;
        if (w->model.opset_ml > ret->model.opset_ml)
            ret->model.opset_ml = w->model.opset_ml;
        if (w->model.ir > ret->model.ir)
            ret->model.ir = w->model.ir;
        if (w->as_of && (!ret->as_of || w->as_of < ret->as_of))
            ret->as_of = w->as_of;
    }
    ret->torch = (mask & mq->kinds[WISH_TORCH]) != 0;
    ret->gpu = (mask & mq->kinds[WISH_GPU]) != 0;
    ret->driver = (mask & mq->kinds[WISH_DRIVER]) != 0;
    ret->numpy_wished = (mask & mq->kinds[WISH_NUMPY]) != 0;
    ret->glibc_wished = (mask & mq->kinds[WISH_GLIBC]) != 0;
}

bool m_torch_allowed(const struct m_query *mq, unsigned mask, size_t t)
{
    unsigned wished = mask & mq->kinds[WISH_TORCH];
    for (size_t i = 0; wished >> i; i++)
        if ((wished >> i & 1) && !mq->wish[i].torch[t])
            return false;
    return true;
}

/* The builds of torch that a set of wishes leaves, gathered once a search. */
struct torches {
    const struct m_torch *at[M_TORCHES];
    size_t n;
};

static void torches_gather(const struct m_query *mq, const struct m_allowed *w, struct torches *ret)
{
    ret->n = 0;
    if (!w->torch)
        ret->at[ret->n++] = NULL;
    for (size_t t = 0; w->torch && t < mq->d->n_torch; t++)
        if ((w->platforms >> mq->d->torch[t].platform & 1) && m_torch_allowed(mq, w->mask, t))
            ret->at[ret->n++] = &mq->d->torch[t];
}

/* Best sharing of one release over platforms and builds of torch; *ret_ptx: every way of that sharing compiles PTX. */
static enum match_sharing best_of(const struct m_query *mq, const struct m_allowed *w, const struct torches *torches,
                                  struct m_candidate *c, bool *ret_ptx)
{
    enum match_sharing best = MATCH_NONE;
    *ret_ptx = true;
    for (size_t t = 0; t < torches->n; t++) {
        c->t = torches->at[t];
        int first = c->t ? c->t->platform : 0, last = c->t ? first : M_PLATFORMS - 1;
        for (int p = first; p <= last; p++) {
            c->platform = p;
            if (!(w->platforms >> p & 1) || !m_holds(mq, w, c) || c->sharing < best)
                continue;
            *ret_ptx = c->ptx && (*ret_ptx || c->sharing > best);
            best = c->sharing;
            if (best == MATCH_SHARED && (!*ret_ptx || !w->gpu))
                return best;
        }
    }
    return best;
}

enum match_sharing m_satisfiable(const struct m_query *mq, unsigned mask)
{
    struct m_allowed w;
    struct torches torches;
    enum match_sharing best = MATCH_NONE;
    bool ptx = false;
    m_allow(mq, mask, &w);
    torches_gather(mq, &w, &torches);
    for (size_t k = 0; k < mq->d->n_ort && best != MATCH_SHARED; k++) {
        size_t i = m_ort_order(mq->d, k);
        struct m_candidate c = { .o = &mq->d->ort[i] };
        if (!(w.ort >> i & 1))
            continue;
        enum match_sharing s = best_of(mq, &w, &torches, &c, &ptx);
        best = s > best ? s : best;
    }
    return best;
}

uint32_t m_fewest_failing(const struct m_query *mq, unsigned mask)
{
    struct m_allowed w;
    struct torches torches;
    uint32_t best = UINT32_MAX, alone = 0; /* alone: the others that are enough by themselves */
    m_allow(mq, mask, &w);
    torches_gather(mq, &w, &torches);
    for (size_t i = 0; i < mq->d->n_ort; i++)
        for (size_t t = 0; t < torches.n; t++)
            for (int p = 0; p < M_PLATFORMS; p++) {
                struct m_candidate c = { .o = &mq->d->ort[i], .t = torches.at[t], .platform = p };
                if (!(mq->orts >> i & 1) || (c.t ? c.t->platform != p : !(mq->platforms >> p & 1)))
                    continue;
                uint32_t failing = m_failing(mq, &w, &c);
                if (c.sharing == MATCH_SEPARATE)
                    failing |= m_rule_bit("torch-shared");
                int fewer = __builtin_popcount(failing) - __builtin_popcount(best);
                if (fewer < 0)
                    best = failing;
                else if (fewer == 0 && __builtin_popcount(failing) == 1)
                    alone |= failing;
            }
    return __builtin_popcount(best) == 1 ? best | alone : best;
}

int m_solve(const struct m_query *mq, const struct m_allowed *w, bool take_partial, enum match_sharing *ret,
            bool *ret_ptx)
{
    struct torches torches;
    int newest = -1;
    torches_gather(mq, w, &torches);
    for (size_t i = 0; i < mq->d->n_ort; i++) {
        struct m_candidate c = { .o = &mq->d->ort[i], .take_partial = take_partial };
        ret_ptx[i] = false;
        ret[i] = w->ort >> i & 1 ? best_of(mq, w, &torches, &c, &ret_ptx[i]) : MATCH_NONE;
        if (ret[i] == MATCH_SHARED)
            newest = (int)i;
    }
    return newest;
}

/* --- conflicts --- */

/* Sets of wishes by ascending size: a set that no smaller conflict is in and that does not hold is a minimal one. Sets
 * that hold are grown as far as they go, so that what lies in them is not asked again. */
static void minimal_conflicts(const struct m_query *mq, struct match_answer *answer)
{
    struct { VEC(unsigned); } holds = { 0 };
    unsigned all = (1U << mq->q->n) - 1;
    for (unsigned size = 0; size <= mq->q->n; size++) {
        for (unsigned set = 0; set <= all; set++) {
            bool decided = (unsigned)__builtin_popcount(set) != size;
            for (size_t i = 0; !decided && i < answer->conflicts.n; i++)
                decided = (answer->conflicts.at[i].wishes & ~set) == 0;
            for (size_t i = 0; !decided && i < holds.n; i++)
                decided = (set & ~holds.at[i]) == 0;
            if (decided)
                continue;
            if (m_satisfiable(mq, set) != MATCH_SHARED) {
                vec_push(&answer->conflicts, (struct match_conflict){ .wishes = set });
                continue;
            }
            unsigned grown = set;
            for (size_t i = 0; i < mq->q->n; i++)
                if (!(grown >> i & 1) && m_satisfiable(mq, grown | 1U << i) == MATCH_SHARED)
                    grown |= 1U << i;
            vec_push(&holds, grown);
        }
    }
    vec_done(&holds);
}

/* Where no single change helps: the smallest sets of wishes that meet every conflict. */
static void smallest_changes(const struct m_query *mq, struct match_answer *answer)
{
    unsigned all = (1U << mq->q->n) - 1;
    for (unsigned size = 2; size <= mq->q->n && !answer->smallest_changes.n; size++) {
        for (unsigned set = 0; set <= all; set++) {
            bool meets = (unsigned)__builtin_popcount(set) == size;
            for (size_t i = 0; meets && i < answer->conflicts.n; i++)
                meets = (answer->conflicts.at[i].wishes & set) != 0;
            if (meets)
                vec_push(&answer->smallest_changes, set);
        }
    }
}

void m_conflicts(const struct m_query *mq, struct arena *a, struct match_answer *answer)
{
    minimal_conflicts(mq, answer);
    for (size_t i = 0; i < answer->conflicts.n; i++)
        m_because(mq, answer->conflicts.at[i].wishes, a, &answer->conflicts.at[i]);
}

/* --- nearest single changes --- */

struct alternatives {
    VEC(struct match_alternative);
};

/* Values that are worth proposing: of drivers the branches that are kept long, of glibc those of distributions. */
static const char *const drivers_kept[] = { "470", "525", "535", "550", "570", "580", NULL };
static const char *const glibcs[] = { "2.17", "2.27", "2.28", "2.31", "2.34", "2.35", "2.39", NULL };
static const char *const pythons[] = { "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", NULL };
static const char *const cudas[] = { "11", "12", "13", NULL };
static const char *const cudnns[] = { "8", "9", NULL };
static const char *const tensorrts[] = { "8", "10", NULL };
static const char *const numpys[] = { "1.26.4", "2.0.2", NULL };
static const char *const systems[] = { "linux", "windows", NULL };

static const char *const *proposals(enum wish_kind kind)
{
    switch (kind) {
    case WISH_DRIVER:
        return drivers_kept;
    case WISH_GLIBC:
        return glibcs;
    case WISH_PYTHON:
        return pythons;
    case WISH_CUDA:
        return cudas;
    case WISH_CUDNN:
        return cudnns;
    case WISH_TENSORRT:
        return tensorrts;
    case WISH_NUMPY:
        return numpys;
    case WISH_OS:
        return systems;
    default:
        return NULL;
    }
}

static const char *newest_with(const struct m_query *mq, const struct m_allowed *w, const struct torches *torches)
{
    bool ptx = false;
    for (size_t k = 0; k < mq->d->n_ort; k++) {
        size_t i = m_ort_order(mq->d, k);
        struct m_candidate c = { .o = &mq->d->ort[i] };
        if ((w->ort >> i & 1) && best_of(mq, w, torches, &c, &ptx) == MATCH_SHARED)
            return c.o->version;
    }
    return NULL;
}

static const char *newest_for(const struct m_query *mq, const struct m_allowed *w)
{
    struct torches torches;
    torches_gather(mq, w, &torches);
    return newest_with(mq, w, &torches);
}

/* The same query with another value for one wish, which may be of another kind (os for arch). */
static void try_values(const struct m_query *mq, size_t at, enum wish_kind kind, unsigned rest, struct arena *a,
                       struct alternatives *ret)
{
    struct match_query one = { .channel = mq->q->channel, .n = 1, .wish = { { .kind = kind } } };
    struct m_query *changed = arena_alloc(a, 2 * sizeof(*changed)), *whole = changed + 1;
    for (const char *const *value = proposals(kind); value && *value; value++) {
        one.wish[0].value = *value;
        if (str_eq(*value, mq->q->wish[at].value) || m_query_read(mq->d, &one, a, changed, NULL) < 0)
            continue;
        *whole = *mq; /* the one wish, read alone, in the place of the old one */
        whole->wish[at] = changed->wish[0];
        if (kind == WISH_DRIVER) {
            size_t n = whole->drivers.n;
            if (!m_driver_add(mq->d, &whole->drivers, arena_printf(a, "%s.999", *value)))
                continue;
            whole->wish[at].drivers = 1ULL << n;
        }
        struct m_allowed w;
        m_allow(whole, rest | 1U << at, &w);
        const char *best = newest_for(whole, &w);
        if (best)
            vec_push(ret, (struct match_alternative){ *value, best });
    }
}

static void try_torches(const struct m_query *mq, size_t at, unsigned rest, struct arena *a, struct alternatives *ret)
{
    struct m_query *changed = arena_alloc(a, sizeof(*changed));
    struct m_allowed w;
    *changed = *mq;
    changed->torch_cpu = 0;
    m_allow(changed, rest | 1U << at, &w);
    for (size_t t = 0, next; t < mq->d->n_torch; t = next) {
        struct torches builds = { .n = 0 };
        const char *version = mq->d->torch[t].kb->torch;
        for (next = t; next < mq->d->n_torch && str_eq(mq->d->torch[next].kb->torch, version); next++)
            if ((w.platforms >> mq->d->torch[next].platform & 1) && m_torch_allowed(mq, rest, next))
                builds.at[builds.n++] = &mq->d->torch[next];
        if (mq->wish[at].torch[t])
            continue;
        const char *best = builds.n ? newest_with(changed, &w, &builds) : NULL;
        if (best)
            vec_push(ret, (struct match_alternative){ version, best });
    }
}

/* The highest opset below the one asked for that has an answer. */
static void try_opsets(const struct m_query *mq, size_t at, unsigned rest, struct arena *a, struct alternatives *ret)
{
    struct m_query *changed = arena_alloc(a, sizeof(*changed));
    *changed = *mq;
    for (int64_t opset = mq->wish[at].model.opset - 1; opset > 6 && !ret->n; opset--) {
        struct m_allowed w;
        changed->wish[at].model.opset = opset;
        m_allow(changed, rest | 1U << at, &w);
        const char *best = newest_for(changed, &w);
        if (best)
            vec_push(ret, (struct match_alternative){ arena_printf(a, "%lld", (long long)opset), best });
    }
}

static void try_change(const struct m_query *mq, size_t at, unsigned without, struct arena *a,
                       struct match_answer *answer)
{
    enum wish_kind kind = mq->q->wish[at].kind;
    bool system = (without & (mq->kinds[WISH_OS] | mq->kinds[WISH_ARCH])) != 0;
    unsigned rest = ((1U << mq->q->n) - 1) & ~without;
    struct m_allowed w;
    m_allow(mq, rest, &w);
    const char *best = newest_for(mq, &w);
    if (!best)
        return;
    struct alternatives found = { 0 };
    if (kind == WISH_TORCH) {
        try_torches(mq, at, rest, a, &found);
    } else if (kind == WISH_OPSET) {
        try_opsets(mq, at, rest, a, &found);
    } else if (kind == WISH_ORT) {
        enum match_sharing fit[M_ORTS];
        bool ptx[M_ORTS];
        (void)m_solve(mq, &w, false, fit, ptx);
        for (size_t i = 0; i < mq->d->n_ort; i++)
            if (fit[i] == MATCH_SHARED)
                vec_push(&found, (struct match_alternative){ mq->d->ort[i].version, mq->d->ort[i].version });
    } else {
        try_values(mq, at, system ? WISH_OS : kind, rest, a, &found);
    }
    const struct match_wish *asked = &mq->q->wish[at];
    struct match_nearest n = { .change = system ? "os" : wish_name(kind), .from = asked->value, .drop_best_ort = best };
    if (kind == WISH_ARCH)
        n.from = arena_printf(a, "linux-%s", asked->value);
    if (found.n) {
        struct match_alternative *copy = arena_alloc(a, found.n * sizeof(*copy));
        memcpy(copy, found.at, found.n * sizeof(*copy));
        n.alternatives = copy;
        n.n_alternatives = found.n;
    }
    vec_done(&found);
    vec_push(&answer->nearest, n);
}

/* os and arch say one thing together: the platform. */
void m_nearest(const struct m_query *mq, struct arena *a, struct match_answer *answer)
{
    unsigned system = mq->kinds[WISH_OS] | mq->kinds[WISH_ARCH];
    bool system_done = false;
    for (size_t i = 0; i < mq->q->n; i++) {
        unsigned without = 1U << i;
        size_t at = i;
        if (without & system) {
            if (system_done)
                continue;
            system_done = true;
            without = system;
            if (mq->kinds[WISH_ARCH])
                at = (size_t)__builtin_ctz(mq->kinds[WISH_ARCH]);
        }
        try_change(mq, at, without, a, answer);
    }
    if (!answer->nearest.n)
        smallest_changes(mq, answer);
}

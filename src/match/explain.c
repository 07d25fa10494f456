/* Why: what a wish stands for, and which rules part the wishes of a conflict. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "match/query.h"
#include "version/driver.h"
#include "version/pep440.h"

struct lines {
    VEC(struct match_because);
};

/* "1.17.0 to 1.31.1", of the public index. */
static const char *span(const struct match_domain *d, uint64_t set, struct arena *a)
{
    const char *first = NULL, *last = NULL;
    for (size_t i = 0; i < d->n_pypi; i++)
        if (set >> i & 1) {
            first = first ? first : d->ort[i].version;
            last = d->ort[i].version;
        }
    return !first ? "no release" : first == last ? first : arena_printf(a, "%s to %s", first, last);
}

static void say_ort(const struct m_query *mq, size_t i, struct arena *a, struct lines *out)
{
    uint64_t set = mq->wish[i].ort & mq->orts;
    const char *value = mq->q->wish[i].value;
    if (!set) {
        vec_push(out, (struct match_because){ arena_printf(a, "onnxruntime-gpu %s is not on the index asked for", value),
                                              NULL, kb_ort_at(0)->prov.source->text });
        return;
    }
    const struct m_ort *o = NULL;
    for (size_t k = 0; k < mq->d->n_ort; k++)
        if (set >> k & 1)
            o = &mq->d->ort[k];
    char cuda[8];
    vec_push(out, (struct match_because){
        arena_printf(a, "onnxruntime-gpu %s: %s, the newest built for CUDA %s and cuDNN %d", value, span(mq->d, set, a),
                     cuda_text(o->cuda, cuda, sizeof(cuda)), o->cudnn_major), NULL, o->kb->prov.source->text });
}

static void say_torch(const struct m_query *mq, size_t i, struct arena *a, struct lines *out)
{
    const struct kb_torch_build *b = NULL;
    for (size_t t = 0; t < mq->d->n_torch; t++)
        if (mq->wish[i].torch[t] && (mq->platforms >> mq->d->torch[t].platform & 1) && !(b && b->platform == KB_LINUX_X86_64))
            b = mq->d->torch[t].kb;
    char cuda[8];
    if (!b)
        return;
    const char *text = !b->cuda_major || mq->torch_cpu ? arena_printf(a, "torch %s carries no CUDA", b->torch)
        : b->cudnn_major ? arena_printf(a, "torch %s is built for CUDA %s and cuDNN %s", b->torch,
                                        cuda_text(b->cuda, cuda, sizeof(cuda)),
                                        b->cudnn ? b->cudnn : arena_printf(a, "%d", b->cudnn_major))
                         : arena_printf(a, "torch %s is built for CUDA %s with cuDNN linked in", b->torch,
                                        cuda_text(b->cuda, cuda, sizeof(cuda)));
    vec_push(out, (struct match_because){ text, NULL, b->prov.source->text });
}

static void say_driver(const struct m_query *mq, size_t i, struct arena *a, struct lines *out)
{
    char cuda[8];
    for (size_t k = 0; k < mq->drivers.n; k++) {
        if (mq->wish[i].drivers != 1ULL << k || !mq->drivers.native[k])
            continue;
        const char *know = arena_strdup(a, cuda_text(mq->drivers.native[k], cuda, sizeof(cuda)));
        vec_push(out, (struct match_because){
            arena_printf(a, "driver %s knows CUDA up to %s, and by the oldest driver of each major it runs programs of CUDA %s",
                         mq->q->wish[i].value, know,
                         mq->drivers.floor_ok[0][13] >> k & 1 ? "11, 12 and 13" :
                         mq->drivers.floor_ok[0][12] >> k & 1 ? "11 and 12, not 13" :
                         mq->drivers.floor_ok[0][11] >> k & 1 ? "11, not 12 or 13" : "10 at most"),
            NULL, kb_branch_at(0)->prov.source->text });
    }
}

static void say_gpu(const struct m_query *mq, size_t i, struct arena *a, struct lines *out)
{
    char first[8];
    for (size_t k = 0; k < mq->d->n_cc; k++) {
        const struct kb_arch *arch = kb_arch_at(k);
        if (!(mq->wish[i].cc >> k & 1))
            continue;
        const char *from = arch->cuda_first ? arena_printf(a, ", known to drivers from CUDA %s on",
                                                           cuda_text(arch->cuda_first, first, sizeof(first))) : "";
        const char *to = arch->branch_last ? arena_printf(a, ", served up to driver branch %d", arch->branch_last) : "";
        vec_push(out, (struct match_because){
            arena_printf(a, "%s has compute capability %d.%d%s%s", mq->q->wish[i].value, arch->cc / 10, arch->cc % 10, from, to),
            NULL, arch->prov.source->text });
    }
}

/* What the wish alone leaves of the releases. */
static void say_releases(const struct m_query *mq, size_t i, struct arena *a, struct lines *out)
{
    struct m_allowed w;
    enum match_sharing fit[M_ORTS];
    bool ptx[M_ORTS];
    uint64_t set = 0;
    m_allow(mq, 1U << i, &w);
    (void)m_solve(mq, &w, false, fit, ptx);
    for (size_t k = 0; k < mq->d->n_ort; k++)
        set |= fit[k] == MATCH_SHARED ? 1ULL << k : 0;
    vec_push(out, (struct match_because){
        arena_printf(a, "%s %s alone leaves %s", wish_name(mq->q->wish[i].kind), mq->q->wish[i].value, span(mq->d, set, a)),
        NULL, kb_ort_at(0)->prov.source->text });
}

static const char *rule_of(const struct m_query *mq, const struct m_rule *rule, unsigned mask)
{
    if (!str_eq(rule->id, "cudnn-gpu"))
        return rule->id;
    uint32_t cc = UINT32_MAX;
    for (size_t i = 0; i < mq->q->n; i++)
        if (mask >> i & 1)
            cc &= mq->wish[i].cc;
    return cc & mq->d->pre_turing ? "cudnn-pre-turing" : "cudnn-blackwell";
}

static void say_rule(const struct m_query *mq, const struct m_rule *rule, unsigned mask, struct lines *out)
{
    const struct kb_rule *kb = kb_rule_find(rule_of(mq, rule, mask));
    if (kb)
        vec_push(out, (struct match_because){ kb->text, kb->id, kb->prov.source->text });
}

static bool is_windows(const struct m_query *mq, unsigned mask)
{
    for (size_t i = 0; i < mq->q->n; i++)
        if ((mask >> i & 1) && mq->q->wish[i].kind == WISH_OS && mq->wish[i].platforms == 2)
            return true;
    return false;
}

/* A driver too old for a CUDA major may still do with the cuda-compat package, on GPUs that take it. */
static void say_forward_compat(const struct m_query *mq, unsigned mask, struct arena *a, struct lines *out)
{
    for (size_t i = 0; i < mq->q->n; i++) {
        if (mq->q->wish[i].kind != WISH_DRIVER || !(mask >> i & 1) || is_windows(mq, mask) || __builtin_popcountll(mq->wish[i].drivers) != 1)
            continue;
        int at = __builtin_ctzll(mq->wish[i].drivers), branch = driver_branch(mq->drivers.text[at]);
        const struct kb_compat *row, *least = NULL;
        for (size_t k = 0; (row = kb_compat_at(k)); k++) {
            int major = row->cuda / 1000;
            bool too_old = major < M_MAJORS && !(mq->drivers.floor_ok[0][major] >> at & 1);
            if (row->branch == branch && row->works == KB_YES && too_old && (!least || row->cuda < least->cuda))
                least = row;
        }
        const struct kb_rule *rule = kb_rule_find("forward-compat");
        char cuda[8];
        if (least && rule)
            vec_push(out, (struct match_because){
                arena_printf(a, "on a data-center GPU the cuda-compat package of CUDA %s would do with driver branch %d",
                             cuda_text(least->cuda, cuda, sizeof(cuda)), branch), rule->id, least->prov.source->text });
    }
}

void m_because(const struct m_query *mq, unsigned mask, struct arena *a, struct match_conflict *conflict)
{
    static void (*const says[WISH_KINDS])(const struct m_query *, size_t, struct arena *, struct lines *) = {
        [WISH_ORT] = say_ort, [WISH_TORCH] = say_torch, [WISH_DRIVER] = say_driver, [WISH_GPU] = say_gpu,
    };
    struct lines out = { 0 };
    for (size_t i = 0; i < mq->q->n; i++) {
        enum wish_kind kind = mq->q->wish[i].kind;
        if (!(mask >> i & 1))
            continue;
        (says[kind] ? says[kind] : say_releases)(mq, i, a, &out);
    }
    uint32_t failing = m_fewest_failing(mq, mask); /* without these it would hold */
    for (size_t r = 0; r < m_rules_n; r++)
        if (failing >> r & 1)
            say_rule(mq, &m_rules[r], mask, &out);
    if (failing & m_rule_bit("driver-floor"))
        say_forward_compat(mq, mask, a, &out);
    struct match_because *copy = arena_alloc(a, (out.n + 1) * sizeof(*copy));
    if (out.n)
        memcpy(copy, out.at, out.n * sizeof(*copy));
    conflict->because = copy;
    conflict->n_because = out.n;
    vec_done(&out);
}

/* One query, answered whole. */
#include "match/match.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "match/query.h"

void match_answer_done(struct match_answer *answer)
{
    vec_done(&answer->choices);
    vec_done(&answer->ort_versions);
    vec_done(&answer->separate);
    vec_done(&answer->by_ptx);
    vec_done(&answer->maybe);
    vec_done(&answer->feeds);
    vec_done(&answer->conflicts);
    vec_done(&answer->nearest);
    vec_done(&answer->smallest_changes);
}

static void add_once(struct names *names, const char *text)
{
    for (size_t i = 0; i < names->n; i++)
        if (str_eq(names->at[i], text))
            return;
    vec_push(names, text);
}

static void list_releases(const struct m_query *mq, struct match_answer *answer)
{
    struct m_allowed w;
    enum match_sharing fit[M_ORTS], loose[M_ORTS];
    bool ptx[M_ORTS], unused[M_ORTS];
    m_allow(mq, (1U << mq->q->n) - 1, &w);
    answer->fits = m_solve(mq, &w, false, fit, ptx) >= 0;
    if (w.gpu)
        (void)m_solve(mq, &w, true, loose, unused);
    else
        memcpy(loose, fit, sizeof(loose));
    for (size_t i = 0; i < mq->d->n_ort; i++) {
        const char *version = mq->d->ort[i].version;
        if (fit[i] == MATCH_SHARED)
            add_once(&answer->ort_versions, version);
        else if (loose[i] == MATCH_SHARED)
            add_once(&answer->maybe, version);
        else if (fit[i] == MATCH_SEPARATE)
            add_once(&answer->separate, version);
        if (fit[i] == MATCH_SHARED && ptx[i] && w.gpu)
            add_once(&answer->by_ptx, version);
    }
}

/* What other indexes would add, apart from the answer. */
static void list_feeds(const struct m_query *mq, struct match_answer *answer)
{
    struct m_allowed w;
    enum match_sharing fit[M_ORTS];
    bool ptx[M_ORTS];
    if (mq->q->channel != MATCH_PYPI)
        return;
    struct m_query *feeds = xreallocarray(NULL, 1, sizeof(*feeds));
    *feeds = *mq;
    feeds->orts = 0;
    for (size_t i = mq->d->n_pypi; i < mq->d->n_ort; i++)
        feeds->orts |= 1ULL << i;
    m_allow(feeds, (1U << mq->q->n) - 1, &w);
    (void)m_solve(feeds, &w, false, fit, ptx);
    for (size_t i = mq->d->n_pypi; i < mq->d->n_ort; i++) {
        const struct m_ort *o = &mq->d->ort[i];
        if (fit[i] == MATCH_SHARED)
            vec_push(&answer->feeds, (struct match_feed_ort){ o->version, o->feed->name,
                                                              kb_confidence_name(o->feed->prov.confidence),
                                                              w.gpu && !o->wheel[0].code_known });
    }
    free(feeds);
}

int match_run(const struct match_domain *d, const struct match_query *q, struct arena *a, struct match_answer *ret,
              struct err *e)
{
    struct m_query *mq = arena_alloc(a, sizeof(*mq));
    int r = m_query_read(d, q, a, mq, e);
    if (r < 0)
        return r;
    list_releases(mq, ret);
    list_feeds(mq, ret);
    m_choices(mq, a, ret);
    if (!ret->fits) {
        m_conflicts(mq, a, ret);
        m_nearest(mq, a, ret);
    }
    return 0;
}

enum match_sharing match_holds(const struct match_domain *d, const struct match_query *q, unsigned mask, struct err *e)
{
    struct arena a = { 0 };
    struct m_query *mq = arena_alloc(&a, sizeof(*mq));
    enum match_sharing best = MATCH_NONE;
    if (m_query_read(d, q, &a, mq, e) == 0)
        best = m_satisfiable(mq, mask);
    arena_done(&a);
    return best;
}

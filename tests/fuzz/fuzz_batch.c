/* Any bytes as a line of a batch: what it says is put to match. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/batch.h"
#include "match/match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct arena lasting;
    static const struct match_domain *d;
    if (!d)
        d = match_domain_new(&lasting);
    struct arena a = { 0 };
    struct err e = { 0 };
    struct batch_wish wishes[BATCH_WISHES];
    size_t n = 0;
    struct match_query *q = arena_new(&a, struct match_query);
    int r = batch_read((const char *)data, size, &a, wishes, &n, &e);
    if (n > BATCH_WISHES || (r < 0 && !e.text[0]))
        abort();
    for (size_t i = 0; r == 0 && i < n && q->n < 5; i++) { /* few, so that one input is quick */
        enum wish_kind kind = wish_kind_of(wishes[i].name);
        if (kind != WISH_KINDS && kind != WISH_MODEL)
            q->wish[q->n++] = (struct match_wish){ .kind = kind, .value = wishes[i].value };
    }
    struct match_answer answer = { 0 };
    if (r == 0 && match_run(d, q, &a, &answer, &e) == 0) {
        if (answer.fits ? answer.conflicts.n || !answer.choices.n : !answer.conflicts.n)
            abort();
        for (size_t i = 0; i < answer.conflicts.n; i++) /* a conflict does not hold, and is minimal */
            for (size_t k = 0; k <= q->n; k++) {
                unsigned set = answer.conflicts.at[i].wishes;
                if (k < q->n && !(set >> k & 1))
                    continue;
                bool holds = match_holds(d, q, k < q->n ? set & ~(1U << k) : set, NULL) == MATCH_SHARED;
                if (holds != (k < q->n))
                    abort();
            }
    }
    match_answer_done(&answer);
    arena_done(&a);
    return 0;
}

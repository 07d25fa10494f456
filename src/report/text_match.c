/* match for people: the best answer and its install line first, why, then others; or what clashes and what would help. */
#include <string.h>

#include "base/str.h"
#include "report/text.h"
#include "version/driver.h"

/* Quoted where a shell would read it otherwise. */
static void argument(struct text_out *t, const char *arg)
{
    bool plain = strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=+,") == strlen(arg);
    fputs(plain ? " " : " '", t->out);
    text_put(t, arg);
    fputs(plain ? "" : "'", t->out);
}

static void headline(struct text_out *t, const struct match_choice *x)
{
    char cuda[8];
    text_mark(t, x->sharing == MATCH_SHARED ? MARK_GOOD : MARK_WARN);
    fputc(' ', t->out);
    text_bold(t, arena_printf(&t->a, "onnxruntime-gpu %s", x->ort));
    fprintf(t->out, "%s%s", x->feed ? " from " : "", x->feed ? x->channel : "");
    if (x->torch)
        fprintf(t->out, " with torch %s, %s", x->torch,
                !x->torch_cuda ? "which carries no CUDA" : x->sharing == MATCH_SHARED ? "libraries shared" : "each with libraries of its own");
    fprintf(t->out, "\n    CUDA %s   cuDNN %s%s   driver %s or newer   Python %s%s%s\n", cuda_text(x->cuda, cuda, sizeof(cuda)),
            x->cudnn, x->cudnn_optional ? " (optional)" : "", x->driver_min ? x->driver_min : "?", x->python ? x->python : "?",
            x->numpy ? "   numpy " : "", x->numpy ? x->numpy : "");
    fputs("    install", t->out);
    for (const char *const *arg = x->install; *arg; arg++)
        argument(t, *arg);
    fputc('\n', t->out);
    if (x->then)
        fprintf(t->out, "    then    %s\n", x->then);
}

static void versions(struct text_out *t, const char *title, const struct names *list)
{
    if (!list->n)
        return;
    fprintf(t->out, "%s", title);
    for (size_t i = list->n; i-- > 0;)
        fprintf(t->out, " %s", list->at[i]);
    fputc('\n', t->out);
}

static void wish_list(struct text_out *t, unsigned set)
{
    const struct match_query *q = t->r->query;
    const char *before = "";
    for (size_t i = 0; i < q->n; i++) {
        if (!(set >> i & 1))
            continue;
        fprintf(t->out, "%s%s ", before, wish_name(q->wish[i].kind));
        text_put(t, q->wish[i].value);
        if (q->wish[i].from) {
            fputs(" (", t->out);
            text_put(t, q->wish[i].from);
            fputc(')', t->out);
        }
        before = ", ";
    }
}

static void conflict(struct text_out *t, const struct match_conflict *c)
{
    text_mark(t, MARK_BAD);
    fputs(__builtin_popcount(c->wishes) == 1 ? " cannot be had: " : " cannot hold together: ", t->out);
    wish_list(t, c->wishes);
    fputc('\n', t->out);
    for (size_t i = 0; i < c->n_because; i++) {
        fputs("    ", t->out);
        text_put(t, c->because[i].text);
        if (t->style->verbose || c->because[i].rule)
            fprintf(t->out, "\n        source: %s", c->because[i].source);
        fputc('\n', t->out);
    }
}

static void nearest(struct text_out *t, const struct match_nearest *n)
{
    fprintf(t->out, "    %-8s ", n->change);
    text_put(t, n->from);
    if (!n->n_alternatives)
        fprintf(t->out, " left out: onnxruntime-gpu %s", n->drop_best_ort);
    size_t shown = 0, most = t->style->verbose ? n->n_alternatives : 8;
    size_t first = !t->style->verbose && n->n_alternatives > most && str_eq(n->change, "ort") ? n->n_alternatives - most : 0;
    fputs(n->n_alternatives ? " -> " : "", t->out);
    for (size_t i = first; i < n->n_alternatives && shown < most; i++, shown++)
        if (str_eq(n->change, "ort"))
            fprintf(t->out, "%s%s", shown ? ", " : "", n->alternatives[i].value);
        else
            fprintf(t->out, "%s%s (%s)", shown ? ", " : "", n->alternatives[i].value, n->alternatives[i].best_ort);
    if (shown < n->n_alternatives)
        fprintf(t->out, ", %zu more", n->n_alternatives - shown);
    fputc('\n', t->out);
}

static void no_answer(struct text_out *t, const struct match_answer *m)
{
    for (size_t i = 0; i < m->conflicts.n; i++)
        conflict(t, &m->conflicts.at[i]);
    if (m->nearest.n)
        fputs("one change that helps (in brackets: the newest onnxruntime-gpu then)\n", t->out);
    for (size_t i = 0; i < m->nearest.n; i++)
        nearest(t, &m->nearest.at[i]);
    if (m->smallest_changes.n)
        fputs("no single change helps; these together would\n", t->out);
    for (size_t i = 0; i < m->smallest_changes.n; i++) {
        fputs("    without ", t->out);
        wish_list(t, m->smallest_changes.at[i]);
        fputc('\n', t->out);
    }
}

void text_match(struct text_out *t)
{
    const struct match_answer *m = t->r->match;
    if (t->style->quiet) {
        fprintf(t->out, "%s\n", m->fits ? m->choices.at[0].ort : "no match");
        return;
    }
    if (!m->fits)
        no_answer(t, m);
    if (!m->fits && m->choices.n)
        fputs("\nsecond best, with separate libraries\n", t->out);
    for (size_t i = 0; i < m->choices.n; i++) {
        headline(t, &m->choices.at[i]);
        for (const char *const *line = m->choices.at[i].why; i == 0 && m->fits && *line; line++) {
            fputs("    - ", t->out);
            text_put(t, *line);
            fputc('\n', t->out);
        }
    }
    versions(t, "all that fit:", &m->ort_versions);
    versions(t, "with separate libraries only:", &m->separate);
    versions(t, "some kernels lack this GPU:", &m->maybe);
    for (size_t i = 0; i < m->feeds.n; i++)
        fprintf(t->out, "%s %s on %s%s%s%s\n", i ? "             " : "elsewhere:   ", m->feeds.at[i].ort, m->feeds.at[i].feed,
                " (", m->feeds.at[i].confidence, m->feeds.at[i].gpu_code_unknown ? "; GPU code not known)" : ")");
}

/* The screen of check: what it is and whether it loads, the causes with their fix, what is in order. */
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "kb/kb.h"
#include "plan/fix.h"
#include "report/text.h"
#include "version/driver.h"

#define EVIDENCE_SHOWN 6

static const char *provider_word(const struct judgement *j)
{
    return j->provider == ORT_PROVIDER_TENSORRT ? "TensorRT provider" : "CUDA provider";
}

static const char *verdict_words(const struct judged *judged)
{
    const struct ort_try *as_is = &judged->j.p->tries[ORT_AS_IS];
    if (judged->verdict == VERDICT_UNKNOWN)
        return "not known";
    if (judged->verdict == VERDICT_FITS)
        return "loads";
    if (as_is->import_fails)
        return judged->j.env ? "import onnxruntime fails" : "the program does not start";
    if (as_is->loads == ANSWER_YES)
        return "loads, but will not run";
    return judged->j.cuda_major == 0 && (judged->j.env || !judged->j.ort->cuda) ? "not in this build" : "will not load";
}

static const char *target_line(struct text_out *t, const struct judgement *j)
{
    const char *name = j->ort->package ? j->ort->package : "ONNX Runtime";
    const char *version = j->ort->version ? j->ort->version : "(version unknown)";
    if (!j->env)
        return arena_printf(&t->a, "%s %s at %s", name, version, text_path(t, j->t->given ? j->t->given : j->ort->dir));
    return arena_printf(&t->a, "%s %s in %s (%s, %s)", name, version, text_path(t, j->env->prefix),
                        text_python(t, j->env), j->env->installer ? j->env->installer : "installer unknown");
}

static void head(struct text_out *t, const struct judged *judged)
{
    const struct judgement *j = &judged->j;
    const char *left = target_line(t, j);
    const char *right = arena_printf(&t->a, "%s: %s", provider_word(j), verdict_words(judged));
    unsigned columns = t->style->columns ? t->style->columns : 100;
    size_t used = strlen(left) + strlen(right);
    text_bold(t, left);
    if (used + 2 <= columns)
        fprintf(t->out, "%*s", (int)(columns - used < 4 ? columns - used : 4), "");
    else
        fputs("\n  ", t->out);
    text_bold(t, right);
    fputc('\n', t->out);
    if (t->style->quiet || j->cuda_major == 0)
        return;
    fprintf(t->out, "  needs CUDA %d", j->cuda_major);
    if (j->cudnn_major)
        fprintf(t->out, " and cuDNN %d", j->cudnn_major);
    if (j->needs_source && j->needs_source[0] == '/')
        fprintf(t->out, ", read from %s", path_base(j->needs_source));
    fputc('\n', t->out);
}

/* The gist: folders of the environment as seen from it, and only the first of several remarks. */
static const char *short_value(struct text_out *t, const char *value)
{
    if (t->style->verbose)
        return value;
    size_t n = strcspn(value, ";");
    const char *cut = n < strlen(value) && n > 60 ? arena_strndup(&t->a, value, n) : value;
    const struct pyenv *env = t->r->judged->j.env;
    const char *at = env ? strstr(cut, env->prefix) : NULL;
    if (!at || at == cut)
        return cut;
    const char *short_prefix = text_path(t, env->prefix);
    return arena_printf(&t->a, "%.*s%s%s", (int)(at - cut), cut, short_prefix, at + strlen(env->prefix));
}

static bool same_value(const struct evidence *a, const struct evidence *b)
{
    return a->value && b->value && str_eq(a->value, b->value);
}

/* Those that share what is said of them stand on one line; file names with blanks between, other words with commas. */
static void evidence_facts(struct text_out *t, const struct finding *f, size_t first)
{
    bool words = false;
    for (size_t k = first; k < f->evidence.n; k++)
        words |= same_value(&f->evidence.at[first], &f->evidence.at[k]) && strchr(f->evidence.at[k].fact, ' ');
    for (size_t k = first; k < f->evidence.n; k++) {
        if (k != first && !same_value(&f->evidence.at[first], &f->evidence.at[k]))
            continue;
        if (k != first)
            fputs(words ? ", " : " ", t->out);
        text_put(t, f->evidence.at[k].fact);
    }
}

static void evidence(struct text_out *t, const struct finding *f)
{
    size_t shown = 0;
    for (size_t i = 0; i < f->evidence.n; i++) {
        const struct evidence *e = &f->evidence.at[i];
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told |= same_value(e, &f->evidence.at[k]);
        if (told)
            continue;
        if (shown++ == EVIDENCE_SHOWN && !t->style->verbose) {
            fputs(t->style->unicode ? "    … more with --verbose\n" : "    ... more with --verbose\n", t->out);
            break;
        }
        fputs("    ", t->out);
        evidence_facts(t, f, i);
        if (e->value) {
            fputs("   ", t->out);
            text_put(t, short_value(t, e->value));
        }
        fputc('\n', t->out);
        if (t->style->verbose && e->source) {
            fputs("        ", t->out);
            text_put(t, e->source);
            fputc('\n', t->out);
        }
    }
}

static void fixes(struct text_out *t, const struct finding *f)
{
    for (size_t i = 0; i < f->fixes.n; i++) {
        const struct fix *x = &f->fixes.at[i];
        const char *line = plan_shell_line(&t->a, x);
        fputs(i ? "        " : "  fix   ", t->out);
        if (x->code) {
            fprintf(t->out, "in the program, %s: ", x->why);
            text_bold(t, line);
        } else if (line[0]) {
            text_bold(t, line);
        } else {
            text_put(t, x->why);
        }
        fputc('\n', t->out);
        if (t->style->verbose && line[0] && !x->code) {
            fputs("            ", t->out);
            text_put(t, x->why);
            fputc('\n', t->out);
        }
    }
}

static void finding(struct text_out *t, const struct finding *f)
{
    static const enum text_mark marks[] = { MARK_NOTE, MARK_WARN, MARK_BAD };
    fputc('\n', t->out);
    text_mark(t, marks[f->severity]);
    fputc(' ', t->out);
    text_bold(t, f->cause);
    fputs(": ", t->out);
    text_put(t, f->title);
    fputc('\n', t->out);
    evidence(t, f);
    fixes(t, f);
}

static void good(struct text_out *t, bool *first, const char *text)
{
    fputs(*first ? "\n" : "   ", t->out);
    *first = false;
    text_mark(t, MARK_GOOD);
    fputc(' ', t->out);
    text_put(t, text);
}

static void in_order(struct text_out *t, const struct judged *judged)
{
    const struct judgement *j = &judged->j;
    bool first = true;
    const struct kb_floor *floor = j->cuda_major ? kb_driver_floor(j->cuda_major, KB_OS_LINUX) : NULL;
    if (j->s->driver.version && floor && driver_compare_text(j->s->driver.version, floor->driver) >= 0 &&
        !findings_of(j->out, "driver-library-mismatch"))
        good(t, &first, arena_printf(&t->a, "driver %s, needs %s", j->s->driver.version, floor->driver));
    for (size_t i = 0; i < j->s->gpus.n && i < 2 && !findings_of(j->out, "gpu-arch-unsupported"); i++) {
        const struct gpu *g = &j->s->gpus.at[i];
        if (g->cc && j->cuda_major)
            good(t, &first, arena_printf(&t->a, "%s (%d.%d): code in the build", g->name ? g->name : "GPU", g->cc / 10, g->cc % 10));
    }
    if (j->env && j->env->numpy && !findings_of(j->out, "numpy-abi-mismatch"))
        good(t, &first, arena_printf(&t->a, "numpy %s", j->env->numpy->version));
    if (j->s->glibc && !findings_of(j->out, "glibc-too-old"))
        good(t, &first, arena_printf(&t->a, "glibc %s", j->s->glibc));
    if (!first)
        fputc('\n', t->out);
}

static const char *try_words(const struct ort_try *try, const char *absent)
{
    if (!try->applies)
        return absent;
    if (try->loads != ANSWER_NO)
        return answer_text(try->loads);
    return judge_try_fits(try) ? "only the driver's library is missing" : "no";
}

static void three_ways(struct text_out *t, const struct judgement *j)
{
    if (!j->env || j->cuda_major == 0)
        return;
    const struct ort_try *tries = j->p->tries;
    fprintf(t->out, "\nas is: %s", try_words(&tries[ORT_AS_IS], "not known"));
    fprintf(t->out, "    after import torch: %s", try_words(&tries[ORT_AFTER_TORCH], "no torch here"));
    fprintf(t->out, "    after preload_dlls(): %s\n", try_words(&tries[ORT_AFTER_PRELOAD_DLLS], "not in this release"));
    /* Seen on a machine whose program was mended already: the screen must not say that it was not. */
    bool after = tries[ORT_AFTER_TORCH].loads == ANSWER_YES || tries[ORT_AFTER_PRELOAD_DLLS].loads == ANSWER_YES;
    if (tries[ORT_AS_IS].loads == ANSWER_NO && after)
        fputs("your program does so already? then it loads; as is means one without that line\n", t->out);
}

static void closure(struct text_out *t, const struct judgement *j)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    fputs("\nclosure, as is:\n", t->out);
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        fprintf(t->out, "    %-13s %-40s ", load_status_text(n->status), n->name);
        text_put(t, n->path ? n->path : n->needed_by ? arena_printf(&t->a, "needed by %s", path_base(n->needed_by)) : "");
        if (load_rule_text(n->rule))
            fprintf(t->out, "  (%s)", load_rule_text(n->rule));
        fputc('\n', t->out);
    }
    if (try->error) {
        fputs("the loader would say: ", t->out);
        text_put(t, try->error);
        fputc('\n', t->out);
    }
}

static void others(struct text_out *t, const struct judgement *j)
{
    bool first = true;
    for (size_t i = 0; i < j->s->envs.n; i++) {
        const struct pyenv *e = j->s->envs.at[i];
        if (e == j->env || !e->ort)
            continue;
        fputs(first ? "also here: " : "; ", t->out);
        first = false;
        text_put(t, arena_printf(&t->a, "%s %s in %s (--python %s)", e->ort->package ? e->ort->package : "ONNX Runtime",
                                 e->ort->version ? e->ort->version : "?", text_path(t, e->prefix), text_path(t, e->prefix)));
    }
    if (!first)
        fputc('\n', t->out);
}

/* Nothing to judge: where it was looked for, and what would be installed. */
static void nothing_found(struct text_out *t)
{
    const struct snapshot *s = t->r->s;
    const struct target *given = t->r->judged->j.t;
    text_bold(t, "no ONNX Runtime found");
    fputs("    verdict: unknown\n", t->out);
    if (t->style->quiet)
        return;
    if (given->kind != TARGET_ENV) {
        fputs("    ", t->out);
        text_put(t, given->given ? given->given : "the program");
        const char *needed = NULL;
        for (size_t i = 0; i < s->facts.n; i++)
            if (str_eq(s->facts.at[i]->key, "program.needs"))
                needed = s->facts.at[i]->value;
        if (needed)
            text_put(t, arena_printf(&t->a, " links %s, which the loader does not find here", needed));
        else
            fputs(" neither links libonnxruntime.so nor has one beside it", t->out);
        fputs("\njudge a library that it opens by itself with --library FILE, a Python environment with --python ENV\n", t->out);
        return;
    }
    for (size_t i = 0; i < s->envs.n; i++) {
        const struct pyenv *e = s->envs.at[i];
        fputs("    looked in ", t->out);
        text_put(t, arena_printf(&t->a, "%s (%s, by %s)", text_path(t, e->prefix), text_python(t, e), e->why));
        fputc('\n', t->out);
    }
    if (s->envs.n == 0)
        fputs("    no Python environment here either\n", t->out);
    const struct fix *install = t->r->judged->would_install;
    if (install) {
        fputs("  would be installed: ", t->out);
        text_bold(t, plan_shell_line(&t->a, install));
        fprintf(t->out, "\n    %s\n", install->why);
    }
    for (size_t i = 0; i < t->r->judged->findings.n; i++)
        finding(t, t->r->judged->findings.at[i]);
    fputs("name one with --python ENV, --library FILE, or a program\n", t->out);
}

void text_check(struct text_out *t)
{
    const struct judged *judged = t->r->judged;
    if (!judged->j.ort) {
        nothing_found(t);
        return;
    }
    head(t, judged);
    if (t->style->quiet)
        return;
    for (size_t i = 0; i < judged->findings.n; i++)
        finding(t, judged->findings.at[i]);
    in_order(t, judged);
    three_ways(t, &judged->j);
    if (t->style->verbose)
        closure(t, &judged->j);
    others(t, &judged->j);
    if (!t->style->verbose && judged->findings.n)
        fputs("more: ortfit check --verbose\n", t->out);
}

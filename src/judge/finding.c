#include "judge/finding.h"

#include "base/cleanup.h"
#include "base/str.h"

const char *severity_text(enum severity s)
{
    static const char *const texts[] = { "note", "warning", "error" };
    return texts[s];
}

struct finding *finding_add(struct findings *f, const char *cause, enum severity severity,
                            const char *title)
{
    struct finding *made = arena_new(&f->arena, struct finding);
    made->cause = cause;
    made->severity = severity;
    made->title = arena_strdup(&f->arena, title);
    vec_push(f, made);
    return made;
}

static const char *dup_or_null(struct findings *f, const char *text)
{
    return text ? arena_strdup(&f->arena, text) : NULL;
}

void finding_evidence(struct findings *f, struct finding *to, const char *fact, const char *value,
                      const char *source)
{
    struct evidence made = { dup_or_null(f, fact), dup_or_null(f, value), dup_or_null(f, source) };
    vec_push(&to->evidence, made);
}

void finding_want(struct findings *f, struct finding *to, const struct want *w)
{
    struct want made = *w;
    made.name = dup_or_null(f, w->name);
    made.spec = dup_or_null(f, w->spec);
    made.extras = dup_or_null(f, w->extras);
    made.manager = dup_or_null(f, w->manager);
    made.why = dup_or_null(f, w->why);
    vec_push(&to->wants, made);
}

void findings_done(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        vec_done(&f->at[i]->evidence);
        vec_done(&f->at[i]->wants);
        vec_done(&f->at[i]->fixes);
    }
    vec_done(f);
    arena_done(&f->arena);
}

bool findings_any_error(const struct findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i]->severity == SEVERITY_ERROR)
            return true;
    return false;
}

struct finding *findings_of(const struct findings *f, const char *cause)
{
    for (size_t i = 0; i < f->n; i++)
        if (str_eq(f->at[i]->cause, cause))
            return f->at[i];
    return NULL;
}

/* check, show, snapshot: see the place; check predicts and judges as well. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/app.h"
#include "plan/fix.h"

/* An environment that was named or is active is the one that was meant, even without ONNX Runtime in it. */
static bool is_meant(const struct target *t)
{
    return t->kind != TARGET_ENV || str_eq(t->env->why, "--python") || str_eq(t->env->why, "VIRTUAL_ENV") ||
           str_eq(t->env->why, "CONDA_PREFIX");
}

static const struct target *choose_target(const struct snapshot *s)
{
    if (s->targets.n && is_meant(&s->targets.at[0]))
        return &s->targets.at[0];
    for (size_t i = 0; i < s->targets.n; i++)
        if (s->targets.at[i].ort)
            return &s->targets.at[i];
    return s->targets.n ? &s->targets.at[0] : NULL;
}

static int provider_of(const struct app *app, enum ort_provider *ret, struct err *e)
{
    const char *name = app->opt.provider ? app->opt.provider : "cuda";
    if (str_eq(name, "cuda"))
        *ret = ORT_PROVIDER_CUDA;
    else if (str_eq(name, "tensorrt"))
        *ret = ORT_PROVIDER_TENSORRT;
    else
        return err_set(e, ERR_USAGE, "unknown provider '%s'; known: cuda, tensorrt", name);
    return 0;
}

struct view {
    struct place *place;
    struct snapshot s;
    struct ort_prediction prediction;
    struct judged judged;
};

static void view_done(struct view *v)
{
    if (!APP_GIVES_BACK)
        return;
    judged_done(&v->judged);
    snapshot_done(&v->s);
    place_free(v->place);
}

/* A snapshot remembers what was asked for, so that it answers the same question unless another one is put. */
static void remember_request(struct place *p, struct probe_request *want)
{
    const struct {
        const char *name, **value;
    } parts[] = { { "python", &want->python }, { "library", &want->library }, { "program", &want->program } };
    bool asked = want->python || want->library || want->program;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (place_kind(p) == PLACE_SNAPSHOT && !asked)
            *parts[i].value = place_noted(p, parts[i].name);
        else if (place_kind(p) != PLACE_SNAPSHOT && *parts[i].value)
            place_note(p, parts[i].name, *parts[i].value);
    }
    if (place_kind(p) == PLACE_SNAPSHOT)
        want->deep |= place_noted(p, "deep") != NULL;
    else if (want->deep)
        place_note(p, "deep", "yes");
}

static int view_see(struct app *app, struct view *v, struct err *e)
{
    if (app->opt.python && app->opt.library)
        return err_set(e, ERR_USAGE, "'--python' and '--library' name two targets; give one");
    if (app->args.n && (app->opt.python || app->opt.library))
        return err_set(e, ERR_USAGE, "'%s' and %s name two targets; give one", app->args.at[0],
                       app->opt.python ? "'--python'" : "'--library'");
    int r = app_place(app, &v->place, e);
    if (r < 0)
        return r;
    struct probe_request want = { .python = app->opt.python, .library = app->opt.library,
                                  .program = app->args.n ? app->args.at[0] : NULL, .deep = app->opt.deep,
                                  .everything = !str_eq(app->verb, "check") };
    remember_request(v->place, &want);
    r = snapshot_take(v->place, &want, &v->s, e);
    int whole = place_complete(v->place, e); /* why something was not found, when both */
    return whole < 0 ? whole : r;
}

static int view_judge(struct app *app, struct view *v, struct err *e)
{
    static const struct target nothing;
    enum ort_provider provider = ORT_PROVIDER_CUDA;
    int r = provider_of(app, &provider, e);
    if (r < 0)
        return r;
    const struct target *t = choose_target(&v->s);
    if (t && t->ort)
        r = ort_predict(&v->s, t, provider, &v->s.arena, &v->prediction, e);
    if (r < 0)
        return r;
    judge_run(&v->s, t ? t : &nothing, &v->prediction, provider, &v->judged);
    plan_fixes(&v->judged.j, &v->judged.findings);
    if (!v->judged.j.ort && v->judged.j.t->kind == TARGET_ENV)
        plan_install(&v->judged);
    return place_complete(v->place, e);
}

int cmd_check(struct app *app, struct err *e)
{
    struct view v = { 0 };
    int r = view_see(app, &v, e);
    if (r == 0)
        r = view_judge(app, &v, e);
    if (r == 0) {
        struct report report = { .kind = REPORT_CHECK, .verb = app->verb, .s = &v.s, .judged = &v.judged };
        r = app_report(app, &report, e);
    }
    view_done(&v);
    return r;
}

int cmd_show(struct app *app, struct err *e)
{
    struct view v = { 0 };
    int r = view_see(app, &v, e);
    if (r == 0) {
        struct report report = { .kind = REPORT_SHOW, .verb = app->verb, .s = &v.s };
        r = app_report(app, &report, e);
    }
    view_done(&v);
    return r;
}

/* A snapshot holds what was asked of the place, so everything that a check would ask is asked first: for every
 * target and both providers. */
int cmd_snapshot(struct app *app, struct err *e)
{
    struct view v = { 0 };
    app->opt.format = "json";
    int r = view_see(app, &v, e);
    for (size_t i = 0; r == 0 && i < v.s.targets.n; i++) {
        for (int provider = ORT_PROVIDER_CUDA; r == 0 && provider <= ORT_PROVIDER_TENSORRT; provider++) {
            if (!v.s.targets.at[i].ort)
                continue;
            struct ort_prediction p = { 0 };
            struct judged judged = { 0 };
            r = ort_predict(&v.s, &v.s.targets.at[i], (enum ort_provider)provider, &v.s.arena, &p, e);
            if (r == 0) {
                judge_run(&v.s, &v.s.targets.at[i], &p, (enum ort_provider)provider, &judged);
                plan_fixes(&judged.j, &judged.findings);
            }
            judged_done(&judged);
        }
    }
    if (r == 0)
        r = view_judge(app, &v, e); /* where there is no ONNX Runtime: what would be installed */
    if (r == 0)
        r = place_complete(v.place, e);
    if (r == 0) {
        struct report report = { .kind = REPORT_SNAPSHOT, .verb = app->verb, .s = &v.s, .redact = app->opt.redact };
        r = app_report(app, &report, e);
    }
    view_done(&v);
    return r;
}

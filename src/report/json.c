/* The same facts for machines: one document a run, schema 1 (schema/VERB.json). */
#include "report/kb.h"

#include "base/cleanup.h"
#include "base/jsonw.h"
#include "base/str.h"
#include "kb/kb.h"
#include "report/match.h"

static const char *const place_kinds[] = { "live", "root", "snapshot" };
static const char *const known_texts[] = { "not-looked", "absent", "present", "failed" };

static void head(struct json *j, const struct report *r)
{
    json_kint(j, "schema", 1);
    json_kstr(j, "verb", r->verb);
}

static void place_member(struct json *j, const struct snapshot *s)
{
    json_key(j, "place");
    json_obj_inline(j);
    json_kstr(j, "kind", place_kinds[place_kind(s->place)]);
    json_kstr(j, "name", place_name(s->place));
    json_obj_end(j);
}

static void strings(struct json *j, const char *key, const char *const *at)
{
    json_key(j, key);
    json_arr_inline(j);
    for (size_t i = 0; at && at[i]; i++)
        json_str(j, at[i]);
    json_arr_end(j);
}

static void need(struct json *j, const struct load_need *n)
{
    json_obj_inline(j);
    json_kstr(j, "soname", n->name);
    json_kstr(j, "needed_by", n->needed_by);
    json_kstr(j, "status", load_status_text(n->status));
    json_kstr(j, "path", n->path);
    json_kstr(j, "rule", load_rule_text(n->rule));
    if (n->problem)
        json_kstr(j, "problem", n->problem);
    if (n->n_searched) {
        json_key(j, "searched");
        json_arr_inline(j);
        for (size_t i = 0; i < n->n_searched; i++)
            json_str(j, n->searched[i]);
        json_arr_end(j);
    }
    json_obj_end(j);
}

static void major_member(struct json *j, const char *key, int major)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", major);
    json_kstr(j, key, major ? text : NULL);
}

static const char *try_text(const struct ort_try *try)
{
    return answer_text(try->applies ? try->loads : ANSWER_UNKNOWN);
}

static void target(struct json *j, const struct judged *judged)
{
    const struct judgement *g = &judged->j;
    const struct ort_try *as_is = &g->p->tries[ORT_AS_IS];
    json_obj(j);
    json_kstr(j, "package", g->ort->package);
    json_kstr(j, "version", g->ort->version);
    json_kstr(j, "path", g->ort->dir);
    json_key(j, "needs");
    json_obj_inline(j);
    major_member(j, "cuda", g->cuda_major);
    major_member(j, "cudnn", g->cudnn_major);
    json_obj_end(j);
    json_kstr(j, "python", g->env ? g->env->python : NULL);
    json_kstr(j, "installer", g->env ? g->env->installer : NULL);
    json_kstr(j, "provider", g->provider == ORT_PROVIDER_TENSORRT ? "tensorrt" : "cuda");
    json_kstr(j, "provider_path", as_is->provider_path);
    json_kstr(j, "loads", try_text(as_is));
    json_key(j, "loads_after");
    json_obj_inline(j);
    json_kstr(j, "import_torch", try_text(&g->p->tries[ORT_AFTER_TORCH]));
    json_kstr(j, "preload_dlls", try_text(&g->p->tries[ORT_AFTER_PRELOAD_DLLS]));
    json_obj_end(j);
    json_kstr(j, "error", as_is->error);
    json_key(j, "closure");
    json_arr(j);
    for (size_t i = 0; i < as_is->n_needs; i++)
        need(j, &as_is->needs[i]);
    json_arr_end(j);
    json_obj_end(j);
}

static void fix(struct json *j, const struct fix *x)
{
    json_obj_inline(j);
    json_kstr(j, "why", x->why);
    if (x->run)
        strings(j, "run", x->run);
    if (x->code)
        json_kstr(j, "code", x->code);
    if (x->env_name) {
        json_key(j, "env");
        json_obj_inline(j);
        json_kstr(j, x->env_name, x->env_value);
        json_obj_end(j);
    }
    json_obj_end(j);
}

static void finding(struct json *j, const struct finding *f)
{
    json_obj(j);
    json_kstr(j, "cause", f->cause);
    json_kstr(j, "severity", severity_text(f->severity));
    json_kstr(j, "title", f->title);
    json_key(j, "evidence");
    json_arr(j);
    for (size_t i = 0; i < f->evidence.n; i++) {
        json_obj_inline(j);
        json_kstr(j, "fact", f->evidence.at[i].fact);
        json_kstr(j, "value", f->evidence.at[i].value);
        json_kstr(j, "source", f->evidence.at[i].source);
        json_obj_end(j);
    }
    json_arr_end(j);
    json_key(j, "fix");
    json_arr(j);
    for (size_t i = 0; i < f->fixes.n; i++)
        fix(j, &f->fixes.at[i]);
    json_arr_end(j);
    if (f->file) {
        json_kstr(j, "file", f->file);
        json_kint(j, "line", f->line);
        json_kint(j, "column", f->column);
    }
    json_obj_end(j);
}

static void environments(struct json *j, const struct snapshot *s)
{
    json_key(j, "looked");
    json_arr(j);
    for (size_t i = 0; i < s->envs.n; i++) {
        const struct pyenv *e = s->envs.at[i];
        json_obj_inline(j);
        json_kstr(j, "python", e->python);
        json_kstr(j, "prefix", e->prefix);
        json_kstr(j, "found_by", e->why);
        json_kstr(j, "onnxruntime", e->ort ? e->ort->package : NULL);
        json_kstr(j, "version", e->ort ? e->ort->version : NULL);
        json_obj_end(j);
    }
    json_arr_end(j);
}

static void render_check(const struct report *r, struct json *j)
{
    json_kstr(j, "verdict", verdict_text(r->judged->verdict));
    json_kstr(j, "kb_date", kb_date());
    place_member(j, r->s);
    json_key(j, "targets");
    json_arr(j);
    if (r->judged->j.ort)
        target(j, r->judged);
    json_arr_end(j);
    environments(j, r->s);
    if (r->judged->would_install) {
        json_key(j, "would_install");
        json_arr(j);
        fix(j, r->judged->would_install);
        json_arr_end(j);
    }
    json_key(j, "findings");
    json_arr(j);
    for (size_t i = 0; i < r->judged->findings.n; i++)
        finding(j, r->judged->findings.at[i]);
    json_arr_end(j);
}

static void render_show(const struct report *r, struct json *j)
{
    struct arena a = { 0 };
    struct show_rows rows = { 0 };
    show_collect(r->s, &a, &rows);
    json_kstr(j, "kb_date", kb_date());
    place_member(j, r->s);
    json_key(j, "components");
    json_arr(j);
    for (size_t i = 0; i < rows.n; i++) {
        json_obj_inline(j);
        json_kstr(j, "component", rows.at[i].component);
        json_kstr(j, "version", rows.at[i].version);
        json_kstr(j, "source", rows.at[i].source);
        json_kstr(j, "differs", rows.at[i].differs);
        json_obj_end(j);
    }
    json_arr_end(j);
    vec_done(&rows);
    arena_done(&a);
}

static void render_snapshot(const struct report *r, struct json *j)
{
    json_kstr(j, "tool", "ortfit " ORTFIT_VERSION);
    json_kstr(j, "kb_date", kb_date());
    json_key(j, "facts");
    json_arr(j);
    for (size_t i = 0; i < r->s->facts.n; i++) {
        const struct fact *f = r->s->facts.at[i];
        json_obj_inline(j);
        json_kstr(j, "key", f->key);
        json_kstr(j, "known", known_texts[f->known]);
        json_kstr(j, "value", r->redact ? place_redacted(r->s->place, f->value) : f->value);
        json_kstr(j, "source", r->redact ? place_redacted(r->s->place, f->source) : f->source);
        json_obj_end(j);
    }
    json_arr_end(j);
    json_key(j, "place");
    json_obj(j);
    place_save(r->s->place, r->redact, j);
    json_obj_end(j);
}

static void render_loads(const struct report *r, struct json *j)
{
    json_kstr(j, "file", r->file);
    json_key(j, "would_load");
    if (r->load->known)
        json_bool(j, r->load->loads);
    else
        json_nil(j);
    json_kstr(j, "error", r->load->error);
    json_key(j, "map");
    json_arr(j);
    for (size_t i = 0; i < r->load->n_map; i++)
        json_str(j, r->load->map[i]);
    json_arr_end(j);
}

static void render_error(const struct report *r, struct json *j)
{
    json_key(j, "error");
    json_obj_inline(j);
    json_kstr(j, "code", err_code_text(r->error->code));
    json_kstr(j, "text", r->error->text);
    json_obj_end(j);
}

static void render_match(const struct report *r, struct json *j)
{
    json_kstr(j, "kb_date", kb_date());
    json_match(j, r->query, r->match);
}

static void render_kb(const struct report *r, struct json *j)
{
    json_kstr(j, "kb_date", kb_date());
    json_kb(j, r->kb);
}

void render_json(const struct report *r, const struct report_style *style, FILE *out)
{
    (void)style;
    static void (*const bodies[])(const struct report *, struct json *) = {
        [REPORT_CHECK] = render_check, [REPORT_SHOW] = render_show,   [REPORT_SNAPSHOT] = render_snapshot,
        [REPORT_LOADS] = render_loads, [REPORT_MATCH] = render_match, [REPORT_KB] = render_kb,       [REPORT_ERROR] = render_error,
    };
    struct json j;
    json_begin(&j, out, !r->compact);
    json_obj(&j);
    head(&j, r);
    bodies[r->kind](r, &j);
    json_obj_end(&j);
    json_end(&j);
}

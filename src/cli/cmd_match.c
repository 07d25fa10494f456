/* match: which releases fit together. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/app.h"
#include "cli/batch.h"
#include "match/match.h"
#include "version/driver.h"
#include "version/pep440.h"

enum { BATCH_MAX = 16 * 1024 * 1024 };

static int read_model(const char *path, struct match_model *ret, struct err *e)
{
    cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(e, ERR_READ, "cannot read '%s': %s; give the model's file", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_READ, "cannot read '%s': it is no regular file; give the model's file", path);
    struct err why = { 0 };
    int r = match_model_read(fd, ret, &why);
    return r < 0 ? err_set(e, why.code, "cannot read '%s': %s", path, why.text) : 0;
}

static int query_add(struct match_query *q, const char *name, const char *value, const char *from, struct err *e)
{
    enum wish_kind kind = wish_kind_of(name);
    if (q->n == MATCH_WISHES)
        return err_set(e, ERR_USAGE, "'--%s %.60s' is one wish too many; at most %d", name, value, MATCH_WISHES);
    struct match_wish *w = &q->wish[q->n];
    *w = (struct match_wish){ .kind = kind, .value = value, .from = from };
    if (kind == WISH_MODEL) {
        int r = read_model(value, &w->model, e);
        if (r < 0)
            return r;
    }
    q->n++;
    return 0;
}

static bool has(const struct match_query *q, enum wish_kind kind)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->wish[i].kind == kind)
            return true;
    return false;
}

/* "2.4.1+cu118" where such a build is known; else nothing is concluded. */
static const char *torch_labelled(struct app *app, const char *bare, const char *cuda)
{
    const struct kb_torch_build *b;
    char text[8];
    for (size_t i = 0; (b = kb_torch_build_at(i)); i++)
        if (strchr(b->torch, '+') && pep440_same_public(b->torch, bare) && str_eq(cuda_text(b->cuda, text, sizeof(text)), cuda))
            return arena_strdup(&app->arena, b->torch);
    return NULL;
}

/* A release that the kb does not know would be an error of the user's if he had said it; here it stays open. */
static const char *torch_of(struct app *app, const struct pyenv *env)
{
    if (!env || !env->torch || !kb_torch_find(env->torch->version))
        return NULL;
    const struct kb_torch *t = kb_torch_find(env->torch->version);
    char cuda[8];
    (void)cuda_text(t->cuda, cuda, sizeof(cuda));
    size_t public = strcspn(env->torch->version, "+");
    const char *bare = arena_strndup(&app->arena, env->torch->version, public);
    return !env->torch_cuda ? arena_printf(&app->arena, "%s+cpu", bare) : str_eq(env->torch_cuda, cuda)
               ? bare : torch_labelled(app, bare, env->torch_cuda);
}

/* What the machine says of each wish; NULL: nothing. */
static void see(struct app *app, struct place *place, const struct snapshot *s, const char *ret[WISH_KINDS],
                const char **ret_ort)
{
    struct arena *a = &app->arena;
    const struct pyenv *env = s->envs.n ? s->envs.at[0] : NULL;
    const struct place_machine *m = place_machine(place);
    ret[WISH_DRIVER] = s->driver.version;
    ret[WISH_GLIBC] = s->glibc;
    if (s->gpus.n && s->gpus.at[0].cc)
        ret[WISH_GPU] = arena_printf(a, "sm_%d", s->gpus.at[0].cc);
    if (m && m->arch && str_eq(m->arch, "aarch64"))
        ret[WISH_ARCH] = "aarch64";
    if (!env)
        return;
    if (env->major == 3)
        ret[WISH_PYTHON] = arena_printf(a, "3.%d", env->minor);
    if (env->numpy && env->numpy->version)
        ret[WISH_NUMPY] = env->numpy->version[0] == '1' ? "<2" : ">=2";
    ret[WISH_TORCH] = torch_of(app, env);
    *ret_ort = env->ort ? env->ort->version : NULL;
}

static int add_installed(struct app *app, struct match_query *q, struct err *e)
{
    struct place *place = NULL;
    struct snapshot s = { 0 };
    struct probe_request want = { .python = NULL };
    const char *seen[WISH_KINDS] = { NULL }, *ort = NULL;
    int r = app_place(app, &place, e);
    if (r == 0)
        r = snapshot_take(place, &want, &s, e);
    if (r == 0)
        see(app, place, &s, seen, &ort);
    for (int kind = 0; r == 0 && kind < WISH_KINDS; kind++)
        if (seen[kind] && !has(q, (enum wish_kind)kind) && q->n < MATCH_WISHES)
            r = query_add(q, wish_name((enum wish_kind)kind), arena_strdup(&app->arena, seen[kind]),
                          str_eq(place_name(place), "this machine") ? "this machine" : arena_strdup(&app->arena, place_name(place)), e);
    if (r == 0 && ort)
        q->installed_ort = arena_strdup(&app->arena, ort);
    snapshot_done(&s);
    place_free(place);
    return r;
}

static int channel_of(const char *name, enum match_channel *ret, struct err *e)
{
    static const char *const names[] = { [MATCH_PYPI] = "pypi", [MATCH_FEED] = "feed", [MATCH_ALL] = "all" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(names[i], name)) {
            *ret = (enum match_channel)i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "unknown channel '%.40s'; known: pypi, feed, all", name);
}

static int batch_line(struct app *app, const struct match_domain *d, const struct match_query *base, const char *line,
                      size_t n, FILE *out)
{
    struct arena a = { 0 };
    struct err e = { 0 };
    struct batch_wish wishes[BATCH_WISHES];
    size_t count = 0;
    struct match_query *q = arena_new(&a, struct match_query);
    *q = *base;
    int r = batch_read(line, n, &a, wishes, &count, &e);
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (str_eq(wishes[i].name, "channel"))
            r = channel_of(wishes[i].value, &q->channel, &e);
        else if (wish_kind_of(wishes[i].name) == WISH_KINDS)
            r = err_set(&e, ERR_USAGE, "unknown wish '%.40s'", wishes[i].name);
        else
            r = query_add(q, wishes[i].name, wishes[i].value, NULL, &e);
    }
    struct match_answer answer = { 0 };
    if (r == 0)
        r = match_run(d, q, &a, &answer, &e);
    struct report report = { .kind = REPORT_MATCH, .verb = app->verb, .query = q, .match = &answer };
    if (r < 0)
        report = (struct report){ .kind = REPORT_ERROR, .verb = app->verb, .error = &e };
    report.compact = true;
    render_json(&report, &app->style, out);
    int code = report_exit_code(&report);
    match_answer_done(&answer);
    arena_done(&a);
    return code;
}

struct batch {
    struct app *app;
    const struct match_domain *d;
    const struct match_query *base;
    FILE *out;
    int code;
};

static bool take_line(void *ctx, const char *line, size_t n)
{
    struct batch *b = ctx;
    while (n && isspace((unsigned char)line[n - 1]))
        n--;
    while (n && isspace((unsigned char)*line)) {
        line++;
        n--;
    }
    if (!n || *line == '#')
        return true;
    int code = batch_line(b->app, b->d, b->base, line, n, b->out);
    b->code = code > b->code ? code : b->code;
    return fflush(b->out) == 0 && !ferror(b->out);
}

static int run_batch(struct app *app, const struct match_domain *d, const struct match_query *base, struct err *e)
{
    const char *path = app->opt.batch;
    bool from_stdin = str_eq(path, "-"), cut = false;
    cleanup_(closep) int opened = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int fd = from_stdin ? STDIN_FILENO : opened;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(e, ERR_READ, "cannot read '%s': %s; give a file with one query a line", path, strerror(errno));
    if (!from_stdin && !S_ISREG(st.st_mode))
        return err_set(e, ERR_READ, "cannot read '%s': it is no regular file; give a file with one query a line", path);
    struct batch b = { .app = app, .d = d, .base = base };
    int r = app_output_open(app, &b.out, e);
    if (r < 0)
        return r;
    int failed = io_lines(fd, (uint64_t)st.st_size, 65536, BATCH_MAX, take_line, &b, &cut);
    r = app_output_close(app, b.out, e);
    if (failed < 0)
        return err_set(e, ERR_READ, "cannot read '%s': %s", path, strerror(-failed));
    if (r == 0 && cut)
        return err_set(e, ERR_LIMIT, "'%s' has a line longer than 64 KiB or more than 16 MiB; split it", path);
    return r < 0 ? r : b.code;
}

int cmd_match(struct app *app, struct err *e)
{
    struct match_query *q = arena_new(&app->arena, struct match_query);
    if ((app->opt.root || app->opt.from) && !app->opt.installed)
        return err_set(e, ERR_USAGE, "'--%s' is looked at only with '--installed'; give both", app->opt.root ? "root" : "from");
    int r = app->opt.channel ? channel_of(app->opt.channel, &q->channel, e) : 0;
    for (size_t i = 0; r == 0 && i + 1 < app->opt.wishes.n; i += 2)
        r = query_add(q, app->opt.wishes.at[i], app->opt.wishes.at[i + 1], NULL, e);
    if (r == 0 && app->opt.installed)
        r = add_installed(app, q, e);
    if (r < 0)
        return r;
    const struct match_domain *d = match_domain_new(&app->arena);
    if (app->opt.batch)
        return run_batch(app, d, q, e);
    struct match_answer answer = { 0 };
    r = match_run(d, q, &app->arena, &answer, e);
    struct report report = { .kind = REPORT_MATCH, .verb = app->verb, .query = q, .match = &answer };
    if (r == 0)
        r = app_report(app, &report, e);
    match_answer_done(&answer);
    return r;
}

/* loads: would the dynamic loader load a file here? */
#include <stdlib.h>

#include "base/str.h"
#include "cli/app.h"
#include "load/load.h"

/* A root has no environment of its own; what ortfit was started with is meant, unless --setenv says otherwise. */
static const char *variable(struct app *app, struct place *place, const char *name)
{
    const char *value = place_getenv(place, name);
    return value || !app->opt.root ? value : getenv(name);
}

/* The libraries opened before, in the order of the command line. One that fails is like a program that goes on after
 * a failed dlopen; one that kills the program ends it: then *ret_over. */
static int open_preloads(struct app *app, struct load_process *proc, struct load_result *ret, bool *ret_over,
                         struct err *e)
{
    const struct names *given = &app->opt.preload;
    for (size_t i = 0; i + 1 < given->n && !*ret_over; i += 2) {
        unsigned flags = str_eq(given->at[i], "preload-global") ? LOAD_FLAG_GLOBAL : 0;
        int r = load_dlopen(proc, given->at[i + 1], NULL, flags, ret, e);
        if (r < 0)
            return r;
        *ret_over = ret->aborts;
    }
    return 0;
}

/* All that happens in the process; ret says what came of the last call. */
static int play(struct app *app, struct load_process *proc, struct load_result *ret, struct err *e)
{
    bool over = false;
    int r = open_preloads(app, proc, ret, &over, e);
    if (r < 0 || over)
        return r;
    const char *caller = NULL;
    if (app->opt.caller) {
        r = load_dlopen(proc, app->opt.caller, NULL, 0, ret, e);
        if (r < 0 || !ret->loads)
            return r;
        caller = ret->path;
    }
    return load_dlopen(proc, app->args.at[0], caller, app->opt.lazy ? LOAD_FLAG_LAZY : 0, ret, e);
}

static int answer(struct app *app, struct place *place, struct err *e)
{
    const char *bind_now = variable(app, place, "LD_BIND_NOW");
    struct load_config config = {
        .exe = app->opt.exe,
        .library_path = variable(app, place, "LD_LIBRARY_PATH"),
        .preload = variable(app, place, "LD_PRELOAD"),
        .tunables = variable(app, place, "GLIBC_TUNABLES"),
        .cwd = app->opt.cwd,
        .bind_now = bind_now && *bind_now,
    };
    struct load_process *proc = NULL;
    struct load_result result;
    int r = load_process_new(place, &config, &proc, e);
    if (r == 0)
        r = play(app, proc, &result, e);
    if (r == 0)
        r = place_complete(place, e);
    if (r == 0) {
        /* the answer is what the program has then, not what the last call alone brought */
        result.n_map = result.loads ? load_process_map(proc, &result.map) : 0;
        struct report report = { .kind = REPORT_LOADS, .verb = app->verb, .load = &result, .file = app->args.at[0] };
        r = app_report(app, &report, e);
    }
    if (APP_GIVES_BACK)
        load_process_free(proc);
    return r;
}

int cmd_loads(struct app *app, struct err *e)
{
    struct place *place = NULL;
    int r = app_place(app, &place, e);
    if (r == 0)
        r = answer(app, place, e);
    if (APP_GIVES_BACK)
        place_free(place);
    return r;
}

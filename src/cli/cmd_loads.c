/* loads: would the dynamic loader load a file here? */
#include "base/str.h"
#include "cli/app.h"
#include "load/load.h"

static int preload(struct load_process *proc, const struct names *files, unsigned flags, struct err *e)
{
    for (size_t i = 0; i < files->n; i++) {
        struct load_result ignored;
        /* One that fails is like a program that goes on after a failed dlopen. */
        int r = load_dlopen(proc, files->at[i], NULL, flags, &ignored, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int answer(struct app *app, struct place *place, struct err *e)
{
    struct load_config config = {
        .exe = app->opt.exe,
        .library_path = place_getenv(place, "LD_LIBRARY_PATH"),
        .preload = place_getenv(place, "LD_PRELOAD"),
    };
    /* A root has no environment of its own; what ortfit was started with is meant, unless --setenv says otherwise. */
    if (app->opt.root && !config.library_path)
        config.library_path = getenv("LD_LIBRARY_PATH");
    if (app->opt.root && !config.preload)
        config.preload = getenv("LD_PRELOAD");
    struct load_process *proc = NULL;
    int r = load_process_new(place, &config, &proc, e);
    unsigned flags = app->opt.lazy ? LOAD_FLAG_LAZY : 0;
    if (r == 0)
        r = preload(proc, &app->opt.preload, flags, e);
    if (r == 0)
        r = preload(proc, &app->opt.preload_global, flags | LOAD_FLAG_GLOBAL, e);
    struct load_result result;
    if (r == 0)
        r = load_dlopen(proc, app->args.at[0], app->opt.caller, flags, &result, e);
    if (r == 0) {
        struct report report = { .kind = REPORT_LOADS, .verb = app->verb, .load = &result, .file = app->args.at[0] };
        r = app_report(app, &report, e);
    }
    load_process_free(proc);
    return r;
}

int cmd_loads(struct app *app, struct err *e)
{
    struct place *place = NULL;
    int r = app_place(app, &place, e);
    if (r == 0)
        r = answer(app, place, e);
    place_free(place);
    return r;
}

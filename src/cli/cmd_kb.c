/* ortfit kb: what the program knows of releases, libraries, drivers and GPUs, with its sources. */
#include "base/cleanup.h"
#include "base/str.h"
#include "cli/app.h"
#include "kb/grid.h"

struct part {
    const char *name;
    unsigned args_min, args_max; /* behind the name */
};

static const struct part parts[] = {
    { "list", 0, 0 }, { "show", 1, 2 }, { "table", 0, 0 }, { "claims", 0, 0 }
};

static int find_part(const char *name, const struct part **ret, struct err *e)
{
    const char *near = NULL;
    unsigned least = 3;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        unsigned d = str_distance(name, parts[i].name);
        if (d == 0) {
            *ret = &parts[i];
            return 0;
        }
        if (d < least) {
            least = d;
            near = parts[i].name;
        }
    }
    if (near)
        return err_set(e, ERR_USAGE, "unknown 'kb %s'; did you mean 'kb %s'?", name, near);
    return err_set(e, ERR_USAGE, "unknown 'kb %s'; known: list, show, table, claims", name);
}

int cmd_kb(struct app *app, struct err *e)
{
    const struct part *part = &parts[0];
    int r = app->args.n ? find_part(app->args.at[0], &part, e) : 0;
    if (r < 0)
        return r;
    size_t n = app->args.n ? app->args.n - 1 : 0;
    if (n < part->args_min)
        return err_set(e, ERR_USAGE, "'kb %s' wants a name; see: ortfit kb list", part->name);
    if (n > part->args_max)
        return err_set(e, ERR_USAGE, "'%s' is one argument too many; see: ortfit kb --help",
                       app->args.at[1 + part->args_max]);
    struct kb_view view;
    if (str_eq(part->name, "list"))
        kb_view_list(&app->arena, &view);
    else if (str_eq(part->name, "table"))
        kb_view_table(&app->arena, &view);
    else if (str_eq(part->name, "claims"))
        kb_view_claims(&app->arena, &view);
    else
        r = kb_view_show(&app->arena, app->args.at[1], n > 1 ? app->args.at[2] : NULL, &view, e);
    if (r < 0)
        return r;
    return app_report(app, &(struct report){ .kind = REPORT_KB, .verb = app->verb, .kb = &view },
                      e);
}

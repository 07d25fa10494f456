/* The options: one row each, with the verbs that take it. Help and manual are written in man/; a test holds the two
 * against each other. */
#include "cli/app.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum option_type { OPTION_FLAG, OPTION_TEXT, OPTION_LIST, OPTION_NAMED /* a list of name, value, name, value ... */ };

struct option_row {
    const char *name;
    char letter;
    enum option_type type;
    size_t slot;     /* in struct options */
    const char *arg; /* NULL for flags */
    const char *verbs;
};

#define SLOT(field) offsetof(struct options, field)
#define EVERY "check show snapshot loads"
#define LOOKING "check show snapshot"
#define PLACED "check show snapshot loads match"
#define ANY "check show snapshot loads match kb" /* also those that look at no place */

static const struct option_row rows[] = {
    { "root", 0, OPTION_TEXT, SLOT(root), "DIR", PLACED },
    { "from", 0, OPTION_TEXT, SLOT(from), "SNAPSHOT", PLACED },
    { "setenv", 0, OPTION_LIST, SLOT(setenv), "NAME=VALUE", PLACED },
    { "python", 'p', OPTION_TEXT, SLOT(python), "ENV", LOOKING },
    { "library", 'l', OPTION_TEXT, SLOT(library), "FILE", LOOKING },
    { "provider", 0, OPTION_TEXT, SLOT(provider), "NAME", "check" },
    { "deep", 0, OPTION_FLAG, SLOT(deep), NULL, LOOKING },
    { "lazy", 0, OPTION_FLAG, SLOT(lazy), NULL, "loads" },
    { "exe", 0, OPTION_TEXT, SLOT(exe), "PROGRAM", "loads" },
    { "preload", 0, OPTION_NAMED, SLOT(preload), "LIB", "loads" },
    { "preload-global", 0, OPTION_NAMED, SLOT(preload), "LIB", "loads" },
    { "caller", 0, OPTION_TEXT, SLOT(caller), "LIB", "loads" },
    { "cwd", 0, OPTION_TEXT, SLOT(cwd), "DIR", PLACED },
    { "ort", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "torch", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "cuda", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "cudnn", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "tensorrt", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "driver", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "gpu", 0, OPTION_NAMED, SLOT(wishes), "NAME", "match" },
    { "python", 'p', OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "glibc", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "os", 0, OPTION_NAMED, SLOT(wishes), "NAME", "match" },
    { "arch", 0, OPTION_NAMED, SLOT(wishes), "NAME", "match" },
    { "numpy", 0, OPTION_NAMED, SLOT(wishes), "V", "match" },
    { "opset", 0, OPTION_NAMED, SLOT(wishes), "N", "match" },
    { "model", 0, OPTION_NAMED, SLOT(wishes), "FILE", "match" },
    { "as-of", 0, OPTION_NAMED, SLOT(wishes), "DATE", "match" },
    { "channel", 0, OPTION_TEXT, SLOT(channel), "NAME", "match" },
    { "installed", 0, OPTION_FLAG, SLOT(installed), NULL, "match" },
    { "batch", 0, OPTION_TEXT, SLOT(batch), "FILE", "match" },
    { "output", 'o', OPTION_TEXT, SLOT(output), "FILE", ANY },
    { "redact", 0, OPTION_FLAG, SLOT(redact), NULL, "snapshot" },
    { "format", 0, OPTION_TEXT, SLOT(format), "FORMAT", ANY },
    { "verbose", 'v', OPTION_FLAG, SLOT(verbose), NULL, "check loads match kb" },
    { "quiet", 'q', OPTION_FLAG, SLOT(quiet), NULL, ANY },
    { "offline", 0, OPTION_FLAG, SLOT(offline), NULL, ANY },
    { "no-color", 0, OPTION_FLAG, SLOT(no_color), NULL, ANY },
    { "help", 'h', OPTION_FLAG, SLOT(help), NULL, ANY },
    { "version", 0, OPTION_FLAG, SLOT(version), NULL, ANY },
};

bool options_at(unsigned i, const char **ret_name, char *ret_letter, const char **ret_arg, const char **ret_verbs)
{
    if (i >= ARRAY_LEN(rows))
        return false;
    *ret_name = rows[i].name;
    *ret_letter = rows[i].letter;
    *ret_arg = rows[i].arg;
    *ret_verbs = rows[i].verbs;
    return true;
}

static bool takes(const struct option_row *row, const char *verb)
{
    size_t n = strlen(verb);
    for (const char *p = strstr(row->verbs, verb); p; p = strstr(p + 1, verb))
        if ((p == row->verbs || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

/* How far a word given lies from one that we know: of two that are as near, people mean the one that begins alike;
 * a beginning is nearest. */
static unsigned farness(const char *given, const char *known)
{
    if (strlen(given) >= 3 && str_starts(known, given))
        return 1;
    unsigned d = str_distance(given, known);
    return 2 * d - (d > 0 && given[0] == known[0]);
}

/* As far as this is no slip of the finger; a letter is near to nothing. */
static unsigned far_from(const char *given)
{
    size_t n = strlen(given);
    return n < 2 ? 0 : n < 4 ? 3 : n < 7 ? 5 : 7;
}

static const struct verb verbs[] = {
    { "check", cmd_check, 0, 1 },
    { "show", cmd_show, 0, 1 },
    { "snapshot", cmd_snapshot, 0, 1 },
    { "loads", cmd_loads, 1, 1 },
    { "match", cmd_match, 0, 0 },
    { "kb", cmd_kb, 0, 4 },
};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (str_eq(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

const char *verb_nearest(const char *name)
{
    const char *best = NULL;
    unsigned least = far_from(name);
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        unsigned d = farness(name, verbs[i].name);
        if (d < least) {
            least = d;
            best = verbs[i].name;
        }
    }
    return farness(name, "help") < least ? "help" : best;
}

static int unknown(const struct app *app, const char *given, struct err *e)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(given + strspn(given, "-"), "="), given + strspn(given, "-"));
    const char *best = NULL;
    unsigned least = far_from(name);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned d = farness(name, rows[i].name);
        if (str_eq(name, rows[i].name) && !takes(&rows[i], app->verb))
            return err_set(e, ERR_USAGE, "'%s' does not take option '--%s'; see: ortfit %s --help", app->verb, name, app->verb);
        if (takes(&rows[i], app->verb) && d < least) {
            least = d;
            best = rows[i].name;
        }
    }
    if (best)
        return err_set(e, ERR_USAGE, "unknown option '%s'; did you mean '--%s'?", given, best);
    return err_set(e, ERR_USAGE, "unknown option '%s'; see: ortfit %s --help", given, app->verb);
}

static const struct option_row *row_of(const struct app *app, const char *arg, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (takes(&rows[i], app->verb) &&
            ((len == 1 && arg[0] == rows[i].letter) ||
             (len > 1 && strlen(rows[i].name) == len && memcmp(rows[i].name, arg, len) == 0)))
            return &rows[i];
    return NULL;
}

static void set(struct app *app, const struct option_row *row, const char *value)
{
    char *base = (char *)&app->opt + row->slot;
    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)(void *)base = true;
        break;
    case OPTION_TEXT:
        *(const char **)(void *)base = value;
        break;
    case OPTION_LIST:
        vec_push((struct names *)(void *)base, value);
        break;
    case OPTION_NAMED:
        vec_push((struct names *)(void *)base, row->name);
        vec_push((struct names *)(void *)base, value);
        break;
    }
}

/* One argument that begins with a dash; *i moves on when the value is the next one. */
static int parse_option(struct app *app, int argc, char **argv, int *i, struct err *e)
{
    const char *arg = argv[*i];
    bool is_long = arg[1] == '-';
    const char *name = arg + (is_long ? 2 : 1);
    size_t len = is_long ? strcspn(name, "=") : 1;
    const struct option_row *row = is_long && len < 2 ? NULL : row_of(app, name, len);
    if (!row)
        return unknown(app, arg, e);
    const char *value = is_long && name[len] == '=' ? name + len + 1 : !is_long && name[1] ? name + 1 : NULL;
    if (row->type == OPTION_FLAG) {
        if (value)
            return err_set(e, ERR_USAGE, "option '--%s' takes no value; write it alone", row->name);
        set(app, row, NULL);
        return 0;
    }
    if (!value) {
        if (*i + 1 >= argc)
            return err_set(e, ERR_USAGE, "option '--%s' wants a value: --%s %s", row->name, row->name, row->arg);
        value = argv[++*i];
    }
    if (value[0] == '\0')
        return err_set(e, ERR_USAGE, "option '--%s' is empty; it wants %s", row->name, row->arg);
    set(app, row, value);
    return 0;
}

int options_parse(struct app *app, int argc, char **argv, struct err *e)
{
    bool only_args = false;
    for (int i = 0; i < argc; i++) {
        /* dlopen("") means the program itself, so loads takes it; nowhere else does an empty name mean a thing. */
        if (argv[i][0] == '\0' && !str_eq(app->verb, "loads"))
            return err_set(e, ERR_USAGE, "an argument is empty; see: ortfit %s --help", app->verb);
        if (only_args || argv[i][0] != '-' || argv[i][1] == '\0') {
            vec_push(&app->args, argv[i]);
        } else if (str_eq(argv[i], "--")) {
            only_args = true;
        } else {
            int r = parse_option(app, argc, argv, &i, e);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* What the verbs share: the option table, the verb table and the way to a place. */
#ifndef ORTFIT_CLI_APP_H
#define ORTFIT_CLI_APP_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "place/place.h"
#include "report/report.h"

/* Every value that an option can set; a verb accepts those that options.c lists for it. */
struct options {
    const char *root, *from;            /* PLACE; both NULL: the live machine */
    const char *python, *library;
    const char *provider;               /* "cuda", "tensorrt" */
    const char *format;                 /* "text" */
    const char *output;
    const char *exe, *caller, *cwd;
    struct names preload; /* option's name, LIB, option's name, LIB ...: their order counts */
    struct names setenv;
    struct names wishes;  /* option's name, value ...: in the order given */
    const char *channel, *batch;
    bool installed;
    bool deep, lazy, redact, verbose, quiet, no_color, offline, help, version;
};

struct app {
    struct arena arena;     /* lives as long as the run */
    const char *verb;
    struct options opt;
    struct names args;      /* what is no option */
    struct report_style style;
};

struct verb {
    const char *name;
    int (*run)(struct app *app, struct err *e); /* exit code, or negative with e filled */
    unsigned args_min, args_max;
};

const struct verb *verb_find(const char *name);
const char *verb_nearest(const char *name); /* for "did you mean"; NULL: nothing is near */

/* Parses argv behind the verb into app; the error names the nearest option. */
int options_parse(struct app *app, int argc, char **argv, struct err *e);
/* Walks over the table for tests and completion: the i-th option's name, letter (0 none), argument (NULL: flag) and
 * the verbs that take it, separated by blanks. False past the end. */
bool options_at(unsigned i, const char **ret_name, char *ret_letter, const char **ret_arg, const char **ret_verbs);

/* Opens what --root and --from say, applies --cwd and --setenv. Caller frees with place_free. */
int app_place(struct app *app, struct place **ret, struct err *e);
/* Renders to stdout (or -o FILE) in the format asked for and gives the report's exit code. */
int app_report(struct app *app, const struct report *r, struct err *e);

/* The same in two steps, for what is written piece by piece: stdout or -o FILE. */
int app_output_open(struct app *app, FILE **ret, struct err *e);
int app_output_close(struct app *app, FILE *out, struct err *e);

/* Does a verb give its memory and mappings back before the program ends? The kernel takes all of it at once, for a fifth
 * less CPU time in `loads`; only a leak checker wants to see it done piece by piece. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APP_GIVES_BACK true
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define APP_GIVES_BACK true
#endif
#ifndef APP_GIVES_BACK
#define APP_GIVES_BACK false
#endif

/* Help texts, generated from man/ (see tools/man-to-help). */
struct help_page {
    const char *verb, *text;
};
extern const struct help_page help_pages[]; /* ends with a NULL verb; the first is ortfit itself */

int cmd_check(struct app *app, struct err *e);
int cmd_show(struct app *app, struct err *e);
int cmd_snapshot(struct app *app, struct err *e);
int cmd_loads(struct app *app, struct err *e);
int cmd_match(struct app *app, struct err *e);
int cmd_kb(struct app *app, struct err *e);

#endif

/* ortfit: gets ONNX Runtime onto an NVIDIA GPU, proves that it is there, and says why when it is not. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/app.h"

static int print_help(const char *verb)
{
    for (const struct help_page *p = help_pages; p->verb; p++) {
        if (!str_eq(p->verb, verb))
            continue;
        fputs(p->text, stdout);
        return 0;
    }
    return -1;
}

static void style_choose(struct app *app)
{
    bool terminal = isatty(STDOUT_FILENO) == 1 && !app->opt.output;
    const char *no_color = getenv("NO_COLOR"); /* no-color.org: any value that is not empty */
    const char *term = getenv("TERM");
    struct winsize size;
    app->style = (struct report_style){
        .color = terminal && !app->opt.no_color && !(no_color && no_color[0]) && !(term && str_eq(term, "dumb")),
        .unicode = str_eq(nl_langinfo(CODESET), "UTF-8"),
        .verbose = app->opt.verbose,
        .quiet = app->opt.quiet,
    };
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        app->style.columns = size.ws_col;
}

int app_place(struct app *app, struct place **ret, struct err *e)
{
    if (app->opt.root && app->opt.from)
        return err_set(e, ERR_USAGE, "'--root' and '--from' name two places; give one");
    int r = app->opt.from   ? place_open_snapshot(app->opt.from, ret, e)
            : app->opt.root ? place_open_root(app->opt.root, ret, e)
                            : place_open_live(ret, e);
    if (r < 0)
        return r;
    if (app->opt.cwd)
        place_set_cwd(*ret, app->opt.cwd);
    for (size_t i = 0; i < app->opt.setenv.n; i++) {
        const char *pair = app->opt.setenv.at[i];
        const char *equals = strchr(pair, '=');
        if (!equals || equals == pair) {
            place_free(STEAL(*ret)); /* the caller frees what is there in every case */
            return err_set(e, ERR_USAGE, "'--setenv %s' has no NAME=VALUE form", pair);
        }
        place_setenv(*ret, arena_strndup(&app->arena, pair, (size_t)(equals - pair)), equals + 1);
    }
    return 0;
}

/* What SIGPIPE did before main ignored it. */
static void (*sigpipe_before)(int) = SIG_DFL;

/* An answer that could not be written is no answer: a full disk must not end in exit code 0. A reader that has seen
 * enough (head, a pager) is no failure to tell: we end without a word by SIGPIPE, as other programs in a pipe do. */
static int close_output(FILE *out, const char *name, struct err *e)
{
    bool bad = ferror(out) != 0;
    int saved = errno;
    if (out == stdout ? fflush(out) != 0 : fclose(out) != 0) {
        bad = true;
        saved = errno;
    }
    if (bad && saved == EPIPE && sigpipe_before == SIG_DFL) {
        (void)signal(SIGPIPE, SIG_DFL);
        (void)raise(SIGPIPE);
    }
    return bad ? err_set(e, ERR_WRITE, "cannot write '%s': %s", name, strerror(saved)) : 0;
}

int app_output_open(struct app *app, FILE **ret, struct err *e)
{
    *ret = stdout;
    if (app->opt.output && !str_eq(app->opt.output, "-")) {
        *ret = fopen(app->opt.output, "we");
        if (!*ret)
            return err_set(e, ERR_WRITE, "cannot write '%s': %s; choose another folder with -o", app->opt.output, strerror(errno));
    }
    return 0;
}

int app_output_close(struct app *app, FILE *out, struct err *e)
{
    return close_output(out, app->opt.output ? app->opt.output : "standard output", e);
}

int app_report(struct app *app, const struct report *r, struct err *e)
{
    const struct renderer *renderer = renderer_find(app->opt.format ? app->opt.format : "text", app->verb);
    FILE *out;
    int failed = app_output_open(app, &out, e);
    if (failed < 0)
        return failed;
    renderer->render(r, &app->style, out);
    failed = app_output_close(app, out, e);
    return failed < 0 ? failed : report_exit_code(r);
}

/* Help and version end well only when they were written. */
static int say_and_close(struct err *e)
{
    return close_output(stdout, "standard output", e);
}

static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (str_eq(argv[i], "--format=json") || (str_eq(argv[i], "--format") && i + 1 < argc && str_eq(argv[i + 1], "json")))
            return true;
    return false;
}

static int give_up(const struct app *app, const struct err *e, bool json)
{
    fprintf(stderr, "ortfit: %s\n", e->text);
    if (json) {
        struct report r = { .kind = REPORT_ERROR, .verb = app->verb, .error = e };
        render_json(&r, &app->style, stdout);
    }
    return err_exit_code(e->code);
}

/* The verb that the first argument is; NULL in *ret where it is none: an option, a program, nothing. */
static int verb_given(struct app *app, int argc, char **argv, const struct verb **ret, struct err *e)
{
    *ret = NULL;
    if (argc < 2 || argv[1][0] == '-' || strchr(argv[1], '/'))
        return 0;
    app->verb = argv[1];
    *ret = verb_find(argv[1]);
    if (*ret)
        return 0;
    const char *near = verb_nearest(argv[1]);
    return err_set(e, ERR_USAGE, near ? "unknown verb '%s'; did you mean '%s'?" : "unknown verb '%s'%s; see: ortfit --help",
                   argv[1], near ? near : "");
}

static int run(struct app *app, int argc, char **argv, struct err *e)
{
    if (argc > 1 && str_eq(argv[1], "help")) {
        if (print_help(argc > 2 ? argv[2] : "ortfit") == 0)
            return say_and_close(e);
        return err_set(e, ERR_USAGE, "no help for '%s'; see: ortfit --help", argv[2]);
    }
    const struct verb *verb;
    int r = verb_given(app, argc, argv, &verb, e);
    if (r < 0)
        return r;
    int first = verb ? 2 : 1;
    if (!verb)
        verb = verb_find("check");
    app->verb = verb->name;
    r = options_parse(app, argc - first, argv + first, e);
    if (r < 0)
        return r;
    if (first == 1 && app->args.n && verb_find(app->args.at[0])) /* a program of that name is ./NAME */
        return err_set(e, ERR_USAGE, "the verb comes first: ortfit %s [OPTION]...", app->args.at[0]);
    if (app->opt.help) {
        (void)print_help(first == 2 ? verb->name : "ortfit");
        return say_and_close(e);
    }
    if (app->opt.version) {
        puts("ortfit " ORTFIT_VERSION);
        return say_and_close(e);
    }
    if (app->opt.format && !renderer_find(app->opt.format, verb->name))
        return err_set(e, ERR_USAGE, "unknown format '%s'; known: %s", app->opt.format, renderer_names(verb->name));
    if (app->args.n < verb->args_min)
        return err_set(e, ERR_USAGE, "'%s' wants a file; see: ortfit %s --help", verb->name, verb->name);
    if (app->args.n > verb->args_max)
        return err_set(e, ERR_USAGE, "'%s' is one argument too many; see: ortfit %s --help", app->args.at[verb->args_max], verb->name);
    style_choose(app);
    return verb->run(app, e);
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_CTYPE, "");
    sigpipe_before = signal(SIGPIPE, SIG_IGN); /* a closed pipe shows as a write error, also one to a child */
    struct app app = { .verb = "check" };
    struct err e = { 0 };
    int r = run(&app, argc, argv, &e);
    if (r < 0)
        r = give_up(&app, &e, wants_json(argc, argv));
    vec_done(&app.args);
    vec_done(&app.opt.preload);
    vec_done(&app.opt.wishes);
    vec_done(&app.opt.setenv);
    arena_done(&app.arena);
    return r;
}

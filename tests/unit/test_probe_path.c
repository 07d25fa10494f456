/* sys.path as predicted, against the interpreters of this machine: each is asked for its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/python.h"
#include "tree.h"

/* Every interpreter that may be there; globs are opened by the shell. */
static const char list_pythons[] =
    "for p in \"$HOME\"/.pyenv/versions/3.*/bin/python3 "
    "\"$HOME\"/.local/share/uv/python/*/bin/python3 /opt/*/bin/python3"
    " /usr/local/bin/python3 /usr/bin/python3; do"
    " test -x \"$p\" && \"$p\" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null"
    " && echo \"$p\"; done";

static char *output_of(const char *command)
{
    FILE *f = popen(command, "r");
    assert_non_null(f);
    struct str text = { 0 };
    char buf[4096];
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;)
        str_addn(&text, buf, n);
    (void)pclose(f);
    return str_take(&text);
}

static char *vary(const char *fmt, const char *a, const char *b)
{
    struct str text = { 0 };
    for (const char *p = fmt; *p; p++)
        if (p[0] == '%' && (p[1] == 'P' || p[1] == 'D'))
            str_add(&text, *++p == 'P' ? a : b);
        else
            str_addc(&text, *p);
    return str_take(&text);
}

/* Python's own answer; the first entry (the folder of -c) is not asked for. */
static char *path_of_python(const char *python)
{
    char *command =
        vary("'%P' -c 'import sys; print(\"\\n\".join(sys.path[1:]))' 2>/dev/null", python, "");
    char *text = output_of(command);
    free(command);
    return text;
}

static char *path_predicted(const char *python)
{
    struct place *p;
    struct err e = { 0 };
    assert_int_equal(place_open_live(&p, &e), 0);
    struct snapshot s = { .place = p };
    struct probe_request want = { .python = python };
    if (probe_python(&s, &want, &e) < 0)
        fail_msg("%s: %s", python, e.text);
    assert_int_equal(s.envs.n, 1);
    struct str text = { 0 };
    for (size_t i = 0; i < s.envs.at[0]->n_sys_path; i++)
        str_addf(&text, "%s\n", s.envs.at[0]->sys_path[i]);
    snapshot_done(&s);
    place_free(p);
    return str_take(&text);
}

static size_t compared;

static void compare(const char *python, const char *what)
{
    char *real = path_of_python(python), *predicted = path_predicted(python);
    if (!str_eq(real, predicted))
        fail_msg("%s (%s)\nPython says:\n%spredicted:\n%s", python, what, real, predicted);
    compared++;
    free(real);
    free(predicted);
}

/* "python3.11", as the folders below lib/ are called */
#define PYTHON_LIB "$('%P' -c 'import sys; print(\"python%d.%d\" % sys.version_info[:2])')"

/* Environments are made by a shell line, %P the interpreter and %D a fresh folder; then
 * %D/v/bin/python is asked. */
static const struct {
    const char *name, *make, *python;
    const char *variable[3], *value[3];
} ways[] = {
    { "as installed", NULL, "%P", { NULL }, { NULL } },
    { "PYTHONPATH", "mkdir %D/a", "%P", { "PYTHONPATH" }, { "%D/a:%D/none:%D/a/../a::relative" } },
    { "PYTHONPATH, empty end", NULL, "%P", { "PYTHONPATH" }, { "%D/a:" } },
    { "user site",
      "mkdir -p %D/u/lib/" PYTHON_LIB "/site-packages",
      "%P",
      { "PYTHONUSERBASE" },
      { "%D/u" } },
    { "no user site",
      "mkdir -p %D/u/lib/" PYTHON_LIB "/site-packages",
      "%P",
      { "PYTHONUSERBASE", "PYTHONNOUSERSITE" },
      { "%D/u", "1" } },
    { "user site by HOME",
      "mkdir -p %D/h/.local/lib/" PYTHON_LIB "/site-packages",
      "%P",
      { "HOME" },
      { "%D/h" } },
    { "venv", "'%P' -m venv --without-pip %D/v", "%D/v/bin/python", { NULL }, { NULL } },
    { "venv by another name",
      "'%P' -m venv --without-pip %D/v && ln -s %D/v %D/w",
      "%D/w/bin/python3",
      { NULL },
      { NULL } },
    { "venv of copies",
      "'%P' -m venv --copies --without-pip %D/v",
      "%D/v/bin/python",
      { NULL },
      { NULL } },
    { "venv with the system's packages and a user site",
      "'%P' -m venv --system-site-packages --without-pip %D/v && "
      "mkdir -p %D/u/lib/" PYTHON_LIB "/site-packages",
      "%D/v/bin/python",
      { "PYTHONUSERBASE" },
      { "%D/u" } },
    { "venv with .pth files",
      "'%P' -m venv --without-pip %D/v && cd %D/v/lib/*/site-packages && mkdir sub %D/out extra && "
      "printf '# x\\n\\nsub\\nmissing\\n%D/out  \\n../../../nowhere\\n./sub/../sub\\n' > b.pth && "
      "printf 'import os\\nextra\\r\\n%D/out/' > a.pth && printf 'import sys; sys.path\\n%D' > "
      "c.pth && "
      "printf 'sub' > d.txt && touch file && printf 'file\\n\\t\\n' > e.pth && mkdir f.pth",
      "%D/v/bin/python",
      { NULL },
      { NULL } },
    { "venv of a venv",
      "'%P' -m venv --without-pip %D/o && %D/o/bin/python -m venv --without-pip %D/v",
      "%D/v/bin/python",
      { NULL },
      { NULL } },
    { "pyvenv.cfg without a word on system packages",
      "'%P' -m venv --without-pip %D/v && sed -i /include/d %D/v/pyvenv.cfg",
      "%D/v/bin/python",
      { NULL },
      { NULL } },
    { "uv",
      "UV_NO_CONFIG=1 \"$(command -v uv || echo ${XDG_CACHE_HOME:-$HOME/.cache}/ortfit/tools/uv/bin/uv)\" "
      "venv -q --offline "
      "--python '%P' %D/v 2>/dev/null",
      "%D/v/bin/python",
      { NULL },
      { NULL } },
};

static void one_way(const char *python, size_t way)
{
    char *dir = tree_new();
    char *make = ways[way].make ? vary(ways[way].make, python, dir) : NULL;
    char *asked = vary(ways[way].python, python, dir);
    if (make)
        free(output_of(make));
    char *saved[ARRAY_LEN(ways[way].variable)] = { NULL };
    for (size_t i = 0; i < ARRAY_LEN(saved) && ways[way].variable[i]; i++) {
        const char *old = getenv(ways[way].variable[i]);
        saved[i] = old ? strdup(old) : NULL;
        char *value = vary(ways[way].value[i], python, dir);
        setenv(ways[way].variable[i], value, 1);
        free(value);
    }
    if (access(asked, X_OK) == 0)
        compare(asked, ways[way].name);
    else
        print_message("not made: %s for %s\n", ways[way].name, python);
    for (size_t i = 0; i < ARRAY_LEN(saved) && ways[way].variable[i]; i++) {
        if (saved[i])
            setenv(ways[way].variable[i], saved[i], 1);
        else
            unsetenv(ways[way].variable[i]);
        free(saved[i]);
    }
    free(make);
    free(asked);
    tree_remove(dir);
}

static void test_against_python(void **state)
{
    (void)state;
    const char *fast =
        getenv("ORTFIT_TEST_PYTHONS"); /* one line a interpreter, instead of those found */
    char *pythons = fast ? strdup(fast) : output_of(list_pythons);
    for (char *at = pythons, *end; *at; at = end) {
        end = strchr(at, '\n');
        if (end)
            *end++ = '\0';
        else
            end = at + strlen(at);
        for (size_t way = 0; way < ARRAY_LEN(ways); way++)
            one_way(at, way);
    }
    free(pythons);
    if (compared == 0) {
        print_message("no Python 3.8 or later here: nothing was compared\n");
        skip();
    }
    print_message("%zu environments agree\n", compared);
}

int main(void)
{
    static const char *const clear[] = { "PYTHONPATH",       "PYTHONHOME",       "PYTHONUSERBASE",
                                         "PYTHONNOUSERSITE", "PYTHONPLATLIBDIR", "VIRTUAL_ENV" };
    for (size_t i = 0; i < ARRAY_LEN(clear); i++)
        unsetenv(clear[i]);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_against_python) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

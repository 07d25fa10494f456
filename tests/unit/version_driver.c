/* Answers questions of version_oracle.py: one a line, fields separated by tabs, one answer a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "version/pep440.h"
#include "version/pep508.h"

static const struct marker_env env = {
    .os_name = "posix",
    .sys_platform = "linux",
    .platform_machine = "x86_64",
    .platform_python_implementation = "CPython",
    .platform_release = "6.1.0-13-amd64",
    .platform_system = "Linux",
    .platform_version = "#1 SMP",
    .python_version = "3.11",
    .python_full_version = "3.11.7",
    .implementation_name = "cpython",
    .implementation_version = "3.11.7",
    .extra = "cuda",
};

static const char *answer_version(const char *a, const char *b)
{
    struct pep440 va, vb;
    if (!pep440_parse(a, &va) || !pep440_parse(b, &vb))
        return "invalid";
    int order = pep440_compare(&va, &vb);
    return order < 0 ? "<" : order > 0 ? ">" : "=";
}

static const char *answer_spec(const char *spec, const char *version)
{
    struct pep440_spec s;
    struct pep440 v;
    if (!pep440_spec_parse(spec, &s) || !pep440_parse(version, &v))
        return "invalid";
    return pep440_spec_matches(&s, &v, true) ? "yes" : "no";
}

static const char *answer_marker(const char *marker)
{
    static const char *const names[] = { "unknown", "no", "yes", "invalid" };
    return names[marker_eval(marker, &env)];
}

static const char *answer_requirement(const char *text, char *buf, size_t room)
{
    struct requirement r;
    char name[128];
    if (!requirement_parse(text, &r))
        return "invalid";
    name_normalise_n(r.name.at, r.name.len, name, sizeof(name));
    (void)snprintf(buf, room, "%s %zu", name, r.n_extras);
    return buf;
}

int main(void)
{
    cleanup_(freep) char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
        char *field[3] = { line, NULL, NULL }, buf[200];
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        for (size_t i = 1; i < 3 && field[i - 1]; i++) {
            field[i] = strchr(field[i - 1], '\t');
            if (field[i])
                *field[i]++ = '\0';
        }
        const char *answer = "?";
        if (field[2] && strcmp(field[0], "version") == 0)
            answer = answer_version(field[1], field[2]);
        else if (field[2] && strcmp(field[0], "spec") == 0)
            answer = answer_spec(field[1], field[2]);
        else if (field[1] && strcmp(field[0], "marker") == 0)
            answer = answer_marker(field[1]);
        else if (field[1] && strcmp(field[0], "requirement") == 0)
            answer = answer_requirement(field[1], buf, sizeof(buf));
        puts(answer);
    }
    return 0;
}

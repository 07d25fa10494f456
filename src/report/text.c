/* Text for people: the parts that every screen shares, and which screen a report gets. */
#include "report/text.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "report/kb.h"

void text_mark(const struct text_out *t, enum text_mark m)
{
    static const struct {
        const char *unicode, *ascii, *color;
    } marks[] = {
        [MARK_GOOD] = { "✓", "ok", "\033[32m" },
        [MARK_BAD] = { "✗", "X", "\033[31m" },
        [MARK_WARN] = { "!", "!", "\033[33m" },
        [MARK_NOTE] = { "·", "-", "\033[36m" },
    };
    const char *mark = t->style->unicode ? marks[m].unicode : marks[m].ascii;
    if (t->style->color)
        fprintf(t->out, "%s%s\033[0m", marks[m].color, mark);
    else
        fputs(mark, t->out);
}

void text_put(const struct text_out *t, const char *s)
{
    for (const unsigned char *c = (const unsigned char *)s; *c; c++)
        fputc(*c < 0x20 || *c == 0x7f ? '?' : *c, t->out);
}

void text_bold(const struct text_out *t, const char *s)
{
    if (t->style->color)
        fputs("\033[1m", t->out);
    text_put(t, s);
    if (t->style->color)
        fputs("\033[0m", t->out);
}

const char *text_path(struct text_out *t, const char *path)
{
    struct place *p = t->r->s ? t->r->s->place : NULL;
    if (!p || path[0] != '/')
        return path;
    const char *cwd = place_cwd(p);
    size_t n = cwd ? strlen(cwd) : 0;
    if (n > 1 && strncmp(path, cwd, n) == 0 && path[n] == '/')
        return path + n + 1;
    const struct place_machine *m = place_kind(p) == PLACE_ROOT ? NULL : place_machine(p);
    size_t home = m && m->home ? strlen(m->home) : 0;
    if (home > 1 && strncmp(path, m->home, home) == 0 && path[home] == '/')
        return arena_printf(&t->a, "~%s", path + home);
    return path;
}

const char *text_python(struct text_out *t, const struct pyenv *env)
{
    return env->major ? arena_printf(&t->a, "Python %d.%d", env->major, env->minor) : "Python";
}

void text_loads(struct text_out *t)
{
    const struct load_result *l = t->r->load;
    if (l->known && l->loads) {
        text_mark(t, MARK_GOOD);
        fputs(" would load\n", t->out);
    } else {
        text_mark(t, l->known ? MARK_BAD : MARK_NOTE);
        fprintf(t->out, " %s", l->known ? "would not load: " : "not known: ");
        text_put(t, l->error ? l->error : "the place holds too little to say");
        fputc('\n', t->out);
    }
    if (t->style->quiet)
        return;
    for (size_t i = 0; i < l->n_map; i++) {
        fputs("    ", t->out);
        text_put(t, l->map[i]);
        fputc('\n', t->out);
    }
    for (size_t i = 0; i < l->n_needs; i++) {
        const struct load_need *n = &l->needs[i];
        if (n->status == LOAD_FOUND && !t->style->verbose)
            continue;
        fprintf(t->out, "    %-11s ", load_status_text(n->status));
        text_put(t, n->name);
        if (n->path) {
            fprintf(t->out, "  %s: ", load_rule_text(n->rule) ? load_rule_text(n->rule) : "at");
            text_put(t, n->path);
        }
        fputc('\n', t->out);
    }
}

void render_text(const struct report *r, const struct report_style *style, FILE *out)
{
    struct text_out t = { .out = out, .style = style, .r = r };
    switch (r->kind) {
    case REPORT_CHECK:
        text_check(&t);
        break;
    case REPORT_SHOW:
        text_show(&t);
        break;
    case REPORT_LOADS:
        text_loads(&t);
        break;
    case REPORT_MATCH:
        text_match(&t);
        break;
    case REPORT_KB:
        text_kb(&t);
        break;
    case REPORT_SNAPSHOT:
        render_json(r, style, out); /* a snapshot is for machines */
        break;
    case REPORT_ERROR:
        fprintf(out, "ortfit: %s\n", r->error->text);
        break;
    }
    arena_done(&t.a);
}

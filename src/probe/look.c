#include "probe/look.h"

#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "version/driver.h"

#define TOKEN_MAX 256

bool look_next_line(const struct text *t, struct look_line *line)
{
    const char *end = t->at ? t->at + t->len : NULL;
    const char *at = line->at ? line->at + line->len + 1 : t->at;
    if (t->known != KNOWN_PRESENT || !at || at >= end)
        return false;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    line->at = at;
    line->len = (size_t)((stop ? stop : end) - at);
    line->number++;
    return true;
}

const char *look_trim(struct snapshot *s, const char *at, size_t len)
{
    while (len > 0 && isspace((unsigned char)*at))
        at++, len--;
    while (len > 0 && isspace((unsigned char)at[len - 1]))
        len--;
    char *text = arena_strndup(&s->arena, at, len);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return text;
}

const char *look_first_line(struct snapshot *s, const char *path)
{
    const struct text *t = place_text(s->place, path, TEXT_FIRST_LINE);
    struct look_line line = { 0 };
    if (!look_next_line(t, &line))
        return NULL;
    const char *text = look_trim(s, line.at, line.len);
    return *text ? text : NULL;
}

const char *look_source(struct snapshot *s, const char *path, size_t line)
{
    return arena_printf(&s->arena, "%s:%zu", path, line);
}

const char *look_soname_version(const char *file_name)
{
    const char *so = strstr(file_name, ".so.");
    if (!so)
        return NULL;
    const char *version = so + 4;
    if (!isdigit((unsigned char)*version))
        return NULL;
    return version[strspn(version, "0123456789.")] ? NULL : version;
}

const char *look_driver_number(struct snapshot *s, const char *text)
{
    while (*text) {
        text += strspn(text, " \t");
        size_t len = strcspn(text, " \t");
        char word[TOKEN_MAX];
        struct driver_version v;
        if (len > 0 && len < sizeof(word)) {
            memcpy(word, text, len);
            word[len] = '\0';
            if (driver_parse(word, &v) && v.n >= 2 && v.part[0] > 99)
                return arena_strdup(&s->arena, word);
        }
        text += len;
    }
    return NULL;
}

/* The word behind "#define NAME" on any line of t, in buf. */
static bool define_word(const struct text *t, const char *name, char *buf, size_t room)
{
    size_t name_len = strlen(name);
    for (struct look_line line = { 0 }; look_next_line(t, &line);) {
        char text[TOKEN_MAX];
        size_t len = line.len < sizeof(text) - 1 ? line.len : sizeof(text) - 1;
        memcpy(text, line.at, len);
        text[len] = '\0';
        const char *at = text + strspn(text, " \t");
        if (!str_starts(at, "#define"))
            continue;
        at += 7;
        at += strspn(at, " \t");
        if (strncmp(at, name, name_len) != 0 || !(at[name_len] == ' ' || at[name_len] == '\t'))
            continue;
        at += name_len;
        at += strspn(at, " \t");
        size_t word = strcspn(at, " \t\r");
        if (word == 0 || word >= room)
            return false;
        memcpy(buf, at, word);
        buf[word] = '\0';
        return true;
    }
    return false;
}

static int small_number(const char *text)
{
    int n = 0;
    if (!*text)
        return -1;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text) || n > 99999)
            return -1;
        n = n * 10 + (*text - '0');
    }
    return n;
}

int look_number(const char *text)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 2)
        return 0;
    return n == 1 ? text[0] - '0' : (text[0] - '0') * 10 + (text[1] - '0');
}

int look_define(const struct text *t, const char *name)
{
    char word[TOKEN_MAX], other[TOKEN_MAX];
    if (!define_word(t, name, word, sizeof(word)))
        return -1;
    int n = small_number(word);
    if (n < 0 && define_word(t, word, other, sizeof(other)))
        n = small_number(other);
    return n;
}

const char *look_if_exists(struct snapshot *s, const char *path)
{
    return place_exists(s->place, path) ? path : NULL;
}

void look_component(struct snapshot *s, const struct component *c, const char *source)
{
    struct arena *a = &s->arena;
    struct component copy = *c;
    copy.version = c->version ? arena_strdup(a, c->version) : NULL;
    copy.path = c->path ? arena_strdup(a, c->path) : NULL;
    copy.package = c->package ? arena_strdup(a, c->package) : NULL;
    copy.fact = fact_add(s, KNOWN_PRESENT, arena_printf(a, "%s.%s", c->kind, c->how),
                         c->version ? c->version : "version unknown", source);
    vec_push(&s->components, copy);
}

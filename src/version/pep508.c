#include "version/pep508.h"

#include <string.h>

struct cursor {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

static void blanks(struct cursor *c)
{
    while (c->at < c->end && is_blank(*c->at))
        c->at++;
}

static bool take(struct cursor *c, char wanted)
{
    blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static struct slice trimmed(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    return (struct slice){ at, (size_t)(end - at) };
}

/* A name begins and ends with a letter or digit. */
static bool take_name(struct cursor *c, struct slice *ret)
{
    blanks(c);
    const char *start = c->at;
    while (c->at < c->end && is_name(*c->at))
        c->at++;
    *ret = (struct slice){ start, (size_t)(c->at - start) };
    return ret->len && !strchr("-_.", start[0]) && !strchr("-_.", c->at[-1]);
}

/* --- requirement --- */

static bool take_extras(struct cursor *c, struct requirement *r)
{
    if (!take(c, '['))
        return true;
    if (take(c, ']'))
        return true;
    do {
        struct slice extra;
        if (r->n_extras == REQUIREMENT_EXTRAS || !take_name(c, &extra))
            return false;
        r->extra[r->n_extras++] = extra;
    } while (take(c, ','));
    return take(c, ']');
}

/* In "name @ url ; marker" a semicolon may be part of the URL; the marker's follows a blank. */
static const char *marker_start(struct cursor c, bool url)
{
    for (const char *p = c.at; p < c.end; p++)
        if (*p == ';' && (!url || (p > c.at && is_blank(p[-1]))))
            return p;
    return NULL;
}

/* pip takes ">=1,,<2" for a specifier, but not in a requirement. */
static bool stray_comma(struct slice spec)
{
    bool empty = true;
    size_t commas = 0;
    for (size_t i = 0; i < spec.len; i++) {
        char c = spec.at[i];
        if (c == ',' && empty)
            return true;
        commas += c == ',';
        if (!is_blank(c) && c != '(')
            empty = c == ',' || (c == ')' && empty);
    }
    return commas && empty;
}

/* With every variable unknown only the form of a marker is judged. */
static const struct marker_env nothing_known;

bool requirement_parse_n(const char *text, size_t len, struct requirement *ret)
{
    struct cursor c = { text, text + len };
    struct pep440_spec checked;
    *ret = (struct requirement){ 0 };
    if (!take_name(&c, &ret->name) || !take_extras(&c, ret))
        return false;
    bool url = take(&c, '@');
    const char *semicolon = marker_start(c, url);
    struct slice body = trimmed(c.at, semicolon ? semicolon : c.end);
    if (semicolon) {
        ret->marker = trimmed(semicolon + 1, c.end);
        if (!ret->marker.len ||
            marker_eval_n(ret->marker.at, ret->marker.len, &nothing_known) == MARKER_INVALID)
            return false;
    }
    if (url) {
        ret->url = body;
        return body.len > 0;
    }
    ret->spec = body;
    return !stray_comma(body) && pep440_spec_parse_n(body.at, body.len, &checked);
}

bool requirement_parse(const char *text, struct requirement *ret)
{
    return requirement_parse_n(text, strlen(text), ret);
}

bool requirement_satisfied(const struct requirement *r, const char *version)
{
    struct pep440_spec spec;
    struct pep440 v;
    if (r->url.len || !r->spec.len)
        return true;
    return pep440_spec_parse_n(r->spec.at, r->spec.len, &spec) && pep440_parse(version, &v) &&
           pep440_spec_matches(&spec, &v, true);
}

/* --- marker --- */

/* One side of a comparison. variable: it is the value of a variable, known or not (text NULL). */
struct operand {
    const char *text;
    size_t len;
    bool variable, version, extra;
};

static const struct {
    const char *name;
    size_t offset;
    bool version;
} variables[] = {
    { "os_name", offsetof(struct marker_env, os_name), false },
    { "sys_platform", offsetof(struct marker_env, sys_platform), false },
    { "platform_machine", offsetof(struct marker_env, platform_machine), false },
    { "platform_python_implementation", offsetof(struct marker_env, platform_python_implementation),
      false },
    { "platform_release", offsetof(struct marker_env, platform_release), true },
    { "platform_version", offsetof(struct marker_env, platform_version), false },
    { "platform_system", offsetof(struct marker_env, platform_system), false },
    { "python_version", offsetof(struct marker_env, python_version), true },
    { "python_full_version", offsetof(struct marker_env, python_full_version), true },
    { "implementation_name", offsetof(struct marker_env, implementation_name), false },
    { "implementation_version", offsetof(struct marker_env, implementation_version), true },
    { "extra", offsetof(struct marker_env, extra), false },
    /* spellings of old setuptools */
    { "os.name", offsetof(struct marker_env, os_name), false },
    { "sys.platform", offsetof(struct marker_env, sys_platform), false },
    { "platform.machine", offsetof(struct marker_env, platform_machine), false },
    { "platform.version", offsetof(struct marker_env, platform_version), false },
    { "platform.python_implementation", offsetof(struct marker_env, platform_python_implementation),
      false },
    { "python_implementation", offsetof(struct marker_env, platform_python_implementation), false },
};

static bool take_quoted(struct cursor *c, struct operand *ret)
{
    const char *start = c->at + 1;
    const char *end = memchr(start, *c->at, (size_t)(c->end - start));
    if (!end)
        return false;
    *ret = (struct operand){ .text = start, .len = (size_t)(end - start) };
    c->at = end + 1;
    return true;
}

static bool take_operand(struct cursor *c, const struct marker_env *env, struct operand *ret)
{
    blanks(c);
    if (c->at < c->end && (*c->at == '"' || *c->at == '\''))
        return take_quoted(c, ret);
    const char *start = c->at;
    while (c->at < c->end && (is_name(*c->at) && *c->at != '-'))
        c->at++;
    size_t len = (size_t)(c->at - start);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if (len == strlen(variables[i].name) && memcmp(start, variables[i].name, len) == 0) {
            const char *value;
            memcpy(&value, (const char *)env + variables[i].offset, sizeof(value));
            *ret = (struct operand){ value, value ? strlen(value) : 0, true, variables[i].version,
                                     strcmp(variables[i].name, "extra") == 0 };
            return true;
        }
    return false;
}

static bool take_keyword(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    blanks(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    if (c->at + n < c->end && is_name(c->at[n]))
        return false;
    c->at += n;
    return true;
}

enum comparison {
    CMP_LE,
    CMP_GE,
    CMP_EXACT,
    CMP_EQ,
    CMP_NE,
    CMP_COMPATIBLE,
    CMP_LT,
    CMP_GT,
    CMP_IN,
    CMP_NOT_IN
};

static const struct {
    const char *text;
    enum comparison op;
} comparisons[] = { { "<=", CMP_LE }, { ">=", CMP_GE }, { "===", CMP_EXACT },
                    { "==", CMP_EQ }, { "!=", CMP_NE }, { "~=", CMP_COMPATIBLE },
                    { "<", CMP_LT },  { ">", CMP_GT } };

static bool take_comparison(struct cursor *c, enum comparison *ret)
{
    blanks(c);
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
        size_t n = strlen(comparisons[i].text);
        if ((size_t)(c->end - c->at) >= n && memcmp(c->at, comparisons[i].text, n) == 0) {
            c->at += n;
            *ret = comparisons[i].op;
            return true;
        }
    }
    if (take_keyword(c, "in")) {
        *ret = CMP_IN;
        return true;
    }
    *ret = CMP_NOT_IN;
    return take_keyword(c, "not") && take_keyword(c, "in");
}

static bool contains(struct operand whole, struct operand part)
{
    return part.len == 0 || memmem(whole.text, whole.len, part.text, part.len);
}

static enum marker truth(bool b)
{
    return b ? MARKER_TRUE : MARKER_FALSE;
}

/* Text has no order: pip takes <= and >= for equality then, and < and > for never. */
static enum marker compare_text(struct operand left, enum comparison op, struct operand right)
{
    bool equal = left.len == right.len && memcmp(left.text, right.text, left.len) == 0;
    switch (op) {
    case CMP_EQ:
    case CMP_LE:
    case CMP_GE:
        return truth(equal);
    case CMP_NE:
        return truth(!equal);
    case CMP_LT:
    case CMP_GT:
        return MARKER_FALSE;
    case CMP_EXACT:
    case CMP_COMPATIBLE:
    case CMP_IN:
    case CMP_NOT_IN:
        break;
    }
    return MARKER_INVALID;
}

/* pip makes "V op W" the specifier "op W" and asks it about V, on whichever side the variable
 * stands. False: the specifier is none, so the two are compared as text. */
static bool compare_version(struct operand left, enum comparison op, struct operand right,
                            enum marker *ret)
{
    char text[80];
    struct pep440_spec spec;
    struct pep440 v;
    const char *sign = NULL;
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
        if (comparisons[i].op == op)
            sign = comparisons[i].text;
    if (!sign || right.len + 4 > sizeof(text) || memchr(right.text, ',', right.len))
        return false;
    size_t n = strlen(sign);
    memcpy(text, sign, n);
    memcpy(text + n, right.text, right.len);
    if (!pep440_spec_parse_n(text, n + right.len, &spec) || spec.n != 1)
        return false;
    if (!pep440_parse_n(left.text, left.len, &v) && op != CMP_EXACT)
        *ret = MARKER_FALSE;
    else
        *ret = truth(pep440_spec_matches(&spec, &v, true));
    return true;
}

static enum marker compare(struct operand left, enum comparison op, struct operand right)
{
    enum marker result;
    if (!left.text || !right.text)
        return MARKER_UNKNOWN;
    char name_left[128], name_right[128];
    if (left.extra || right.extra) {
        left.text = name_normalise_n(left.text, left.len, name_left, sizeof(name_left));
        right.text = name_normalise_n(right.text, right.len, name_right, sizeof(name_right));
        left.len = strlen(left.text);
        right.len = strlen(right.text);
    }
    if (op == CMP_IN || op == CMP_NOT_IN)
        return truth(contains(right, left) == (op == CMP_IN));
    bool version = left.variable ? left.version : right.version;
    if (version && compare_version(left, op, right, &result))
        return result;
    return compare_text(left, op, right);
}

/* Three-valued: what is decided stays decided, whatever the unknown turns out to be. */
static enum marker both(enum marker a, enum marker b)
{
    if (a == MARKER_FALSE || b == MARKER_FALSE)
        return MARKER_FALSE;
    return a == MARKER_TRUE && b == MARKER_TRUE ? MARKER_TRUE : MARKER_UNKNOWN;
}

static enum marker either(enum marker a, enum marker b)
{
    if (a == MARKER_TRUE || b == MARKER_TRUE)
        return MARKER_TRUE;
    return a == MARKER_FALSE && b == MARKER_FALSE ? MARKER_FALSE : MARKER_UNKNOWN;
}

/* Inside one pair of parentheses: terms joined by "and" since the last "or", and what stood before
 * it. */
struct level {
    enum marker before, now;
};

static enum marker take_term(struct cursor *c, const struct marker_env *env)
{
    struct operand left, right;
    enum comparison op;
    if (!take_operand(c, env, &left) || !take_comparison(c, &op) || !take_operand(c, env, &right) ||
        (!left.variable && !right.variable))
        return MARKER_INVALID;
    return compare(left, op, right);
}

/* After a term: closes parentheses, then wants and, or, or the end. False: malformed. */
static bool take_joint(struct cursor *c, struct level *level, size_t *depth, bool *ret_end)
{
    while (*depth && take(c, ')')) {
        enum marker value = either(level[*depth].before, level[*depth].now);
        (*depth)--;
        level[*depth].now = both(level[*depth].now, value);
    }
    blanks(c);
    *ret_end = c->at == c->end;
    if (*ret_end)
        return *depth == 0;
    if (take_keyword(c, "and"))
        return true;
    if (!take_keyword(c, "or"))
        return false;
    level[*depth].before = either(level[*depth].before, level[*depth].now);
    level[*depth].now = MARKER_TRUE;
    return true;
}

enum marker marker_eval_n(const char *text, size_t len, const struct marker_env *env)
{
    struct cursor c = { text, text + len };
    struct level level[MARKER_DEPTH + 1] = { { MARKER_FALSE, MARKER_TRUE } };
    size_t depth = 0;
    blanks(&c);
    if (c.at == c.end)
        return MARKER_TRUE;
    for (bool end = false; !end;) {
        while (take(&c, '(')) {
            if (depth == MARKER_DEPTH)
                return MARKER_INVALID;
            level[++depth] = (struct level){ MARKER_FALSE, MARKER_TRUE };
        }
        enum marker term = take_term(&c, env);
        if (term == MARKER_INVALID)
            return MARKER_INVALID;
        level[depth].now = both(level[depth].now, term);
        if (!take_joint(&c, level, &depth, &end))
            return MARKER_INVALID;
    }
    return either(level[0].before, level[0].now);
}

enum marker marker_eval(const char *text, const struct marker_env *env)
{
    return marker_eval_n(text, strlen(text), env);
}

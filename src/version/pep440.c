#include "version/pep440.h"

#include <string.h>
#include <strings.h>

/* --- parse --- */

struct cursor {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == '.';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static void trim(struct cursor *c)
{
    while (c->at < c->end && is_blank(*c->at))
        c->at++;
    while (c->end > c->at && is_blank(c->end[-1]))
        c->end--;
}

/* Numbers beyond 64 bits are no versions that anyone released. */
static bool take_number(struct cursor *c, uint64_t *ret)
{
    const char *start = c->at;
    uint64_t n = 0;
    for (; c->at < c->end && is_digit(*c->at); c->at++) {
        if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*c->at - '0'), &n))
            return false;
    }
    *ret = n;
    return c->at > start;
}

static bool take_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || strncasecmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* [-_.]? word [-_.]? number?  ; the number is 0 where there is none. Moves only on success. */
static bool take_tagged(struct cursor *c, const char *word, uint64_t *ret_n, bool *ret_overflow)
{
    struct cursor t = *c;
    if (t.at < t.end && is_separator(*t.at))
        t.at++;
    if (!take_word(&t, word))
        return false;
    if (t.at < t.end && is_separator(*t.at))
        t.at++;
    *ret_n = 0;
    if (t.at < t.end && is_digit(*t.at))
        *ret_overflow |= !take_number(&t, ret_n);
    *c = t;
    return true;
}

static bool take_release(struct cursor *c, struct pep440 *v)
{
    uint64_t first;
    if (!take_number(c, &first))
        return false;
    if (c->at < c->end && *c->at == '!') {
        v->epoch = first;
        c->at++;
        if (!take_number(c, &first))
            return false;
    }
    v->release[0] = first;
    v->n = 1;
    while (c->end - c->at >= 2 && c->at[0] == '.' && is_digit(c->at[1])) {
        c->at++;
        if (v->n == PEP440_SEGMENTS || !take_number(c, &v->release[v->n]))
            return false;
        v->n++;
    }
    return true;
}

static bool take_suffixes(struct cursor *c, struct pep440 *v)
{
    /* Longer words first: "a" would take the start of "alpha", "r" that of "rev". */
    static const struct {
        const char *word;
        enum pep440_pre pre;
    } pres[] = { { "alpha", PEP440_ALPHA }, { "beta", PEP440_BETA }, { "preview", PEP440_RC },
                 { "pre", PEP440_RC },      { "rc", PEP440_RC },     { "a", PEP440_ALPHA },
                 { "b", PEP440_BETA },      { "c", PEP440_RC } };
    static const char *const posts[] = { "post", "rev", "r" };
    bool overflow = false;

    for (size_t i = 0; i < sizeof(pres) / sizeof(pres[0]) && v->pre == PEP440_FINAL; i++)
        if (take_tagged(c, pres[i].word, &v->pre_n, &overflow))
            v->pre = pres[i].pre;
    if (c->end - c->at >= 2 && c->at[0] == '-' && is_digit(c->at[1])) {
        c->at++;
        v->has_post = true;
        overflow |= !take_number(c, &v->post);
    }
    for (size_t i = 0; i < sizeof(posts) / sizeof(posts[0]) && !v->has_post; i++)
        v->has_post = take_tagged(c, posts[i], &v->post, &overflow);
    v->has_dev = take_tagged(c, "dev", &v->dev, &overflow);
    return !overflow;
}

static bool take_local(struct cursor *c, struct pep440 *v)
{
    if (c->at == c->end || *c->at != '+')
        return true;
    v->local = ++c->at;
    for (bool inside = false;; c->at++) {
        if (c->at < c->end && (is_digit(*c->at) || is_letter(*c->at))) {
            inside = true;
        } else if (!inside) {
            return false;
        } else if (c->at < c->end && is_separator(*c->at)) {
            inside = false;
        } else {
            break;
        }
    }
    v->local_len = (size_t)(c->at - v->local);
    return true;
}

bool pep440_parse_n(const char *text, size_t len, struct pep440 *ret)
{
    struct cursor c = { text, text + len };
    trim(&c);
    *ret = (struct pep440){ .text = c.at, .len = (size_t)(c.end - c.at) };
    if (c.at < c.end && lower(*c.at) == 'v')
        c.at++;
    return take_release(&c, ret) && take_suffixes(&c, ret) && take_local(&c, ret) && c.at == c.end;
}

bool pep440_parse(const char *text, struct pep440 *ret)
{
    return pep440_parse_n(text, strlen(text), ret);
}

/* --- compare --- */

static int sign(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static uint64_t segment(const struct pep440 *v, size_t i)
{
    return i < v->n ? v->release[i] : 0;
}

static int compare_release(const struct pep440 *a, const struct pep440 *b)
{
    if (a->epoch != b->epoch)
        return sign(a->epoch, b->epoch);
    for (size_t i = 0; i < a->n || i < b->n; i++)
        if (segment(a, i) != segment(b, i))
            return sign(segment(a, i), segment(b, i));
    return 0;
}

/* A dev release of the final comes before its alphas; a post release of it after its candidates. */
static unsigned pre_rank(const struct pep440 *v)
{
    if (v->pre == PEP440_FINAL)
        return v->has_dev && !v->has_post ? 0 : 4;
    return (unsigned)v->pre;
}

static struct cursor next_label(struct cursor *rest)
{
    struct cursor part = { rest->at, rest->at };
    while (part.end < rest->end && !is_separator(*part.end))
        part.end++;
    rest->at = part.end < rest->end ? part.end + 1 : rest->end;
    return part;
}

static bool all_digits(struct cursor c)
{
    for (; c.at < c.end; c.at++)
        if (!is_digit(*c.at))
            return false;
    return true;
}

static int compare_label(struct cursor a, struct cursor b)
{
    bool number_a = all_digits(a), number_b = all_digits(b);
    if (number_a != number_b)
        return number_a ? 1 : -1;
    if (number_a) {
        while (a.at < a.end && *a.at == '0')
            a.at++;
        while (b.at < b.end && *b.at == '0')
            b.at++;
        if (a.end - a.at != b.end - b.at)
            return a.end - a.at < b.end - b.at ? -1 : 1;
    }
    for (; a.at < a.end && b.at < b.end; a.at++, b.at++)
        if (lower(*a.at) != lower(*b.at))
            return lower(*a.at) < lower(*b.at) ? -1 : 1;
    return (a.at < a.end) - (b.at < b.end);
}

static int compare_local(const struct pep440 *a, const struct pep440 *b)
{
    if (!a->local || !b->local)
        return (a->local != NULL) - (b->local != NULL);
    struct cursor rest_a = { a->local, a->local + a->local_len };
    struct cursor rest_b = { b->local, b->local + b->local_len };
    while (rest_a.at < rest_a.end && rest_b.at < rest_b.end) {
        struct cursor part_a = next_label(&rest_a);
        int order = compare_label(part_a, next_label(&rest_b));
        if (order)
            return order;
    }
    return (rest_a.at < rest_a.end) - (rest_b.at < rest_b.end);
}

static int compare_public(const struct pep440 *a, const struct pep440 *b)
{
    int order = compare_release(a, b);
    if (!order)
        order = sign(pre_rank(a), pre_rank(b));
    if (!order && a->pre != PEP440_FINAL)
        order = sign(a->pre_n, b->pre_n);
    if (!order)
        order = a->has_post - b->has_post;
    if (!order && a->has_post)
        order = sign(a->post, b->post);
    if (!order)
        order = b->has_dev - a->has_dev;
    if (!order && a->has_dev)
        order = sign(a->dev, b->dev);
    return order;
}

int pep440_compare(const struct pep440 *a, const struct pep440 *b)
{
    int order = compare_public(a, b);
    return order ? order : compare_local(a, b);
}

int pep440_compare_text(const char *a, const char *b)
{
    struct pep440 va, vb;
    bool ok_a = pep440_parse(a, &va), ok_b = pep440_parse(b, &vb);
    if (ok_a && ok_b)
        return pep440_compare(&va, &vb);
    return ok_a != ok_b ? ok_a - ok_b : strcmp(a, b);
}

bool pep440_same_public(const char *a, const char *b)
{
    struct pep440 va, vb;
    return pep440_parse(a, &va) && pep440_parse(b, &vb) && compare_public(&va, &vb) == 0;
}

bool pep440_is_prerelease(const struct pep440 *v)
{
    return v->pre != PEP440_FINAL || v->has_dev;
}

/* --- specifiers --- */

static const struct {
    const char *text;
    enum pep440_op op;
} ops[] = { { "===", PEP440_EXACT }, { "==", PEP440_EQ }, { "~=", PEP440_COMPATIBLE },
            { "!=", PEP440_NE },     { "<=", PEP440_LE }, { ">=", PEP440_GE },
            { "<", PEP440_LT },      { ">", PEP440_GT } };

/* Wildcards stand behind a bare release only, and only with == and !=; local labels likewise. */
static bool parse_operand(struct cursor c, struct pep440_clause *ret)
{
    trim(&c);
    if (ret->op == PEP440_EXACT) {
        ret->version = (struct pep440){ .text = c.at, .len = (size_t)(c.end - c.at) };
        for (const char *p = c.at; p < c.end; p++)
            if (is_blank(*p))
                return false;
        return c.end > c.at;
    }
    bool equality = ret->op == PEP440_EQ || ret->op == PEP440_NE;
    ret->wildcard = c.end - c.at > 2 && c.end[-1] == '*' && c.end[-2] == '.';
    if (ret->wildcard)
        c.end -= 2;
    if (!pep440_parse_n(c.at, (size_t)(c.end - c.at), &ret->version))
        return false;
    const struct pep440 *v = &ret->version;
    if (ret->wildcard && (!equality || pep440_is_prerelease(v) || v->has_post || v->local))
        return false;
    if (v->local && !equality)
        return false;
    return ret->op != PEP440_COMPATIBLE || v->n > 1;
}

static bool parse_clause(struct cursor c, struct pep440_clause *ret)
{
    trim(&c);
    *ret = (struct pep440_clause){ 0 };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (take_word(&c, ops[i].text)) {
            ret->op = ops[i].op;
            return parse_operand(c, ret);
        }
    return false;
}

bool pep440_spec_parse_n(const char *text, size_t len, struct pep440_spec *ret)
{
    struct cursor c = { text, text + len };
    ret->n = 0;
    trim(&c);
    if (c.end - c.at >= 2 && *c.at == '(' && c.end[-1] == ')') {
        c.at++;
        c.end--;
        trim(&c);
    }
    while (c.at < c.end) {
        const char *comma = memchr(c.at, ',', (size_t)(c.end - c.at));
        struct cursor part = { c.at, comma ? comma : c.end };
        c.at = comma ? comma + 1 : c.end;
        trim(&part);
        if (part.at == part.end) /* pip takes stray commas */
            continue;
        if (ret->n == PEP440_CLAUSES || !parse_clause(part, &ret->clause[ret->n]))
            return false;
        ret->n++;
    }
    return true;
}

bool pep440_spec_parse(const char *text, struct pep440_spec *ret)
{
    return pep440_spec_parse_n(text, strlen(text), ret);
}

static bool matches_prefix(const struct pep440 *v, const struct pep440 *prefix, size_t n)
{
    if (v->epoch != prefix->epoch)
        return false;
    for (size_t i = 0; i < n; i++)
        if (segment(v, i) != segment(prefix, i))
            return false;
    return true;
}

static bool matches_equal(const struct pep440_clause *c, const struct pep440 *v)
{
    if (c->wildcard)
        return matches_prefix(v, &c->version, c->version.n);
    return c->version.local ? pep440_compare(v, &c->version) == 0
                            : compare_public(v, &c->version) == 0;
}

/* "<1.0" leaves out 1.0rc1, "<1.0.post2" leaves out 1.0.post2.dev1, unless the clause names such
 * itself. */
static bool matches_below(const struct pep440 *v, const struct pep440 *limit)
{
    if (pep440_compare(v, limit) >= 0)
        return false;
    if (pep440_is_prerelease(limit) || compare_release(v, limit) != 0)
        return true;
    return limit->has_post && !(v->has_post && v->post == limit->post);
}

/* ">1.0" leaves out 1.0.post1 and 1.0+local, ">1.0rc1" leaves out 1.0rc1.post1. */
static bool matches_above(const struct pep440 *v, const struct pep440 *limit)
{
    if (compare_public(v, limit) <= 0)
        return false;
    if (compare_release(v, limit) != 0 || limit->has_dev || limit->has_post)
        return true;
    return v->pre != limit->pre || v->pre_n != limit->pre_n;
}

static bool matches_clause(const struct pep440_clause *c, const struct pep440 *v)
{
    switch (c->op) {
    case PEP440_EQ:
        return matches_equal(c, v);
    case PEP440_NE:
        return !matches_equal(c, v);
    case PEP440_LE:
        return compare_public(v, &c->version) <= 0;
    case PEP440_GE:
        return compare_public(v, &c->version) >= 0;
    case PEP440_LT:
        return matches_below(v, &c->version);
    case PEP440_GT:
        return matches_above(v, &c->version);
    case PEP440_COMPATIBLE:
        return compare_public(v, &c->version) >= 0 &&
               matches_prefix(v, &c->version, c->version.n - 1);
    case PEP440_EXACT:
        return v->len == c->version.len && strncasecmp(v->text, c->version.text, v->len) == 0;
    }
    return false;
}

/* Does a clause that asks for something name a pre-release? Then pip lets pre-releases in. */
static bool names_prerelease(const struct pep440_spec *spec)
{
    for (size_t i = 0; i < spec->n; i++) {
        const struct pep440_clause *c = &spec->clause[i];
        struct pep440 exact;
        if (c->op == PEP440_EXACT) {
            if (pep440_parse_n(c->version.text, c->version.len, &exact) &&
                pep440_is_prerelease(&exact))
                return true;
        } else if (c->op != PEP440_NE && c->op != PEP440_LT && c->op != PEP440_GT &&
                   pep440_is_prerelease(&c->version)) {
            return true;
        }
    }
    return false;
}

bool pep440_spec_matches(const struct pep440_spec *spec, const struct pep440 *v, bool prereleases)
{
    if (!prereleases && pep440_is_prerelease(v) && !names_prerelease(spec))
        return false;
    for (size_t i = 0; i < spec->n; i++)
        if (!matches_clause(&spec->clause[i], v))
            return false;
    return true;
}

bool pep440_matches(const char *spec, const char *version)
{
    struct pep440_spec s;
    struct pep440 v;
    if (!spec)
        spec = "";
    return pep440_spec_parse(spec, &s) && pep440_parse(version, &v) &&
           pep440_spec_matches(&s, &v, true);
}

bool pep440_wish_parse(const char *wish, struct pep440_spec *ret)
{
    struct cursor c = { wish, wish + strlen(wish) };
    trim(&c);
    if (c.at == c.end)
        return false;
    if (strchr("=~!<>", *c.at))
        return pep440_spec_parse(wish, ret);
    struct pep440_clause *clause = &ret->clause[0];
    *clause = (struct pep440_clause){ .op = PEP440_EQ };
    ret->n = 1;
    if (!parse_operand(c, clause))
        return false;
    const struct pep440 *v = &clause->version;
    if (!pep440_is_prerelease(v) && !v->has_post && !v->local)
        clause->wildcard = true;
    return true;
}

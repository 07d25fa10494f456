/* Whose files lie in onnxruntime/? The CPU and the GPU wheel write the same names, and pip lets the
 * later one win without a word; only the sizes and hashes that each RECORD keeps tell them
 * apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/python.h"

#define CLAIMANTS_MAX 16
#define CLAIMS_MAX 512
#define HASH_SMALL_BYTES (UINT64_C(1) << 20)
#define HASH_DEEP_BYTES (UINT64_C(4) << 30)

enum match { MATCH_NO_CLAIM, MATCH_YES, MATCH_OTHER, MATCH_GONE, MATCH_UNSURE };

/* One line of a RECORD. */
struct claim {
    const char *path;
    const char *hash; /* base64url, without "sha256=" ; "" none */
    uint64_t size_bytes;
    bool has_size;
    size_t who;
};

/* One file, as every claimant sees it. */
struct claimed {
    const char *path;
    const struct claim *by[CLAIMANTS_MAX];
    enum match match[CLAIMANTS_MAX];
    uint64_t size_bytes; /* as it lies there */
    bool telling;        /* one claimant's and not another's */
};

struct claims {
    struct snapshot *s;
    const char *site;
    const struct dist *who[CLAIMANTS_MAX];
    size_t n_who;
    bool deep;
    struct {
        VEC(struct claim);
    } lines;
    struct {
        VEC(struct claimed);
    } files;
};

/* Files in the order in which they decide: the pybind module is what Python loads first. */
static int weight(const char *path)
{
    static const char *const order[] = { "onnxruntime/capi/onnxruntime_pybind11_state",
                                         "onnxruntime/capi/libonnxruntime.so",
                                         "onnxruntime/capi/build_and_package_info.py",
                                         "onnxruntime/__init__.py" };
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (str_starts(path, order[i]))
            return (int)i;
    return (int)ARRAY_LEN(order);
}

/* Only what is loaded or read: not the hundreds of files of onnxruntime/transformers, no byte
 * code. */
static bool decides(const char *path, size_t len)
{
    static const char capi[] = "onnxruntime/capi/";
    if (len == 23 && memcmp(path, "onnxruntime/__init__.py", 23) == 0)
        return true;
    return len > sizeof capi && memcmp(path, capi, sizeof capi - 1) == 0 &&
           !memchr(path + sizeof capi - 1, '/', len - sizeof capi + 1) &&
           memcmp(path + len - 4, ".pyc", 4) != 0;
}

static void record_line(struct claims *c, const struct look_line *line, size_t who)
{
    struct arena *a = &c->s->arena;
    const char *end = line->at + line->len;
    const char *comma = memchr(line->at, ',', line->len);
    if (!comma || !decides(line->at, (size_t)(comma - line->at)))
        return;
    const char *hash = comma + 1, *second = memchr(hash, ',', (size_t)(end - hash));
    if (!second)
        return;
    struct claim claim = { .path = arena_strndup(a, line->at, (size_t)(comma - line->at)),
                           .hash = "",
                           .who = who };
    if (second - hash > 7 && memcmp(hash, "sha256=", 7) == 0)
        claim.hash = arena_strndup(a, hash + 7, (size_t)(second - hash - 7));
    for (const char *p = second + 1;
         p < end && *p >= '0' && *p <= '9' && claim.size_bytes < UINT64_MAX / 16; p++) {
        claim.size_bytes = claim.size_bytes * 10 + (uint64_t)(*p - '0');
        claim.has_size = true;
    }
    vec_push(&c->lines, claim);
}

static bool record_read(struct claims *c, const struct dist *d)
{
    const char *file = path_join(&c->s->arena, d->path, "RECORD");
    const struct text *t = place_text(c->s->place, file, TEXT_ORT_RECORD);
    size_t before = c->lines.n;
    struct look_line line = { 0 };
    while (look_next_line(t, &line) && c->lines.n - before < CLAIMS_MAX)
        record_line(c, &line, c->n_who);
    return c->lines.n > before;
}

static int by_path(const void *x, const void *y)
{
    const struct claim *a = x, *b = y;
    int wa = weight(a->path), wb = weight(b->path);
    if (wa != wb)
        return wa < wb ? -1 : 1;
    int r = strcmp(a->path, b->path);
    return r ? r : a->who < b->who ? -1 : a->who > b->who;
}

/* RECORD's base64url of a SHA-256 against 64 hex digits. */
static bool hash_equal(const char *base64, const char *hex)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned bits = 0, n_bits = 0;
    size_t at = 0;
    for (; *base64 && *base64 != '='; base64++) {
        const char *digit = strchr(digits, *base64);
        if (!digit)
            return false;
        bits = (bits << 6 | (unsigned)(digit - digits)) & 0xffff;
        n_bits += 6;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        char want[3];
        snprintf(want, sizeof want, "%02x", bits >> n_bits & 0xff);
        if (at + 2 > 64 || strncmp(hex + at, want, 2) != 0)
            return false;
        at += 2;
    }
    return at == 64;
}

/* Sizes first; a hash is taken only where two claims have one size and different hashes. */
static enum match claim_match(struct claims *c, const struct claimed *f, const struct claim *claim)
{
    if (claim->has_size && claim->size_bytes != f->size_bytes)
        return MATCH_OTHER;
    bool differ = !claim->has_size;
    for (size_t i = 0; i < c->n_who; i++)
        if (f->by[i] && f->by[i]->has_size && f->by[i]->size_bytes == claim->size_bytes &&
            !str_eq(f->by[i]->hash, claim->hash))
            differ = true;
    if (!differ)
        return MATCH_YES;
    uint64_t most = c->deep ? HASH_DEEP_BYTES : HASH_SMALL_BYTES;
    if (!*claim->hash || f->size_bytes > most)
        return MATCH_UNSURE;
    const char *hex = place_sha256(c->s->place, path_join(&c->s->arena, c->site, f->path), most);
    return !hex ? MATCH_UNSURE : hash_equal(claim->hash, hex) ? MATCH_YES : MATCH_OTHER;
}

static void file_compare(struct claims *c, struct claimed *f)
{
    const struct file_info *info =
        place_stat(c->s->place, path_join(&c->s->arena, c->site, f->path));
    size_t yes = 0, other = 0;
    f->size_bytes = info->size_bytes;
    for (size_t i = 0; i < c->n_who; i++) {
        if (!f->by[i])
            continue;
        f->match[i] = info->known == KNOWN_ABSENT  ? MATCH_GONE
                    : info->known != KNOWN_PRESENT ? MATCH_UNSURE
                                                   : claim_match(c, f, f->by[i]);
        yes += f->match[i] == MATCH_YES;
        other += f->match[i] == MATCH_OTHER;
    }
    f->telling = yes == 1 && other > 0;
}

static void files_compare(struct claims *c)
{
    if (c->lines.n)
        qsort(c->lines.at, c->lines.n, sizeof *c->lines.at, by_path);
    for (size_t i = 0; i < c->lines.n; i++) {
        const struct claim *claim = &c->lines.at[i];
        if (c->files.n == 0 || !str_eq(c->files.at[c->files.n - 1].path, claim->path))
            vec_push(&c->files, (struct claimed){ .path = claim->path });
        c->files.at[c->files.n - 1].by[claim->who] = claim;
    }
    for (size_t i = 0; i < c->files.n; i++)
        file_compare(c, &c->files.at[i]);
}

/* Whose is on top: by the first file that one claimant alone explains; when none tells, by what the
 * build info says, then by whose claims hold best. */
static size_t top_find(const struct claims *c, const char *build_package)
{
    for (size_t i = 0; i < c->files.n; i++)
        for (size_t k = 0; c->files.at[i].telling && k < c->n_who; k++)
            if (c->files.at[i].match[k] == MATCH_YES)
                return k;
    for (size_t k = 0; build_package && k < c->n_who; k++)
        if (str_eq(c->who[k]->name, build_package))
            return k;
    size_t best = 0, best_wrong = SIZE_MAX;
    for (size_t k = 0; k < c->n_who; k++) {
        size_t wrong = 0;
        for (size_t i = 0; i < c->files.n; i++)
            wrong +=
                c->files.at[i].match[k] == MATCH_OTHER || c->files.at[i].match[k] == MATCH_GONE;
        if (wrong < best_wrong) {
            best = k;
            best_wrong = wrong;
        }
    }
    return best;
}

struct tally {
    size_t foreign, gone, changed, changed_text, unsure;
    const struct claimed *first_foreign, *first_gone, *first_changed;
    size_t foreign_who;
};

static void tally_add(const struct claims *c, size_t top, const struct claimed *f, struct tally *t)
{
    if (f->match[top] == MATCH_GONE) {
        if (t->gone++ == 0)
            t->first_gone = f;
    } else if (f->match[top] == MATCH_UNSURE) {
        t->unsure++;
    } else if (f->match[top] == MATCH_OTHER) {
        for (size_t k = 0; k < c->n_who; k++)
            if (f->match[k] == MATCH_YES) {
                if (t->foreign++ == 0) {
                    t->first_foreign = f;
                    t->foreign_who = k;
                }
                return;
            }
        bool text = str_ends(f->path, ".py"); /* edited by hand: still its own */
        t->changed_text += text;
        t->changed += !text;
        if (!t->first_changed)
            t->first_changed = f;
    }
}

static const char *dist_text(struct snapshot *s, const struct dist *d)
{
    return arena_printf(&s->arena, "%s %s", d->name, d->version ? d->version : "(version unknown)");
}

/* The reasons, in words: first what proves the top, then what is not as it should be, then what
 * others left. */
static const char *explain(struct claims *c, size_t top, const struct tally *t)
{
    struct snapshot *s = c->s;
    struct str text = { 0 };
    str_addf(&text, "%s", dist_text(s, c->who[top]));
    for (size_t i = 0; i < c->files.n; i++) {
        const struct claimed *f = &c->files.at[i];
        if (!f->telling || f->match[top] != MATCH_YES)
            continue;
        str_addf(&text, ": %s has the %s of its RECORD (%ju bytes)", path_base(f->path),
                 f->by[top]->has_size ? "size" : "hash", (uintmax_t)f->size_bytes);
        for (size_t k = 0; k < c->n_who; k++)
            if (f->match[k] == MATCH_OTHER)
                str_addf(&text, ", not that of %s (%ju)", dist_text(s, c->who[k]),
                         (uintmax_t)f->by[k]->size_bytes);
        break;
    }
    if (t->foreign)
        str_addf(&text, "; but %s is of %s", path_base(t->first_foreign->path),
                 dist_text(s, c->who[t->foreign_who]));
    if (t->gone)
        str_addf(&text, "; %zu of its files are gone: %s", t->gone, path_base(t->first_gone->path));
    if (t->changed + t->changed_text)
        str_addf(&text, "; %zu of its files were changed: %s has %ju bytes, RECORD says %ju",
                 t->changed + t->changed_text, path_base(t->first_changed->path),
                 (uintmax_t)t->first_changed->size_bytes,
                 (uintmax_t)t->first_changed->by[top]->size_bytes);
    if (t->unsure)
        str_addf(&text, "; %zu large files of equal size were not told apart (--deep does)",
                 t->unsure);
    for (size_t i = 0; i < c->files.n; i++) {
        const struct claimed *f = &c->files.at[i];
        if (f->by[top] || !str_ends(f->path, ".so"))
            continue;
        for (size_t k = 0; k < c->n_who; k++)
            if (f->match[k] == MATCH_YES) {
                str_addf(&text, "; %s is of %s alone", path_base(f->path), dist_text(s, c->who[k]));
                break;
            }
    }
    const char *kept = arena_strndup(&s->arena, str_get(&text), text.len < 1000 ? text.len : 1000);
    str_done(&text);
    return kept;
}

static void judge(struct claims *c, const char *build_package, struct ort_owner *ret)
{
    files_compare(c);
    size_t top = top_find(c, build_package);
    struct tally t = { 0 };
    for (size_t i = 0; i < c->files.n; i++)
        if (c->files.at[i].by[top])
            tally_add(c, top, &c->files.at[i], &t);
    ret->top = c->who[top];
    /* conda changes run paths after RECORD was written, so its sizes prove nothing */
    bool conda = ret->top->installer && str_eq(ret->top->installer, "conda");
    ret->files = t.foreign                         ? ORT_FILES_MIXED
               : t.gone                            ? ORT_FILES_INCOMPLETE
               : (t.changed && !conda) || t.unsure ? ORT_FILES_UNKNOWN
                                                   : ORT_FILES_ITS_OWN;
    ret->text = explain(c, top, &t);
    ret->source = path_join(&c->s->arena, ret->top->path, "RECORD");
}

void ort_owner_find(struct snapshot *s, const struct pyenv_work *w, const char *site,
                    const char *build_package, bool deep, struct ort_owner *ret)
{
    struct claims c = { .s = s, .site = site, .deep = deep };
    *ret = (struct ort_owner){ .text = "no distribution claims these files", .source = site };
    const struct dist *unread = NULL;
    const struct dist **dists = arena_alloc(&s->arena, CLAIMANTS_MAX * sizeof *dists);
    for (size_t i = 0; i < w->n_all && c.n_who < CLAIMANTS_MAX; i++) {
        const struct dist *d = w->all[i];
        bool here = str_eq(d->site, site) || (d->build && str_eq(d->site, w->env.prefix));
        if (!here || !dist_is_ort(d->name))
            continue;
        if (!record_read(&c, d)) {
            if (!unread || (build_package && str_eq(d->name, build_package)))
                unread = d;
            continue;
        }
        dists[c.n_who] = d;
        c.who[c.n_who++] = d;
    }
    ret->dists = dists;
    ret->n_dists = c.n_who;
    if (c.n_who) {
        judge(&c, build_package, ret);
    } else if (unread) {
        dists[0] = unread;
        ret->n_dists = 1;
        ret->top = unread;
        ret->text = arena_printf(&s->arena, "%s: it has no readable RECORD", dist_text(s, unread));
        ret->source = unread->path;
    }
    vec_done(&c.lines);
    vec_done(&c.files);
}

/* Wishes: prefixes, specifiers, names of GPUs, branches of drivers -> sets over the domain. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "match/query.h"
#include "version/driver.h"
#include "version/pep440.h"
#include "version/tag.h"

struct reader {
    const struct match_domain *d;
    struct m_query *mq;
    const struct match_wish *asked;
    struct m_wish *w;
    struct arena *a;
    struct pep440_spec spec; /* of the value, where the kind has specifiers */
    bool range;              /* it begins with an operator */
};

static bool is_range(const char *value)
{
    return value[0] != '\0' && strchr("=<>!~", value[0]) != NULL;
}

/* Nearest known below and above. */
struct neighbours {
    const char *below, *above;
};
static void neighbour(struct neighbours *n, const char *wanted, const char *known)
{
    if (pep440_compare_text(known, wanted) <= 0 && (!n->below || pep440_compare_text(known, n->below) > 0))
        n->below = known;
    if (pep440_compare_text(known, wanted) > 0 && (!n->above || pep440_compare_text(known, n->above) < 0))
        n->above = known;
}

static int unknown(const struct reader *r, const struct neighbours *n, struct err *e)
{
    const char *one = n->below ? n->below : n->above, *two = n->below ? n->above : NULL;
    return err_set(e, ERR_UNKNOWN_RELEASE, "%s %s is no known release; the nearest known: %s%s%s",
                   wish_name(r->asked->kind), r->asked->value, one ? one : "none", two ? ", " : "", two ? two : "");
}

static bool matches(const struct reader *r, const char *version)
{
    struct pep440 v;
    return pep440_parse(version, &v) && pep440_spec_matches(&r->spec, &v, true);
}

static bool line_matches(const struct reader *r, const struct m_ort *o)
{
    char text[32];
    for (int patch = 0; o->line_minor >= 0 && patch < 10; patch++) {
        (void)snprintf(text, sizeof(text), "1.%d.%d", o->line_minor, patch);
        if (matches(r, text))
            return true;
    }
    return o->line_minor < 0 && matches(r, o->version);
}

static int read_ort(struct reader *r, struct err *e)
{
    struct neighbours near = { 0 };
    bool known = r->range;
    r->w->ort = 0;
    for (size_t i = 0; i < r->d->n_ort; i++) {
        if (line_matches(r, &r->d->ort[i]))
            r->w->ort |= 1ULL << i;
        if (!r->d->ort[i].feed)
            neighbour(&near, r->asked->value, r->d->ort[i].version);
    }
    /* Released, but not as onnxruntime-gpu or no longer there: a wish that clashes, no slip of the pen. */
    const struct kb_dist_release *release;
    for (size_t i = 0; !known && !r->w->ort && (release = kb_dist_release_at(i)); i++)
        known = str_eq(release->package, "onnxruntime") && matches(r, release->version);
    return r->w->ort || known ? 0 : unknown(r, &near, e);
}

/* The release is known, a build of it with this label is not. r->spec is of the part before the label. */
static int unknown_label(const struct reader *r, struct err *e)
{
    struct str labels = { 0 };
    for (size_t i = 0; i < r->d->n_torch; i++) {
        const char *version = r->d->torch[i].kb->torch, *label = strchr(version, '+');
        char bare[64];
        (void)snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(version, "+"), version);
        if (label && r->d->torch[i].platform == 0 && matches(r, bare))
            str_addf(&labels, "%s%s", labels.len ? ", " : "", version);
    }
    int code = err_set(e, ERR_UNKNOWN_RELEASE, "torch %s is no known build; the nearest known: %.200s", r->asked->value,
                       labels.len ? str_get(&labels) : "the one without a label");
    str_done(&labels);
    return code;
}

static int read_torch(struct reader *r, struct err *e)
{
    struct neighbours near = { 0 };
    const char *plus = strchr(r->asked->value, '+');
    bool any = false, public_known = false;
    bool cpu = plus && strcasecmp(plus, "+cpu") == 0;
    char public[64];
    (void)snprintf(public, sizeof(public), "%.*s", (int)strcspn(r->asked->value, "+"), r->asked->value);
    if (plus && !pep440_wish_parse(public, &r->spec))
        return err_set(e, ERR_USAGE, "'--torch %s' is no version and no specifier", r->asked->value);
    for (size_t i = 0; i < r->d->n_torch; i++) {
        const char *version = r->d->torch[i].kb->torch, *label = strchr(version, '+');
        char bare[64];
        (void)snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(version, "+"), version);
        bool same = matches(r, bare);
        if (!label)
            neighbour(&near, public, version);
        public_known |= same;
        r->w->torch[i] = same && (plus && !cpu ? label && strcasecmp(label, plus) == 0 : !label);
        any |= r->w->torch[i];
    }
    if (cpu)
        r->mq->torch_cpu |= 1U << (r->asked - r->mq->q->wish);
    if (any || (r->range && !plus))
        return 0;
    if (!public_known)
        return unknown(r, &near, e);
    return unknown_label(r, e);
}

/* Majors of CUDA: any minor of a major serves. */
static int read_cuda(struct reader *r, struct err *e)
{
    struct neighbours near = { 0 };
    const struct kb_toolkit *t;
    r->w->cuda = 0;
    for (size_t i = 0; (t = kb_toolkit_at(i)); i++) {
        char text[8];
        const char *version = arena_strdup(r->a, cuda_text(t->cuda, text, sizeof(text)));
        neighbour(&near, r->asked->value, version);
        int asked = cuda_parse(r->asked->value);
        if (r->range ? matches(r, version) : strchr(r->asked->value, '.') ? asked == t->cuda : asked / 1000 == t->cuda / 1000)
            r->w->cuda |= 1U << (t->cuda / 1000);
    }
    return r->w->cuda || r->range ? 0 : unknown(r, &near, e);
}

static int major_of(const char *version)
{
    struct pep440 v;
    return pep440_parse(version, &v) && v.release[0] < M_MAJORS ? (int)v.release[0] : 0;
}

static int read_cudnn(struct reader *r, struct err *e)
{
    struct neighbours near = { 0 };
    const struct kb_wheel_version *v;
    struct pep440 asked = { 0 };
    bool bare = !r->range && pep440_parse(r->asked->value, &asked) && asked.n == 1, any = false;
    memset(r->w->cudnn_cc, 0, sizeof(r->w->cudnn_cc));
    for (size_t i = 0; (v = kb_wheel_version_at(i)); i++) {
        if (!str_starts(v->package, "nvidia-cudnn-cu") || major_of(v->version) < 7)
            continue;
        neighbour(&near, r->asked->value, v->version);
        if (!matches(r, v->version))
            continue;
        r->w->cudnn_cc[major_of(v->version)] |= bare ? UINT32_MAX : m_cudnn_cc(r->d, v->version);
        any = true;
    }
    /* Wheels begin at 8.5: what is older, or a patch that no wheel has, is judged by its number. */
    int major = r->range ? 0 : major_of(r->asked->value);
    if (!any && major >= 5 && near.above) {
        r->w->cudnn_cc[major] = bare ? UINT32_MAX : m_cudnn_cc(r->d, r->asked->value);
        any = true;
    }
    return any || r->range ? 0 : unknown(r, &near, e);
}

static int read_tensorrt(struct reader *r, struct err *e)
{
    struct neighbours near = { 0 };
    const struct kb_wheel_version *v;
    r->w->tensorrt = 0;
    for (size_t i = 0; (v = kb_wheel_version_at(i)); i++) {
        if (!str_starts(v->package, "tensorrt") || major_of(v->version) < 7)
            continue;
        neighbour(&near, r->asked->value, v->version);
        if (matches(r, v->version))
            r->w->tensorrt |= 1U << major_of(v->version);
    }
    int major = r->range ? 0 : major_of(r->asked->value);
    if (!r->w->tensorrt && major >= 5 && near.above) /* older than its wheels, or a patch that none has */
        r->w->tensorrt = 1U << major;
    return r->w->tensorrt || r->range ? 0 : unknown(r, &near, e);
}

static int read_driver(struct reader *r, struct err *e)
{
    struct m_drivers *drivers = &r->mq->drivers;
    struct neighbours near = { 0 };
    r->w->drivers = 0;
    const struct kb_branch *b, *last = NULL;
    for (size_t i = 0; (b = kb_branch_at(i)); i++) {
        last = b;
        const char *text = arena_printf(r->a, "%d", b->branch);
        neighbour(&near, r->asked->value, text);
        if (r->range && (matches(r, text) || matches(r, drivers->text[i])))
            r->w->drivers |= 1ULL << i;
    }
    if (r->range)
        return 0;
    struct driver_version v;
    if (!driver_parse(r->asked->value, &v))
        return err_set(e, ERR_USAGE, "'--driver %s' is no driver number such as 550 or 550.54.14", r->asked->value);
    if (v.part[0] < 300 || (last && v.part[0] > (unsigned)last->branch + 9))
        return unknown(r, &near, e);
    for (size_t i = 0; v.n == 1 && (b = kb_branch_at(i)); i++)
        if ((unsigned)b->branch == v.part[0])
            r->w->drivers = 1ULL << i;
    if (r->w->drivers)
        return 0;
    const char *text = v.n == 1 ? arena_printf(r->a, "%u.999", v.part[0]) : r->asked->value;
    size_t at = r->d->drivers.n; /* asked twice, it is still one value */
    while (at < drivers->n && !str_eq(drivers->text[at], text))
        at++;
    if (at == drivers->n && !m_driver_add(r->d, drivers, text))
        return err_set(e, ERR_USAGE, "'--driver' is given too often");
    r->w->drivers = 1ULL << at;
    return 0;
}

/* The words of the shorter name all occur in the longer one, in order. */
static bool words_in(const char *few, const char *many)
{
    while (*few) {
        size_t n = strcspn(few, " -_");
        const char *at = many;
        for (;; at++) {
            if (!*at)
                return false;
            bool starts = at == many || strchr(" -_(", at[-1]);
            if (starts && strncasecmp(at, few, n) == 0 && (!at[n] || strchr(" -_)", at[n])))
                break;
        }
        many = at + n;
        few += n + strspn(few + n, " -_");
    }
    return true;
}

static int gpu_cc(const char *name)
{
    const char *bare = strncasecmp(name, "NVIDIA ", 7) == 0 ? name + 7 : name;
    int cc = kb_cc_parse(bare);
    const struct kb_gpu *gpu = cc ? NULL : kb_gpu_find(name), *row;
    if (cc || gpu)
        return cc ? cc : gpu->cc;
    size_t least = SIZE_MAX; /* "RTX 5090" for "GeForce RTX 5090": the shortest name that has these words */
    for (size_t i = 0; (row = kb_gpu_at(i)); i++)
        if (words_in(bare, row->name) && strlen(row->name) < least) {
            least = strlen(row->name);
            cc = row->cc;
        }
    const struct kb_chip *chip = cc ? NULL : kb_chip_find(name);
    return chip ? chip->cc : cc;
}

static int read_gpu(struct reader *r, struct err *e)
{
    int cc = gpu_cc(r->asked->value);
    for (size_t i = 0; cc && i < r->d->n_cc; i++)
        if (r->d->cc[i] == cc) {
            r->w->cc = 1U << i;
            return 0;
        }
    if (cc)
        return err_set(e, ERR_UNKNOWN_RELEASE, "gpu %s: no GPU has compute capability %d.%d", r->asked->value, cc / 10, cc % 10);
    const struct kb_gpu *row, *best = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; (row = kb_gpu_at(i)); i++) {
        const char *tail = str_starts(row->name, "GeForce ") ? row->name + 8 : row->name;
        unsigned distance = str_distance(r->asked->value, tail);
        if (distance < least) {
            least = distance;
            best = row;
        }
    }
    return err_set(e, ERR_UNKNOWN_RELEASE, "gpu %s is no known GPU; the nearest known: %s; or give sm_XX", r->asked->value,
                   best ? best->name : "none");
}

/* 12 of "cp312t". */
static int tag_minor(const char *tag)
{
    return (int)strtol(tag + 3, NULL, 10);
}

static int read_python(struct reader *r, struct err *e)
{
    struct neighbours near = { 0 };
    char value[32];
    (void)snprintf(value, sizeof(value), "%s", r->asked->value);
    size_t n = strlen(value);
    bool free_threaded = n > 1 && value[n - 1] == 't' && !r->range;
    if (free_threaded)
        value[n - 1] = '\0';
    struct pep440 v = { 0 };
    if (!r->range && !pep440_parse(value, &v))
        return err_set(e, ERR_USAGE, "'--python %s' is no version; in match it is one such as 3.12", r->asked->value);
    r->w->py = 0;
    for (size_t i = 0; i < r->d->n_py; i++) {
        const char *tag = r->d->py[i];
        int minor = tag_minor(tag);
        const char *text = arena_printf(r->a, "3.%d", minor);
        if (!strchr(tag, 't'))
            neighbour(&near, value, text);
        if (free_threaded != (strchr(tag, 't') != NULL))
            continue;
        if (r->range ? matches(r, text) || matches(r, arena_printf(r->a, "3.%d.99", minor))
                     : v.release[0] == 3 && (v.n == 1 || v.release[1] == (uint64_t)minor))
            r->w->py |= 1U << i;
    }
    return r->w->py || r->range ? 0 : unknown(r, &near, e);
}

static int read_glibc(struct reader *r, struct err *e)
{
    r->w->glibc = 0;
    for (int minor = 1; minor < 64; minor++)
        if (r->range ? matches(r, arena_printf(r->a, "2.%d", minor)) : glibc_minor(r->asked->value) == minor)
            r->w->glibc |= 1ULL << minor;
    if (!r->w->glibc && !r->range)
        return err_set(e, ERR_USAGE, "'--glibc %s' is no version of glibc such as 2.31", r->asked->value);
    return 0;
}

/* Names that people use, and the platforms they leave; bit by position in the domain. */
static int read_platform(struct reader *r, struct err *e)
{
    static const struct {
        enum wish_kind kind;
        const char *name;
        uint32_t platforms;
    } names[] = {
        { WISH_OS, "linux", 1 | 4 },     { WISH_OS, "windows", 2 },    { WISH_OS, "win", 2 },
        { WISH_ARCH, "x86_64", 1 | 2 },  { WISH_ARCH, "amd64", 1 | 2 }, { WISH_ARCH, "aarch64", 4 },
        { WISH_ARCH, "arm64", 4 },
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i].kind == r->asked->kind && strcasecmp(names[i].name, r->asked->value) == 0) {
            r->w->platforms = names[i].platforms;
            return 0;
        }
    return err_set(e, ERR_USAGE, "unknown %s '%s'; known: %s", wish_name(r->asked->kind), r->asked->value,
                   r->asked->kind == WISH_OS ? "linux, windows" : "x86_64, aarch64");
}

static int read_numpy(struct reader *r, struct err *e)
{
    struct neighbours near = { 0 };
    bool any = false;
    r->w->numpy = (struct m_bits){ 0 };
    for (size_t i = 0; i < r->d->n_numpy; i++) {
        neighbour(&near, r->asked->value, r->d->numpy[i]);
        if (!matches(r, r->d->numpy[i]))
            continue;
        m_bits_set(&r->w->numpy, i);
        any = true;
    }
    return any || r->range || !near.below ? 0 : unknown(r, &near, e);
}

static int read_opset(struct reader *r, struct err *e)
{
    char *end = NULL;
    long opset = strtol(r->asked->value, &end, 10);
    const struct kb_opset *row, *last = NULL;
    for (size_t i = 0; (row = kb_opset_at(i)); i++)
        last = row;
    if (end == r->asked->value || *end || opset < 1)
        return err_set(e, ERR_USAGE, "'--opset %s' is no number", r->asked->value);
    if (last && opset > last->opset + 1)
        return err_set(e, ERR_UNKNOWN_RELEASE, "opset %s is unknown; the nearest known: %d", r->asked->value, last->opset);
    r->w->model.opset = opset;
    return 0;
}

static int read_model(struct reader *r, struct err *e)
{
    (void)e;
    r->w->model = r->asked->model;
    return 0;
}

static int read_as_of(struct reader *r, struct err *e)
{
    int y = 0, m = 0, d = 0;
    char rest = 0;
    if (sscanf(r->asked->value, "%4d-%2d-%2d%c", &y, &m, &d, &rest) != 3 || y < 2000 || m < 1 || m > 12 || d < 1 || d > 31)
        return err_set(e, ERR_USAGE, "'--as-of %s' is no date such as 2025-06-30", r->asked->value);
    r->w->as_of = y * 10000 + m * 100 + d;
    return 0;
}

/* One row a wish. */
static const struct {
    const char *name;
    bool versions; /* a prefix or a specifier */
    int (*read)(struct reader *r, struct err *e);
} kinds[WISH_KINDS] = {
    [WISH_ORT] = { "ort", true, read_ort },
    [WISH_TORCH] = { "torch", true, read_torch },
    [WISH_CUDA] = { "cuda", true, read_cuda },
    [WISH_CUDNN] = { "cudnn", true, read_cudnn },
    [WISH_TENSORRT] = { "tensorrt", true, read_tensorrt },
    [WISH_DRIVER] = { "driver", true, read_driver },
    [WISH_GPU] = { "gpu", false, read_gpu },
    [WISH_PYTHON] = { "python", false, read_python },
    [WISH_GLIBC] = { "glibc", true, read_glibc },
    [WISH_OS] = { "os", false, read_platform },
    [WISH_ARCH] = { "arch", false, read_platform },
    [WISH_NUMPY] = { "numpy", true, read_numpy },
    [WISH_OPSET] = { "opset", false, read_opset },
    [WISH_MODEL] = { "model", false, read_model },
    [WISH_AS_OF] = { "as-of", false, read_as_of },
};

const char *wish_name(enum wish_kind kind)
{
    return kind < WISH_KINDS ? kinds[kind].name : "";
}

enum wish_kind wish_kind_of(const char *name)
{
    int kind = 0;
    while (kind < WISH_KINDS && !str_eq(kinds[kind].name, name))
        kind++;
    return (enum wish_kind)kind;
}

static void open_wish(struct m_wish *w)
{
    *w = (struct m_wish){ .ort = UINT64_MAX, .cuda = UINT32_MAX, .tensorrt = UINT32_MAX, .drivers = UINT64_MAX,
                          .glibc = UINT64_MAX, .cc = UINT32_MAX, .py = UINT32_MAX, .platforms = UINT32_MAX,
                          .numpy = { { UINT64_MAX, UINT64_MAX } } };
    memset(w->cudnn_cc, 0xff, sizeof(w->cudnn_cc));
}

/* Length and form, before anything is concluded from it; versions are read into r->spec. */
static int check_text(struct reader *r, struct err *e)
{
    const struct match_wish *asked = r->asked;
    if (asked->kind == WISH_MODEL || (asked->kind == WISH_TORCH && strchr(asked->value, '+')))
        return 0;
    if (strlen(asked->value) > 200)
        return err_set(e, ERR_USAGE, "'--%s %.48s...' is too long", wish_name(asked->kind), asked->value);
    if ((kinds[asked->kind].versions || r->range) && !pep440_wish_parse(asked->value, &r->spec))
        return err_set(e, ERR_USAGE, "'--%s %.60s' is no version and no specifier", wish_name(asked->kind), asked->value);
    return 0;
}

/* A range of drivers beside a number: the number is a value that the range may hold. */
static void ranges_meet_numbers(struct m_query *mq)
{
    struct pep440_spec spec;
    struct pep440 v;
    for (size_t i = 0; i < mq->q->n; i++) {
        const struct match_wish *w = &mq->q->wish[i];
        if (w->kind != WISH_DRIVER || !is_range(w->value) || !pep440_wish_parse(w->value, &spec))
            continue;
        for (size_t k = mq->d->drivers.n; k < mq->drivers.n; k++)
            if (pep440_parse(mq->drivers.text[k], &v) && pep440_spec_matches(&spec, &v, true))
                mq->wish[i].drivers |= 1ULL << k;
    }
}

int m_query_read(const struct match_domain *d, const struct match_query *q, struct arena *a, struct m_query *ret,
                 struct err *e)
{
    ret->d = d;
    ret->q = q;
    ret->drivers = d->drivers;
    ret->torch_cpu = 0;
    ret->orts = 0;
    memset(ret->kinds, 0, sizeof(ret->kinds));
    for (size_t i = 0; i < d->n_ort; i++)
        if (q->channel == MATCH_ALL || (q->channel == MATCH_FEED) == (d->ort[i].feed != NULL))
            ret->orts |= 1ULL << i;
    for (size_t i = 0; i < q->n; i++) {
        const struct match_wish *asked = &q->wish[i];
        struct reader r = { .d = d, .mq = ret, .asked = asked, .w = &ret->wish[i], .a = a, .range = is_range(asked->value) };
        open_wish(r.w);
        ret->kinds[asked->kind] |= 1U << i;
        int failed = check_text(&r, e);
        if (failed == 0)
            failed = kinds[asked->kind].read(&r, e);
        if (failed < 0)
            return failed;
    }
    ranges_meet_numbers(ret);
    /* Without a word it is Linux on x86_64; an os without an arch is x86_64. */
    ret->platforms = !ret->kinds[WISH_OS] && !ret->kinds[WISH_ARCH] ? 1 : 7;
    for (size_t i = 0; i < q->n; i++) {
        if (q->wish[i].kind == WISH_OS && !ret->kinds[WISH_ARCH])
            ret->wish[i].platforms &= 1 | 2;
        if (q->wish[i].kind == WISH_ARCH && !ret->kinds[WISH_OS])
            ret->wish[i].platforms &= 1 | 4;
    }
    return 0;
}

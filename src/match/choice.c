/* The answers: the best of each kind, with what to install and why it holds. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "match/query.h"
#include "version/driver.h"
#include "version/pep440.h"

enum { CHOICES_MAX = 6 };

struct texts {
    struct arena *a;
    struct names list;
};

static void add(struct texts *t, const char *text)
{
    for (size_t i = 0; i < t->list.n; i++)
        if (str_eq(t->list.at[i], text))
            return;
    vec_push(&t->list, text);
}

static const char *const *take(struct texts *t)
{
    const char **copy = arena_alloc(t->a, (t->list.n + 1) * sizeof(*copy));
    if (t->list.n)
        memcpy(copy, t->list.at, t->list.n * sizeof(*copy));
    copy[t->list.n] = NULL;
    vec_done(&t->list);
    return copy;
}

/* The only compute capability asked for; 0: none, or several. */
static int wished_cc(const struct m_query *mq, const struct m_allowed *w)
{
    if (!w->gpu || __builtin_popcount(w->cc) != 1)
        return 0;
    return mq->d->cc[__builtin_ctz(w->cc)];
}

/* What of the pins of torch brings this package. */
static bool torch_brings(const struct m_candidate *c, const char *package)
{
    const struct kb_torch *t = kb_torch_find(c->t->kb->torch);
    if (!t || c->t->labelled)
        return true;
    size_t n = strlen(package);
    for (const char *const *pin = t->pins; *pin; pin++)
        if (str_starts(*pin, "cuda-toolkit") || (strncmp(*pin, package, n) == 0 && strcspn(*pin, "=<>!~[ ") == n))
            return true;
    return false;
}

static const char *cudnn_spec(const struct m_candidate *c, int cc)
{
    return c->o->cudnn_major == 8 ? ">=8,<9" : cc && cc < 75 ? ">=9,<9.11" : cc >= 100 ? ">=9.7,<10" : ">=9,<10";
}

static void add_library(struct texts *t, const struct m_candidate *c, const char *soname, int cc, bool shared)
{
    const struct kb_soname *s = kb_soname_find(soname, c->o->cuda_major);
    if (!s || (shared && torch_brings(c, s->package)))
        return;
    const char *spec = kb_soname_family(soname) == KB_FAMILY_CUDNN ? cudnn_spec(c, cc) : s->spec ? s->spec : "";
    add(t, arena_printf(t->a, "%s%s", s->package, spec));
}

static void add_libraries(struct texts *t, const struct m_candidate *c, int cc, bool shared)
{
    const struct kb_ort *kb = c->o->kb;
    const struct kb_extra *one = kb_extra_find(kb->version, "cuda"), *two = kb_extra_find(kb->version, "cudnn");
    bool extras = !shared && !c->o->feed && one && two && one->installable == KB_YES && two->installable == KB_YES;
    const char *version = c->o->line_minor >= 0 ? arena_printf(t->a, "1.%d.*", c->o->line_minor) : c->o->version;
    add(t, arena_printf(t->a, "onnxruntime-gpu%s==%s", extras ? "[cuda,cudnn]" : "", version));
    bool cudnn_bound = !shared && (cc >= 100 || (cc && cc < 75)) && c->o->cudnn_major == 9;
    for (size_t i = 0; kb->needs[i]; i++)
        if (!extras || (cudnn_bound && kb_soname_family(kb->needs[i]) == KB_FAMILY_CUDNN))
            add_library(t, c, kb->needs[i], cc, shared);
    for (size_t i = 0; kb->lazy[i]; i++)
        if (!extras || (cudnn_bound && kb_soname_family(kb->lazy[i]) == KB_FAMILY_CUDNN))
            add_library(t, c, kb->lazy[i], cc, shared);
}

static const char *const *install_line(const struct m_query *mq, const struct m_allowed *w, const struct m_candidate *c,
                                       struct arena *a)
{
    struct texts t = { .a = a };
    bool shared = c->t && c->torch_cuda && c->sharing == MATCH_SHARED;
    add(&t, "pip");
    add(&t, "install");
    add_libraries(&t, c, wished_cc(mq, w), shared);
    if (c->t)
        add(&t, arena_printf(a, "torch==%s%s", c->t->kb->torch, mq->torch_cpu ? "+cpu" : ""));
    if (c->o->numpy_abi == 1)
        add(&t, "numpy<2");
    if (c->o->feed) {
        add(&t, "--index-url");
        add(&t, c->o->feed->url);
    }
    const char *label = c->t && c->t->labelled ? strchr(c->t->kb->torch, '+') : NULL;
    if (label || (c->t && mq->torch_cpu)) {
        add(&t, "--extra-index-url");
        add(&t, arena_printf(a, "https://download.pytorch.org/whl/%s", label ? label + 1 : "cpu"));
    }
    return take(&t);
}

static const char *toolkit_driver(int cuda, bool windows)
{
    const struct kb_toolkit *row;
    const char *best = NULL;
    for (size_t i = 0; (row = kb_toolkit_at(i)); i++) {
        const char *text = windows ? row->driver_windows : row->driver_linux;
        if (row->cuda == cuda && text && (!best || driver_compare_text(text, best) < 0))
            best = text;
    }
    return best;
}

/* Floor of the CUDA majors, and of the GPU where one was asked for. */
static const char *driver_min(const struct m_query *mq, const struct m_allowed *w, const struct m_candidate *c)
{
    bool windows = c->platform == KB_WIN_AMD64 - 1;
    const char *best = NULL;
    int majors[2] = { c->o->cuda_major, c->torch_cuda };
    for (size_t i = 0; i < 2; i++) {
        const struct kb_floor *floor = kb_driver_floor(majors[i], windows ? KB_OS_WINDOWS : KB_OS_LINUX);
        if (floor && (!best || driver_compare_text(floor->driver, best) > 0))
            best = floor->driver;
    }
    const struct kb_arch *arch = kb_arch_find(wished_cc(mq, w));
    int cudas[2] = { arch ? arch->cuda_first : 0, c->ptx ? c->w->ptx_cuda : 0 };
    for (size_t i = 0; i < 2; i++) {
        const char *text = cudas[i] ? toolkit_driver(cudas[i], windows) : NULL;
        if (text && (!best || driver_compare_text(text, best) > 0))
            best = text;
    }
    return best;
}

static const char *const *why(const struct m_query *mq, const struct m_allowed *w, const struct m_candidate *c,
                              struct arena *a)
{
    struct texts t = { .a = a };
    char cuda[8];
    int cc = wished_cc(mq, w);
    add(&t, arena_printf(a, "onnxruntime-gpu %s is built for CUDA %s and cuDNN %d", c->o->version,
                         cuda_text(c->o->cuda, cuda, sizeof(cuda)), c->o->cudnn_major));
    if (c->t && !c->torch_cuda)
        add(&t, arena_printf(a, "torch %s is taken to carry no CUDA here: nothing is shared", c->t->kb->torch));
    else if (c->t && c->sharing == MATCH_SHARED)
        add(&t, arena_printf(a, "torch %s has CUDA %d and cuDNN %d too: one set of libraries serves both", c->t->kb->torch,
                             c->torch_cuda, c->o->cudnn_major));
    else if (c->t)
        add(&t, arena_printf(a, "torch %s has other majors of CUDA or cuDNN: each keeps libraries of its own", c->t->kb->torch));
    if (cc && (c->ptx || !c->w->code_known))
        add(&t, arena_printf(a, !c->w->code_known ? "which GPU code it has is not known"
                                : "compute capability %d.%d is served by PTX, which the driver compiles at the first start",
                             cc / 10, cc % 10));
    else if (cc)
        add(&t, arena_printf(a, "it has code for compute capability %d.%d", cc / 10, cc % 10));
    const char *driver = driver_min(mq, w, c);
    if (driver)
        add(&t, arena_printf(a, "driver %s or newer", driver));
    if (c->w->glibc)
        add(&t, arena_printf(a, "its wheel needs glibc 2.%d", c->w->glibc));
    if (c->o->numpy_abi == 1)
        add(&t, "it was compiled against NumPy 1");
    if (c->o->kb->note && !c->o->feed)
        add(&t, c->o->kb->note);
    return take(&t);
}

static const char *python_of(const struct m_query *mq, const struct m_candidate *c, struct arena *a)
{
    const char *best = NULL;
    for (size_t y = 0; y < mq->d->n_py; y++) /* the free-threaded ones come last and only where asked for */
        if ((c->py >> y & 1) && !(best && strchr(mq->d->py[y], 't')))
            best = mq->d->py[y][0] ? m_py_text(mq->d, y, a) : best;
    return best;
}

static struct match_choice choice_of(const struct m_query *mq, const struct m_allowed *w, const struct m_candidate *c,
                                     struct arena *a)
{
    const struct kb_ort *kb = c->o->kb;
    struct match_choice x = {
        .ort = c->o->version, .channel = c->o->feed ? c->o->feed->name : "pypi", .feed = c->o->feed,
        .torch = !c->t ? NULL : mq->torch_cpu ? arena_printf(a, "%s+cpu", c->t->kb->torch) : c->t->kb->torch,
        .torch_cuda = c->torch_cuda != 0, .sharing = c->sharing, .cuda = c->o->cuda,
        .cudnn_major = c->o->cudnn_major, .cudnn = cudnn_spec(c, wished_cc(mq, w)),
        .tensorrt_major = c->o->tensorrt_major, .python = python_of(mq, c, a),
        .numpy = c->o->numpy_abi == 1 ? "<2" : NULL, .driver_min = driver_min(mq, w, c),
        .platform = kb_platform_name((enum kb_platform)(c->platform + 1)),
        .gpu_code = !w->gpu ? NULL : !c->w->code_known ? "unknown" : c->ptx ? "ptx" : "cubin",
    };
    for (size_t i = 0; kb->lazy[i]; i++)
        x.cudnn_optional |= kb_soname_family(kb->lazy[i]) == KB_FAMILY_CUDNN;
    if (c->t)
        x.torch_channel = c->t->labelled ? arena_printf(a, "pytorch%s", strchr(c->t->kb->torch, '+')) : mq->torch_cpu ? "pytorch+cpu" : "pypi";
    x.install = install_line(mq, w, c, a);
    bool shared = c->t && c->torch_cuda && c->sharing == MATCH_SHARED;
    x.then = shared ? "import torch  # before onnxruntime: it loads the libraries"
             : kb->preload_dlls == KB_YES ? "onnxruntime.preload_dlls()  # before the first session"
             : c->platform != KB_WIN_AMD64 - 1 ? "export LD_LIBRARY_PATH=$(echo \"$VIRTUAL_ENV\"/lib/python3*/site-packages/nvidia/*/lib | tr ' ' :)"
                                               : NULL;
    x.why = why(mq, w, c, a);
    return x;
}

/* Better of two ways to have the same release: newer torch, cubins before PTX, the first platform. */
static bool is_better(const struct m_candidate *c, const struct m_candidate *than)
{
    if (!c->t)
        return c->ptx < than->ptx;
    int newer = pep440_compare_text(c->t->kb->torch, than->t->kb->torch);
    return c->ptx <= than->ptx && (newer > 0 || (newer == 0 && c->platform < than->platform));
}

/* The best build of torch with which this release reaches the sharing wanted. */
static bool best_candidate(const struct m_query *mq, const struct m_allowed *w, size_t ort, enum match_sharing wanted,
                           struct m_candidate *ret)
{
    bool found = false;
    for (size_t t = w->torch ? mq->d->n_torch : 1; t-- > 0;) {
        const struct m_torch *torch = w->torch ? &mq->d->torch[t] : NULL;
        struct m_candidate c = { .o = &mq->d->ort[ort], .t = torch };
        int last = torch ? torch->platform : M_PLATFORMS - 1;
        if (torch && !m_torch_allowed(mq, w->mask, t))
            continue;
        for (c.platform = torch ? last : 0; c.platform <= last; c.platform++) {
            if (!m_holds(mq, w, &c) || c.sharing != wanted || (found && !is_better(&c, ret)))
                continue;
            *ret = c;
            found = true;
        }
    }
    return found;
}

/* Of another kind: other majors, another way to share, another index. */
static bool is_new_kind(const struct match_answer *answer, const struct m_ort *o, enum match_sharing sharing, bool ptx)
{
    for (size_t i = 0; i < answer->choices.n; i++) {
        const struct match_choice *y = &answer->choices.at[i];
        if (o->cuda_major == y->cuda / 1000 && o->cudnn_major == y->cudnn_major && sharing == y->sharing &&
            o->feed == y->feed && ptx == (y->gpu_code && str_eq(y->gpu_code, "ptx")))
            return false;
    }
    return true;
}

/* Keep what is installed, then cubins before PTX, then newest first. */
void m_choices(const struct m_query *mq, struct arena *a, struct match_answer *answer)
{
    struct m_allowed w;
    enum match_sharing fit[M_ORTS];
    bool ptx[M_ORTS];
    m_allow(mq, (1U << mq->q->n) - 1, &w);
    (void)m_solve(mq, &w, false, fit, ptx);
    for (int pass = 0; pass < 6; pass++) {
        enum match_sharing wanted = pass < 3 ? MATCH_SHARED : MATCH_SEPARATE;
        for (size_t k = 0; k < mq->d->n_ort && answer->choices.n < CHOICES_MAX; k++) {
            size_t i = m_ort_order(mq->d, k);
            const struct m_ort *o = &mq->d->ort[i];
            bool kept = mq->q->installed_ort && !o->feed && pep440_same_public(mq->q->installed_ort, o->version);
            struct m_candidate c;
            bool compiles = w.gpu && ptx[i];
            if (fit[i] == wanted && (pass % 3 == 0) == kept && (pass % 3 == 0 || (pass % 3 == 2) == compiles) &&
                is_new_kind(answer, o, wanted, compiles) && best_candidate(mq, &w, i, wanted, &c))
                vec_push(&answer->choices, choice_of(mq, &w, &c, a));
        }
    }
}

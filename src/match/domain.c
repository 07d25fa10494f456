/* The kb laid out for the search. */
#include "match/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "version/driver.h"
#include "version/pep440.h"
#include "version/tag.h"

uint32_t m_py_bit(const struct match_domain *d, const char *tag)
{
    for (size_t i = 0; i < d->n_py; i++)
        if (str_eq(d->py[i], tag))
            return 1U << i;
    return 0;
}

const char *m_py_text(const struct match_domain *d, size_t i, struct arena *a)
{
    return arena_printf(a, "%c.%s", d->py[i][2], d->py[i] + 3);
}

static uint32_t py_set(const struct match_domain *d, const char *const *tags)
{
    uint32_t set = 0;
    for (; *tags; tags++)
        set |= m_py_bit(d, *tags);
    return set;
}

static void py_domain(struct match_domain *d)
{
    for (int free_threaded = 0; free_threaded < 2; free_threaded++) {
        for (unsigned minor = free_threaded ? 13 : 6; minor <= 15; minor++) {
            static const char *const tags[2][16] = {
                { [6] = "cp36", "cp37", "cp38", "cp39", "cp310", "cp311", "cp312", "cp313", "cp314", "cp315" },
                { [13] = "cp313t", "cp314t", "cp315t" },
            };
            d->py[d->n_py++] = tags[free_threaded][minor];
        }
    }
}

static int glibc_of(const char *tag)
{
    const char *dot = tag ? strchr(tag, '.') : NULL;
    int minor = 0;
    return dot && sscanf(dot + 1, "%d", &minor) == 1 ? minor : 0;
}

static uint32_t cc_set(const struct match_domain *d, const struct kb_sm *cubins, const struct kb_sm *ptx,
                       enum kb_cover cover)
{
    uint32_t set = 0;
    for (size_t i = 0; i < d->n_cc; i++)
        if (kb_cover(cubins, ptx, d->cc[i]) == cover)
            set |= 1U << i;
    return set;
}

uint32_t m_cudnn_cc(const struct match_domain *d, const char *cudnn)
{
    uint32_t set = 0;
    bool old = pep440_compare_text(cudnn, "9.11") < 0, modern = pep440_compare_text(cudnn, "9.7") >= 0;
    for (size_t i = 0; i < d->n_cc; i++)
        if ((old || d->cc[i] >= 75) && (modern || d->cc[i] < 100))
            set |= 1U << i;
    return set;
}

static void numpy_domain(struct match_domain *d)
{
    const struct kb_numpy_release *r;
    for (size_t i = 0; i < M_NUMPYS && (r = kb_numpy_release_at(i)); i++) {
        const char *const *lists[M_PLATFORMS] = { r->py_linux, r->py_win, r->py_aarch64 };
        d->numpy[d->n_numpy++] = r->version;
        if (r->version[0] == '1')
            m_bits_set(&d->numpy_1, i);
        for (size_t p = 0; p < M_PLATFORMS; p++) {
            d->numpy_py[p][i] = py_set(d, lists[p]);
            for (size_t y = 0; y < d->n_py; y++)
                if (d->numpy_py[p][i] & (1U << y))
                    m_bits_set(&d->numpy_of_py[p][y], i);
        }
    }
}

/* Few texts occur, over and over: each is read once. */
struct spec_cache {
    const char *spec[64];
    struct m_bits bits[64];
    size_t n;
};

static const struct m_bits *numpy_set(const struct match_domain *d, const char *spec, struct spec_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++)
        if (str_eq(cache->spec[i], spec))
            return &cache->bits[i];
    size_t at = cache->n < ARRAY_LEN(cache->spec) ? cache->n++ : ARRAY_LEN(cache->spec) - 1;
    cache->spec[at] = spec;
    cache->bits[at] = (struct m_bits){ 0 };
    for (size_t i = 0; i < d->n_numpy; i++)
        if (pep440_matches(spec, d->numpy[i]))
            m_bits_set(&cache->bits[at], i);
    return &cache->bits[at];
}

static void wheels_of(const struct match_domain *d, struct m_ort *o)
{
    const struct kb_ort *kb = o->kb;
    const char *const *lists[M_PLATFORMS] = { kb->py_linux, kb->py_win, kb->py_aarch64 };
    for (size_t p = 0; p < M_PLATFORMS; p++) {
        struct m_wheel *w = &o->wheel[p];
        enum kb_platform platform = (enum kb_platform)(p + 1);
        w->py = py_set(d, lists[p]);
        if (platform != KB_WIN_AMD64)
            w->glibc = glibc_of(platform == KB_LINUX_AARCH64 ? kb->glibc_tag_aarch64 : kb->glibc_tag);
        const struct kb_sm *ptx = NULL;
        if (o->feed) {
            const struct kb_feed_gpu_code *code = kb_feed_gpu_code_find(o->feed->name, kb->version, platform);
            w->code_known = code != NULL;
            w->cubin = code ? cc_set(d, code->cubins, NULL, KB_COVER_CUBIN) : UINT32_MAX;
            ptx = code ? code->ptx : NULL;
            w->ptx_cuda = code ? code->ptx_cuda : 0;
        } else {
            const struct kb_gpu_code *code = kb_ort_gpu_code(kb->version, platform);
            w->code_known = code != NULL;
            w->cubin = code ? cc_set(d, code->cubins, NULL, KB_COVER_CUBIN) : UINT32_MAX;
            w->partial = code ? cc_set(d, code->partial, NULL, KB_COVER_CUBIN) : 0;
            ptx = code ? code->ptx : NULL;
            w->ptx_cuda = code ? code->ptx_cuda : 0;
        }
        w->ptx = ptx ? cc_set(d, NULL, ptx, KB_COVER_PTX) : 0;
    }
}

static void numpy_rows(struct match_domain *d)
{
    struct spec_cache cache = { 0 };
    struct m_bits any = { { UINT64_MAX, UINT64_MAX } };
    for (size_t i = 0; i < d->n_ort; i++)
        for (size_t p = 0; p < M_PLATFORMS; p++)
            for (size_t y = 0; y < d->n_py; y++)
                d->ort[i].wheel[p].numpy[y] = any;
    const struct kb_numpy *row;
    for (size_t k = 0; (row = kb_numpy_at(k)); k++) {
        const struct m_bits *set = row->spec ? numpy_set(d, row->spec, &cache) : &any;
        uint32_t py = py_set(d, row->py);
        size_t p = (size_t)row->platform - 1;
        for (size_t i = 0; p < M_PLATFORMS && i < d->n_ort; i++) {
            if (!str_eq(d->ort[i].kb->version, row->version))
                continue;
            for (size_t y = 0; y < d->n_py; y++) {
                if (!(py & (1U << y)))
                    continue;
                d->ort[i].wheel[p].numpy[y] = *set;
            }
        }
    }
}

/* Where nobody asks for a numpy there must still be one. */
static void numpy_pythons(struct match_domain *d)
{
    for (size_t i = 0; i < d->n_ort; i++)
        for (size_t p = 0; p < M_PLATFORMS; p++)
            for (size_t y = 0; y < d->n_py; y++) {
                struct m_wheel *w = &d->ort[i].wheel[p];
                struct m_bits set = w->numpy[y];
                for (size_t k = 0; k < 2 && d->ort[i].numpy_abi == 1; k++)
                    set.w[k] &= d->numpy_1.w[k];
                if (m_bits_meet(&set, &d->numpy_of_py[p][y]))
                    w->numpy_py |= 1U << y;
            }
}

static struct m_ort *ort_add(struct match_domain *d, const struct kb_ort *kb, const struct kb_feed *feed)
{
    if (d->n_ort == M_ORTS)
        return NULL;
    struct m_ort *o = &d->ort[d->n_ort++];
    const struct kb_numpy_abi *abi = kb_numpy_abi_find(kb->version);
    *o = (struct m_ort){
        .version = kb->version, .kb = kb, .feed = feed, .line_minor = -1,
        .date = feed ? feed->prov.as_of : kb->date,
        .cuda = feed ? feed->cuda : kb->cuda,
        .cuda_major = feed ? feed->cuda / 1000 : kb->cuda_major,
        .cudnn_major = feed && feed->cudnn_major ? feed->cudnn_major : kb->cudnn_major,
        .tensorrt_major = kb->tensorrt_major, .numpy_abi = abi ? abi->abi : 2,
        .opset = kb_opset_find(kb->version), .exec_stack = kb->exec_stack == KB_YES,
    };
    wheels_of(d, o);
    return o;
}

static int minor_of(const char *version)
{
    struct pep440 v;
    return pep440_parse(version, &v) && v.n > 1 ? (int)v.release[1] : -1;
}

/* Feeds were not read: what they carry is known by line ("1.19.x") unless the row names one release. */
static void feeds_add(struct match_domain *d, struct arena *a)
{
    const struct kb_feed *feed;
    for (size_t i = 0; (feed = kb_feed_at(i)); i++) {
        bool exact = str_starts(feed->ort, "==") && !strchr(feed->ort, '*') && !strchr(feed->ort, ',');
        const struct kb_ort *last = NULL, *kb;
        for (size_t k = 0; (kb = kb_ort_at(k)); k++) {
            const struct kb_ort *next = kb_ort_at(k + 1);
            bool ends = !next || minor_of(next->version) != minor_of(kb->version);
            if (pep440_matches(feed->ort, kb->version))
                last = kb;
            if (!last || !(exact ? last == kb : ends))
                continue;
            struct m_ort *o = ort_add(d, last, feed);
            if (o && !exact) {
                o->line_minor = minor_of(last->version);
                o->version = arena_printf(a, "1.%d.x", o->line_minor);
            }
            last = NULL;
        }
    }
}

static void torch_add(struct match_domain *d)
{
    const struct kb_torch_build *b;
    for (size_t i = 0; i < M_TORCHES && (b = kb_torch_build_at(i)); i++) {
        size_t public = strcspn(b->torch, "+");
        const struct kb_torch *t = NULL;
        for (size_t k = 0; (t = kb_torch_at(k)) && (strncmp(t->version, b->torch, public) != 0 || t->version[public]);)
            k++;
        bool known = b->cubins[0].cc != 0;
        d->torch[d->n_torch++] = (struct m_torch){
            .kb = b, .labelled = strchr(b->torch, '+') != NULL, .date = t ? t->date : 0,
            .platform = (int)b->platform - 1, .glibc = glibc_of(b->glibc_tag), .py = py_set(d, b->py),
            .cubin = b->cuda && known ? cc_set(d, b->cubins, NULL, KB_COVER_CUBIN) : UINT32_MAX,
            .cudnn_cc = b->cudnn ? m_cudnn_cc(d, b->cudnn) : UINT32_MAX,
        };
    }
}

/* The last listed branch that is not above this number: Windows numbers run on inside a branch. */
static int branch_row(const char *text)
{
    int branch = 0;
    const struct kb_branch *b;
    for (size_t i = 0; (b = kb_branch_at(i)) && b->branch <= driver_branch(text); i++)
        branch = b->branch;
    return branch;
}

bool m_driver_add(const struct match_domain *d, struct m_drivers *drivers, const char *text)
{
    if (drivers->n == M_DRIVERS)
        return false;
    size_t at = drivers->n++;
    drivers->text[at] = text;
    drivers->native[at] = kb_driver_native_cuda(text);
    drivers->known[at] = 0;
    int branch = branch_row(text);
    for (size_t i = 0; i < d->n_cc; i++) {
        const struct kb_arch *arch = kb_arch_at(i);
        bool old = arch->cc < 75 && branch >= 590;
        if (drivers->native[at] >= arch->cuda_first && (!arch->branch_last || branch <= arch->branch_last) && !old)
            drivers->known[at] |= 1U << i;
    }
    for (int windows = 0; windows < 2; windows++)
        for (int major = 1; major < M_MAJORS; major++) {
            const struct kb_floor *floor = kb_driver_floor(major, windows ? KB_OS_WINDOWS : KB_OS_LINUX);
            if (!floor || driver_compare_text(text, floor->driver) >= 0)
                drivers->floor_ok[windows][major] |= 1ULL << at;
        }
    for (int windows = 0; windows < 2; windows++)
        drivers->floor_ok[windows][0] |= 1ULL << at;
    return true;
}

const struct match_domain *match_domain_new(struct arena *a)
{
    struct match_domain *d = arena_new(a, struct match_domain);
    const struct kb_arch *arch;
    for (size_t i = 0; i < M_CCS && (arch = kb_arch_at(i)); i++)
        d->cc[d->n_cc++] = arch->cc;
    for (size_t i = 0; i < d->n_cc; i++) {
        d->cudnn_8_cc |= d->cc[i] < 100 ? 1U << i : 0;
        d->pre_turing |= d->cc[i] < 75 ? 1U << i : 0;
    }
    py_domain(d);
    numpy_domain(d);
    const struct kb_ort *kb;
    for (size_t i = 0; (kb = kb_ort_at(i)); i++)
        (void)ort_add(d, kb, NULL);
    d->n_pypi = d->n_ort;
    feeds_add(d, a);
    numpy_rows(d);
    numpy_pythons(d);
    torch_add(d);
    const struct kb_branch *b;
    for (size_t i = 0; (b = kb_branch_at(i)); i++) /* a current driver of the branch */
        (void)m_driver_add(d, &d->drivers, arena_printf(a, "%d.999", b->branch));
    return d;
}

/* Releases of ONNX Runtime and PyTorch, and the GPU code in them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kb/kb.h"
#include "kb/tables.h"
#include "version/driver.h"
#include "version/pep440.h"
#include "version/tag.h"

KB_AT(kb_ort_at, ort, kb_ort)
KB_AT(kb_numpy_at, ort_numpy, kb_numpy)
KB_AT(kb_extra_at, ort_extra, kb_extra)
KB_AT(kb_gpu_code_at, ort_gpu_code, kb_gpu_code)
KB_AT(kb_torch_at, torch, kb_torch)

static bool list_has(const char *const *list, const char *item)
{
    for (; *list; list++)
        if (strcmp(*list, item) == 0)
            return true;
    return false;
}

const struct kb_ort *kb_ort_find(const char *version)
{
    for (size_t i = 0; i < kbt_ort_n; i++)
        if (pep440_same_public(version, kbt_ort[i].version))
            return &kbt_ort[i];
    return NULL;
}

const struct kb_ort *kb_ort_nearest(const char *version)
{
    struct pep440 v;
    if (!pep440_parse(version, &v))
        return NULL;
    const struct kb_ort *best = kb_ort_find(version);
    for (size_t i = 0; !best && i < kbt_ort_n; i++)
        if (i + 1 == kbt_ort_n || pep440_compare_text(kbt_ort[i + 1].version, version) > 0)
            best = &kbt_ort[i];
    return best;
}

static const char *const *tags_of(const struct kb_ort *ort, enum kb_platform platform)
{
    switch (platform) {
    case KB_WIN_AMD64:
        return ort->py_win;
    case KB_LINUX_AARCH64:
        return ort->py_aarch64;
    case KB_PLATFORM_ANY:
    case KB_LINUX_X86_64:
        break;
    }
    return ort->py_linux;
}

static bool glibc_serves(const struct kb_ort *ort, enum kb_platform platform, const char *glibc)
{
    const char *tag = platform == KB_LINUX_AARCH64 ? ort->glibc_tag_aarch64 : ort->glibc_tag;
    if (!glibc || platform == KB_WIN_AMD64)
        return true;
    return tag && glibc_minor(glibc) >= glibc_minor(tag);
}

static bool code_serves(const struct kb_ort *ort, enum kb_platform platform, int cc)
{
    enum kb_cover cover = kb_gpu_code_cover(kb_ort_gpu_code(ort->version, platform), cc);
    return !cc || cover == KB_COVER_CUBIN || cover == KB_COVER_PTX;
}

static bool grants(const struct kb_ort *ort, const struct kb_ort_wish *w, enum kb_platform platform)
{
    const char *const *tags = tags_of(ort, platform);
    return (!w->cuda_major || ort->cuda_major == w->cuda_major) &&
           (!w->cudnn_major || ort->cudnn_major == w->cudnn_major) &&
           (!w->as_of || ort->date <= w->as_of) && *tags &&
           (!w->py_tag || list_has(tags, w->py_tag)) && glibc_serves(ort, platform, w->glibc) &&
           (!w->spec || pep440_matches(w->spec, ort->version)) && code_serves(ort, platform, w->cc);
}

const struct kb_ort *kb_ort_newest(const struct kb_ort_wish *wish)
{
    enum kb_platform platform = wish->platform ? wish->platform : KB_LINUX_X86_64;
    for (size_t i = kbt_ort_n; i-- > 0;)
        if (grants(&kbt_ort[i], wish, platform))
            return &kbt_ort[i];
    return NULL;
}

const struct kb_numpy *kb_numpy_find(const char *version, enum kb_platform platform,
                                     const char *py_tag)
{
    for (size_t i = 0; i < kbt_ort_numpy_n; i++) {
        const struct kb_numpy *n = &kbt_ort_numpy[i];
        if (n->platform == platform && list_has(n->py, py_tag) &&
            pep440_same_public(version, n->version))
            return n;
    }
    return NULL;
}

const struct kb_numpy_abi *kb_numpy_abi_find(const char *version)
{
    for (size_t i = 0; i < kbt_ort_numpy_abi_n; i++)
        if (pep440_same_public(version, kbt_ort_numpy_abi[i].version))
            return &kbt_ort_numpy_abi[i];
    return NULL;
}

const struct kb_extra *kb_extra_find(const char *version, const char *extra)
{
    for (size_t i = 0; i < kbt_ort_extra_n; i++)
        if (strcmp(kbt_ort_extra[i].extra, extra) == 0 &&
            pep440_same_public(version, kbt_ort_extra[i].version))
            return &kbt_ort_extra[i];
    return NULL;
}

/* --- GPU code --- */

const struct kb_gpu_code *kb_ort_gpu_code(const char *version, enum kb_platform platform)
{
    if (platform == KB_PLATFORM_ANY)
        platform = KB_LINUX_X86_64;
    for (size_t i = 0; i < kbt_ort_gpu_code_n; i++)
        if (kbt_ort_gpu_code[i].platform == platform &&
            pep440_same_public(version, kbt_ort_gpu_code[i].version))
            return &kbt_ort_gpu_code[i];
    return NULL;
}

static bool cubin_serves(const struct kb_sm *sm, int cc)
{
    if (sm->suffix == 'a')
        return sm->cc == cc;
    return sm->cc / 10 == cc / 10 && sm->cc <= cc;
}

static bool ptx_serves(const struct kb_sm *sm, int cc)
{
    if (sm->suffix == 'f')
        return sm->cc / 10 == cc / 10 && sm->cc <= cc;
    return sm->suffix == 'a' ? sm->cc == cc : sm->cc <= cc;
}

enum kb_cover kb_cover(const struct kb_sm *cubins, const struct kb_sm *ptx, int cc)
{
    if (!cc)
        return KB_COVER_UNKNOWN;
    for (const struct kb_sm *sm = cubins; sm && sm->cc; sm++)
        if (cubin_serves(sm, cc))
            return KB_COVER_CUBIN;
    for (const struct kb_sm *sm = ptx; sm && sm->cc; sm++)
        if (ptx_serves(sm, cc))
            return KB_COVER_PTX;
    return KB_COVER_NONE;
}

enum kb_cover kb_gpu_code_cover(const struct kb_gpu_code *code, int cc)
{
    if (!code)
        return KB_COVER_UNKNOWN;
    enum kb_cover cover = kb_cover(code->cubins, code->ptx, cc);
    if (cover == KB_COVER_NONE && kb_cover(code->partial, code->ptx_partial, cc) != KB_COVER_NONE)
        cover = KB_COVER_PARTIAL;
    return cover;
}

/* --- PyTorch --- */

const struct kb_torch *kb_torch_find(const char *version)
{
    for (size_t i = 0; i < kbt_torch_n; i++)
        if (pep440_same_public(version, kbt_torch[i].version))
            return &kbt_torch[i];
    return NULL;
}

/* "cu118" is 11.8 and "cu130" 13.0: the last digit is the minor version. */
int kb_torch_label_cuda(const char *version)
{
    struct pep440 v;
    if (!pep440_parse(version, &v) || !v.local)
        return 0;
    if (v.local_len == 3 && strncasecmp(v.local, "cpu", 3) == 0)
        return -1;
    if (v.local_len < 4 || v.local_len > 5 || strncasecmp(v.local, "cu", 2) != 0)
        return 0;
    int n = 0;
    for (size_t i = 2; i < v.local_len; i++) {
        if (v.local[i] < '0' || v.local[i] > '9')
            return 0;
        n = n * 10 + (v.local[i] - '0');
    }
    return n / 10 * 1000 + n % 10 * 10;
}

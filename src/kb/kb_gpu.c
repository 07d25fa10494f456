/* Drivers, CUDA releases, GPUs, and which cuDNN serves them. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "kb/kb.h"
#include "kb/tables.h"
#include "version/driver.h"
#include "version/pep440.h"

KB_AT(kb_toolkit_at, toolkits, kb_toolkit)
KB_AT(kb_branch_at, branches, kb_branch)
KB_AT(kb_compat_at, compat, kb_compat)
KB_AT(kb_arch_at, archs, kb_arch)
KB_AT(kb_gpu_at, gpus, kb_gpu)
KB_AT(kb_chip_at, chips, kb_chip)
KB_AT(kb_cudnn_at, cudnn, kb_cudnn)

/* --- driver --- */

const struct kb_floor *kb_driver_floor(int cuda_major, enum kb_os os)
{
    for (size_t i = 0; i < kbt_floors_n; i++)
        if (kbt_floors[i].cuda_major == cuda_major && kbt_floors[i].os == os)
            return &kbt_floors[i];
    return NULL;
}

const struct kb_branch *kb_branch_find(int branch)
{
    for (size_t i = 0; i < kbt_branches_n; i++)
        if (kbt_branches[i].branch == branch)
            return &kbt_branches[i];
    return NULL;
}

int kb_driver_native_cuda(const char *driver)
{
    int branch = driver_branch(driver), cuda = 0;
    for (size_t i = 0; i < kbt_branches_n && kbt_branches[i].branch <= branch; i++)
        cuda = kbt_branches[i].cuda;
    return cuda;
}

const struct kb_branch *kb_branch_for_cuda(int cuda)
{
    for (size_t i = 0; i < kbt_branches_n; i++)
        if (kbt_branches[i].cuda >= cuda)
            return &kbt_branches[i];
    return NULL;
}

const struct kb_compat *kb_compat_find(int cuda, int branch)
{
    for (size_t i = 0; i < kbt_compat_n; i++)
        if (kbt_compat[i].cuda == cuda && kbt_compat[i].branch == branch)
            return &kbt_compat[i];
    return NULL;
}

/* --- GPU --- */

int kb_cc_parse(const char *text)
{
    if (str_starts(text, "sm_"))
        text += 3;
    else if (str_starts(text, "compute_"))
        text += 8;
    int n = 0, digits = 0, after_dot = -1;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && after_dot < 0 && digits); text++) {
        if (digits > 3)
            return 0;
        if (*text == '.') {
            after_dot = 0;
            continue;
        }
        n = n * 10 + (*text - '0');
        digits++;
        after_dot += after_dot >= 0;
    }
    if (*text == 'a' || *text == 'f')
        text++;
    if (*text || digits < 2 || digits > 3 || (after_dot >= 0 && after_dot != 1))
        return 0;
    return n;
}

const struct kb_arch *kb_arch_find(int cc)
{
    for (size_t i = 0; i < kbt_archs_n; i++)
        if (kbt_archs[i].cc == cc)
            return &kbt_archs[i];
    return NULL;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* Steps over one word and what stands behind it. */
static const char *next_word(const char *p)
{
    while (in_word(*p))
        p++;
    while (*p && !in_word(*p))
        p++;
    return p;
}

/* Number of words of known that stand at p, one after the other; 0 when not all do. */
static size_t words_at(const char *p, const char *known)
{
    size_t n = 0;
    for (const char *k = known; *k; k = next_word(k), p = next_word(p), n++) {
        size_t len = 0;
        while (in_word(k[len]))
            len++;
        if (strncasecmp(p, k, len) != 0 || in_word(p[len]))
            return 0;
    }
    return n;
}

static const struct kb_gpu *find_gpu(const char *name, const char *without)
{
    const struct kb_gpu *best = NULL;
    size_t best_words = 0;
    for (const char *p = in_word(*name) ? name : next_word(name); *p; p = next_word(p))
        for (size_t i = 0; i < kbt_gpus_n; i++) {
            const char *known = kbt_gpus[i].name;
            if (str_starts(known, without))
                known += strlen(without);
            size_t n = words_at(p, known);
            if (n > best_words) {
                best_words = n;
                best = &kbt_gpus[i];
            }
        }
    return best;
}

/* People leave GeForce out; they do not mean a Quadro RTX by "RTX 6000", so other brands stay. */
const struct kb_gpu *kb_gpu_find(const char *name)
{
    const struct kb_gpu *gpu = find_gpu(name, "");
    return gpu ? gpu : find_gpu(name, "GeForce ");
}

const struct kb_chip *kb_chip_find(const char *pci_name)
{
    const struct kb_chip *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < kbt_chips_n; i++) {
        const char *chip = kbt_chips[i].chip;
        size_t len = strlen(chip);
        if (len > best_len && strncasecmp(pci_name, chip, len) == 0 &&
            !(pci_name[len] >= '0' && pci_name[len] <= '9')) {
            best = &kbt_chips[i];
            best_len = len;
        }
    }
    return best;
}

const struct kb_chip *kb_chip_by_pci_id(int device_id)
{
    for (size_t i = 0; i < kbt_chips_n; i++)
        if (kbt_chips[i].pci_first <= device_id && device_id <= kbt_chips[i].pci_last)
            return &kbt_chips[i];
    return NULL;
}

/* --- cuDNN --- */

const struct kb_cudnn *kb_cudnn_find(const char *version, int cuda_major)
{
    struct pep440 v;
    if (!pep440_parse(version, &v))
        return NULL;
    for (size_t i = 0; i < kbt_cudnn_n; i++) {
        const struct kb_cudnn *row = &kbt_cudnn[i];
        if (row->cuda_major == cuda_major && pep440_compare_text(version, row->first) >= 0 &&
            (!row->last || pep440_compare_text(version, row->last) <= 0))
            return row;
    }
    return NULL;
}

const struct kb_cudnn *kb_cudnn_dropped(int cc, const char *version, int cuda_major)
{
    const struct kb_cudnn *row = kb_cudnn_find(version, cuda_major);
    if (!cc || !row || (cc >= row->cc_first && (!row->cc_last || cc <= row->cc_last)))
        return NULL;
    return row;
}

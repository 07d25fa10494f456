/* What matching asks besides: opsets, builds of PyTorch, releases of numpy, GPU code of the feeds. */
#include <string.h>

#include "kb/kb.h"
#include "kb/tables.h"
#include "version/pep440.h"

KB_AT(kb_opset_at, ort_opset, kb_opset)
KB_AT(kb_torch_build_at, torch_builds, kb_torch_build)
KB_AT(kb_numpy_release_at, numpy_releases, kb_numpy_release)
KB_AT(kb_feed_gpu_code_at, feed_gpu_code, kb_feed_gpu_code)

const struct kb_opset *kb_opset_find(const char *ort_version)
{
    for (size_t i = 0; i < kbt_ort_opset_n; i++) {
        size_t n = strlen(kbt_ort_opset[i].line);
        if (strncmp(ort_version, kbt_ort_opset[i].line, n) == 0 && (ort_version[n] == '.' || !ort_version[n]))
            return &kbt_ort_opset[i];
    }
    return NULL;
}

const struct kb_feed_gpu_code *kb_feed_gpu_code_find(const char *feed, const char *ort_version,
                                                     enum kb_platform platform)
{
    for (size_t i = 0; i < kbt_feed_gpu_code_n; i++) {
        const struct kb_feed_gpu_code *c = &kbt_feed_gpu_code[i];
        if (strcmp(c->name, feed) == 0 && c->platform == platform && pep440_matches(c->ort, ort_version))
            return c;
    }
    return NULL;
}

#include "kb/kb.h"

#include <string.h>

#include "kb/tables.h"
#include "version/pep440.h"
#include "version/pep508.h"

KB_AT(kb_source_at, sources, kb_source)
KB_AT(kb_rule_at, rules, kb_rule)
KB_AT(kb_dist_at, dists, kb_dist)
KB_AT(kb_dist_release_at, dist_releases, kb_dist_release)
KB_AT(kb_feed_at, feeds, kb_feed)
KB_AT(kb_image_at, images, kb_image)
KB_AT(kb_conda_at, conda, kb_conda)
KB_AT(kb_option_at, options, kb_option)
KB_AT(kb_claim_at, claims, kb_claim)

const char *kb_date(void)
{
    return kbt_newest;
}

const struct kb_source *kb_source_find(const char *id)
{
    for (size_t i = 0; i < kbt_sources_n; i++)
        if (strcmp(kbt_sources[i].id, id) == 0)
            return &kbt_sources[i];
    return NULL;
}

const struct kb_rule *kb_rule_find(const char *id)
{
    for (size_t i = 0; i < kbt_rules_n; i++)
        if (strcmp(kbt_rules[i].id, id) == 0)
            return &kbt_rules[i];
    return NULL;
}

const struct kb_option *kb_option_find(const char *name, enum kb_scope scope)
{
    for (size_t i = 0; i < kbt_options_n; i++)
        if (kbt_options[i].scope == scope && strcmp(kbt_options[i].name, name) == 0)
            return &kbt_options[i];
    return NULL;
}

const char *kb_confidence_name(enum kb_confidence confidence)
{
    static const char *const names[] = { "unknown", "binary", "measured", "metadata",
                                         "doc",     "source", "issue",    "inference" };
    size_t i = (size_t)confidence;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : names[0];
}

const char *kb_platform_name(enum kb_platform platform)
{
    switch (platform) {
    case KB_LINUX_X86_64:
        return "linux_x86_64";
    case KB_WIN_AMD64:
        return "win_amd64";
    case KB_LINUX_AARCH64:
        return "linux_aarch64";
    case KB_PLATFORM_ANY:
        break;
    }
    return "any";
}

const struct kb_dist *kb_dist_find_in(const char *manager, const char *name)
{
    for (size_t i = 0; i < kbt_dists_n; i++)
        if (strcmp(kbt_dists[i].manager, manager) == 0 && name_same(name, kbt_dists[i].name))
            return &kbt_dists[i];
    return NULL;
}

const struct kb_dist *kb_dist_find(const char *name)
{
    return kb_dist_find_in("pip", name);
}

const struct kb_dist_release *kb_dist_release_find(const char *package, const char *version)
{
    for (size_t i = 0; i < kbt_dist_releases_n; i++) {
        const struct kb_dist_release *r = &kbt_dist_releases[i];
        if (name_same(package, r->package) && pep440_same_public(version, r->version))
            return r;
    }
    return NULL;
}

const struct kb_feed *kb_feed_find(const char *ort_version, int cuda_major)
{
    for (size_t i = 0; i < kbt_feeds_n; i++)
        if (kbt_feeds[i].cuda / 1000 == cuda_major && pep440_matches(kbt_feeds[i].ort, ort_version))
            return &kbt_feeds[i];
    return NULL;
}

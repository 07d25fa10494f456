/* Versions, specifiers, requirements, markers, tags and METADATA from any bytes. Besides not
 * crashing, order must be an order: a version equals itself, and swapping the sides turns the sign.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "version/driver.h"
#include "version/metadata.h"
#include "version/pep440.h"
#include "version/pep508.h"
#include "version/tag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_versions(const char *a, size_t len_a, const char *b, size_t len_b)
{
    struct pep440 va, vb;
    struct pep440_spec spec;
    bool ok_a = pep440_parse_n(a, len_a, &va), ok_b = pep440_parse_n(b, len_b, &vb);
    if (ok_a)
        require(pep440_compare(&va, &va) == 0);
    if (ok_a && ok_b) {
        int order = pep440_compare(&va, &vb), back = pep440_compare(&vb, &va);
        require((order < 0) == (back > 0) && (order == 0) == (back == 0));
    }
    if (ok_a && pep440_spec_parse_n(b, len_b, &spec)) {
        bool strict = pep440_spec_matches(&spec, &va, false);
        require(!strict || pep440_spec_matches(&spec, &va, true));
    }
}

static void check_requirement(const char *text, size_t len)
{
    static const struct marker_env env = { .sys_platform = "linux",
                                           .python_version = "3.11",
                                           .extra = "" };
    struct requirement r;
    char name[64];
    if (!requirement_parse_n(text, len, &r))
        return;
    require(r.name.len > 0 && r.name.at >= text && r.name.at + r.name.len <= text + len);
    name_normalise_n(r.name.at, r.name.len, name, sizeof(name));
    (void)requirement_satisfied(&r, "1.0");
    (void)marker_eval_n(r.marker.at, r.marker.len, &env);
}

static void check_text(const char *text)
{
    static const struct wheel_target target = { 3, 11, false, "linux", "x86_64", 36, 0 };
    struct wheel_file file;
    struct pep440_spec spec;
    (void)wheel_tag_fits(text, &target);
    (void)wheel_python_fits(text, &target);
    (void)wheel_glibc_minor(text);
    (void)glibc_minor(text);
    (void)driver_branch(text);
    (void)cuda_parse(text);
    (void)pep440_wish_parse(text, &spec);
    if (wheel_file_parse(text, &file))
        require(file.name.len && file.platform.len);
    require(name_same(text, text));
}

static void check_metadata(const char *data, size_t size)
{
    struct arena a = { 0 };
    struct metadata m;
    metadata_parse(data, size, &a, &m);
    for (size_t i = 0; i < m.n_requires_dist; i++)
        check_requirement(m.requires_dist[i], strlen(m.requires_dist[i]));
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    /* A copy of the exact size, so that reading past the end is seen. */
    char *copy = malloc(size + 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    const char *tab = memchr(copy, '\t', size);
    size_t first = tab ? (size_t)(tab - copy) : size;
    check_versions(copy, first, tab ? tab + 1 : copy, tab ? size - first - 1 : size);
    check_requirement(copy, size);
    check_text(copy);
    free(copy);

    char *exact = malloc(size ? size : 1);
    if (!exact)
        return 0;
    memcpy(exact, data, size);
    check_metadata(exact, size);
    struct pep440 v;
    struct pep440_spec spec;
    struct requirement r;
    (void)pep440_parse_n(exact, size, &v);
    (void)pep440_spec_parse_n(exact, size, &spec);
    (void)requirement_parse_n(exact, size, &r);
    free(exact);
    return 0;
}

/* What package managers other than Python's say of NVIDIA's libraries: dpkg, rpm, conda. */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/seen.h"

#define DPKG_STATUS "/var/lib/dpkg/status"
#define NAME_ROOM 128

struct record {
    char name[NAME_ROOM], version[NAME_ROOM];
    bool installed;
    size_t line;
};

static bool field(const struct look_line *line, const char *label, char *buf)
{
    size_t len = strlen(label);
    if (line->len <= len || strncmp(line->at, label, len) != 0)
        return false;
    const char *at = line->at + len;
    size_t n = line->len - len;
    while (n > 0 && *at == ' ')
        at++, n--;
    n = n < NAME_ROOM - 1 ? n : NAME_ROOM - 1;
    memcpy(buf, at, n);
    buf[n] = '\0';
    return true;
}

/* The next installed package of the filtered status file. *line starts zeroed. */
static bool next_record(const struct text *t, struct look_line *line, struct record *ret)
{
    struct record r = { 0 };
    char status[NAME_ROOM];
    bool more;
    do {
        more = look_next_line(t, line);
        if (more && line->len > 0) {
            if (field(line, "Package:", r.name))
                r.line = line->number;
            else if (field(line, "Status:", status))
                r.installed = str_ends(status, " installed");
            else
                (void)field(line, "Version:", r.version);
            continue;
        }
        if (r.installed && *r.name) {
            *ret = r;
            return true;
        }
        r = (struct record){ 0 };
    } while (more);
    return false;
}

/* "9.1.0.70" of "9.1.0.70-1", "8.9.7.29" of "8.9.7.29-1+cuda12.2", "10.3.0.86" of
 * "10.3.0.86~11.8.0-5". */
static const char *upstream(struct snapshot *s, const char *version)
{
    const char *epoch = strchr(version, ':');
    const char *at = epoch ? epoch + 1 : version;
    return arena_strndup(&s->arena, at, strcspn(at, "-+~"));
}

/* The CUDA major that a package was made for, by its name ("libcudnn9-cuda-12") or its version
 * ("...+cuda12.2", Debian's "...~11.8.0"). 0: neither tells. */
static int record_cuda_major(const struct record *r)
{
    const char *at = strstr(r->name, "-cuda-");
    int n = at ? look_number(at + 6) : 0;
    if (n == 0 && (at = strstr(r->version, "+cuda")))
        n = look_number(at + 5);
    if (n == 0 && (at = strchr(r->version, '~')))
        n = look_number(at + 1);
    return n;
}

/* Packages that stand for a whole component, by the beginning of their names. */
static const struct stands {
    const char *prefix, *kind;
} stands_for[] = {
    { "libcudnn", "cudnn" },     { "nvidia-cudnn", "cudnn" }, { "libnvinfer", "tensorrt" },
    { "cuda-toolkit-", "cuda" }, { "cuda-cudart-", "cuda" },  { "nvidia-cuda-toolkit", "cuda" },
};

/* libcudnn9, libcudnn9-cuda-12, libnvinfer10, cuda-cudart-12-4; not -dev, -bin, -plugin and the
 * like. */
static const char *record_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(stands_for); i++) {
        const char *prefix = stands_for[i].prefix;
        if (!str_starts(name, prefix))
            continue;
        const char *rest = name + strlen(prefix);
        rest += strspn(rest, "0123456789");
        if (*rest == '\0' || (*rest == '-' && isdigit((unsigned char)rest[1])) ||
            str_starts(rest, "-cuda-"))
            return stands_for[i].kind;
    }
    return NULL;
}

static void see_rpm(struct snapshot *s)
{
    static const char *const files[] = { "/usr/lib/sysimage/rpm/rpmdb.sqlite",
                                         "/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (place_exists(s->place, files[i])) {
            fact_add(s, KNOWN_NOT_LOOKED, "packages.rpm", NULL, files[i]);
            return;
        }
}

void seen_packages(struct snapshot *s)
{
    const struct text *t = place_text(s->place, DPKG_STATUS, TEXT_DPKG_GPU);
    struct record r;
    if (t->known == KNOWN_FAILED)
        fact_add(s, KNOWN_FAILED, "packages.dpkg", strerror(t->error), DPKG_STATUS);
    if (t->known != KNOWN_PRESENT) {
        see_rpm(s);
        return;
    }
    for (struct look_line line = { 0 }; next_record(t, &line, &r);) {
        const char *kind = record_kind(r.name);
        if (!kind)
            continue;
        struct component c = {
            .kind = kind,
            .version = upstream(s, r.version),
            .path = DPKG_STATUS,
            .how = "dpkg",
            .package = r.name,
        };
        look_component(s, &c, arena_printf(&s->arena, "%s, package %s", DPKG_STATUS, r.name));
    }
}

/* "libcudnn9" for libcudnn.so.9 and libcudnn_ops.so.9: what names of Debian packages begin with. */
static bool package_stem(const char *soname, char *buf, size_t room)
{
    size_t stem = strcspn(soname, "._");
    const char *version = look_soname_version(soname);
    size_t digits = version ? strspn(version, "0123456789") : 0;
    if (digits == 0 || stem + digits >= room)
        return false;
    memcpy(buf, soname, stem);
    memcpy(buf + stem, version, digits);
    buf[stem + digits] = '\0';
    return true;
}

int seen_package_cuda_major(struct snapshot *s, const char *soname, const char **ret_package)
{
    char stem[NAME_ROOM];
    const struct text *t = place_text(s->place, DPKG_STATUS, TEXT_DPKG_GPU);
    struct record r;
    int found = 0;
    if (t->known != KNOWN_PRESENT || !package_stem(soname, stem, sizeof(stem)))
        return 0;
    for (struct look_line line = { 0 }; next_record(t, &line, &r);) {
        if (!str_starts(r.name, stem))
            continue;
        const char *rest = r.name + strlen(stem);
        int major = *rest == '\0' || str_starts(rest, "-cuda-") ? record_cuda_major(&r) : 0;
        if (major == 0 || major == found)
            continue;
        if (found) /* two packages claim it: neither is believed */
            return 0;
        found = major;
        *ret_package = arena_strdup(&s->arena, r.name);
    }
    return found;
}

/* --- conda ----------------------------------------------------------------------------------- */

/* "cuda-version" and "12.9" of "cuda-version-12.9-h4f385c5_3.json". */
static bool conda_name(const char *file, struct record *ret)
{
    size_t len = strlen(file);
    if (!str_ends(file, ".json") || len - 5 >= sizeof(ret->name))
        return false;
    memcpy(ret->name, file, len - 5);
    ret->name[len - 5] = '\0';
    char *build = strrchr(ret->name, '-');
    if (!build)
        return false;
    *build = '\0';
    char *version = strrchr(ret->name, '-');
    if (!version || strlen(version + 1) >= sizeof(ret->version))
        return false;
    *version = '\0';
    memcpy(ret->version, version + 1, strlen(version + 1) + 1);
    return true;
}

static const struct conda_stands {
    const char *name, *kind;
} conda_stands_for[] = {
    { "cuda-version", "cuda" }, { "cudatoolkit", "cuda" },  { "cudnn", "cudnn" },
    { "libcudnn", "cudnn" },    { "tensorrt", "tensorrt" }, { "libnvinfer", "tensorrt" },
};

static void see_conda_record(struct snapshot *s, const char *dir, const char *file)
{
    struct record r;
    if (!conda_name(file, &r))
        return;
    for (size_t i = 0; i < ARRAY_LEN(conda_stands_for); i++) {
        if (!str_eq(conda_stands_for[i].name, r.name))
            continue;
        const char *path = path_join(&s->arena, dir, file);
        struct component c = {
            .kind = conda_stands_for[i].kind,
            .version = r.version,
            .path = path,
            .how = "conda",
            .package = r.name,
        };
        look_component(s, &c, path);
    }
}

void seen_conda(struct snapshot *s)
{
    for (size_t k = 0; k < s->envs.n; k++) {
        if (s->envs.at[k]->kind != ENV_CONDA)
            continue;
        const char *dir = path_join(&s->arena, s->envs.at[k]->prefix, "conda-meta");
        const struct listing *list = place_list(s->place, dir);
        for (size_t i = 0; list->known == KNOWN_PRESENT && i < list->n; i++)
            see_conda_record(s, dir, list->at[i].name);
    }
}

int seen_conda_cuda_major(struct snapshot *s, const char *prefix)
{
    const char *dir = path_join(&s->arena, prefix, "conda-meta/");
    for (size_t i = 0; i < s->components.n; i++) {
        const struct component *c = &s->components.at[i];
        if (str_eq(c->how, "conda") && str_eq(c->kind, "cuda") && str_starts(c->path, dir))
            return look_number(c->version);
    }
    return 0;
}

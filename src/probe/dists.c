/* Distributions by the names of their .dist-info and .egg-info; one listing a folder. Files inside
 * are read only for the distributions that decide whether the GPU provider loads. */
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/python.h"
#include "version/metadata.h"
#include "version/pep440.h"
#include "version/pep508.h"

#define NAME_ROOM 128
/* Of all environments together: links can show one folder of a hundred thousand names in each of them. */
#define DISTS_MAX 400000u

struct found {
    struct dist dist;
    size_t order; /* of its folder in sys.path */
};

struct dists {
    struct snapshot *s;
    const struct pyenv *env;
    size_t most; /* distributions that may still be kept */
    struct {
        VEC(struct found *);
    } all;
};

/* Names by their beginning; "=" stands for exactly this name. */
static const char *const matter[] = { "onnxruntime",  "ort-",          "=torch",
                                      "=numpy",       "nvidia-",       "tensorrt",
                                      "=cudatoolkit", "=cuda-toolkit", "=cudnn",
                                      "=cuda-version" };

static bool matters(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(matter); i++)
        if (matter[i][0] == '=' ? str_eq(name, matter[i] + 1) : str_starts(name, matter[i]))
            return true;
    return false;
}

bool dist_is_ort(const char *name)
{
    static const char *const others[] = { "onnxruntime-extensions",
                                          "onnxruntime-tools",
                                          "onnxruntime-genai",
                                          "onnxruntime-easy",
                                          "onnxruntime-inference-examples",
                                          "onnxruntime-cpp" };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (str_starts(name, others[i]))
            return false;
    return str_starts(name, "onnxruntime") || str_starts(name, "ort-");
}

static void read_inside(struct snapshot *s, struct dist *d, bool egg_file)
{
    bool egg = str_ends(d->path, ".egg-info");
    const char *file =
        egg_file ? d->path : path_join(&s->arena, d->path, egg ? "PKG-INFO" : "METADATA");
    const struct text *t = place_text(s->place, file, TEXT_HEADERS);
    if (t->known == KNOWN_PRESENT) {
        struct metadata m;
        metadata_parse(t->at, t->len, &s->arena, &m);
        if (!d->version)
            d->version = m.version;
        d->requires = m.requires_dist;
        d->n_requires = m.n_requires_dist;
    } else if (t->known == KNOWN_FAILED) {
        fact_add(s, KNOWN_FAILED, fact_key(s, "dist.%s.metadata", d->name), strerror(t->error),
                 file);
    }
    if (!egg)
        d->installer = look_first_line(s, path_join(&s->arena, d->path, "INSTALLER"));
}

/* "onnxruntime_gpu-1.23.2": the version begins behind the first dash that a digit follows; older
 * tools left dashes in names. */
static size_t name_end(const char *stem, size_t len)
{
    for (size_t i = 1; i + 1 < len; i++)
        if (stem[i] == '-' && stem[i + 1] >= '0' && stem[i + 1] <= '9')
            return i;
    const char *dash = memrchr(stem, '-', len);
    return dash ? (size_t)(dash - stem) : len;
}

static struct found *add(struct dists *b, const char *name, size_t name_len, const char *version,
                         size_t version_len, const char *site, const char *file, size_t order)
{
    struct arena *a = &b->s->arena;
    char buf[NAME_ROOM];
    if (name_len == 0 || name_len >= sizeof buf || b->all.n >= b->most)
        return NULL;
    struct found *f = arena_new(a, struct found);
    f->dist.name = arena_strdup(a, name_normalise_n(name, name_len, buf, sizeof buf));
    f->dist.version = version_len ? arena_strndup(a, version, version_len) : NULL;
    f->dist.path = path_join(a, site, file);
    f->dist.site = site;
    f->order = order;
    vec_push(&b->all, f);
    return f;
}

/* Pip renames what it cannot remove to "~nnxruntime_gpu-…": no distribution any more, but a hint at
 * a broken one. */
static bool left_over(struct dists *b, const char *site, const char *name)
{
    if (name[0] != '~' && name[0] != '-')
        return false;
    fact_add(b->s, KNOWN_PRESENT, "dist.left_over", name, path_join(&b->s->arena, site, name));
    return true;
}

static void add_dist_info(struct dists *b, const char *site, const char *name, size_t stem,
                          size_t order)
{
    size_t n = name_end(name, stem);
    if (left_over(b, site, name))
        return;
    struct found *f = add(b, name, n, n < stem ? name + n + 1 : "", n < stem ? stem - n - 1 : 0,
                          site, name, order);
    if (!f || !matters(f->dist.name))
        return;
    /* a folder without METADATA is what a broken uninstall leaves; pip does not see it either */
    const char *metadata = path_join(&b->s->arena, f->dist.path, "METADATA");
    if (place_stat(b->s->place, metadata)->known == KNOWN_ABSENT) {
        fact_add(b->s, KNOWN_ABSENT, fact_key(b->s, "dist.%s.metadata", f->dist.name), NULL,
                 metadata);
        b->all.n--;
        return;
    }
    read_inside(b->s, &f->dist, false);
}

/* "foo-1.0-py3.8.egg-info" (a file or a folder), or "foo.egg-info" of a development install. */
static void add_egg_info(struct dists *b, const char *site, const char *name, size_t stem,
                         enum file_type type, size_t order)
{
    size_t n = name_end(name, stem);
    size_t version_len = n < stem ? stem - n - 1 : 0;
    const char *py = version_len ? memmem(name + n + 1, version_len, "-py", 3) : NULL;
    if (py)
        version_len = (size_t)(py - (name + n + 1));
    struct found *f =
        add(b, name, n, version_len ? name + n + 1 : "", version_len, site, name, order);
    if (!f)
        return;
    if (type == FILE_NONE || type == FILE_LINK)
        type = place_stat(b->s->place, f->dist.path)->type;
    if (matters(f->dist.name))
        read_inside(b->s, &f->dist, type == FILE_REGULAR);
}

/* A .egg-link names the folder of a development install, where its .egg-info lies. */
static void add_egg_link(struct dists *b, const char *site, const char *name, size_t stem,
                         size_t order)
{
    struct snapshot *s = b->s;
    const char *dir = look_first_line(s, path_join(&s->arena, site, name));
    if (!dir)
        return;
    dir = path_clean(&s->arena, path_join(&s->arena, site, dir));
    char *info = arena_printf(&s->arena, "%.*s.egg-info", (int)stem, name);
    for (char *c = info; c < info + stem; c++)
        if (*c == '-')
            *c = '_';
    if (place_exists(s->place, path_join(&s->arena, dir, info)))
        add_egg_info(b, dir, info, stem, FILE_NONE, order);
}

/* An egg on sys.path itself: ".../foo-1.0-py3.8.egg", with EGG-INFO inside. */
static void add_egg(struct dists *b, const char *egg, size_t order)
{
    const char *name = path_base(egg);
    size_t stem = strlen(name) - strlen(".egg"), n = name_end(name, stem);
    const char *version = n < stem ? name + n + 1 : "";
    const char *py = strstr(version, "-py");
    size_t version_len = n >= stem ? 0 : py ? (size_t)(py - version) : stem - n - 1;
    add(b, name, n, version, version_len, egg, "EGG-INFO", order);
}

static void read_site(struct dists *b, const char *site, size_t order)
{
    static const struct {
        const char *end;
        size_t len;
    } ends[] = { { ".dist-info", 10 }, { ".egg-info", 9 }, { ".egg-link", 9 } };
    const struct listing *l = place_list(b->s->place, site);
    if (str_ends(site, ".egg"))
        add_egg(b, site, order);
    if (l->known == KNOWN_FAILED)
        fact_unread(b->s, b->env, "python.site", site, l->error);
    if (l->cut)
        fact_add(b->s, KNOWN_FAILED, "python.site", "too many files: not all were looked at", site);
    for (size_t i = 0; i < l->n && b->all.n < b->most; i++) {
        const char *name = l->at[i].name;
        size_t len = strlen(name);
        if (len < 10 || (name[len - 1] != 'o' && name[len - 1] != 'k'))
            continue;
        size_t k = 0;
        while (k < ARRAY_LEN(ends) &&
               (len <= ends[k].len || memcmp(name + len - ends[k].len, ends[k].end, ends[k].len)))
            k++;
        if (k == 0)
            add_dist_info(b, site, name, len - ends[0].len, order);
        else if (k == 1)
            add_egg_info(b, site, name, len - ends[1].len, l->at[i].type, order);
        else if (k == 2)
            add_egg_link(b, site, name, len - ends[2].len, order);
    }
}

/* By name; then the folder's place on sys.path; in one folder the newest first. */
static int compare(const void *x, const void *y)
{
    const struct found *a = *(struct found *const *)x, *b = *(struct found *const *)y;
    int r = strcmp(a->dist.name, b->dist.name);
    if (r == 0 && a->order != b->order)
        r = a->order < b->order ? -1 : 1;
    if (r == 0 && a->dist.version && b->dist.version)
        r = pep440_compare_text(b->dist.version, a->dist.version);
    return r ? r : strcmp(a->dist.path, b->dist.path);
}

/* Pip's record of what conda installed has the same name and version: those of one name lie side by side. */
static void note_conda_build(struct dists *b, size_t n_pip, const struct dist *conda)
{
    size_t low = 0, high = n_pip;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(b->all.at[mid]->dist.name, conda->name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < n_pip && str_eq(b->all.at[low]->dist.name, conda->name); low++) {
        struct dist *d = &b->all.at[low]->dist;
        if (!d->version || !str_eq(d->version, conda->version))
            continue;
        d->build = conda->build;
        if (!d->installer)
            d->installer = "conda";
    }
}

/* conda-meta/NAME-VERSION-BUILD.json: the file name says it all. */
static void read_conda(struct dists *b, const char *prefix, size_t order)
{
    struct arena *a = &b->s->arena;
    const char *meta = path_join(a, prefix, "conda-meta");
    const struct listing *l = place_list(b->s->place, meta);
    size_t n_pip = b->all.n;
    if (n_pip)
        qsort(b->all.at, n_pip, sizeof *b->all.at, compare);
    for (size_t i = 0; i < l->n && b->all.n < b->most; i++) {
        const char *name = l->at[i].name;
        size_t len = strlen(name);
        const char *build = str_ends(name, ".json") ? memrchr(name, '-', len) : NULL;
        const char *version = build ? memrchr(name, '-', (size_t)(build - name)) : NULL;
        if (!version)
            continue;
        const char *build_text = arena_strndup(a, build + 1, len - 5 - (size_t)(build + 1 - name));
        struct found *f =
            add(b, name, (size_t)(version - name), version + 1, (size_t)(build - version - 1),
                prefix, arena_printf(a, "conda-meta/%s", name), order);
        if (!f)
            continue;
        f->dist.installer = "conda";
        f->dist.build = build_text;
        if (matters(f->dist.name))
            note_conda_build(b, n_pip, &f->dist);
    }
}

const struct dist *dists_find(const struct pyenv *env, const char *name)
{
    size_t low = 0, high = env->n_dists;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int r = strcmp(env->dists[mid]->name, name);
        if (r == 0)
            return env->dists[mid];
        if (r < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

void dists_read(struct snapshot *s, struct pyenv_work *w)
{
    struct dists b = { .s = s, .env = &w->env, .most = DISTS_MAX };
    for (size_t i = 0; i < s->envs.n; i++)
        b.most -= pyenv_work(s->envs.at[i])->n_all;
    for (size_t i = 0; i < w->n_sites; i++)
        read_site(&b, w->sites[i], i);
    const char *meta = path_join(&s->arena, w->env.prefix, "conda-meta");
    if (w->env.kind == ENV_CONDA && place_is_dir(s->place, meta))
        read_conda(&b, w->env.prefix, w->n_sites);
    if (b.all.n >= b.most)
        fact_add(s, KNOWN_FAILED, "python.dists", "too many distributions: not all were looked at", w->env.prefix);
    if (b.all.n)
        qsort(b.all.at, b.all.n, sizeof *b.all.at, compare);
    const struct dist **all = arena_alloc(&s->arena, (b.all.n + 1) * sizeof *all);
    const struct dist **first = arena_alloc(&s->arena, (b.all.n + 1) * sizeof *first);
    size_t n = 0;
    for (size_t i = 0; i < b.all.n; i++) {
        all[i] = &b.all.at[i]->dist;
        if (n == 0 || !str_eq(first[n - 1]->name, all[i]->name))
            first[n++] = all[i];
    }
    w->all = all;
    w->n_all = b.all.n;
    w->env.dists = first;
    w->env.n_dists = n;
    w->env.torch = dists_find(&w->env, "torch");
    w->env.numpy = dists_find(&w->env, "numpy");
    vec_done(&b.all);
}

/* `kb table`: ONNX Runtime release by release, put together from the tables of releases, extras,
 * GPU code, NumPy, drivers and PyTorch. Releases with equal rows are folded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kb/grid.h"

static const char *take(struct arena *a, struct str *s)
{
    const char *text = s->len ? arena_strdup(a, str_get(s)) : NULL;
    str_done(s);
    return text;
}

static const char *words(struct arena *a, const char *const *list)
{
    struct str s = { 0 };
    for (size_t i = 0; list[i]; i++)
        str_addf(&s, "%s%s", i ? " " : "", list[i]);
    return take(a, &s);
}

static bool has(const char *const *list, const char *word)
{
    for (size_t i = 0; list[i]; i++)
        if (str_eq(list[i], word))
            return true;
    return false;
}

/* cp38 cp39 cp310 cp313t: "3.8-3.10 3.13t". */
static const char *python_text(struct arena *a, const char *const *tags)
{
    struct str s = { 0 };
    for (int threaded = 0; threaded < 2; threaded++) {
        int first = 0, last = 0;
        for (size_t i = 0;; i++) {
            const char *tag = tags[i];
            if (tag && (!str_starts(tag, "cp3") || str_ends(tag, "t") != (threaded == 1)))
                continue;
            int minor = tag ? (int)strtol(tag + 3, NULL, 10) : 0;
            if (first && minor != last + 1) {
                const char *suffix = threaded ? "t" : "";
                str_addf(&s, "%s3.%d%s", s.len ? " " : "", first, suffix);
                if (last > first)
                    str_addf(&s, "-3.%d%s", last, suffix);
                first = 0;
            }
            if (!tag)
                break;
            first = first ? first : minor;
            last = minor;
        }
    }
    return take(a, &s);
}

static const char *cuda_text(struct arena *a, int cuda)
{
    return cuda ? arena_printf(a, "%d.%d", cuda / 1000, cuda / 10 % 100) : NULL;
}

static const char *number_text(struct arena *a, int n)
{
    return n ? arena_printf(a, "%d", n) : NULL;
}

static const char *known_text(enum kb_known known)
{
    return known == KB_YES ? "yes" : known == KB_NO ? "no" : NULL;
}

/* --- what a release needs --- */

enum {
    N_RELEASES,
    N_CUDA,
    N_CUDNN,
    N_TRT,
    N_DRIVER,
    N_DRIVER_WIN,
    N_GLIBC,
    N_GLIBC_AARCH64,
    N_PY,
    N_PY_WIN,
    N_PY_AARCH64,
    N_NUMPY
};
static const struct kb_field need_fields[] = {
    [N_RELEASES] = { "releases", "release", KB_CELL_LIST, false },
    [N_CUDA] = { "cuda", "CUDA", KB_CELL_TEXT, false },
    [N_CUDNN] = { "cudnn_major", "cuDNN", KB_CELL_NUMBER, false },
    [N_TRT] = { "tensorrt_major", "TensorRT", KB_CELL_NUMBER, false },
    [N_DRIVER] = { "driver_linux", "driver, Linux", KB_CELL_TEXT, false },
    [N_DRIVER_WIN] = { "driver_windows", "driver, Windows", KB_CELL_TEXT, false },
    [N_GLIBC] = { "glibc", "glibc", KB_CELL_TEXT, false },
    [N_GLIBC_AARCH64] = { "glibc_aarch64", "glibc, aarch64", KB_CELL_TEXT, true },
    [N_PY] = { "python_linux", "Python", KB_CELL_LIST, false },
    [N_PY_WIN] = { "python_windows", "Python, Windows", KB_CELL_LIST, true },
    [N_PY_AARCH64] = { "python_aarch64", "Python, aarch64", KB_CELL_LIST, true },
    [N_NUMPY] = { "numpy", "NumPy", KB_CELL_TEXT, false },
};

static void python_cells(struct arena *a, const struct kb_ort *o, struct kb_grid_row *r)
{
    const char *linux_text = python_text(a, o->py_linux), *windows_text = python_text(a, o->py_win);
    struct str s = { 0 };
    str_add(&s, linux_text ? linux_text : "none on Linux");
    if (!windows_text)
        str_add(&s, "; none on Windows");
    else if (!linux_text || !str_eq(linux_text, windows_text))
        str_addf(&s, "; Windows %s", windows_text);
    if (o->py_aarch64[0])
        str_addf(&s, "; aarch64 %s", python_text(a, o->py_aarch64));
    r->cells[N_PY] = (struct kb_cell){ take(a, &s), words(a, o->py_linux) };
    r->cells[N_PY_WIN].text = words(a, o->py_win);
    r->cells[N_PY_AARCH64].text = words(a, o->py_aarch64);
}

static int first_minor(const struct kb_numpy *n)
{
    return n->py[0] && str_starts(n->py[0], "cp3") ? (int)strtol(n->py[0] + 3, NULL, 10) : 0;
}

static int by_python(const void *a, const void *b)
{
    return first_minor(*(const struct kb_numpy *const *)a) -
           first_minor(*(const struct kb_numpy *const *)b);
}

static void numpy_cell(struct arena *a, const struct kb_ort *o, struct kb_grid_row *r)
{
    struct str s = { 0 };
    const char *last = NULL;
    const struct kb_numpy *found[16];
    size_t n_found = 0;
    for (size_t i = 0; kb_numpy_at(i) && n_found < ARRAY_LEN(found); i++)
        if (str_eq(kb_numpy_at(i)->version, o->version) &&
            kb_numpy_at(i)->platform == KB_LINUX_X86_64)
            found[n_found++] = kb_numpy_at(i);
    qsort(found, n_found, sizeof(struct kb_numpy *), by_python);
    for (size_t i = 0; i < n_found; i++) {
        const struct kb_numpy *n = found[i];
        kb_sources_add(&r->sources, n->prov.source);
        bool all = true;
        for (size_t k = 0; o->py_linux[k]; k++)
            all &= has(n->py, o->py_linux[k]);
        if (!last || !str_eq(last, n->spec))
            str_addf(&s, "%s%s%s%s", s.len ? "; " : "", n->spec, all ? "" : " on ",
                     all ? "" : python_text(a, n->py));
        last = n->spec;
    }
    const struct kb_numpy_abi *abi = kb_numpy_abi_find(o->version);
    if (abi) {
        kb_sources_add(&r->sources, abi->prov.source);
        if (abi->abi == 1)
            str_addf(&s, "%sbuilt for NumPy 1", s.len ? "; " : "");
    }
    r->cells[N_NUMPY].text = take(a, &s);
}

static void need_row(struct arena *a, const struct kb_ort *o, struct kb_grid_row *r)
{
    kb_sources_add(&r->sources, o->prov.source);
    r->cells[N_CUDA].text = cuda_text(a, o->cuda);
    r->cells[N_CUDNN].text = number_text(a, o->cudnn_major);
    r->cells[N_TRT].text = number_text(a, o->tensorrt_major);
    static const enum kb_os systems[] = { KB_OS_LINUX, KB_OS_WINDOWS };
    for (size_t i = 0; i < ARRAY_LEN(systems); i++) {
        const struct kb_floor *floor = kb_driver_floor(o->cuda_major, systems[i]);
        r->cells[N_DRIVER + i].text = floor ? floor->driver : NULL;
        kb_sources_add(&r->sources, floor ? floor->prov.source : NULL);
    }
    r->cells[N_GLIBC].text = o->glibc_tag_aarch64 && !str_eq(o->glibc_tag_aarch64, o->glibc_tag)
                                 ? arena_printf(a, "%s; aarch64 %s", o->glibc_tag,
                                                o->glibc_tag_aarch64)
                                 : o->glibc_tag;
    r->cells[N_GLIBC].words = o->glibc_tag;
    r->cells[N_GLIBC_AARCH64].text = o->glibc_tag_aarch64;
    python_cells(a, o, r);
    numpy_cell(a, o, r);
}

/* --- how its libraries come --- */

enum {
    L_RELEASES,
    L_NEEDS,
    L_LAZY,
    L_OPENED,
    L_PRELOAD,
    L_EXTRAS,
    L_MISSING,
    L_TORCH,
    L_TORCH_INDEX
};
static const struct kb_field library_fields[] = {
    [L_RELEASES] = { "releases", "release", KB_CELL_LIST, false },
    [L_NEEDS] = { "needs", "cannot load without", KB_CELL_LIST, false },
    [L_LAZY] = { "lazy", "opens when wanted", KB_CELL_LIST, false },
    [L_OPENED] = { "opened_by", "opened by", KB_CELL_TEXT, false },
    [L_PRELOAD] = { "preload_dlls", "preload_dlls()", KB_CELL_KNOWN, false },
    [L_EXTRAS] = { "extras", "extras", KB_CELL_LIST, false },
    [L_MISSING] = { "extras_lack", "which the extras lack", KB_CELL_LIST, true },
    [L_TORCH] = { "torch", "torch, public index", KB_CELL_LIST, false },
    [L_TORCH_INDEX] = { "torch_index", "torch, its own index", KB_CELL_LIST, false },
};

/* Extras that can be installed, and what all of them together do not bring of what the provider
 * needs. */
static void extra_cells(struct arena *a, const struct kb_ort *o, struct kb_grid_row *r)
{
    struct str usable = { 0 }, text = { 0 }, lacks = { 0 };
    const struct kb_extra *found[8];
    size_t n = 0;
    for (size_t i = 0; kb_extra_at(i) && n < ARRAY_LEN(found); i++) {
        const struct kb_extra *x = kb_extra_at(i);
        if (!str_eq(x->version, o->version))
            continue;
        kb_sources_add(&r->sources, x->prov.source);
        if (x->installable == KB_NO) {
            str_addf(&text, "%s[%s] cannot be installed", text.len ? ", " : "", x->extra);
            continue;
        }
        str_addf(&text, "%s[%s]", text.len ? ", " : "", x->extra);
        str_addf(&usable, "%s%s", usable.len ? " " : "", x->extra);
        found[n++] = x;
    }
    const char *const *lists[] = { o->needs, o->lazy };
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (size_t i = 0; n && lists[l][i]; i++) {
            bool brought = kb_soname_family(lists[l][i]) == KB_FAMILY_DRIVER;
            for (size_t k = 0; k < n && !brought; k++)
                brought = has(found[k]->brings, lists[l][i]);
            if (!brought)
                str_addf(&lacks, "%s%s", lacks.len ? " " : "", lists[l][i]);
        }
    const char *missing = take(a, &lacks), *shown = take(a, &text);
    if (shown && n)
        shown = missing ? arena_printf(a, "%s; lack %s", shown, missing)
                        : arena_printf(a, "%s; together all", shown);
    r->cells[L_EXTRAS] = (struct kb_cell){ shown, take(a, &usable) };
    r->cells[L_MISSING].text = missing;
}

/* Releases that fit, told by the first and last of each run of them. */
struct runs {
    struct str text, all; /* for people; for machines */
    const char *first, *last;
};

/* fits false ends a run; version is then of no account. */
static void runs_add(struct runs *u, const char *version, bool fits)
{
    if (fits) {
        str_addf(&u->all, "%s%s", u->all.len ? " " : "", version);
        u->first = u->first ? u->first : version;
        u->last = version;
        return;
    }
    if (!u->first)
        return;
    str_add(&u->text, u->text.len ? ", " : "");
    if (u->first != u->last) { /* 2.0.0-2.3.1+cu118 */
        str_addn(&u->text, u->first, strcspn(u->first, "+"));
        str_addc(&u->text, '-');
    }
    str_add(&u->text, u->last);
    u->first = NULL;
}

static struct kb_cell runs_end(struct runs *u, struct arena *a)
{
    runs_add(u, NULL, false);
    const char *text = take(a, &u->text);
    return (struct kb_cell){ text, take(a, &u->all) };
}

static bool share_python(const char *const *a, const char *const *b)
{
    for (size_t i = 0; b[i]; i++)
        if (has(a, b[i]))
            return true;
    return false;
}

/* Releases of torch whose libraries serve: the same majors, for a Python that both have. */
static void torch_cell(struct arena *a, const struct kb_ort *o, struct kb_grid_row *r)
{
    struct runs u = { 0 };
    for (size_t i = 0; kb_torch_at(i); i++) {
        const struct kb_torch *t = kb_torch_at(i);
        bool fits = t->cuda_major == o->cuda_major && t->cudnn_major == o->cudnn_major &&
                    share_python(o->py_linux, t->py_linux);
        runs_add(&u, t->version, fits);
        if (fits)
            kb_sources_add(&r->sources, t->prov.source);
    }
    r->cells[L_TORCH] = runs_end(&u, a);
}

enum { LABELS_MAX = 32 };

/* The local labels of torch's own index that are of this CUDA major, in the order of the builds. */
static size_t torch_labels(int cuda_major, const char *ret_labels[LABELS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; kb_torch_build_at(i); i++) {
        const struct kb_torch_build *b = kb_torch_build_at(i);
        const char *label = strchr(b->torch, '+');
        bool skip = !label || b->cuda_major != cuda_major;
        for (size_t k = 0; k < n && !skip; k++)
            skip = str_eq(ret_labels[k], label);
        if (!skip && n < LABELS_MAX)
            ret_labels[n++] = label;
    }
    return n;
}

/* The same of the builds on torch's own index, label by label. */
static void torch_index_cell(struct arena *a, const struct kb_ort *o, struct kb_grid_row *r)
{
    const char *labels[LABELS_MAX];
    size_t n = torch_labels(o->cuda_major, labels);
    struct runs u = { 0 };
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; kb_torch_build_at(i); i++) {
            const struct kb_torch_build *b = kb_torch_build_at(i);
            if (!str_ends(b->torch, labels[k]) || b->platform != KB_LINUX_X86_64)
                continue;
            bool fits = b->cuda_major == o->cuda_major && b->cudnn_major == o->cudnn_major &&
                        share_python(o->py_linux, b->py);
            runs_add(&u, b->torch, fits);
            if (fits)
                kb_sources_add(&r->sources, b->prov.source);
        }
        runs_add(&u, NULL, false);
    }
    r->cells[L_TORCH_INDEX] = runs_end(&u, a);
}

static void library_row(struct arena *a, const struct kb_ort *o, struct kb_grid_row *r)
{
    kb_sources_add(&r->sources, o->prov.source);
    r->cells[L_NEEDS].text = words(a, o->needs);
    r->cells[L_LAZY].text = words(a, o->lazy);
    r->cells[L_OPENED].text = o->needs_by == KB_NEEDS_LD_PRELOAD_PY
                                  ? "bare name; _ld_preload.py the rest"
                              : o->opened_by == KB_OPEN_BARE_NAME ? "bare name"
                              : o->opened_by == KB_OPEN_FULL_PATH ? "full path"
                                                                  : NULL;
    r->cells[L_PRELOAD].text = known_text(o->preload_dlls);
    extra_cells(a, o, r);
    torch_cell(a, o, r);
    torch_index_cell(a, o, r);
}

/* --- GPU code --- */

enum { G_RELEASES, G_CUBINS, G_PARTIAL, G_PTX, G_PTX_PARTIAL, G_PTX_CUDA };
static const struct kb_field code_fields[] = {
    [G_RELEASES] = { "releases", "release", KB_CELL_LIST, false },
    [G_CUBINS] = { "cubins", "cubins", KB_CELL_LIST, false },
    [G_PARTIAL] = { "cubins_partial", "cubins of some kernels only", KB_CELL_LIST, false },
    [G_PTX] = { "ptx", "PTX", KB_CELL_LIST, false },
    [G_PTX_PARTIAL] = { "ptx_partial", "PTX of some kernels only", KB_CELL_LIST, false },
    [G_PTX_CUDA] = { "ptx_cuda", "PTX wants a driver that knows CUDA", KB_CELL_TEXT, false },
};

static const char *sms_text(struct arena *a, const char *prefix, const struct kb_sm *list)
{
    struct str s = { 0 };
    for (size_t i = 0; list[i].cc; i++) {
        str_addf(&s, "%s%s%d", i ? " " : "", prefix, list[i].cc);
        if (list[i].suffix)
            str_addc(&s, list[i].suffix);
    }
    return take(a, &s);
}

static bool code_row(struct arena *a, const struct kb_ort *o, enum kb_platform platform,
                     struct kb_grid_row *r)
{
    const struct kb_gpu_code *c = kb_ort_gpu_code(o->version, platform);
    if (!c)
        return false;
    kb_sources_add(&r->sources, c->prov.source);
    r->cells[G_CUBINS].text = sms_text(a, "sm_", c->cubins);
    r->cells[G_PARTIAL].text = sms_text(a, "sm_", c->partial);
    r->cells[G_PTX].text = sms_text(a, "compute_", c->ptx);
    r->cells[G_PTX_PARTIAL].text = sms_text(a, "compute_", c->ptx_partial);
    r->cells[G_PTX_CUDA].text = cuda_text(a, c->ptx_cuda);
    return true;
}

/* --- folding --- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && str_eq(a, b));
}

static bool same_cells(const struct kb_grid *g, const struct kb_grid_row *x,
                       const struct kb_grid_row *y)
{
    for (size_t i = 1; i < g->n_fields; i++)
        if (!same_text(x->cells[i].text, y->cells[i].text) ||
            !same_text(x->cells[i].words, y->cells[i].words))
            return false;
    return true;
}

/* The newest row of g is of this release: it joins the row before when that says the same. */
static void fold(struct kb_grid *g, struct arena *a, const char *version)
{
    struct kb_grid_row *r = &g->rows[g->n_rows - 1], *before = g->n_rows > 1 ? r - 1 : NULL;
    if (!before || !same_cells(g, before, r)) {
        r->cells[0] = (struct kb_cell){ version, version };
        return;
    }
    size_t first = strcspn(before->cells[0].words, " ");
    before->cells[0].text = arena_printf(a, "%.*s to %s", (int)first, before->cells[0].words,
                                         version);
    before->cells[0].words = arena_printf(a, "%s %s", before->cells[0].words, version);
    for (size_t i = 0; i < r->sources.n; i++)
        kb_sources_add(&before->sources, r->sources.at[i]);
    *r = (struct kb_grid_row){ 0 };
    g->n_rows--;
}

/* --- other channels --- */

static const struct kb_field feed_fields[] = {
    { "name", "index", KB_CELL_TEXT, false },          { "url", "URL", KB_CELL_TEXT, true },
    { "ort", "release", KB_CELL_TEXT, false },         { "cuda", "CUDA", KB_CELL_TEXT, false },
    { "cudnn_major", "cuDNN", KB_CELL_NUMBER, false }, { "note", "note", KB_CELL_TEXT, false },
};
static const struct kb_field conda_fields[] = {
    { "versions", "release", KB_CELL_TEXT, false },
    { "cuda", "CUDA", KB_CELL_LIST, false },
    { "cudnn_major", "cuDNN", KB_CELL_NUMBER, false },
    { "platforms", "platforms", KB_CELL_LIST, false },
    { "note", "note", KB_CELL_TEXT, false },
};

/* The rows of a table, of one package where package is not NULL, with these of its columns. */
static void channel(struct kb_grid *g, struct arena *a, const char *table, const char *title,
                    const struct kb_field *fields, size_t n, const char *package)
{
    const struct kb_table *t = kb_table_find(table);
    kb_grid_init(g, a, table, title, fields, n, t->n_rows);
    for (size_t row = 0; row < t->n_rows; row++) {
        if (package && !str_eq(kb_table_get(t, row, "package"), package))
            continue;
        struct kb_grid_row *r = kb_grid_add(g, a);
        for (size_t i = 0; i < n; i++)
            r->cells[i].text = kb_table_get(t, row, fields[i].name);
        kb_sources_add(&r->sources, kb_table_source(t, row));
        r->as_of = kb_table_get(t, row, "as_of");
        r->confidence = kb_table_get(t, row, "confidence");
    }
}

void kb_view_table(struct arena *a, struct kb_view *ret)
{
    static const struct {
        enum kb_platform platform;
        const char *name, *title;
    } code[] = {
        { KB_LINUX_X86_64, "gpu_code_linux_x86_64", "GPU code, Linux x86_64" },
        { KB_WIN_AMD64, "gpu_code_win_amd64", "GPU code, Windows" },
        { KB_LINUX_AARCH64, "gpu_code_linux_aarch64", "GPU code, Linux aarch64" },
    };
    size_t n = 0;
    while (kb_ort_at(n))
        n++;
    *ret = (struct kb_view){
        .what = "table",
        .title = "ONNX Runtime, CUDA, cuDNN, driver, Python, PyTorch: what fits",
        .intro =
            "Of onnxruntime-gpu as it is on the public index. A release that is not listed is not there. CUDA is what it was "
            "compiled with: any minor version of the same major serves. The driver is the oldest on which programs of that "
            "CUDA major run. torch is named where it has the same CUDA and cuDNN major and a Python in common: then one "
            "process can do with one set of libraries, as far as torch brings them. A cubin serves GPUs of its own major and "
            "of its minor or above, one with an 'a' that GPU alone; PTX serves newer GPUs, when the driver can compile it.",
        .grids = arena_zalloc(a, (4 + ARRAY_LEN(code)) * sizeof(struct kb_grid)),
        .n_grids = 4 + ARRAY_LEN(code),
    };
    struct kb_grid *g = ret->grids;
    kb_grid_init(&g[0], a, "needs", "What a release needs", need_fields, ARRAY_LEN(need_fields), n);
    kb_grid_init(&g[1], a, "libraries", "How its libraries come", library_fields,
                 ARRAY_LEN(library_fields), n);
    for (size_t k = 0; k < ARRAY_LEN(code); k++)
        kb_grid_init(&g[2 + k], a, code[k].name, code[k].title, code_fields, ARRAY_LEN(code_fields),
                     n);
    for (size_t i = 0; i < n; i++) {
        const struct kb_ort *o = kb_ort_at(i);
        need_row(a, o, kb_grid_add(&g[0], a));
        fold(&g[0], a, o->version);
        library_row(a, o, kb_grid_add(&g[1], a));
        fold(&g[1], a, o->version);
        for (size_t k = 0; k < ARRAY_LEN(code); k++) {
            if (code_row(a, o, code[k].platform, kb_grid_add(&g[2 + k], a)))
                fold(&g[2 + k], a, o->version);
            else
                g[2 + k].n_rows--;
        }
    }
    g += 2 + ARRAY_LEN(code);
    channel(&g[0], a, "feeds", "Builds on other package indexes", feed_fields,
            ARRAY_LEN(feed_fields), NULL);
    channel(&g[1], a, "conda", "Builds of conda-forge", conda_fields, ARRAY_LEN(conda_fields),
            "onnxruntime");
}

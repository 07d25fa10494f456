/* The rows of show: every CUDA component that was seen, its version, where it was read, and what disagrees. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "report/text.h"

static bool present(const struct fact *f)
{
    return f && f->known == KNOWN_PRESENT;
}

static void add(struct show_rows *rows, const char *component, const char *version, const char *source)
{
    vec_push(rows, (struct show_row){ component, version, source, NULL });
}

static void add_fact(struct show_rows *rows, const char *component, const struct fact *f)
{
    if (present(f))
        add(rows, component, f->value, f->source);
}

static void machine_rows(const struct snapshot *s, struct arena *a, struct show_rows *rows)
{
    const struct driver *d = &s->driver;
    add_fact(rows, "driver, kernel module", d->kernel_module);
    add_fact(rows, "driver, libcuda", d->libcuda);
    add_fact(rows, "driver, libnvidia-ml", d->libnvidia_ml);
    add_fact(rows, "driver, NVML", d->nvml);
    add_fact(rows, "CUDA of the driver", d->cuda_version);
    if (rows->n == 0)
        add(rows, "driver", NULL, d->known == KNOWN_ABSENT ? "none found" : "not looked at");
    if (s->gpus.n == 0)
        add(rows, "GPU", NULL, s->gpus_known == KNOWN_ABSENT ? "none found" :
                               s->gpus_known == KNOWN_FAILED ? "cannot be read" : "not looked at");
    for (size_t i = 0; i < s->gpus.n; i++) {
        const struct gpu *g = &s->gpus.at[i];
        add(rows, arena_printf(a, "GPU %s", g->pci ? g->pci : ""),
            g->cc ? arena_printf(a, "%s (%d.%d)", g->name ? g->name : "?", g->cc / 10, g->cc % 10) : g->name,
            g->fact ? g->fact->source : NULL);
    }
    for (size_t i = 0; i < s->components.n; i++) {
        const struct component *c = &s->components.at[i];
        static const struct {
            const char *kind, *shown;
        } names[] = { { "cuda", "CUDA" }, { "cudnn", "cuDNN" }, { "tensorrt", "TensorRT" } };
        const char *shown = c->kind;
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            if (str_eq(names[k].kind, c->kind))
                shown = names[k].shown;
        add(rows, arena_printf(a, "%s, %s%s", shown, c->package ? c->package : c->how, c->current ? " (current)" : ""), c->version,
            c->fact && c->fact->source ? c->fact->source : c->path);
    }
}

static bool matters(const char *name)
{
    static const char *const prefixes[] = { "onnxruntime", "ort-nightly", "torch", "numpy", "nvidia-", "tensorrt", "cuda-" };
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (str_starts(name, prefixes[i]))
            return true;
    return false;
}

static void python_rows(const struct snapshot *s, struct arena *a, struct show_rows *rows)
{
    for (size_t i = 0; i < s->envs.n; i++) {
        const struct pyenv *e = s->envs.at[i];
        add(rows, "Python", e->major ? arena_printf(a, "%d.%d", e->major, e->minor) : NULL, arena_printf(a, "%s (%s)", e->prefix, e->why));
        if (e->ort)
            add(rows, "  onnxruntime on top", arena_printf(a, "%s %s", e->ort->package ? e->ort->package : "?", e->ort->version ? e->ort->version : "?"),
                e->ort->dir);
        if (e->ort && e->ort->cuda_built)
            add(rows, "  built for CUDA", e->ort->cuda_built, "build_and_package_info.py");
        if (e->torch_cuda)
            add(rows, "  torch's CUDA", e->torch_cuda, arena_printf(a, "%s/version.py", e->torch_dir));
        for (size_t k = 0; k < e->n_dists; k++)
            if (matters(e->dists[k]->name))
                add(rows, arena_printf(a, "  %s", e->dists[k]->name), e->dists[k]->version, e->dists[k]->path);
    }
}

static bool same_family(const char *a, const char *b, const char *prefix)
{
    return str_starts(a, prefix) && str_starts(b, prefix);
}

/* The driver's parts must agree exactly; cuDNN and TensorRT copies outside of Python should. */
static void mark(struct arena *a, struct show_rows *rows)
{
    static const char *const families[] = { "driver, ", "cuDNN, header", "cuDNN, library", "TensorRT, " };
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = 0; k < rows->n; k++) {
            struct show_row *x = &rows->at[i], *y = &rows->at[k];
            bool pair = false;
            for (size_t f = 0; f < ARRAY_LEN(families); f++)
                pair |= same_family(x->component, y->component, families[f]);
            pair |= str_starts(x->component, "cuDNN, header") && str_starts(y->component, "cuDNN, library");
            if (i == k || !pair || !x->version || !y->version || x->differs)
                continue;
            size_t n = strlen(x->version) < strlen(y->version) ? strlen(x->version) : strlen(y->version);
            if (strncmp(x->version, y->version, n) != 0)
                x->differs = arena_printf(a, "%s says %s", y->component, y->version);
        }
}

void show_collect(const struct snapshot *s, struct arena *a, struct show_rows *ret)
{
    machine_rows(s, a, ret);
    python_rows(s, a, ret);
    if (s->glibc)
        add(ret, s->musl ? "musl" : "glibc", s->glibc, NULL);
    if (s->distro)
        add(ret, "system", s->distro, "/etc/os-release");
    mark(a, ret);
}

void text_show(struct text_out *t)
{
    struct show_rows rows = { 0 };
    show_collect(t->r->s, &t->a, &rows);
    size_t wide = 10, wide_version = 7;
    for (size_t i = 0; i < rows.n; i++) {
        size_t n = strlen(rows.at[i].component), m = rows.at[i].version ? strlen(rows.at[i].version) : 1;
        wide = n > wide && n < 44 ? n : wide;
        wide_version = m > wide_version && m < 36 ? m : wide_version;
    }
    for (size_t i = 0; i < rows.n; i++) {
        const struct show_row *r = &rows.at[i];
        if (r->differs)
            text_mark(t, MARK_WARN);
        else
            fputc(' ', t->out);
        fprintf(t->out, " %-*s  %-*s  ", (int)wide, r->component, (int)wide_version, r->version ? r->version : "-");
        text_put(t, r->source ? text_path(t, r->source) : "");
        fputc('\n', t->out);
        if (r->differs) {
            fprintf(t->out, "  %*s  ", (int)wide, "");
            text_put(t, r->differs);
            fputc('\n', t->out);
        }
    }
    vec_done(&rows);
}

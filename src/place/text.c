/* Reading the part of a text file that is wanted: whole files up to a cap, or a filter run over its lines. */
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "place/internal.h"

enum { KIB = 1024, MIB = 1024 * 1024, KEPT_MAX = MIB };

/* A filter sees one line at a time, its newline included unless it is the last; false: enough. */
struct filter {
    struct str out;
    /* dpkg: the paragraph so far */
    struct str paragraph;
    bool gpu_package;
    /* pci.ids: inside the vendor's lines */
    bool in_vendor;
};

static bool line_starts(const char *line, size_t n, const char *prefix)
{
    size_t m = strlen(prefix);
    return n >= m && memcmp(line, prefix, m) == 0;
}

static bool line_has(const char *line, size_t n, const char *word)
{
    return memmem(line, n, word, strlen(word)) != NULL;
}

static bool filter_headers(struct filter *f, const char *line, size_t n)
{
    if (n == 0 || line[0] == '\n' || (line[0] == '\r' && (n == 1 || line[1] == '\n')))
        return false;
    str_addn(&f->out, line, n);
    return true;
}

static bool filter_first_line(struct filter *f, const char *line, size_t n)
{
    str_addn(&f->out, line, n);
    return false;
}

static bool filter_ort_record(struct filter *f, const char *line, size_t n)
{
    if (line_starts(line, n, "onnxruntime"))
        str_addn(&f->out, line, n);
    return true;
}

static bool filter_version_lines(struct filter *f, const char *line, size_t n)
{
    if (line_has(line, n, "#define ") || line_has(line, n, "version") || line_has(line, n, "VERSION"))
        str_addn(&f->out, line, n);
    return true;
}

static void end_paragraph(struct filter *f)
{
    if (f->gpu_package) {
        str_addn(&f->out, str_get(&f->paragraph), f->paragraph.len);
        str_addc(&f->out, '\n');
    }
    str_cut(&f->paragraph, 0);
    f->gpu_package = false;
}

static bool filter_dpkg(struct filter *f, const char *line, size_t n)
{
    static const char *const words[] = { "cuda", "cudnn", "cublas", "nvinfer", "nvidia", "tensorrt",
                                         "cufft", "curand", "nvrtc", "onnxruntime" };
    if (n == 0 || line[0] == '\n') {
        end_paragraph(f);
        return true;
    }
    bool package = line_starts(line, n, "Package:");
    if (package)
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            f->gpu_package = f->gpu_package || line_has(line, n, words[i]);
    if (package || line_starts(line, n, "Status:") || line_starts(line, n, "Version:"))
        str_addn(&f->paragraph, line, n);
    return true;
}

static bool filter_pci(struct filter *f, const char *line, size_t n)
{
    if (n == 0 || line[0] == '#' || line[0] == '\n')
        return true;
    if (line[0] != '\t') {
        bool was = f->in_vendor;
        f->in_vendor = line_starts(line, n, "10de ");
        return !was || f->in_vendor;
    }
    if (f->in_vendor && n > 1 && line[1] != '\t')
        str_addn(&f->out, line, n);
    return true;
}

static const struct part {
    size_t read_max;  /* bytes looked at */
    size_t first;     /* size of the first read: what usually is enough */
    bool (*line)(struct filter *f, const char *line, size_t n); /* NULL: keep all */
    void (*end)(struct filter *f);
} parts[TEXT_PARTS] = {
    [TEXT_WHOLE] = { 256 * KIB, 256 * KIB, NULL, NULL },
    [TEXT_HEADERS] = { 64 * KIB, 8 * KIB, filter_headers, NULL },
    [TEXT_ORT_RECORD] = { 4 * MIB, 64 * KIB, filter_ort_record, NULL },
    [TEXT_FIRST_LINE] = { 4 * KIB, 4 * KIB, filter_first_line, NULL },
    [TEXT_VERSION_LINES] = { MIB, 64 * KIB, filter_version_lines, NULL },
    [TEXT_DPKG_GPU] = { 64 * MIB, 64 * KIB, filter_dpkg, end_paragraph },
    [TEXT_PCI_NVIDIA] = { 8 * MIB, 64 * KIB, filter_pci, NULL },
    [TEXT_LDCACHE] = { 16 * MIB, 256 * KIB, NULL, NULL },
};

struct line_context {
    const struct part *part;
    struct filter filter;
    bool full; /* no real file has so much of what is wanted, and readers go through it again and again */
};

static bool take_line(void *ctx, const char *line, size_t n)
{
    struct line_context *c = ctx;
    c->full = c->filter.out.len > KEPT_MAX;
    return !c->full && c->part->line(&c->filter, line, n);
}

void place_read_text(struct place *p, int fd, uint64_t size_bytes, enum text_part part, struct text *ret)
{
    struct line_context c = { .part = &parts[part] };
    bool cut = false;
    int r;
    if (c.part->line)
        r = io_lines(fd, size_bytes, c.part->first, c.part->read_max, take_line, &c, &cut);
    else
        r = io_read(fd, size_bytes, c.part->read_max, &c.filter.out, &cut);
    if (r == 0 && c.part->end)
        c.part->end(&c.filter);
    ret->error = -r;
    if (r == 0) {
        struct str *out = &c.filter.out;
        char *at = arena_alloc(&p->arena, out->len + 1);
        memcpy(at, str_get(out), out->len + 1);
        ret->at = at;
        ret->len = out->len;
        ret->cut = cut || c.full;
    }
    str_done(&c.filter.out);
    str_done(&c.filter.paragraph);
}

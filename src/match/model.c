/* ir_version and opset imports of an ONNX file: the outermost protobuf message, fields stepped over. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "match/match.h"

enum { FIELD_IR = 1, FIELD_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2, IMPORTS_MAX = 1024, FIELDS_MAX = 65536 };

/* A window on the file; import messages lie in it whole, so they are at most this long. */
struct wire {
    int fd;
    int error;         /* errno of a read that failed */
    uint64_t at, size; /* in the file */
    uint64_t base;     /* of the window */
    size_t held;
    unsigned char window[4096];
};

static bool fill(struct wire *w)
{
    ssize_t n = RETRY(pread(w->fd, w->window, sizeof(w->window), (off_t)w->at));
    if (n < 0)
        w->error = errno;
    w->base = w->at;
    w->held = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static bool byte(struct wire *w, unsigned char *ret)
{
    if (w->at >= w->size || ((w->at < w->base || w->at - w->base >= w->held) && !fill(w)))
        return false;
    *ret = w->window[w->at++ - w->base];
    return true;
}

static bool varint(struct wire *w, uint64_t *ret)
{
    *ret = 0;
    unsigned char b = 0x80;
    for (unsigned shift = 0; shift < 64 && byte(w, &b); shift += 7) {
        *ret |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return true;
    }
    return false;
}

/* One field: a number, or bytes that end at `end`. */
struct field {
    uint64_t number, value, end;
    bool is_bytes;
};
static bool field(struct wire *w, uint64_t limit, struct field *ret)
{
    uint64_t key = 0, n = 0;
    if (!varint(w, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return false;
    *ret = (struct field){ .number = key >> 3 };
    switch (key & 7) {
    case 0:
        return varint(w, &ret->value) && w->at <= limit;
    case 1:
        n = 8;
        break;
    case 5:
        n = 4;
        break;
    case 2:
        if (!varint(w, &n))
            return false;
        ret->is_bytes = true;
        break;
    default:
        return false;
    }
    if (w->at > limit || n > limit - w->at)
        return false;
    ret->end = w->at + n;
    return true;
}

static bool import(struct wire *w, uint64_t end, struct match_model *ret)
{
    char domain[16] = "";
    uint64_t version = 0;
    struct field f;
    while (w->at < end) {
        if (!field(w, end, &f))
            return false;
        uint64_t n = f.is_bytes ? f.end - w->at : 0;
        for (uint64_t i = 0; f.number == OPSET_DOMAIN && f.is_bytes && i < n && i < sizeof(domain) - 1; i++) {
            unsigned char b = 0;
            if (!byte(w, &b))
                return false;
            domain[i] = (char)b;
            domain[i + 1] = '\0';
        }
        if (f.number == OPSET_VERSION && !f.is_bytes)
            version = f.value;
        if (f.end)
            w->at = f.end;
    }
    if (version > INT32_MAX)
        return false;
    int64_t *slot = !domain[0] || strcmp(domain, "ai.onnx") == 0 ? &ret->opset
                    : strcmp(domain, "ai.onnx.ml") == 0           ? &ret->opset_ml
                                                                  : NULL;
    if (slot && (int64_t)version > *slot)
        *slot = (int64_t)version;
    return true;
}

/* One field of the outermost message, and behind it. */
static bool outer(struct wire *w, unsigned *imports, struct match_model *m)
{
    struct field f;
    if (!field(w, w->size, &f))
        return false;
    if (f.number == FIELD_IR) {
        if (f.is_bytes || f.end || f.value > INT32_MAX)
            return false;
        m->ir = (int64_t)f.value;
    }
    if (f.number == FIELD_OPSET && (!f.is_bytes || ++*imports > IMPORTS_MAX || !import(w, f.end, m)))
        return false;
    if (f.end)
        w->at = f.end;
    return true;
}

int match_model_read(int fd, struct match_model *ret, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(e, ERR_READ, "%s", strerror(errno));
    struct wire w = { .fd = fd, .size = st.st_size > 0 ? (uint64_t)st.st_size : 0 };
    struct match_model m = { 0 };
    unsigned imports = 0, fields = 0;
    bool good = true;
    while (good && w.at < w.size)
        good = ++fields <= FIELDS_MAX && outer(&w, &imports, &m);
    if (w.error)
        return err_set(e, ERR_READ, "%s", strerror(w.error));
    if (!good || !m.ir)
        return err_set(e, ERR_FORMAT, "it is no ONNX model%s", !good ? ", or it was cut off" : ": it names no ir_version");
    *ret = m;
    return 0;
}

/* The texts that Python environments bring: pyvenv.cfg, .pth, RECORD, METADATA, build info and the
 * like. A line "@3" begins the third file of the table below; they are laid into a small tree,
 * which is then looked at. */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probe/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SITE "v/lib/python3.11/site-packages/"

static const char *const files[] = {
    "v/pyvenv.cfg",
    SITE "a.pth",
    SITE "onnxruntime_gpu-1.20.0.dist-info/RECORD",
    SITE "onnxruntime_gpu-1.20.0.dist-info/METADATA",
    SITE "onnxruntime_gpu-1.20.0.dist-info/INSTALLER",
    SITE "onnxruntime-1.20.0.dist-info/RECORD",
    SITE "onnxruntime-1.20.0.dist-info/METADATA",
    SITE "onnxruntime/__init__.py",
    SITE "onnxruntime/capi/_ld_preload.py",
    SITE "onnxruntime/capi/build_and_package_info.py",
    SITE "onnxruntime/capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so",
    SITE "torch/version.py",
    SITE "torch.egg-info/PKG-INFO",
    SITE "x.egg-link",
    "shims/python3",
    ".python-version",
    "prog",
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void put(const char *dir, const char *name, const uint8_t *at, size_t n)
{
    char path[512];
    int len = snprintf(path, sizeof path, "%s/%s", dir, name);
    for (char *s = path + 1; len > 0 && (s = strchr(s, '/')); *s++ = '/') {
        *s = '\0';
        (void)mkdir(path, 0755);
    }
    cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (fd < 0 || write(fd, at, n) != (ssize_t)n)
        abort();
}

static void split(const char *dir, const uint8_t *data, size_t size)
{
    const char *name = files[0];
    const uint8_t *begin = data, *end = data + size;
    for (const uint8_t *line = data; line < end;) {
        const uint8_t *stop = memchr(line, '\n', (size_t)(end - line));
        const uint8_t *next = stop ? stop + 1 : end;
        size_t digits = 0, number = 0;
        for (const uint8_t *c = line + 1; line[0] == '@' && c < next && *c >= '0' && *c <= '9';
             c++) {
            number = (number * 10 + (size_t)(*c - '0')) % ARRAY_LEN(files);
            digits++;
        }
        if (stop && digits > 0 && line + 1 + digits == stop) {
            put(dir, name, begin, (size_t)(line - begin));
            name = files[number];
            begin = next;
        }
        line = next;
    }
    put(dir, name, begin, (size_t)(end - begin));
}

static void look(const char *dir, const struct probe_request *want)
{
    struct place *p;
    struct err e = { 0 };
    if (place_open_root(dir, &p, &e) < 0)
        abort();
    place_setenv(p, "PATH", "/shims");
    struct snapshot s = { .place = p };
    size_t sum = 0;
    if (probe_python(&s, want, &e) == 0 && probe_ort(&s, want, &e) == 0)
        for (size_t i = 0; i < s.facts.n; i++)
            sum += strlen(s.facts.at[i]->key) +
                   (s.facts.at[i]->value ? strlen(s.facts.at[i]->value) : 0);
    __asm__ volatile("" : : "r"(sum));
    snapshot_done(&s);
    place_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char dir[] = "/tmp/ortfit-fuzz-XXXXXX";
    if (size > 1 << 18)
        return 0;
    if (!mkdtemp(dir))
        abort();
    split(dir, data, size);
    static const struct probe_request wants[] = { { .python = "/v", .deep = true },
                                                  { .program = "/prog" },
                                                  { .python = NULL } };
    for (size_t i = 0; i < ARRAY_LEN(wants); i++)
        look(dir, &wants[i]);
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

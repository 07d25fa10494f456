/* The prototypes below are those of the public NVML API Reference Guide
 * (docs.nvidia.com/deploy/nvml-api); there is no nvml.h on most machines. The child speaks in lines
 * of tab-separated words, which the parent reads back. */
#include "probe/nvml.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define NVML_NAME_ROOM 96   /* NVML_DEVICE_NAME_V2_BUFFER_SIZE */
#define NVML_DRIVER_ROOM 80 /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */
#define WORD_MAX 200

/* nvmlPciInfo_t, third version. */
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
    char spare[64]; /* room for what a later version may write */
};

/* nvmlMemory_t */
struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int result);
    int (*driver)(char *text, unsigned room);
    int (*cuda)(int *ret_version);
    int (*count)(unsigned *ret_n);
    int (*device)(unsigned index, void **ret_device);
    int (*name)(void *device, char *text, unsigned room);
    int (*pci)(void *device, struct nvml_pci *ret);
    int (*cc)(void *device, int *ret_major, int *ret_minor);
    int (*memory)(void *device, struct nvml_memory *ret);
    int (*compute_mode)(void *device, int *ret_mode);
    int (*mig)(void *device, unsigned *ret_now, unsigned *ret_pending);
};

/* Newest name first. */
struct dl_symbol {
    const char *names[3];
    size_t slot;
    bool required;
};

static const struct dl_symbol symbols[] = {
    { { "nvmlInit_v2", "nvmlInit" }, offsetof(struct nvml, init), true },
    { { "nvmlShutdown" }, offsetof(struct nvml, shutdown), false },
    { { "nvmlErrorString" }, offsetof(struct nvml, error_text), false },
    { { "nvmlSystemGetDriverVersion" }, offsetof(struct nvml, driver), true },
    { { "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion" },
      offsetof(struct nvml, cuda),
      false },
    { { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" }, offsetof(struct nvml, count), false },
    { { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" },
      offsetof(struct nvml, device),
      false },
    { { "nvmlDeviceGetName" }, offsetof(struct nvml, name), false },
    { { "nvmlDeviceGetPciInfo_v3" }, offsetof(struct nvml, pci), false },
    { { "nvmlDeviceGetCudaComputeCapability" }, offsetof(struct nvml, cc), false },
    { { "nvmlDeviceGetMemoryInfo" }, offsetof(struct nvml, memory), false },
    { { "nvmlDeviceGetComputeMode" }, offsetof(struct nvml, compute_mode), false },
    { { "nvmlDeviceGetMigMode" }, offsetof(struct nvml, mig), false },
};

/* The bare name is what nvidia-smi and the CUDA runtime would get; the others help where no cache
 * names the folder. */
static const char *const library_names[] = {
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
};

/* --- in the child ---------------------------------------------------------------------------- */

/* The name of a required function that the library lacks, or NULL when all are there. */
static const char *nvml_bind(void *library, struct nvml *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *found = NULL;
        for (size_t k = 0; k < ARRAY_LEN(symbols[i].names) && symbols[i].names[k] && !found; k++)
            found = dlsym(library, symbols[i].names[k]);
        if (!found && symbols[i].required)
            return symbols[i].names[0];
        memcpy((char *)ret + symbols[i].slot, &found, sizeof(found));
    }
    return NULL;
}

/* What the library says must not break the lines that carry it. */
static const char *scrub(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return text;
}

static void say_failure(int fd, const struct nvml *nvml, const char *call, int result)
{
    const char *text = nvml->error_text ? nvml->error_text(result) : NULL;
    dprintf(fd, "error\t%s\t%d\t%s\n", call, result, text ? text : "unknown error");
}

static void say_gpu(int fd, const struct nvml *nvml, unsigned index)
{
    void *device = NULL;
    int result = nvml->device(index, &device);
    if (result != NVML_OK) {
        dprintf(fd, "gpu\t\t\t0\t0\t-1\t-1\n");
        say_failure(fd, nvml, "nvmlDeviceGetHandleByIndex", result);
        return;
    }
    char name[NVML_NAME_ROOM] = "";
    struct nvml_pci pci = { 0 };
    struct nvml_memory memory = { 0 };
    int major = 0, minor = 0, mode = -1;
    unsigned mig = 0, pending = 0;
    bool has_mig = nvml->mig && nvml->mig(device, &mig, &pending) == NVML_OK;
    if (!nvml->name || nvml->name(device, name, sizeof(name)) != NVML_OK)
        name[0] = '\0';
    if (!nvml->pci || nvml->pci(device, &pci) != NVML_OK)
        pci.bus_id[0] = '\0';
    if (!nvml->cc || nvml->cc(device, &major, &minor) != NVML_OK)
        major = minor = 0;
    if (!nvml->memory || nvml->memory(device, &memory) != NVML_OK)
        memory.total = 0;
    if (!nvml->compute_mode || nvml->compute_mode(device, &mode) != NVML_OK)
        mode = -1;
    name[sizeof(name) - 1] = '\0';
    pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
    dprintf(fd, "gpu\t%s\t%s\t%d\t%llu\t%d\t%d\n", scrub(name), scrub(pci.bus_id),
            major * 10 + minor, memory.total, mode, has_mig ? (int)mig : -1);
}

static void say_all(int fd, const struct nvml *nvml)
{
    char driver[NVML_DRIVER_ROOM] = "";
    int cuda = 0;
    unsigned n = 0;
    int result = nvml->driver(driver, sizeof(driver));
    driver[sizeof(driver) - 1] = '\0';
    if (result == NVML_OK)
        dprintf(fd, "driver\t%s\n", scrub(driver));
    else
        say_failure(fd, nvml, "nvmlSystemGetDriverVersion", result);
    if (nvml->cuda && nvml->cuda(&cuda) == NVML_OK)
        dprintf(fd, "cuda\t%d\n", cuda);
    if (!nvml->count || !nvml->device)
        return;
    result = nvml->count(&n);
    if (result != NVML_OK) {
        say_failure(fd, nvml, "nvmlDeviceGetCount", result);
        return;
    }
    for (unsigned i = 0; i < n && i < NVML_GPUS_MAX; i++)
        say_gpu(fd, nvml, i);
    dprintf(fd, "done\n");
}

static void nvml_child(int fd)
{
    void *library = NULL;
    const char *first_error = NULL;
    for (size_t i = 0; i < ARRAY_LEN(library_names) && !library; i++) {
        library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library && !first_error) {
            const char *text = dlerror();
            first_error = strdup(text ? text : "cannot be opened");
        }
    }
    if (!library) {
        dprintf(fd, "missing\t%s\n", first_error ? first_error : "");
        return;
    }
    struct nvml nvml = { 0 };
    const char *lacking = nvml_bind(library, &nvml);
    if (lacking) {
        dprintf(fd, "error\tdlsym\t0\tlibnvidia-ml.so.1 has no %s\n", lacking);
        return;
    }
    assert(nvml.init); /* bound, since nothing is lacking */
    int result = nvml.init();
    if (result != NVML_OK) {
        say_failure(fd, &nvml, "nvmlInit", result);
        return;
    }
    say_all(fd, &nvml);
    if (nvml.shutdown)
        (void)nvml.shutdown();
}

/* --- in the parent --------------------------------------------------------------------------- */

/* Words of one line; a missing one is "". */
#define WORDS_MAX 8

struct words {
    char at[WORDS_MAX][WORD_MAX];
};

static void split(const char *line, size_t len, struct words *ret)
{
    memset(ret, 0, sizeof(*ret));
    size_t word = 0, n = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\t' && word < WORDS_MAX - 1) {
            word++;
            n = 0;
        } else if (n < WORD_MAX - 1) {
            ret->at[word][n++] = (unsigned char)line[i] < 0x20 ? '?' : line[i];
        }
    }
}

static const char *word_or_null(struct arena *a, const char *word)
{
    return *word ? arena_strdup(a, word) : NULL;
}

static int number(const char *word)
{
    long n = strtol(word, NULL, 10);
    return n < -1 || n > 1000000 ? 0 : (int)n;
}

struct reading {
    struct nvml_gpu gpus[NVML_GPUS_MAX];
    size_t n_gpus;
    bool done, missing;
};

static void take_line(struct arena *a, const struct words *w, struct reading *r,
                      struct nvml_answer *ret)
{
    const char *kind = w->at[0];
    if (str_eq(kind, "driver")) {
        ret->driver = word_or_null(a, w->at[1]);
    } else if (str_eq(kind, "cuda")) {
        ret->cuda = number(w->at[1]);
    } else if (str_eq(kind, "done")) {
        r->done = true;
    } else if (str_eq(kind, "missing")) {
        r->missing = true;
        ret->reason = word_or_null(a, w->at[1]);
    } else if (str_eq(kind, "error")) {
        ret->error = number(w->at[2]);
        ret->reason = ret->error ? arena_printf(a, "%s (%d) in %s", w->at[3], ret->error, w->at[1])
                                 : arena_strdup(a, w->at[3]);
    } else if (str_eq(kind, "gpu") && r->n_gpus < NVML_GPUS_MAX) {
        r->gpus[r->n_gpus++] = (struct nvml_gpu){
            .name = word_or_null(a, w->at[1]),
            .pci = word_or_null(a, w->at[2]),
            .cc = number(w->at[3]),
            .memory_bytes = strtoull(w->at[4], NULL, 10),
            .compute_mode = number(w->at[5]),
            .mig = number(w->at[6]),
        };
    }
}

void nvml_ask(struct place *p, struct arena *a, int timeout_ms, struct nvml_answer *ret)
{
    *ret = (struct nvml_answer){ 0 };
    const struct text *t = place_call(p, "nvml", nvml_child, timeout_ms);
    if (t->known != KNOWN_PRESENT) {
        ret->known = t->known;
        if (t->known == KNOWN_FAILED)
            ret->reason = arena_strdup(a, t->at && *t->at ? t->at : "the call failed");
        return;
    }
    struct reading r = { 0 };
    const char *at = t->at, *end = t->at + t->len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        struct words w;
        split(at, len, &w);
        take_line(a, &w, &r, ret);
        at += len + 1;
    }
    ret->n_gpus = r.n_gpus;
    if (r.n_gpus > 0) {
        struct nvml_gpu *gpus = arena_alloc(a, r.n_gpus * sizeof(*gpus));
        memcpy(gpus, r.gpus, r.n_gpus * sizeof(*gpus));
        ret->gpus = gpus;
    }
    if (r.missing)
        ret->known = KNOWN_ABSENT;
    else if (ret->driver && (r.done || !ret->reason))
        ret->known = KNOWN_PRESENT;
    else
        ret->known = KNOWN_FAILED;
    if (ret->known == KNOWN_FAILED && !ret->reason)
        ret->reason = "it said nothing";
}

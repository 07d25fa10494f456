/* The GPUs: as NVML names them, else as the kernel driver does, else by their PCI ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "kb/kb.h"
#include "probe/look.h"
#include "probe/seen.h"

#define PCI_DEVICES_MAX 4096
#define NVIDIA_VENDOR 0x10de
#define GPUS_MAX 64

static void gpu_add(struct snapshot *s, struct gpu gpu, const char *source)
{
    struct arena *a = &s->arena;
    if (s->gpus.n >= GPUS_MAX)
        return;
    const char *name = gpu.name ? gpu.name : "unknown GPU";
    const char *value =
        gpu.cc ? arena_printf(a, "%s (%d.%d)", name, gpu.cc / 10, gpu.cc % 10) : name;
    gpu.fact = fact_add(s, KNOWN_PRESENT, arena_printf(a, "gpu.%zu", s->gpus.n), value, source);
    s->gpus_known = KNOWN_PRESENT;
    vec_push(&s->gpus, gpu);
}

void seen_nvml_gpus(struct snapshot *s, const struct nvml_answer *answer)
{
    static const char *const modes[] = { "default", "exclusive thread", "prohibited",
                                         "exclusive process" };
    for (size_t i = 0; i < answer->n_gpus; i++) {
        const struct nvml_gpu *g = &answer->gpus[i];
        const struct kb_gpu *row = g->cc == 0 && g->name ? kb_gpu_find(g->name) : NULL;
        struct gpu gpu = { .name = g->name, .pci = g->pci, .memory_bytes = g->memory_bytes };
        gpu.cc = row ? row->cc : g->cc;
        gpu_add(s, gpu, "nvmlDeviceGetName");
        if (g->compute_mode > 0 && (size_t)g->compute_mode < ARRAY_LEN(modes))
            fact_add(s, KNOWN_PRESENT, arena_printf(&s->arena, "gpu.%zu.compute_mode", i),
                     modes[g->compute_mode], "nvmlDeviceGetComputeMode");
        if (g->mig > 0)
            fact_add(s, KNOWN_PRESENT, arena_printf(&s->arena, "gpu.%zu.mig", i), "on",
                     "nvmlDeviceGetMigMode");
    }
    /* NVML that works and finds none has looked. */
    if (answer->known == KNOWN_PRESENT && answer->n_gpus == 0)
        s->gpus_known = KNOWN_ABSENT;
}

/* "Model: \t\t NVIDIA L4" and "Bus Location: \t 0000:01:00.0" */
static const char *information_value(struct snapshot *s, const struct text *t, const char *label)
{
    size_t len = strlen(label);
    for (struct look_line line = { 0 }; look_next_line(t, &line);)
        if (line.len > len && strncmp(line.at, label, len) == 0) {
            const char *value = look_trim(s, line.at + len, line.len - len);
            return *value ? value : NULL;
        }
    return NULL;
}

static void see_proc(struct snapshot *s)
{
    const char *dir = "/proc/driver/nvidia/gpus";
    const struct listing *list = place_list(s->place, dir);
    if (list->known == KNOWN_FAILED)
        fact_unread(s, NULL, "gpus", dir, list->error);
    for (size_t i = 0; list->known == KNOWN_PRESENT && i < list->n && i < GPUS_MAX; i++) {
        const char *file =
            path_join(&s->arena, path_join(&s->arena, dir, list->at[i].name), "information");
        const struct text *t = place_text(s->place, file, TEXT_WHOLE);
        if (t->known == KNOWN_FAILED)
            fact_unread(s, NULL, "gpus", file, t->error); /* it is there all the same */
        if (t->known == KNOWN_ABSENT)
            continue;
        struct gpu gpu = {
            .name = information_value(s, t, "Model:"),
            .pci = information_value(s, t, "Bus Location:"),
        };
        const struct kb_gpu *row = gpu.name ? kb_gpu_find(gpu.name) : NULL;
        gpu.cc = row ? row->cc : 0;
        gpu_add(s, gpu, look_source(s, file, 1));
    }
}

/* --- PCI ------------------------------------------------------------------------------------- */

struct pci_device {
    unsigned vendor, device, class_base;
};

/* "pci:v000010DEd000027B8sv000010DEsd000016CAbc03sc02i00" tells all in one read. */
static bool parse_modalias(const char *line, struct pci_device *ret)
{
    const char *bc = strstr(line, "bc");
    return bc && sscanf(line, "pci:v%8xd%8x", &ret->vendor, &ret->device) == 2 &&
           sscanf(bc, "bc%2x", &ret->class_base) == 1;
}

/* vendor, device and class, for trees that lack modalias. */
static unsigned hex_file(struct snapshot *s, const char *dir, const char *name)
{
    const char *line = look_first_line(s, path_join(&s->arena, dir, name));
    return line ? (unsigned)strtoul(line, NULL, 16) : 0;
}

static bool read_device(struct snapshot *s, const char *dir, struct pci_device *ret)
{
    const char *line = look_first_line(s, path_join(&s->arena, dir, "modalias"));
    if (line)
        return parse_modalias(line, ret);
    ret->vendor = hex_file(s, dir, "vendor");
    if (ret->vendor != NVIDIA_VENDOR)
        return false;
    ret->device = hex_file(s, dir, "device");
    ret->class_base = hex_file(s, dir, "class") >> 16;
    return true;
}

/* "AD104GL [L4]" for device 27b8, from pci.ids; NULL when no such file knows it. */
static const char *pci_name(struct snapshot *s, unsigned device, const char **ret_file)
{
    static const char *const files[] = { "/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids" };
    char wanted[8];
    snprintf(wanted, sizeof(wanted), "%04x", device & 0xffff);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const struct text *t = place_text(s->place, files[i], TEXT_PCI_NVIDIA);
        for (struct look_line line = { 0 }; look_next_line(t, &line);)
            if (line.len > 6 && line.at[0] == '\t' && line.at[1] != '\t' &&
                strncmp(line.at + 1, wanted, 4) == 0) {
                *ret_file = files[i];
                return look_trim(s, line.at + 5, line.len - 5);
            }
    }
    return NULL;
}

static void see_pci_device(struct snapshot *s, const char *dir, const char *address)
{
    struct pci_device d = { 0 };
    if (!read_device(s, dir, &d) || d.vendor != NVIDIA_VENDOR || d.class_base != 0x03)
        return;
    const char *file = NULL;
    const char *name = pci_name(s, d.device, &file);
    const struct kb_chip *chip = name ? kb_chip_find(name) : NULL;
    if (!chip)
        chip = kb_chip_by_pci_id((int)d.device);
    if (!name && chip)
        name = chip->chip;
    if (!name)
        name = arena_printf(&s->arena, "NVIDIA device %04x", d.device);
    gpu_add(s,
            (struct gpu){
                .name = name, .pci = arena_strdup(&s->arena, address), .cc = chip ? chip->cc : 0 },
            file ? arena_printf(&s->arena, "%s, %s", dir, file) : dir);
}

/* Servers have a hundred devices; this one file lists the ids of all, and mostly none is NVIDIA's.
 */
static bool bus_lacks_nvidia(struct snapshot *s)
{
    const struct text *t = place_text(s->place, "/proc/bus/pci/devices", TEXT_WHOLE);
    return t->known == KNOWN_PRESENT && t->len > 0 && !t->cut &&
           !memmem(t->at, t->len, "\t10de", 5);
}

static void see_pci(struct snapshot *s)
{
    const char *dir = "/sys/bus/pci/devices";
    if (bus_lacks_nvidia(s)) {
        s->gpus_known = KNOWN_ABSENT;
        return;
    }
    const struct listing *list = place_list(s->place, dir);
    if (list->known == KNOWN_FAILED)
        fact_unread(s, NULL, "gpus", dir, list->error);
    if (list->known != KNOWN_PRESENT)
        return;
    s->gpus_known = KNOWN_ABSENT;
    for (size_t i = 0; i < list->n && i < PCI_DEVICES_MAX; i++)
        see_pci_device(s, path_join(&s->arena, dir, list->at[i].name), list->at[i].name);
}

/* A Jetson's GPU is no PCI device; the board's name tells it. */
static void see_board(struct snapshot *s)
{
    const char *file = "/proc/device-tree/model";
    const char *model = look_first_line(s, file);
    if (!model)
        return;
    const struct kb_gpu *row = kb_gpu_find(model);
    gpu_add(s, (struct gpu){ .name = model, .cc = row ? row->cc : 0 }, file);
}

void probe_gpu(struct snapshot *s)
{
    if (s->gpus_known != KNOWN_NOT_LOOKED)
        return;
    see_proc(s);
    if (s->gpus.n == 0 && s->driver.jetson)
        see_board(s);
    if (s->gpus.n == 0 && !s->driver.jetson)
        see_pci(s);
    /* WSL shows its GPUs through /dev/dxg alone, which has no names: none on the PCI bus says
     * nothing. */
    if (s->gpus.n == 0 && s->driver.wsl)
        s->gpus_known = KNOWN_NOT_LOOKED;
    for (size_t i = 0; s->gpus.n == 0 && i < s->unread.n; i++)
        if (str_eq(s->unread.at[i].fact->key, "gpus"))
            s->gpus_known = KNOWN_FAILED;
    if (s->gpus.n == 0)
        fact_add(s, s->gpus_known, "gpu", NULL, "/sys/bus/pci/devices");
}

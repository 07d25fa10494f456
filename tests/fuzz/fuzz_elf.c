/* Any bytes as an ELF file: read, every question asked, written down and rebuilt. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "elf/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count(void *ctx, const struct elf_want *w)
{
    (void)w;
    return ++*(unsigned *)ctx < 100000;
}

static bool never(void *ctx, const struct elf_undef *u)
{
    (void)ctx;
    return u->weak;
}

static void ask(const struct elf *elf)
{
    const struct elf_undef *undefs;
    size_t n = elf_undefs(elf, &undefs);
    for (size_t i = 0; i < n && i < 1000; i++) {
        struct elf_undef u = undefs[i];
        (void)elf_resolves(elf, &u);
        u.address = true;
        (void)elf_resolves(elf, &u);
        (void)elf_defines(elf, u.name, u.version);
    }
    (void)elf_defines(elf, "f", NULL);
    (void)elf_defines(elf, "f", "V1");
    unsigned seen = 0;
    (void)elf_wants(elf, false, count, &seen);
    (void)elf_wants(elf, true, count, &seen);
    (void)elf_first_unresolved(elf, false, never, NULL);
    (void)elf_relocs_size(elf);
    (void)elf_is_cut(elf);
}

static void rebuild(const struct elf *elf, struct arena *a)
{
    struct elf_asked *asked = elf_asked_new();
    elf_asked_add(asked, elf);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct json j;
    json_begin(&j, out, false);
    elf_save(elf, asked, &j);
    json_end(&j);
    fclose(out);
    elf_asked_free(asked);

    struct err e = { 0 };
    json_t *from = NULL;
    struct elf *again = NULL;
    if (jsonr_parse(text, n, &from, &e) < 0 || elf_load(from, a, &again, &e) < 0) {
        fprintf(stderr, "%s\n%s\n", e.text, text);
        abort();
    }
    if (again->problem != elf->problem || again->n_needed != elf->n_needed ||
        again->dev != elf->dev)
        abort();
    ask(again);
    json_decref(from);
    elf_done(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    struct arena a = { 0 };
    struct elf *elf;
    if (elf_read(fd, &a, &elf, NULL) == 0) {
        ask(elf);
        rebuild(elf, &a);
        elf_done(elf);
    }
    arena_done(&a);
    return 0;
}

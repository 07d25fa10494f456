/* Reads the input as a snapshot; one that loads is asked for everything, saved plain and redacted, and loaded again. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "place/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool asked(void *ctx, const struct elf_undef *u)
{
    *(size_t *)ctx += u->name[0] != '\0';
    return false;
}

static void ask(struct place *p, const char *path)
{
    size_t sum = place_stat(p, path)->size_bytes + place_lstat(p, path)->mode;
    const char *link = place_readlink(p, path), *real = place_realpath(p, path);
    sum += (link ? strlen(link) : 0) + (real ? strlen(real) : 0);
    const struct listing *list = place_list(p, path);
    for (size_t i = 0; i < list->n; i++)
        sum += strlen(list->at[i].name);
    for (enum text_part part = TEXT_WHOLE; part < TEXT_PARTS; part++) {
        const struct text *t = place_text(p, path, part);
        if (t->at[t->len] != '\0')
            abort();
    }
    const struct elf *elf = place_elf(p, path)->elf;
    if (elf) {
        const struct elf_undef *undefs;
        size_t n = elf_undefs(elf, &undefs);
        for (size_t i = 0; i < n; i++)
            sum += elf_defines(elf, undefs[i].name, undefs[i].version);
        (void)elf_first_unresolved(elf, false, asked, &sum);
    }
    const struct place_gpu_code *gpu = place_gpu_code(p, path);
    for (size_t i = 0; i < gpu->code.n_arch; i++)
        sum += gpu->code.arch[i].number;
    const char *sha = place_sha256(p, path, UINT64_MAX);
    sum += sha ? strlen(sha) : 0;
    __asm__ volatile("" : : "r"(sum));
}

static char *save(struct place *p, bool redact)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        abort();
    struct json j;
    json_begin(&j, f, false);
    json_obj(&j);
    json_kint(&j, "schema", 1);
    json_kstr(&j, "verb", "snapshot");
    json_key(&j, "place");
    json_obj(&j);
    place_save(p, redact, &j);
    json_obj_end(&j);
    json_obj_end(&j);
    json_end(&j);
    (void)fclose(f);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_(jsonr_decref) json_t *doc = NULL;
    struct place *p;
    struct err e;
    if (jsonr_parse((const char *)data, size, &doc, &e) < 0 || place_load(doc, "input", &p, &e) < 0)
        return 0;
    for (struct entry *entry = p->entries; entry; entry = entry->hh.next)
        ask(p, entry->path);
    ask(p, "/nowhere/at/all");
    for (int redact = 0; redact <= 1; redact++) {
        cleanup_(freep) char *text = save(p, redact);
        cleanup_(jsonr_decref) json_t *again = NULL;
        struct place *q;
        if (jsonr_parse(text, strlen(text), &again, &e) < 0 || place_load(again, "again", &q, &e) < 0) {
            fprintf(stderr, "saved, and not to be loaded: %s\n%s\n", e.text, text);
            abort();
        }
        place_free(q);
    }
    place_free(p);
    return 0;
}

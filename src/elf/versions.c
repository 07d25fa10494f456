#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "elf/dynamic.h"

/* No real file has a fifth as many; the loader's own walk has no bound. */
#define MAX_RECORDS 65536u
#define MAX_NAMELESS 256u

bool versions_needed(const struct elf_symbols *s,
                     bool (*each)(void *ctx, const struct need_record *r), void *ctx)
{
    if (!s->dyn.has[DYN_VERNEED])
        return true;
    unsigned records = 0;
    for (uint64_t at = s->dyn.value[DYN_VERNEED];;) {
        Elf64_Verneed need;
        if (!image_copy(&s->image, at, &need, sizeof(need)))
            return false;
        const char *file = dynamic_string(s, need.vn_file);
        if (!file)
            return false;
        for (uint64_t aux_at = at + need.vn_aux;;) {
            Elf64_Vernaux aux;
            if (++records > MAX_RECORDS || !image_copy(&s->image, aux_at, &aux, sizeof(aux)))
                return false;
            struct need_record r = {
                .record_version = need.vn_version,
                .other = aux.vna_other,
                .flags = aux.vna_flags,
                .hash = aux.vna_hash,
                .file = file,
                .name = dynamic_string(s, aux.vna_name),
            };
            if (!r.name)
                return false;
            if (!each(ctx, &r))
                return true;
            if (aux.vna_next == 0)
                break;
            aux_at += aux.vna_next;
        }
        if (need.vn_next == 0)
            return true;
        at += need.vn_next;
    }
}

bool versions_defined(const struct elf_symbols *s,
                      bool (*each)(void *ctx, const struct def_record *r), void *ctx)
{
    if (!s->dyn.has[DYN_VERDEF])
        return true;
    if (s->dyn.value[DYN_VERDEF] == 0)
        return false; /* asserted */

    unsigned records = 0, nameless = 0;
    for (uint64_t at = s->dyn.value[DYN_VERDEF];;) {
        Elf64_Verdef def;
        Elf64_Verdaux aux;
        if (++records > MAX_RECORDS || !image_copy(&s->image, at, &def, sizeof(def)) ||
            !image_copy(&s->image, at + def.vd_aux, &aux, sizeof(aux)))
            return false;
        struct def_record r = {
            .record_version = def.vd_version,
            .index = def.vd_ndx,
            .flags = def.vd_flags,
            .hash = def.vd_hash,
            .name = dynamic_string(s, aux.vda_name),
        };
        if (!r.name && ++nameless > MAX_NAMELESS)
            return false;
        if (!r.name)
            r.name = ""; /* the loader reads it only where the hash is wanted */
        if (!each(ctx, &r))
            return true;
        if (def.vd_next == 0)
            return true;
        at += def.vd_next;
    }
}

static struct version *slot(struct elf_symbols *s, uint16_t index)
{
    size_t i = index & 0x7fff;
    if (i >= s->n_versions) {
        size_t n = i + 1;
        s->versions = xreallocarray(s->versions, n, sizeof(*s->versions));
        memset(s->versions + s->n_versions, 0, (n - s->n_versions) * sizeof(*s->versions));
        s->n_versions = n;
    }
    return &s->versions[i];
}

static bool add_needed(void *ctx, const struct need_record *r)
{
    *slot(ctx, r->other) = (struct version){ r->hash, r->other & 0x8000, r->name, r->file };
    return true;
}

static bool add_defined(void *ctx, const struct def_record *r)
{
    struct version *v = slot(ctx, r->index);
    if (r->flags & VER_FLG_BASE)
        return true; /* its name never matches a symbol's version */
    v->hash = r->hash;
    v->name = r->name;
    v->file = NULL;
    return true;
}

void versions_read(struct elf_symbols *s)
{
    if (s->versions_read)
        return;
    s->versions_read = true;
    (void)versions_needed(s, add_needed, s);
    (void)versions_defined(s, add_defined, s);
}

/* What a file's relocations want of the loader beyond adding its address. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "elf/dynamic.h"

/* Types that the loader knows on x86_64 besides those that need no symbol. */
static bool known_type(uint32_t type)
{
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC32:
    case R_X86_64_COPY:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_32:
    case R_X86_64_DTPMOD64:
    case R_X86_64_DTPOFF64:
    case R_X86_64_TPOFF64:
    case R_X86_64_SIZE32:
    case R_X86_64_SIZE64:
    case R_X86_64_TLSDESC:
        return true;
    default:
        return false;
    }
}

static bool plain_type(uint32_t type)
{
    return type == R_X86_64_NONE || type == R_X86_64_RELATIVE || type == R_X86_64_RELATIVE64 ||
           type == R_X86_64_IRELATIVE;
}

static enum elf_want_kind kind_of(uint32_t type)
{
    if (type == R_X86_64_TPOFF64)
        return ELF_WANT_STATIC_TLS;
    if (type == R_X86_64_TLSDESC)
        return ELF_WANT_TLS_DESCRIPTOR;
    return known_type(type) ? ELF_WANT_SYMBOL : ELF_WANT_BAD_TYPE;
}

/* One relocation. False: the caller has seen enough. */
static bool want(const struct elf *elf, const Elf64_Rela *rela, bool plt, bool lazy,
                 bool (*each)(void *ctx, const struct elf_want *w), void *ctx)
{
    const struct elf_symbols *s = elf->symbols;
    uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
    uint64_t sym = ELF64_R_SYM(rela->r_info);
    struct elf_want w = { .kind = kind_of(type), .type = type, .plt = plt && lazy };
    enum spot spot = type == R_X86_64_NONE ? SPOT_FILE : image_range(&s->image, rela->r_offset, 8);
    if (plt && lazy) {
        if (type == R_X86_64_IRELATIVE)
            return true;
        if (type == R_X86_64_JUMP_SLOT)
            w.kind = spot == SPOT_NOWHERE || spot == SPOT_CUT ? ELF_WANT_CRASH : ELF_WANT_NOTHING;
        else if (type != R_X86_64_TLSDESC)
            w.kind = ELF_WANT_BAD_TYPE;
    } else if (plain_type(type)) {
        w.kind = spot == SPOT_NOWHERE || spot == SPOT_CUT ? ELF_WANT_CRASH : ELF_WANT_NOTHING;
    }
    if (w.kind != ELF_WANT_NOTHING && sym < s->n_undef_of && s->undef_of[sym] != 0)
        w.symbol = &s->undefs[s->undef_of[sym] - 1];
    if (w.kind == ELF_WANT_SYMBOL && (spot == SPOT_NOWHERE || spot == SPOT_CUT)) {
        if (w.symbol && !each(ctx, &w))
            return false;
        w.kind = ELF_WANT_CRASH;
    }
    if (w.kind == ELF_WANT_NOTHING || (w.kind == ELF_WANT_SYMBOL && !w.symbol))
        return true;
    return each(ctx, &w);
}

bool elf_wants(const struct elf *elf, bool lazy, bool (*each)(void *ctx, const struct elf_want *w), void *ctx)
{
    const struct elf_undef *undefs;
    struct elf_symbols *s = elf->symbols;
    if (!s)
        return true;
    (void)elf_undefs(elf, &undefs);
    struct reloc_range range[2];
    size_t n = reloc_ranges(s, range);
    lazy = lazy && !elf->bind_now;
    for (size_t r = 0; r < n; r++) {
        Elf64_Rela rela;
        for (size_t i = 0; span_copy(range[r].bytes, i * sizeof(rela), &rela, sizeof(rela)); i++)
            if (!want(elf, &rela, range[r].lazy, lazy, each, ctx))
                return false;
    }
    return true;
}

size_t elf_relocs_size(const struct elf *elf)
{
    if (!elf->symbols)
        return 0;
    struct reloc_range range[2];
    size_t n = reloc_ranges(elf->symbols, range), size = 0;
    for (size_t r = 0; r < n; r++)
        size += range[r].bytes.left;
    return size;
}

bool elf_is_cut(const struct elf *elf)
{
    if (!elf->symbols)
        return false;
    const struct image *img = &elf->symbols->image;
    for (size_t i = 0; i < img->n_segments; i++)
        if (img->segments[i].offset + (img->segments[i].map_end - img->segments[i].start) > img->length)
            return true;
    return false;
}

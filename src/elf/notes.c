#include <string.h>

#include "elf/reader.h"

#define X86_ISA_1_NEEDED 0xc0008002u

/* The properties of one note, in ascending order of their types. */
static void read_properties(struct span part, unsigned *ret_isa)
{
    uint32_t head[2], last = 0;
    while (span_copy(part, 0, head, sizeof(head))) {
        uint32_t type = head[0], size = head[1];
        if (type < last || size > part.left - sizeof(head))
            return;
        if (type == X86_ISA_1_NEEDED) {
            if (size == 4)
                (void)span_copy(part, sizeof(head), ret_isa, 4);
            return;
        }
        size_t step = sizeof(head) + (((size_t)size + 7) & ~(size_t)7);
        if (type > X86_ISA_1_NEEDED || step > part.left)
            return;
        last = type;
        part = (struct span){ part.at + step, part.left - step };
    }
}

/* Says whether the notes hold a property note. Of two the loader takes neither further. */
static bool find_properties(struct span notes, unsigned *ret_isa)
{
    Elf64_Nhdr n;
    bool found = false;
    for (size_t at = 0; span_copy(notes, at, &n, sizeof(n));) {
        size_t after_name = (sizeof(n) + n.n_namesz + 7) & ~(size_t)7;
        char name[4];
        if (n.n_type == NT_GNU_PROPERTY_TYPE_0 && n.n_namesz == 4 &&
            span_copy(notes, at + sizeof(n), name, 4) && memcmp(name, "GNU", 4) == 0) {
            struct span part;
            if (found)
                *ret_isa = 0;
            if (found || n.n_descsz < 8 || n.n_descsz % 8 ||
                !span_part(notes, at + after_name, n.n_descsz, &part))
                return true;
            found = true;
            read_properties(part, ret_isa);
        }
        size_t next = at + ((after_name + n.n_descsz + 7) & ~(size_t)7);
        if (next <= at)
            break;
        at = next;
    }
    return found;
}

/* Like the loader: PT_NOTE from the last to the first, only those aligned to 8; the first with a property note
 * decides. */
enum elf_problem read_isa(struct reader *r)
{
    Elf64_Phdr p;
    for (size_t i = r->phdrs.left / sizeof(p); i-- > 0 && phdr_at(r, i, &p);) {
        struct span notes;
        if (p.p_type != PT_NOTE || p.p_align != 8 || p.p_memsz <= sizeof(Elf64_Nhdr))
            continue;
        enum spot spot = image_at(&r->s->image, p.p_vaddr, &notes);
        if (spot == SPOT_CUT || spot == SPOT_NOWHERE)
            return spot == SPOT_CUT ? ELF_CUT : ELF_DAMAGED;
        if (notes.left > p.p_memsz)
            notes.left = (size_t)p.p_memsz;
        if (find_properties(notes, &r->elf->isa_needed))
            break;
    }
    return ELF_FINE;
}

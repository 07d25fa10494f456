/* Inside src/elf only: what the parts of elf_read share while one file is read. */
#ifndef ORTFIT_ELF_READER_H
#define ORTFIT_ELF_READER_H

#include "base/vec.h"
#include "elf/dynamic.h"

struct reader {
    struct elf *elf;
    struct elf_symbols *s;
    struct arena *arena;
    Elf64_Ehdr head;
    struct span file, phdrs;
    uint64_t dynamic, phdr_address, align; /* align: the largest p_align of the load segments */
    size_t strings_bytes; /* copied so far */
    bool has_dynamic, empty_dynamic, has_phdr;
};

static inline void set_problem(struct elf *elf, enum elf_problem p)
{
    if (elf->problem == ELF_FINE)
        elf->problem = p;
}

static inline bool phdr_at(const struct reader *r, size_t i, Elf64_Phdr *ret)
{
    return span_copy(r->phdrs, i * sizeof(*ret), ret, sizeof(*ret));
}

/* The dynamic section and its tables; sets the problem where the loader would fail or die. */
void read_dynamic(struct reader *r);
/* The x86 level asked for in a GNU property note. ELF_CUT where the note is. */
enum elf_problem read_isa(struct reader *r);
/* Says in elf->crash whether relocation or constructors touch what the file does not have. */
void find_crash(struct reader *r);

/* Nothing is wrong with the file but that it is a program or not for dlopen. */
static inline bool elf_opens(const struct elf *elf)
{
    return elf->problem == ELF_FINE || elf->problem == ELF_EXECUTABLE || elf->problem == ELF_PIE ||
           elf->problem == ELF_NOOPEN;
}

#endif

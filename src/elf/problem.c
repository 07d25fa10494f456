#include <string.h>

#include "base/cleanup.h"
#include "elf/elf.h"

struct problem_row {
    const char *name, *text;
    bool skipped;
};

static const struct problem_row problems[] = { [ELF_FINE] = { "ELF_FINE", "", false },
#define X(name, text, skipped) [name] = { #name, text, skipped },
                                               ELF_PROBLEM_TABLE(X)
#undef X
};

const char *elf_problem_text(enum elf_problem p)
{
    return problems[p].text;
}

const char *elf_problem_name(enum elf_problem p)
{
    return problems[p].name;
}

bool elf_problem_skipped(enum elf_problem p)
{
    return problems[p].skipped;
}

enum elf_problem elf_problem_of_name(const char *name)
{
    for (size_t i = 1; i < ARRAY_LEN(problems); i++)
        if (strcmp(problems[i].name, name) == 0)
            return (enum elf_problem)i;
    return ELF_FINE;
}

enum elf_problem elf_problem_in(const struct elf *elf, int glibc_minor)
{
    bool older = glibc_minor > 0 && glibc_minor < 35 && elf->older_problem != ELF_FINE;
    bool reached = elf->problem == ELF_FINE || elf->problem >= ELF_BAD_ALIGN;
    return older && reached ? elf->older_problem : elf->problem;
}

/* Inside src/elf only: what a file rebuilt from a snapshot knows of its symbols. */
#ifndef ORTFIT_ELF_RECORD_H
#define ORTFIT_ELF_RECORD_H

#include "elf/dynamic.h"

struct recorded;
enum elf_answer recorded_defines(const struct recorded *r, const char *name, const char *version);
/* For symbols of elf_undefs of another file of the same snapshot: what is not recorded was not defined. */
enum elf_answer recorded_resolves(const struct recorded *r, const struct elf_undef *u);
bool recorded_wants(const struct recorded *r, bool lazy, bool (*each)(void *ctx, const struct elf_want *w), void *ctx);
size_t recorded_relocs_size(const struct recorded *r);
bool recorded_indirect(const struct recorded *r, const struct elf_undef *u);
void recorded_free(struct recorded *r); /* NULL is fine */
bool recorded_is_cut(const struct recorded *r);

#endif

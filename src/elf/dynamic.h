/* Inside src/elf only: the dynamic section as the loader keeps it (of a doubled tag the last counts) and the
 * tables that it points to. */
#ifndef ORTFIT_ELF_DYNAMIC_H
#define ORTFIT_ELF_DYNAMIC_H

#include "base/vec.h"
#include "elf/elf.h"
#include "elf/image.h"

#define DYN_TABLE(X)             \
    X(DYN_HASH, DT_HASH)         \
    X(DYN_GNU_HASH, DT_GNU_HASH) \
    X(DYN_STRTAB, DT_STRTAB)     \
    X(DYN_SYMTAB, DT_SYMTAB)     \
    X(DYN_RELA, DT_RELA)         \
    X(DYN_RELASZ, DT_RELASZ)     \
    X(DYN_RELAENT, DT_RELAENT)   \
    X(DYN_RELACOUNT, DT_RELACOUNT) \
    X(DYN_RELR, DT_RELR)         \
    X(DYN_RELRSZ, DT_RELRSZ)     \
    X(DYN_RELRENT, DT_RELRENT)   \
    X(DYN_PLTREL, DT_PLTREL)     \
    X(DYN_PLTRELSZ, DT_PLTRELSZ) \
    X(DYN_PLTGOT, DT_PLTGOT)     \
    X(DYN_JMPREL, DT_JMPREL)     \
    X(DYN_VERSYM, DT_VERSYM)     \
    X(DYN_VERDEF, DT_VERDEF)     \
    X(DYN_VERNEED, DT_VERNEED)   \
    X(DYN_SONAME, DT_SONAME)     \
    X(DYN_RPATH, DT_RPATH)       \
    X(DYN_RUNPATH, DT_RUNPATH)   \
    X(DYN_FLAGS, DT_FLAGS)       \
    X(DYN_FLAGS_1, DT_FLAGS_1)   \
    X(DYN_SYMBOLIC, DT_SYMBOLIC) \
    X(DYN_TEXTREL, DT_TEXTREL)   \
    X(DYN_BIND_NOW, DT_BIND_NOW) \
    X(DYN_INIT, DT_INIT)         \
    X(DYN_INIT_ARRAY, DT_INIT_ARRAY) \
    X(DYN_INIT_ARRAYSZ, DT_INIT_ARRAYSZ)

enum dyn {
#define X(name, tag) name,
    DYN_TABLE(X)
#undef X
    DYN_N
};

struct dynamic {
    uint64_t value[DYN_N];
    bool has[DYN_N];
    bool readonly; /* PT_DYNAMIC without PF_W */
};

/* One entry of the table that version indexes point into. */
struct version {
    uint32_t hash; /* 0: no version */
    bool hidden;
    const char *name, *file; /* file: NULL for a version that the file itself defines */
};

/* A question to elf_defines. */
struct query {
    char *name, *version; /* owned */
    enum elf_answer answer;
};

struct elf_symbols {
    struct image image;
    struct dynamic dyn;
    struct span strings, symbols, versym; /* from their start to the end of their segment */
    uint32_t n_buckets, first_hashed, n_bloom, bloom_shift; /* DT_GNU_HASH */
    struct span bloom, buckets, chains; /* chains of DT_GNU_HASH begin with symbol first_hashed */
    bool gnu_hash;
    uint32_t n_chain;   /* DT_HASH, with buckets and chains */
    bool versions_read;
    struct version *versions; /* owned */
    size_t n_versions;
    bool undefs_read;
    struct elf_undef *undefs; /* owned */
    size_t n_undefs;
    uint32_t *undef_of; /* owned; symbol number -> number in undefs + 1, 0: none */
    size_t n_undef_of;
    uint16_t machine;
    bool ready;         /* the dynamic section was read: the tables can be asked */
    bool any_version_asked; /* by elf_undef.any_version */
    bool wants_asked;   /* elf_wants was: a snapshot holds it */
    struct {
        VEC(struct query);
    } queries;          /* what elf_defines was asked: a snapshot holds it */
    struct recorded *recorded; /* from a snapshot: all else above is empty */
};

/* A string of DT_STRTAB; NULL when it does not lie in the file. */
const char *dynamic_string(const struct elf_symbols *s, uint64_t offset);
uint32_t elf_hash_gnu(const char *name);
uint32_t elf_hash_sysv(const char *name);
/* elf_wants on a mapped file. */
bool relocs_walk(const struct elf_symbols *s, bool lazy, bool (*each)(void *ctx, const struct elf_want *w), void *ctx);
/* One past the highest symbol number that a relocation names. */
uint64_t relocs_symbol_end(const struct elf_symbols *s);
/* Reads DT_VERNEED and DT_VERDEF into s->versions, once. */
void versions_read(struct elf_symbols *s);
/* Walks the two chains of records with everything checked; a callback returns false to stop. The walk itself returns
 * false when a record lies outside of the file or the chain is longer than any real one. */
struct need_record {
    uint16_t record_version, other, flags;
    uint32_t hash;
    const char *file, *name;
};
struct def_record {
    uint16_t record_version, index, flags;
    uint32_t hash;
    const char *name;
};
bool versions_needed(const struct elf_symbols *s, bool (*each)(void *ctx, const struct need_record *r), void *ctx);
bool versions_defined(const struct elf_symbols *s, bool (*each)(void *ctx, const struct def_record *r), void *ctx);

#endif

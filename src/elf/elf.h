/* One ELF file as the dynamic loader meets it: read through its program headers (section headers may be
 * damaged or missing, the loader never looks at them), mapped read-only, nothing executed.
 * Sources for the layout: System V gABI, and the GNU extensions as documented in <elf.h>. */
#ifndef ORTFIT_ELF_ELF_H
#define ORTFIT_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* What the loader would say of the file itself, in the order in which it checks: name, text for dlerror (glibc)
 * and whether the loader skips such a file during a search (wrong class or machine) instead of failing.
 * The owner of src/elf completes the table; rows may be added, never renamed (snapshots carry the names). */
#define ELF_PROBLEM_TABLE(X)                                                                   \
    X(ELF_TOO_SHORT, "file too short", false)                                                  \
    X(ELF_BAD_MAGIC, "invalid ELF header", false)                                              \
    X(ELF_WRONG_CLASS, "wrong ELF class", true)                                                \
    X(ELF_BAD_DATA, "ELF file data encoding not little-endian", false)                         \
    X(ELF_BAD_IDENT_VERSION, "ELF file version ident does not match current one", false)       \
    X(ELF_BAD_OSABI, "ELF file OS ABI invalid", false)                                         \
    X(ELF_BAD_ABI_VERSION, "ELF file ABI version invalid", false)                              \
    X(ELF_BAD_PADDING, "nonzero padding in e_ident", false)                                    \
    X(ELF_BAD_VERSION, "ELF file version does not match current one", false)                   \
    X(ELF_WRONG_MACHINE, "wrong machine", true)                                                \
    X(ELF_NOT_DYN_OR_EXEC, "only ET_DYN and ET_EXEC can be loaded", false)                     \
    X(ELF_BAD_PHENTSIZE, "ELF file's phentsize not the expected size", false)                  \
    X(ELF_BAD_PHDRS, "cannot read file data", false)                                           \
    X(ELF_BAD_PHOFF, "cannot read file data: Invalid argument", false)                         \
    X(ELF_BAD_ALIGN, "ELF load command alignment not page-aligned", false)                     \
    X(ELF_BAD_OFFSET, "ELF load command address/offset not properly aligned", false)           \
    X(ELF_BAD_PAGE_ALIGN, "ELF load command address/offset not page-aligned", false)           \
    X(ELF_MAP_FAILED, "failed to map segment from shared object", false)                       \
    X(ELF_ZERO_FILL, "cannot map zero-fill pages", false)                                      \
    X(ELF_NO_LOAD, "object file has no loadable segments", false)                              \
    X(ELF_NO_DYNAMIC, "object file has no dynamic section", false)                             \
    X(ELF_EXECUTABLE, "cannot dynamically load executable", false)                             \
    X(ELF_PIE, "cannot dynamically load position-independent executable", false)               \
    X(ELF_NOOPEN, "shared object cannot be dlopen()ed", false)                                 \
    X(ELF_CUT, "mapped pages lie past the end of the file (bus error)", false)                 \
    X(ELF_DAMAGED, "tables of the dynamic section lie outside the file", false)

enum elf_problem {
    ELF_FINE,
#define X(name, text, skipped) name,
    ELF_PROBLEM_TABLE(X)
#undef X
};

/* One version wanted from a file (DT_VERNEED). */
struct elf_verneed {
    const char *file; /* "libc.so.6" */
    const char *version; /* "GLIBC_2.34" */
    uint32_t hash;
    bool weak;
};

/* One dynamic symbol that the file wants from others. */
struct elf_undef {
    const char *name;
    const char *version; /* NULL: no version wanted */
    const char *version_file; /* the DT_VERNEED file it came from, or NULL */
    bool weak;
    size_t name_len;
    uint32_t hash, version_hash; /* so that elf_resolves need not hash again */
    bool address; /* set by the caller of elf_resolves: an undefined symbol with an address will do as well (a
                   * function of a program, at its PLT), as for relocations that are no calls */
    bool any_version; /* set by the caller likewise: versions do not count, but a hidden one hides (musl) */
};

struct elf_filter {
    bool optional;        /* DT_AUXILIARY: the loader goes on without it */
    size_t needed_before; /* how many DT_NEEDED stand before it */
};

/* Where a loader that gets that far with this file dies (bus error, segmentation fault or failed assertion), though
 * the file can be mapped; dying while it is mapped is problem ELF_CUT or ELF_DAMAGED. */
enum elf_crash {
    ELF_NO_CRASH,
    ELF_CRASH_VERSIONS, /* when versions are checked */
    ELF_CRASH_INIT,     /* when its constructors run; a crash while it is relocated is told by elf_wants */
};

enum elf_exec_stack { ELF_STACK_UNSAID, ELF_STACK_PLAIN, ELF_STACK_EXEC };

struct elf {
    enum elf_problem problem;  /* ELF_FINE, or the first thing wrong; later fields may then be empty. ELF_EXECUTABLE,
                                * ELF_PIE and ELF_NOOPEN are wrong for dlopen only: all fields are filled */
    enum elf_problem older_problem; /* ELF_BAD_ALIGN, ELF_BAD_OFFSET: what glibc before 2.35 says first; else ELF_FINE */
    enum elf_crash crash;
    uint64_t size_bytes, dev, ino; /* of the file; the identity glibc compares */
    unsigned char elf_class;   /* ELFCLASS32/64, also where problem says wrong class */
    unsigned char data;        /* ELFDATA2LSB/2MSB */
    uint16_t machine, type;
    bool pie, nodeflib, noopen, symbolic, bind_now, textrel, static_tls, relr;
    const char *interp;        /* PT_INTERP or NULL */
    const char *soname, *rpath, *runpath; /* NULL when absent; rpath stays visible though runpath exists */
    const char *const *needed; /* DT_NEEDED in order */
    size_t n_needed;
    const char *const *filters; /* DT_AUXILIARY and DT_FILTER in order */
    const struct elf_filter *filter_info; /* of each, what else there is to know */
    size_t n_filters;
    const struct elf_verneed *verneed;
    size_t n_verneed;
    const char *const *verdef; /* version names defined (the base definition included) */
    size_t n_verdef;
    const uint32_t *verdef_hash; /* of each, as the file says */
    size_t n_verdef_good;      /* below n_verdef: the next record has a version other than 1, which is an error */
    unsigned verdef_bad_version; /* that version */
    unsigned verneed_version;  /* of the first record: other than 1 is an error; 0 without DT_VERNEED */
    bool has_versym;           /* symbols have versions, as the loader sees it */
    uint64_t tls_size_bytes, tls_align; /* PT_TLS; 0 when none */
    enum elf_exec_stack exec_stack;
    unsigned isa_needed;       /* GNU property x86 ISA level needed: bit 0 baseline, 1 v2, 2 v3, 3 v4 */
    bool has_init_code;        /* informational */
    struct elf_symbols *symbols; /* opaque: the mapping or the recorded sets; NULL when there are none */
};

enum elf_answer { ELF_UNKNOWN, ELF_NO, ELF_YES };

/* Reads the file behind fd (a regular file open for reading; not closed here). A damaged file is no error: it
 * comes back with its problem. Strings live in the arena or in the mapping, both until elf_done + arena_done.
 * A file that shrinks while it is read gives ERR_READ, never a signal. */
int elf_read(int fd, struct arena *a, struct elf **ret, struct err *e);
/* Drops the mapping. NULL is fine. The arena still owns the struct itself. */
void elf_done(struct elf *elf);

const char *elf_problem_text(enum elf_problem p); /* dlerror's words */
const char *elf_problem_name(enum elf_problem p); /* "ELF_TOO_SHORT", for snapshots */
enum elf_problem elf_problem_of_name(const char *name); /* ELF_FINE when unknown */
bool elf_problem_skipped(enum elf_problem p);
/* As the loader of glibc 2.MINOR sees it; 0: a current one. */
enum elf_problem elf_problem_in(const struct elf *elf, int glibc_minor);

/* The symbols that the file wants from others (st_shndx == SHN_UNDEF), each once. Built at first use. */
size_t elf_undefs(const struct elf *elf, const struct elf_undef **ret);
/* Does the file define the symbol, global or weak, as the loader's lookup would accept it?
 * version NULL: any default or base definition. has_versym == false on the defining file accepts every version. */
enum elf_answer elf_defines(const struct elf *elf, const char *name, const char *version);
/* The same for a symbol of elf_undefs: quicker, for a whole scope of files. ELF_UNKNOWN of a file that was read: the
 * look-up runs into what is not there, a loader would crash. A file of a snapshot takes symbols of the other files of
 * that snapshot and answers ELF_NO to what it does not hold. */
enum elf_answer elf_resolves(const struct elf *elf, const struct elf_undef *u);
/* Is what elf_resolves finds an indirect function, whose resolver runs while others are relocated? */
bool elf_resolves_indirectly(const struct elf *elf, const struct elf_undef *u);
/* The first symbol, in the order in which the loader relocates, for which missing(ctx, undef) says true.
 * Looks at DT_RELA/DT_REL and, unless lazy, at DT_JMPREL. NULL when none. */
const struct elf_undef *elf_first_unresolved(const struct elf *elf, bool lazy,
                                             bool (*missing)(void *ctx, const struct elf_undef *u), void *ctx);

/* What a relocation wants besides the file's own address. */
enum elf_want_kind {
    ELF_WANT_NOTHING,
    ELF_WANT_SYMBOL,         /* an undefined symbol */
    ELF_WANT_STATIC_TLS,     /* the symbol's object (without symbol: the file) in the static TLS block */
    ELF_WANT_TLS_DESCRIPTOR, /* the same, where there is room */
    ELF_WANT_BAD_TYPE,       /* a type that the loader does not know */
    ELF_WANT_CRASH,          /* it writes where nothing is mapped, or behind the end of a cut file */
    ELF_WANT_INDIRECT,       /* a resolver of its own is called: glibc can, musl cannot */
};

struct elf_want {
    enum elf_want_kind kind;
    const struct elf_undef *symbol; /* undefined in the file; NULL: none, or one of its own */
    uint32_t type;
    bool plt;                       /* met while binding lazily */
    bool call;                      /* only a definition will do (see elf_undef.address) */
};

/* Calls each for every such relocation in the loader's order, until it returns false (then the result is false).
 * The relative ones at the front (DT_RELACOUNT) are looked at only in a file that is cut. A file of a snapshot tells
 * the first of each kind for each symbol; nothing where the record was made without asking. */
bool elf_wants(const struct elf *elf, bool lazy, bool (*each)(void *ctx, const struct elf_want *w), void *ctx);
size_t elf_relocs_size(const struct elf *elf); /* bytes that elf_wants would read */
bool elf_is_cut(const struct elf *elf);        /* pages of its segments lie behind its end */

/* For snapshots: writes down (as one object, the value of the caller's key) and rebuilds what the functions above
 * answer. `asked` are the names that any file of the snapshot wants: definitions of those and of what elf_defines was
 * asked are written; a rebuilt file answers ELF_UNKNOWN to elf_defines for others. Symbols wanted and relocations are
 * written only if they were asked for before. asked may be NULL; its files must live until it was used. */
struct json;   /* base/jsonw.h */
struct json_t; /* jansson */
struct elf_asked;  /* set of symbol names */
struct elf_asked *elf_asked_new(void);
void elf_asked_add(struct elf_asked *set, const struct elf *elf);
void elf_asked_free(struct elf_asked *set);
void elf_save(const struct elf *elf, const struct elf_asked *asked, struct json *to);
int elf_load(const struct json_t *from, struct arena *a, struct elf **ret, struct err *e);

#endif

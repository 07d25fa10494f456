/* What the loader checks once everything is mapped: versions, the CPU's level, and what relocation looks up. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "load/process.h"

enum {
    TLS_TCB_BYTES = 2304,      /* struct pthread of glibc on x86_64 */
    TLS_SMALL_RELOCS = 262144, /* bytes of relocations always looked through */
};

static const char *shown_name(const struct object *o)
{
    return *o->name ? o->name : "<main program>";
}

static struct object *find_named(struct load_process *proc, const char *name)
{
    for (struct object *o = proc->head; o; o = o->next)
        if (walk_knows_name(o, name))
            return o;
    return NULL;
}

/* Looks through the definitions in their order; a record of an unknown version ends with an error. */
static bool defines_version(struct load_process *proc, const struct object *from, const struct elf_verneed *v)
{
    const struct elf *elf = from->elf;
    for (size_t i = 0; i < elf->n_verdef_good; i++)
        if (elf->verdef_hash[i] == v->hash && str_eq(elf->verdef[i], v->version))
            return true;
    if (elf->n_verdef_good < elf->n_verdef)
        load_fail(proc, 0, shown_name(from), "unsupported version %u of Verdef record", elf->verdef_bad_version);
    return false;
}

/* Notes the lacking version at the need that was met by this object. */
static void mark_need(struct load_process *proc, const struct object *o, const char *problem)
{
    for (size_t i = 0; i < proc->needs.n; i++) {
        struct load_need *need = &proc->needs.at[i];
        if (need->status == LOAD_FOUND && need->elf == o->elf) {
            need->status = LOAD_BAD_VERSION;
            need->problem = problem;
            need->elf = NULL;
        }
    }
}

/* One version wanted by o. False: an error (in explore mode written down, and the walk goes on). */
static bool check_version(struct load_process *proc, const struct object *o, const struct elf_verneed *v)
{
    const struct object *from = find_named(proc, v->file);
    if (!from) {
        if (!proc->explore || !proc->error)
            load_abort(proc, "Inconsistency detected by ld.so: dl-version.c: 204: _dl_check_map_versions: "
                             "Assertion `needed != NULL' failed!");
        return false;
    }
    if (!from->elf || from->elf->n_verdef == 0 || defines_version(proc, from, v))
        return true;
    if (proc->error && !proc->explore)
        return false;
    if (v->weak)
        return true;
    load_fail(proc, 0, shown_name(from), "version `%s' not found (required by %s)", v->version, shown_name(o));
    mark_need(proc, from,
              arena_printf(&proc->arena, "version `%s' not found (required by %s)", v->version, shown_name(o)));
    return false;
}

/* From 2.36 on a file with DT_RELR must say that it wants a loader that knows it. */
static bool check_relr(struct load_process *proc, const struct object *o)
{
    const struct elf *elf = o->elf;
    if (!elf->relr || elf->n_verneed == 0 || proc->libc.minor < 36)
        return true;
    for (size_t i = 0; i < elf->n_verneed; i++)
        if (str_eq(elf->verneed[i].version, "GLIBC_ABI_DT_RELR"))
            return true;
    for (size_t i = 0; i < elf->n_needed; i++)
        if (str_starts(elf->needed[i], "libc.so.")) {
            load_fail(proc, 0, shown_name(o), "DT_RELR without GLIBC_ABI_DT_RELR dependency");
            return false;
        }
    return true;
}

bool check_versions(struct load_process *proc, struct object *o)
{
    bool fine = true;
    const struct elf *elf = o->elf;
    if (!elf)
        return true;
    if (elf->verneed_version > 1 || (elf->n_verneed && elf->verneed_version != 1)) {
        load_fail(proc, 0, shown_name(o), "unsupported version %u of Verneed record", elf->verneed_version);
        return false;
    }
    for (size_t i = 0; i < elf->n_verneed && (fine || proc->explore); i++)
        fine = check_version(proc, o, &elf->verneed[i]) && fine;
    if (fine && elf->crash == ELF_CRASH_VERSIONS) {
        load_abort(proc, "the version tables of '%s' are damaged", o->name);
        return false;
    }
    if (fine)
        fine = check_relr(proc, o);
    o->versions_done = fine;
    return fine;
}

bool check_isa(struct load_process *proc, struct object *root)
{
    unsigned usable = place_machine(proc->place)->isa_usable;
    if (proc->libc.minor > 0 && proc->libc.minor < 33)
        return true; /* not looked at before */
    for (size_t i = root->n_initfini; i-- > 0;) {
        const struct object *o = root->initfini[i];
        if (o->inited || o->is_rtld || !o->elf || (o->elf->isa_needed & usable) == o->elf->isa_needed)
            continue;
        load_fail(proc, 0, o->name, "CPU ISA level is lower than required");
        return false;
    }
    return true;
}

/* One object's relocation. */
struct relocation {
    struct load_process *proc;
    struct object *o;
    const struct object *root;
    const struct elf_undef *undefs;
    unsigned char *seen; /* of each undefined symbol: enum seen */
    struct object **from; /* of each found one: who defines it */
    bool address;        /* for other than calls an undefined symbol with an address will do (a program's PLT) */
};

enum seen { SEEN_NOT, SEEN_FOUND, SEEN_MISSING };

/* Does this object define it? Unknown counts as no but is kept in mind. */
static bool defined_in(struct relocation *r, struct object *o, const struct elf_undef *u, bool *unknown)
{
    if (!o->elf || (o->is_main && !o->elf->symbols))
        return false;
    struct elf_undef wanted = *u;
    wanted.address = r->address;
    enum elf_answer answer = elf_resolves(o->elf, &wanted);
    if (answer == ELF_UNKNOWN)
        *unknown = true;
    if (answer != ELF_YES)
        return false;
    if (u->version && u->version_file && !o->elf->has_versym && walk_knows_name(o, u->version_file))
        load_abort(r->proc, "Inconsistency detected by ld.so: dl-lookup.c: 107: check_match: Assertion "
                            "`version->filename == NULL || ! _dl_name_match_p (version->filename, map)' failed!");
    return true;
}

/* Looks the symbol up as the loader does: the object itself when it is symbolic, the global scope, the list of what
 * was opened. *ret_unknown: some file could not say. */
static struct object *look_up(struct relocation *r, const struct elf_undef *u, bool *ret_unknown)
{
    *ret_unknown = false;
    if (r->o->elf->symbolic && defined_in(r, r->o, u, ret_unknown))
        return r->o;
    for (size_t i = 0; i < r->proc->globals.n; i++)
        if (defined_in(r, r->proc->globals.at[i], u, ret_unknown))
            return r->proc->globals.at[i];
    for (size_t i = 0; i < r->root->n_searchlist; i++)
        if (defined_in(r, r->root->searchlist[i], u, ret_unknown))
            return r->root->searchlist[i];
    return NULL;
}

static bool is_missing(struct relocation *r, const struct elf_undef *u)
{
    unsigned char *seen = &r->seen[u - r->undefs];
    if (*seen == SEEN_NOT) {
        bool unknown = false;
        struct object *from = look_up(r, u, &unknown);
        if (!from && unknown)
            r->proc->unknown = true;
        *seen = from || unknown ? SEEN_FOUND : SEEN_MISSING;
        r->from[u - r->undefs] = from;
    }
    return *seen == SEEN_MISSING;
}

/* The same for one relocation, by its type. */
static bool is_missing_for(struct relocation *r, const struct elf_undef *u, bool call)
{
    if (!is_missing(r, u))
        return false;
    if (call)
        return true;
    bool unknown = false;
    r->address = true;
    struct object *from = look_up(r, u, &unknown);
    r->address = false;
    return !from && !unknown;
}

/* Gives the object room in the static TLS block, as far as the surplus goes. */
static bool place_tls(struct load_process *proc, struct object *o, bool optional)
{
    const struct elf *elf = o->elf;
    if (o->tls_static)
        return true;
    uint64_t size = elf->tls_size_bytes, align = elf->tls_align;
    uint64_t room = proc->tls_size - proc->tls_used;
    if (o->tls_dynamic || align > proc->tls_align || room < TLS_TCB_BYTES || room - TLS_TCB_BYTES < size)
        return false;
    if (align == 0) {
        load_abort(proc, "Floating point exception: '%s' has no TLS segment", o->name);
        return false;
    }
    room -= TLS_TCB_BYTES;
    uint64_t use = room - (room - size) / align * align;
    if (optional && use > proc->tls_optional)
        return false;
    if (optional)
        proc->tls_optional -= use;
    proc->tls_used += use;
    o->tls_static = true;
    return true;
}

static bool want_tls(struct relocation *r, const struct elf_want *w)
{
    struct object *o = r->o;
    bool unknown = false;
    if (w->symbol)
        o = look_up(r, w->symbol, &unknown);
    if (!o || !o->elf)
        return true;
    bool optional = w->kind == ELF_WANT_TLS_DESCRIPTOR, placed = place_tls(r->proc, o, optional);
    if (r->proc->aborts)
        return false;
    o->tls_dynamic = o->tls_dynamic || (optional && !placed);
    if (placed || optional)
        return true;
    load_fail(r->proc, 0, o->name, "cannot allocate memory in static TLS block");
    return false;
}

/* glibc's own resolvers ask ld.so for the CPU's features, through a table that relocation fills: before that the call
 * goes nowhere. (Other resolvers mostly need nothing; the loader only warns: "Relink ... with ...".) */
static bool crashes_in_resolver(struct relocation *r, const struct elf_undef *u)
{
    const struct object *from = r->from[u - r->undefs];
    if (!from || from->relocated || from == r->o || !elf_resolves_indirectly(from->elf, u))
        return false;
    const struct elf_undef *needs;
    size_t n = elf_undefs(from->elf, &needs);
    for (size_t i = 0; i < n; i++)
        if (str_eq(needs[i].name, "_rtld_global_ro") || strstr(needs[i].name, "_get_cpu_features"))
            return true;
    return false;
}

static bool on_want(void *ctx, const struct elf_want *w)
{
    struct relocation *r = ctx;
    const struct elf_undef *u = w->symbol;
    if (w->kind == ELF_WANT_CRASH) {
        load_abort(r->proc, "relocation of '%s' outside of what is mapped", r->o->name);
        return false;
    }
    if (u && !w->plt && is_missing_for(r, u, w->call) && !u->weak) {
        load_fail(r->proc, 0, r->o->name, "undefined symbol: %s%s%s", u->name, u->version ? ", version " : "",
                  u->version ? u->version : "");
        return false;
    }
    if (u && !w->plt && crashes_in_resolver(r, u))
        load_abort(r->proc, "'%s' takes '%s' from '%s' without needing it", r->o->name, u->name,
                   r->from[u - r->undefs]->name);
    if (r->proc->aborts)
        return false;
    if (w->kind == ELF_WANT_BAD_TYPE) {
        load_fail(r->proc, 0, r->o->name, w->type > 0xff ? "unexpected %sreloc type 0x%08x" : "unexpected %sreloc type 0x%02x",
                  w->plt ? "PLT " : "", w->type);
        return false;
    }
    if ((w->kind == ELF_WANT_STATIC_TLS || w->kind == ELF_WANT_TLS_DESCRIPTOR) && !(u && is_missing(r, u)))
        return want_tls(r, w);
    return true;
}

/* Is there any reason to go through the relocations one by one? Large tables of sound files are left out: there the
 * table of undefined symbols says whether all can be found. */
static bool worth_walking(struct relocation *r, size_t n_undefs)
{
    const struct elf *elf = r->o->elf;
    if (elf->static_tls || elf_is_cut(elf) || elf_relocs_size(elf) <= TLS_SMALL_RELOCS)
        return true;
    for (size_t i = 0; i < n_undefs; i++)
        if ((!r->undefs[i].weak && is_missing(r, &r->undefs[i])) || crashes_in_resolver(r, &r->undefs[i]))
            return true;
    return r->proc->aborts;
}

bool check_relocations(struct load_process *proc, struct object *o, bool lazy)
{
    if (!o->elf || !o->elf->symbols)
        return true;
    struct relocation r = { .proc = proc, .o = o, .root = o };
    while (r.root->loader)
        r.root = r.root->loader;
    size_t n = elf_undefs(o->elf, &r.undefs);
    r.seen = xcalloc(n + 1, 1);
    r.from = xcalloc(n + 1, sizeof(*r.from));
    bool fine = true;
    if (worth_walking(&r, n))
        fine = elf_wants(o->elf, lazy, on_want, &r);
    free(r.seen);
    free(r.from);
    o->relocated = fine;
    return fine && !proc->aborts;
}

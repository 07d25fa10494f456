/* What the loader of a place is like: which C library, its version, its built-in folders, the subfolders that suit
 * this CPU. Nothing of it is asked of the loader itself; all is read from names and tables. */
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "load/process.h"

/* One row a machine that the loader is predicted for. */
static const struct arch {
    const char *name;   /* as uname says */
    const char *interp; /* of a glibc program */
    const char *soname;
    const char *musl;
    const char *triple; /* Debian's multiarch name */
} archs[] = {
    { "x86_64", "/lib64/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1", "x86_64-linux-gnu" },
    { "aarch64", "/lib/ld-linux-aarch64.so.1", "ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1",
      "aarch64-linux-gnu" },
};

static const struct arch *arch_of(struct load_process *proc)
{
    const struct place_machine *m = place_machine(proc->place);
    for (size_t i = 0; i < ARRAY_LEN(archs); i++)
        if (m->arch && str_eq(m->arch, archs[i].name))
            return &archs[i];
    return &archs[0];
}

/* Built-in folders follow from where the distribution keeps the loader itself: Debian's multiarch folder, lib64 of
 * Fedora and SUSE, /usr/lib of Arch, a folder of its own (Nix, Guix). Measured on those with `ld.so --help`. */
static void find_folders(struct load_process *proc, const struct arch *arch)
{
    struct libc_kind *k = &proc->libc;
    const char *real = place_realpath(proc->place, k->interp);
    const char *dir = real ? path_dir(&proc->arena, real) : "/lib64";
    size_t n = 0;
    if (strstr(dir, arch->triple)) {
        k->lib = arena_printf(&proc->arena, "lib/%s", arch->triple);
        k->system_dirs[n++] = arena_printf(&proc->arena, "/lib/%s/", arch->triple);
        k->system_dirs[n++] = arena_printf(&proc->arena, "/usr/lib/%s/", arch->triple);
        k->system_dirs[n++] = "/lib/";
        k->system_dirs[n++] = "/usr/lib/";
    } else if (str_eq(dir, "/lib64") || str_eq(dir, "/usr/lib64")) {
        k->lib = "lib64";
        k->system_dirs[n++] = "/lib64/";
        k->system_dirs[n++] = "/usr/lib64/";
    } else if (str_eq(dir, "/usr/lib")) {
        k->lib = "lib";
        k->system_dirs[n++] = "/usr/lib/";
    } else if (str_eq(dir, "/lib")) {
        k->lib = "lib";
        k->system_dirs[n++] = "/lib/";
        k->system_dirs[n++] = "/usr/lib/";
    } else {
        k->lib = "lib";
        k->system_dirs[n++] = arena_printf(&proc->arena, "%s/", dir);
    }
    k->system_dirs[n] = NULL;
}

static bool is_musl_path(const char *path)
{
    return str_starts(path_base(path), "ld-musl-") || str_starts(path_base(path), "libc.musl-") ||
           str_starts(path_base(path), "libgcompat");
}

void libc_find(struct load_process *proc, const struct elf *exe_elf)
{
    const struct arch *arch = arch_of(proc);
    struct libc_kind *k = &proc->libc;
    k->interp = exe_elf && exe_elf->interp ? exe_elf->interp : NULL;
    if (!k->interp) {
        const char *real = place_realpath(proc->place, arch->interp);
        bool musl = (!real || is_musl_path(real)) && place_exists(proc->place, arch->musl);
        k->interp = musl ? arch->musl : arch->interp;
    }
    k->musl = is_musl_path(k->interp);
    k->interp_name = k->musl ? path_base(k->interp) : arch->soname;
    k->platform = place_machine(proc->place)->platform;
    if (!k->musl)
        find_folders(proc, arch);
}

/* Subfolders of every search folder, in the loader's order: from 2.33 glibc-hwcaps from the best level down; up to 2.36 all
 * combinations of "tls", the platform's name and the names of the CPU's capability bits; the folder itself. */
void libc_caps(struct load_process *proc)
{
    const struct place_machine *m = place_machine(proc->place);
    bool levels = proc->libc.minor == 0 || proc->libc.minor >= 33;
    for (unsigned level = proc->top_level; level >= 2 && levels; level--)
        if (m->isa_usable & 1U << (level - 1))
            proc->caps[proc->n_caps++] = arena_printf(&proc->arena, "glibc-hwcaps/x86-64-v%u/", level);
    if (proc->libc.minor > 0 && proc->libc.minor <= 36 && m->arch && str_eq(m->arch, "x86_64")) {
        const char *parts[4];
        unsigned n = 0;
        const char *platform = proc->libc.platform;
        parts[n++] = "x86_64";
        if (platform && str_eq(platform, "haswell") && (m->isa_usable & 8))
            parts[n++] = "avx512_1";
        if (platform)
            parts[n++] = platform;
        parts[n++] = "tls";
        for (unsigned set = 1U << n; --set > 0;) {
            struct str s = { 0 };
            for (unsigned i = n; i-- > 0;)
                if (set & 1U << i)
                    str_addf(&s, "%s/", parts[i]);
            proc->caps[proc->n_caps++] = arena_strdup(&proc->arena, str_get(&s));
            str_done(&s);
        }
    }
    proc->caps[proc->n_caps++] = "";
    for (unsigned i = 0; i < proc->n_caps; i++) {
        size_t len = strcspn(proc->caps[i], "/");
        proc->cap_top[i] = i;
        for (unsigned j = 0; j < i; j++)
            if (len && strncmp(proc->caps[i], proc->caps[j], len + 1) == 0) {
                proc->cap_top[i] = j;
                break;
            }
    }
}

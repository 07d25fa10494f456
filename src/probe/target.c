/* ONNX Runtime without Python: a library file, or a program that links or ships one. */
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/pyfind.h"

#define FOLDERS_MAX 64

/* Where programs keep libraries, beside themselves. */
static const char *const beside[] = { "", "lib", "../lib", "../lib64" };
/* What the loader searches by itself, besides its cache. */
static const char *const defaults[] = { "/usr/local/lib",
                                        "/lib/x86_64-linux-gnu",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/lib/aarch64-linux-gnu",
                                        "/usr/lib/aarch64-linux-gnu",
                                        "/lib64",
                                        "/usr/lib64",
                                        "/lib",
                                        "/usr/lib" };

static bool is_runtime(const char *name)
{
    return str_eq(name, "libonnxruntime.so") || str_starts(name, "libonnxruntime.so.");
}

static bool is_provider(const char *name)
{
    return str_starts(name, "libonnxruntime_providers_") && str_ends(name, ".so");
}

/* --- version --- */

/* libonnxruntime.so.1.22.0 by its real name, else by the version it defines (VERS_1.22.0). */
static const char *runtime_version(struct snapshot *s, const char *file, const char **ret_source)
{
    const char *real = place_realpath(s->place, file);
    const char *of_name = real ? look_soname_version(path_base(real)) : NULL;
    *ret_source = real ? real : file;
    if (of_name && strchr(of_name, '.'))
        return of_name;
    const struct place_elf *elf = place_elf(s->place, file);
    for (size_t i = 0; elf->elf && i < elf->elf->n_verdef; i++)
        if (str_starts(elf->elf->verdef[i], "VERS_")) {
            *ret_source = arena_printf(&s->arena, "version node %s of %s", elf->elf->verdef[i],
                                       file);
            return elf->elf->verdef[i] + strlen("VERS_");
        }
    return NULL;
}

/* The wheel or archive around a folder: build info in capi/, VERSION_NUMBER beside lib/. */
static void around_read(struct snapshot *s, struct ort_install *o)
{
    const char *version;
    ort_build_read(s, o->dir, o, &o->package, &version);
    if (!o->version)
        o->version = version;
    const char *above = path_dir(&s->arena, o->dir);
    const char *number = path_join(&s->arena, above, "VERSION_NUMBER");
    if (!o->version && place_exists(s->place, number))
        o->version = look_first_line(s, number);
}

/* A GPU build exports the function that adds the CUDA provider, whether or not the provider's own
 * library lies beside it. */
static bool is_cpu_build(struct snapshot *s, const char *runtime)
{
    const struct elf *elf = place_elf(s->place, runtime)->elf;
    return elf &&
           elf_defines(elf, "OrtSessionOptionsAppendExecutionProvider_CPU", NULL) == ELF_YES &&
           elf_defines(elf, "OrtSessionOptionsAppendExecutionProvider_CUDA", NULL) == ELF_NO;
}

static struct ort_install *install_of_folder(struct snapshot *s, const char *dir,
                                             const char *runtime, const char *key)
{
    struct ort_install *o = arena_new(&s->arena, struct ort_install);
    const char *source = dir;
    o->dir = dir;
    o->runtime = runtime;
    ort_files_find(s, dir, NULL, o);
    o->pybind = NULL; /* a wheel's folder may hold one, but nobody loads it here */
    if (o->runtime)
        o->version = runtime_version(s, o->runtime, &source);
    o->cpu_build = o->runtime && is_cpu_build(s, o->runtime);
    if (o->cpu_build)
        fact_add(s, KNOWN_PRESENT, fact_key(s, "%s.build", key), "CPU only",
                 arena_printf(&s->arena, "symbols of %s", o->runtime));
    around_read(s, o);
    ort_facts(s, o, key, source);
    return o;
}

/* --- --library
 * --------------------------------------------------------------------------------------- */

static int elf_wanted(struct snapshot *s, const char *file, const char *what, struct err *e)
{
    const struct place_elf *elf = place_elf(s->place, file);
    if (elf->known == KNOWN_FAILED)
        return err_set(e, ERR_READ, "cannot read '%s': %s", file, strerror(elf->error));
    if (elf->known != KNOWN_PRESENT)
        return err_set(e, ERR_NOT_FOUND, "no such file: '%s'", file);
    if (elf->elf->problem == ELF_FINE || elf->elf->problem == ELF_EXECUTABLE ||
        elf->elf->problem == ELF_PIE)
        return 0;
    return err_set(e, ERR_FORMAT, "'%s' is no %s: %s", file, what,
                   elf_problem_text(elf->elf->problem));
}

/* The file itself, or for a folder the runtime in it or in its lib/. NULL with e filled: nothing to
 * look at. */
static const char *library_file(struct snapshot *s, const char *given, struct err *e)
{
    const char *file = path_clean(&s->arena, place_absolute(s->place, given));
    const struct file_info *info = place_stat(s->place, file);
    if (info->known == KNOWN_FAILED) {
        err_fill(e, ERR_READ, "cannot look at '%s': %s", file, strerror(info->error));
        return NULL;
    }
    if (info->known != KNOWN_PRESENT) {
        err_fill(e, ERR_NOT_FOUND, "no such file: '%s'; --library names libonnxruntime.so", given);
        return NULL;
    }
    if (info->type == FILE_REGULAR)
        return file;
    if (info->type != FILE_DIR) {
        err_fill(e, ERR_FORMAT, "'%s' is neither a file nor a folder", given);
        return NULL;
    }
    const char *dirs[] = { file, path_join(&s->arena, file, "lib") };
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        struct ort_install o = { 0 };
        ort_files_find(s, dirs[i], NULL, &o);
        if (o.runtime)
            return o.runtime;
    }
    err_fill(e, ERR_NOT_FOUND, "no libonnxruntime.so in '%s' or its lib folder", given);
    return NULL;
}

static bool links_runtime(struct snapshot *s, const char *file)
{
    const struct elf *elf = place_elf(s->place, file)->elf;
    for (size_t i = 0; elf && i < elf->n_needed; i++)
        if (is_runtime(path_base(elf->needed[i])))
            return true;
    return false;
}

int target_library(struct snapshot *s, const char *given, struct err *e)
{
    const char *file = library_file(s, given, e);
    if (!file)
        return -(int)(e ? e->code : ERR_NOT_FOUND);
    int r = elf_wanted(s, file, "library", e);
    if (r < 0)
        return r;
    if (!is_runtime(path_base(file)) && !is_provider(path_base(file)) && links_runtime(s, file))
        return target_program(s, given, e); /* a binding: what it links is meant */
    /* ONNX Runtime looks for its providers beside the file that was loaded, links followed */
    const char *real = place_realpath(s->place, file);
    const char *dir = path_dir(&s->arena, real ? real : file);
    const char *runtime = is_provider(path_base(file)) ? NULL : file;
    vec_push(&s->targets, (struct target){ .kind = TARGET_LIBRARY,
                                           .ort = install_of_folder(s, dir, runtime, "library"),
                                           .given = given });
    return 0;
}

/* --- PROGRAM --- */

static bool is_python(const char *name)
{
    return str_starts(name, "python") && name[6 + strspn(name + 6, "0123456789.t")] == '\0';
}

const char *program_python(struct snapshot *s, const char *program)
{
    const char *file = program_find(s, program);
    if (!file || place_stat(s->place, file)->type != FILE_REGULAR)
        return NULL;
    if (is_python(path_base(file)))
        return file;
    if (!pyfind_is_script(s, file))
        return NULL;
    const struct text *t = place_text(s->place, file, TEXT_FIRST_LINE);
    struct look_line line = { 0 };
    if (!look_next_line(t, &line) || line.len < 3)
        return NULL;
    const char *command = look_trim(s, line.at + 2, line.len - 2);
    size_t n = strcspn(command, " \t");
    const char *name = arena_strndup(&s->arena, command, n);
    if (str_eq(path_base(name), "env")) {
        command += n + strspn(command + n, " \t");
        name = arena_strndup(&s->arena, command, strcspn(command, " \t"));
    }
    return is_python(path_base(name)) ? name : NULL;
}

struct folders {
    struct snapshot *s;
    const char *origin;
    struct names dirs;
};

static void folders_push(struct folders *f, const char *dir)
{
    dir = path_clean(&f->s->arena, place_absolute(f->s->place, *dir ? dir : "."));
    if (f->dirs.n < FOLDERS_MAX && !names_has(&f->dirs, dir))
        vec_push(&f->dirs, dir);
}

/* "$ORIGIN/../lib:/opt/x/lib" */
static void folders_split(struct folders *f, const char *list, const char *separators)
{
    static const char *const origins[] = { "${ORIGIN}", "$ORIGIN" };
    while (list && *list && f->dirs.n < FOLDERS_MAX) {
        size_t n = strcspn(list, separators);
        const char *dir = arena_strndup(&f->s->arena, list, n);
        for (size_t i = 0; i < ARRAY_LEN(origins); i++)
            if (str_starts(dir, origins[i])) {
                dir = arena_printf(&f->s->arena, "%s%s", f->origin, dir + strlen(origins[i]));
                break;
            }
        folders_push(f, dir);
        list += n + (list[n] != '\0');
    }
}

/* The runtime in dir under this name; any name when it is NULL. */
static const char *runtime_in(struct snapshot *s, const char *dir, const char *name)
{
    if (name) {
        const char *file = path_join(&s->arena, dir, name);
        return place_stat(s->place, file)->type == FILE_REGULAR ? file : NULL;
    }
    struct ort_install o = { 0 };
    ort_files_find(s, dir, NULL, &o);
    return o.runtime;
}

/* A file of this name in ld.so.cache, whose strings are enough here; NULL: none that is there. */
static const char *in_cache(struct snapshot *s, const char *name)
{
    const struct text *t = place_text(s->place, "/etc/ld.so.cache", TEXT_LDCACHE);
    size_t name_len = strlen(name);
    if (t->known != KNOWN_PRESENT)
        return NULL;
    for (const char *p = t->at, *end = t->at + t->len; p < end;) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        if (!slash)
            return NULL;
        size_t len = strnlen(slash, (size_t)(end - slash));
        p = slash + len;
        if (p < end && len > name_len && slash[len - name_len - 1] == '/' &&
            memcmp(p - name_len, name, name_len) == 0 &&
            place_stat(s->place, slash)->type == FILE_REGULAR)
            return arena_strdup(&s->arena, slash);
    }
    return NULL;
}

/* The ONNX Runtime that the program links: searched as the loader would. */
static const char *linked(struct snapshot *s, const char *exe, const struct elf *elf,
                          const char **ret_needed)
{
    struct folders f = { .s = s, .origin = path_dir(&s->arena, exe) };
    const char *needed = NULL, *found = NULL;
    for (size_t i = 0; i < elf->n_needed && !needed; i++)
        if (is_runtime(path_base(elf->needed[i])))
            needed = elf->needed[i];
    *ret_needed = needed;
    if (!needed)
        return NULL;
    if (strchr(needed, '/'))
        return place_exists(s->place, place_absolute(s->place, needed))
                   ? place_absolute(s->place, needed)
                   : NULL;
    if (elf->rpath && !elf->runpath)
        folders_split(&f, elf->rpath, ":");
    folders_split(&f, place_getenv(s->place, "LD_LIBRARY_PATH"), ":;");
    if (elf->runpath)
        folders_split(&f, elf->runpath, ":");
    for (size_t i = 0; i < f.dirs.n && !found; i++)
        found = runtime_in(s, f.dirs.at[i], needed);
    vec_done(&f.dirs);
    if (!found)
        found = in_cache(s, needed);
    for (size_t i = 0; i < ARRAY_LEN(defaults) && !found; i++)
        found = runtime_in(s, defaults[i], needed);
    return found;
}

/* One that it opens itself: named by ORT_DYLIB_PATH, or lying beside it; or built in, with the
 * providers beside it. */
static const char *shipped(struct snapshot *s, const char *exe, const char **ret_dir)
{
    const char *named = place_getenv(s->place, "ORT_DYLIB_PATH");
    if (named && *named &&
        place_stat(s->place, place_absolute(s->place, named))->type == FILE_REGULAR)
        return path_clean(&s->arena, place_absolute(s->place, named));
    for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
        const char *dir = path_clean(&s->arena,
                                     path_join(&s->arena, path_dir(&s->arena, exe), beside[i]));
        struct ort_install o = { 0 };
        ort_files_find(s, dir, NULL, &o);
        if (o.runtime)
            return o.runtime;
        if (o.cuda || o.shared) {
            *ret_dir = dir;
            return NULL;
        }
    }
    return NULL;
}

/* Where images of servers and of C and C++ programs keep it, for those who name nothing. */
static const char *usual_runtime(struct snapshot *s)
{
    static const char *const names[] = { "libonnxruntime.so.1", "libonnxruntime.so" };
    static const char *const parents[] = { "/opt", "/usr/local" };
    static const char triton[] = "/opt/tritonserver/backends/onnxruntime";
    const char *found = NULL;
    for (size_t k = 0; k < ARRAY_LEN(names) && !found; k++) {
        struct folders f = { .s = s, .origin = "/" };
        folders_split(&f, place_getenv(s->place, "LD_LIBRARY_PATH"), ":;");
        folders_push(&f, triton);
        for (size_t i = 0; i < f.dirs.n && !found; i++)
            found = runtime_in(s, f.dirs.at[i], names[k]);
        vec_done(&f.dirs);
        if (!found)
            found = in_cache(s, names[k]);
        for (size_t i = 0; i < ARRAY_LEN(defaults) && !found; i++)
            found = runtime_in(s, defaults[i], names[k]);
    }
    for (size_t p = 0; p < ARRAY_LEN(parents) && !found; p++) {
        const struct listing *l = place_list(s->place, parents[p]);
        for (size_t i = 0; i < l->n && i < 1000 && !found; i++)
            if (str_starts(l->at[i].name, "onnxruntime"))
                found = runtime_in(
                    s, arena_printf(&s->arena, "%s/%s/lib", parents[p], l->at[i].name), NULL);
    }
    return found;
}

/* file: the runtime; needed: the name by which it is linked while the loader does not find it. */
static struct ort_install *install_of_program(struct snapshot *s, const char *file,
                                              const char *needed)
{
    const char *real = place_realpath(s->place, file);
    struct ort_install *o =
        install_of_folder(s, path_dir(&s->arena, real ? real : file), file, "program");
    o->unreached = needed;
    return o;
}

int target_program(struct snapshot *s, const char *program, struct err *e)
{
    const char *file = program_find(s, program);
    const struct file_info *info = file ? place_stat(s->place, file) : NULL;
    if (!info && place_stat(s->place, place_absolute(s->place, program))->known == KNOWN_PRESENT) {
        file = path_clean(&s->arena, place_absolute(s->place, program));
        info = place_stat(s->place, file);
    }
    if (!info || info->known == KNOWN_ABSENT)
        return err_set(e, ERR_NOT_FOUND, "no such program: '%s'", program);
    if (info->known == KNOWN_PRESENT && info->type != FILE_REGULAR)
        return err_set(
            e, ERR_FORMAT,
            "'%s' is no program: it is no regular file; a folder is named with --root or --python",
            program);
    int r = elf_wanted(s, file, "program", e);
    if (r < 0)
        return r;
    const struct elf *elf = place_elf(s->place, file)->elf;
    const char *exe = place_realpath(s->place, file), *needed = NULL, *dir = NULL;
    if (!exe)
        exe = file;
    const char *runtime = linked(s, exe, elf, &needed);
    if (!runtime && !needed)
        runtime = shipped(s, exe, &dir);
    fact_add(s, needed ? KNOWN_PRESENT : KNOWN_ABSENT, "program.needs", needed, file);
    struct target t = { .kind = TARGET_PROGRAM, .exe = exe, .given = program };
    const char *unreached = !runtime && needed ? usual_runtime(s) : NULL;
    if (runtime) {
        t.ort = install_of_program(s, runtime, NULL);
    } else if (unreached) {
        t.ort = install_of_program(s, unreached, needed);
    } else if (dir) {
        t.ort = install_of_folder(s, dir, NULL, "program");
    } else {
        fact_add(s, KNOWN_ABSENT, "program.ort", NULL, file);
    }
    vec_push(&s->targets, t);
    return 0;
}

/* --- nothing named --- */

bool target_usual(struct snapshot *s)
{
    const char *file = usual_runtime(s);
    if (!file)
        return false;
    const char *real = place_realpath(s->place, file);
    const char *dir = path_dir(&s->arena, real ? real : file);
    vec_push(&s->targets, (struct target){ .kind = TARGET_LIBRARY,
                                           .ort = install_of_folder(s, dir, file, "library"),
                                           .given = file });
    return true;
}

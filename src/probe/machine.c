/* What kind of machine the place is: distribution, C library, container, WSL, Jetson. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"

/* Value of KEY=value or KEY="value" in os-release; NULL when it has none. */
static const char *release_value(struct snapshot *s, const struct text *t, const char *key)
{
    size_t key_len = strlen(key);
    for (struct look_line line = { 0 }; look_next_line(t, &line);) {
        if (line.len <= key_len || strncmp(line.at, key, key_len) != 0 || line.at[key_len] != '=')
            continue;
        const char *at = line.at + key_len + 1;
        size_t len = line.len - key_len - 1;
        if (len >= 2 && (*at == '"' || *at == '\'') && at[len - 1] == *at)
            at++, len -= 2;
        return look_trim(s, at, len);
    }
    return NULL;
}

static void see_release(struct snapshot *s)
{
    static const char *const files[] = { "/etc/os-release", "/usr/lib/os-release" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const struct text *t = place_text(s->place, files[i], TEXT_WHOLE);
        if (t->known == KNOWN_FAILED) {
            fact_add(s, KNOWN_FAILED, "machine.os", strerror(t->error), files[i]);
            return;
        }
        if (t->known != KNOWN_PRESENT)
            continue;
        const char *id = release_value(s, t, "ID");
        const char *version = release_value(s, t, "VERSION_ID");
        if (!id)
            continue;
        s->distro = version ? arena_printf(&s->arena, "%s %s", id, version) : id;
        fact_add(s, KNOWN_PRESENT, "machine.os", s->distro, files[i]);
        return;
    }
    fact_add(s, KNOWN_ABSENT, "machine.os", NULL, files[0]);
}

/* The highest GLIBC_x.y that libc.so.6 defines is what decides whether a wheel's symbols are met.
 */
static const char *glibc_of(struct snapshot *s, const struct elf *libc)
{
    unsigned best_major = 0, best_minor = 0;
    for (size_t i = 0; i < libc->n_verdef; i++) {
        unsigned long major, minor;
        char *end;
        if (!str_starts(libc->verdef[i], "GLIBC_"))
            continue;
        major = strtoul(libc->verdef[i] + 6, &end, 10);
        if (*end != '.' || major == 0 || major > 99)
            continue;
        minor = strtoul(end + 1, &end, 10);
        if ((*end && *end != '.') || minor > 999)
            continue;
        if (major > best_major || (major == best_major && minor > best_minor)) {
            best_major = (unsigned)major;
            best_minor = (unsigned)minor;
        }
    }
    return best_major ? arena_printf(&s->arena, "%u.%u", best_major, best_minor) : NULL;
}

/* "2.31" of a link to libc-2.31.so, as up to glibc 2.33. */
static const char *glibc_of_name(struct snapshot *s, const char *path)
{
    const char *target = place_readlink(s->place, path);
    const char *name = target ? path_base(target) : "";
    if (!str_starts(name, "libc-") || !str_ends(name, ".so"))
        return NULL;
    return arena_strndup(&s->arena, name + 5, strlen(name) - 8);
}

static void see_libc(struct snapshot *s)
{
    static const char *const glibc[] = {
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/libc.so.6",
        "/usr/lib/aarch64-linux-gnu/libc.so.6",
        "/lib/aarch64-linux-gnu/libc.so.6",
        "/usr/lib/libc.so.6",
        "/lib/libc.so.6",
    };
    static const char *const musl[] = { "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1" };
    for (size_t i = 0; i < ARRAY_LEN(glibc); i++) {
        const struct place_elf *file = place_elf(s->place, glibc[i]);
        if (file->known == KNOWN_FAILED && fact_unread(s, NULL, "machine.glibc", glibc[i], file->error))
            return;
        if (file->known != KNOWN_PRESENT || elf_problem_skipped(file->elf->problem))
            continue;
        s->glibc = glibc_of(s, file->elf);
        if (!s->glibc)
            s->glibc = glibc_of_name(s, glibc[i]);
        fact_add(s, s->glibc ? KNOWN_PRESENT : KNOWN_FAILED, "machine.glibc",
                 s->glibc ? s->glibc : "libc.so.6 defines no GLIBC version", glibc[i]);
        return;
    }
    fact_add(s, KNOWN_ABSENT, "machine.glibc", NULL, glibc[0]);
    for (size_t i = 0; i < ARRAY_LEN(musl); i++)
        if (place_exists(s->place, musl[i])) {
            s->musl = true;
            fact_add(s, KNOWN_PRESENT, "machine.musl", "yes", musl[i]);
            return;
        }
}

/* The words that container engines leave in the cgroup of process 1. */
static const char *cgroup_engine(struct snapshot *s)
{
    static const char *const words[] = {
        "docker", "kubepods", "containerd", "libpod", "lxc", "crio"
    };
    const struct text *t = place_text(s->place, "/proc/1/cgroup", TEXT_WHOLE);
    if (t->known != KNOWN_PRESENT)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (memmem(t->at, t->len, words[i], strlen(words[i])))
            return words[i];
    return NULL;
}

static void see_container(struct snapshot *s)
{
    static const struct {
        const char *file, *engine;
    } marks[] = {
        { "/.dockerenv", "docker" },
        { "/run/.containerenv", "podman" },
        { "/singularity", "apptainer" },
        { "/.singularity.d", "apptainer" },
    };
    for (size_t i = 0; i < ARRAY_LEN(marks) && !s->driver.container; i++)
        if (place_exists(s->place, marks[i].file)) {
            s->driver.container = true;
            fact_add(s, KNOWN_PRESENT, "machine.container", marks[i].engine, marks[i].file);
        }
    if (!s->driver.container && place_getenv(s->place, "KUBERNETES_SERVICE_HOST")) {
        s->driver.container = true;
        fact_add(s, KNOWN_PRESENT, "machine.container", "kubernetes", "KUBERNETES_SERVICE_HOST");
    }
    if (!s->driver.container) {
        const char *engine = cgroup_engine(s);
        s->driver.container = engine != NULL;
        fact_add(s, engine ? KNOWN_PRESENT : KNOWN_ABSENT, "machine.container", engine,
                 "/proc/1/cgroup");
    }
}

/* What hides GPUs from this process: the container runtime's wish and CUDA's own variable. */
static void see_visible(struct snapshot *s)
{
    static const struct {
        const char *name, *key;
    } vars[] = {
        { "NVIDIA_VISIBLE_DEVICES", "driver.visible_devices" },
        { "CUDA_VISIBLE_DEVICES", "driver.cuda_visible_devices" },
    };
    const char *value[ARRAY_LEN(vars)];
    for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
        value[i] = place_getenv(s->place, vars[i].name);
        if (value[i])
            fact_add(s, KNOWN_PRESENT, vars[i].key, value[i], vars[i].name);
    }
    s->driver.visible_devices = value[0];
    s->driver.cuda_visible_devices = value[1];
}

static void see_wsl(struct snapshot *s)
{
    const char *file = "/proc/version";
    const struct text *t = place_text(s->place, file, TEXT_FIRST_LINE);
    bool wsl = t->known == KNOWN_PRESENT && t->at && strcasestr(t->at, "microsoft") != NULL;
    if (!wsl) {
        file = look_if_exists(s, "/dev/dxg");
        if (!file)
            file = look_if_exists(s, "/usr/lib/wsl/lib");
        wsl = file != NULL;
    }
    s->driver.wsl = wsl;
    if (wsl)
        fact_add(s, KNOWN_PRESENT, "machine.wsl", "yes", file);
}

/* "# R35 (release), REVISION: 4.1, GCID: ..." is Jetson Linux 35.4.1. */
static const char *l4t_version(struct snapshot *s, const char *line)
{
    const char *release = strstr(line, "R");
    const char *revision = strstr(line, "REVISION:");
    if (!release || !revision)
        return NULL;
    size_t n = strspn(release + 1, "0123456789");
    revision += strlen("REVISION:");
    revision += strspn(revision, " ");
    size_t m = strspn(revision, "0123456789.");
    if (n == 0 || m == 0 || n > 4 || m > 16)
        return NULL;
    return arena_printf(&s->arena, "%.*s.%.*s", (int)n, release + 1, (int)m, revision);
}

static void see_jetson(struct snapshot *s)
{
    const char *file = "/etc/nv_tegra_release";
    const char *line = look_first_line(s, file);
    if (!line)
        return;
    const char *version = l4t_version(s, line);
    s->driver.jetson = true;
    fact_add(s, KNOWN_PRESENT, "machine.jetson", version ? version : line, file);
}

void probe_machine(struct snapshot *s)
{
    const struct place_machine *m = place_machine(s->place);
    if (m->known == KNOWN_PRESENT && m->arch)
        fact_add(s, KNOWN_PRESENT, "machine.arch", m->arch, "uname");
    see_release(s);
    see_libc(s);
    see_container(s);
    see_visible(s);
    see_wsl(s);
    see_jetson(s);
}

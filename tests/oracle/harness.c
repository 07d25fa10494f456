/* The oracle: what the real dynamic loader does.
 *
 * oracle [-l] [-p LIB | -g LIB]... [-c CALLER] FILE
 *
 * Opens the LIBs (-p RTLD_LOCAL, -g RTLD_GLOBAL), then FILE, with -c from inside CALLER's code,
 * and writes one line a fact:
 *
 *     S              the program started
 *     P ok | P TEXT  one preload
 *     C TEXT         the caller could not be opened
 *     R ok | R TEXT  the answer for FILE
 *     M PATH         one entry of the link map that the program did not have by itself, in order
 *
 * It links nothing but libc and runs no code of the objects. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OWN = 64 };

extern ElfW(Dyn) _DYNAMIC[]; /* glibc's link.h has it, musl's not */

static void line(const char *key, const char *text)
{
    static char buf[65536];
    int n = snprintf(buf, sizeof buf - 1, "%s %s", key, text);
    if (n < 0)
        return;
    for (char *at = strchr(buf, '\n'); at; at = strchr(at, '\n'))
        *at = '\1'; /* a line is a fact */
    size_t len = strlen(buf);
    buf[len] = '\n';
    (void)!write(STDOUT_FILENO, buf, len + 1);
}

static const struct link_map *link_maps(void)
{
    for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_DEBUG)
            return ((const struct r_debug *)d->d_un.d_ptr)->r_map;
    return NULL;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* What the program has by itself: with preloads only the four that every program has. */
static size_t own_maps(const struct link_map **own)
{
    const char *env = getenv("LD_PRELOAD");
    bool preloaded = (env && *env) || access("/etc/ld.so.preload", F_OK) == 0;
    size_t n = 0;
    for (const struct link_map *l = link_maps(); l && n < MAX_OWN; l = l->l_next)
        if (!preloaded || l == link_maps() || !*l->l_name || ends_with(l->l_name, "/libc.so.6") ||
            ends_with(l->l_name, "/ld-linux-x86-64.so.2") ||
            ends_with(l->l_name, "/ld-musl-x86_64.so.1") ||
            strcmp(l->l_name, "linux-vdso.so.1") == 0)
            own[n++] = l;
    return n;
}

static bool is_own(const struct link_map *l, const struct link_map **own, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (own[i] == l)
            return true;
    return false;
}

static void *open_from(const char *caller, const char *file, int mode)
{
    void *h = dlopen(caller, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
        line("C", dlerror());
        _exit(1);
    }
    typedef void *trampoline(void *(*)(const char *, int), const char *, int);
    trampoline *t = (trampoline *)(uintptr_t)dlsym(h, "ortfit_tramp");
    if (!t) {
        line("C", "no trampoline");
        _exit(2);
    }
    return t(dlopen, file, mode);
}

int main(int argc, char **argv)
{
    const struct link_map *own[MAX_OWN];
    size_t n_own = own_maps(own);
    const char *caller = NULL;
    int binding = RTLD_NOW;
    int c;
    line("S", "");
    while ((c = getopt(argc, argv, "lp:g:c:")) != -1) {
        switch (c) {
        case 'l':
            binding = RTLD_LAZY;
            break;
        case 'p':
        case 'g':
            line("P", dlopen(optarg, RTLD_NOW | (c == 'g' ? RTLD_GLOBAL : RTLD_LOCAL)) ? "ok"
                                                                                     : dlerror());
            break;
        case 'c':
            caller = optarg;
            break;
        default:
            return 2;
        }
    }
    if (optind + 1 != argc)
        return 2;
    const char *file = argv[optind];
    void *h = caller ? open_from(caller, file, binding | RTLD_LOCAL)
                     : dlopen(file, binding | RTLD_LOCAL);
    if (!h) {
        line("R", dlerror());
        _exit(1);
    }
    for (const struct link_map *l = link_maps(); l; l = l->l_next)
        if (!is_own(l, own, n_own))
            line("M", l->l_name);
    line("R", "ok");
    _exit(0);
}

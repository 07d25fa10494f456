#include "version/tag.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Takes up to the next separator; false at the end of the text. */
static bool take_part(struct slice *rest, char separator, struct slice *ret)
{
    if (!rest->at)
        return false;
    const char *end = memchr(rest->at, separator, rest->len);
    *ret = (struct slice){ rest->at, end ? (size_t)(end - rest->at) : rest->len };
    if (end)
        *rest = (struct slice){ end + 1, rest->len - ret->len - 1 };
    else
        *rest = (struct slice){ NULL, 0 };
    return true;
}

static bool slice_is(struct slice s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static bool slice_ends(struct slice s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.len >= n && memcmp(s.at + s.len - n, suffix, n) == 0;
}

/* Decimal number at *at; moves behind it. -1: none, or more than six digits. */
static int take_int(struct slice *s)
{
    int n = 0;
    size_t digits = 0;
    for (; s->len && *s->at >= '0' && *s->at <= '9'; s->at++, s->len--, digits++) {
        if (digits == 6)
            return -1;
        n = n * 10 + (*s->at - '0');
    }
    return digits ? n : -1;
}

static bool skip(struct slice *s, const char *text)
{
    size_t n = strlen(text);
    if (s->len < n || memcmp(s->at, text, n) != 0)
        return false;
    s->at += n;
    s->len -= n;
    return true;
}

bool wheel_file_parse(const char *file_name, struct wheel_file *ret)
{
    size_t len = strlen(file_name);
    if (len <= 4 || !str_ends(file_name, ".whl"))
        return false;
    struct slice rest = { file_name, len - 4 }, part[6];
    size_t n = 0;
    while (n < 6 && take_part(&rest, '-', &part[n])) {
        if (part[n].len == 0)
            return false;
        n++;
    }
    if (n < 5 || rest.at)
        return false;
    *ret =
        (struct wheel_file){ part[0], part[1], { NULL, 0 }, part[n - 3], part[n - 2], part[n - 1] };
    if (n == 6)
        ret->build = part[2];
    return n == 5 || (part[2].at[0] >= '0' && part[2].at[0] <= '9');
}

/* --- python and abi --- */

/* "cp311" or "cp313t": minor version, and whether a t follows. False for anything else. */
static bool cpython(struct slice s, int *ret_minor, bool *ret_threaded)
{
    if (!skip(&s, "cp3"))
        return false;
    *ret_minor = take_int(&s);
    *ret_threaded = skip(&s, "t");
    return *ret_minor >= 0 && s.len == 0;
}

static bool generic(struct slice s, int *ret_minor)
{
    if (!skip(&s, "py3"))
        return false;
    *ret_minor = s.len ? take_int(&s) : 0;
    return *ret_minor >= 0 && s.len == 0;
}

static bool python_serves(struct slice python, struct slice abi, const struct wheel_target *t)
{
    int minor;
    bool threaded;
    if (t->python_major != 3)
        return false;
    if (generic(python, &minor))
        return minor <= t->python_minor && slice_is(abi, "none");
    if (!cpython(python, &minor, &threaded))
        return false;
    if (slice_is(abi, "abi3"))
        return minor <= t->python_minor && !t->free_threaded;
    if (slice_is(abi, "none"))
        return minor == t->python_minor;
    int abi_minor;
    if (slice_ends(abi, "m")) /* up to 3.7: cp37m */
        abi.len--;
    return cpython(abi, &abi_minor, &threaded) && minor == abi_minor && minor == t->python_minor &&
           threaded == t->free_threaded;
}

/* --- platform --- */

/* manylinux_2_28_x86_64, manylinux2014_x86_64, ...: glibc minor, and the architecture left in *s.
 * -1: no such tag. */
static int take_manylinux(struct slice *s)
{
    static const struct {
        const char *text;
        int minor;
    } old[] = { { "manylinux1_", 5 }, { "manylinux2010_", 12 }, { "manylinux2014_", 17 } };
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
        if (skip(s, old[i].text))
            return old[i].minor;
    if (!skip(s, "manylinux_2_"))
        return -1;
    int minor = take_int(s);
    return skip(s, "_") ? minor : -1;
}

static bool same_arch(struct slice arch, const char *wanted)
{
    if (slice_is(arch, wanted))
        return true;
    return slice_is(arch, "amd64") ? str_eq(wanted, "x86_64")
                                   : slice_is(arch, "x86_64") && str_eq(wanted, "amd64");
}

static bool platform_serves(struct slice platform, const struct wheel_target *t)
{
    struct slice s = platform;
    if (slice_is(platform, "any"))
        return true;
    if (!t->os || !t->arch)
        return false;
    if (str_eq(t->os, "windows"))
        return skip(&s, "win_") && same_arch(s, t->arch);
    if (!str_eq(t->os, "linux"))
        return false;
    int minor = take_manylinux(&s);
    if (minor >= 0)
        return t->glibc_minor >= minor && t->glibc_minor > 0 && same_arch(s, t->arch);
    if (skip(&s, "musllinux_1_")) {
        minor = take_int(&s);
        return minor >= 0 && skip(&s, "_") && t->musl_minor >= minor && t->musl_minor > 0 &&
               same_arch(s, t->arch);
    }
    return skip(&s, "linux_") && same_arch(s, t->arch);
}

bool wheel_tag_fits(const char *tag, const struct wheel_target *target)
{
    struct slice rest = { tag, strlen(tag) }, set[3], more, python, abi, platform;
    for (size_t i = 0; i < 3; i++)
        if (!take_part(&rest, '-', &set[i]))
            return false;
    if (rest.at)
        return false;
    bool served = false;
    for (more = set[2]; !served && take_part(&more, '.', &platform);)
        served = platform_serves(platform, target);
    for (struct slice p = set[0]; served && take_part(&p, '.', &python);)
        for (struct slice a = set[1]; take_part(&a, '.', &abi);)
            if (python_serves(python, abi, target))
                return true;
    return false;
}

bool wheel_python_fits(const char *python_tag, const struct wheel_target *target)
{
    int minor;
    bool threaded;
    struct slice s = { python_tag, strlen(python_tag) };
    if (target->python_major != 3)
        return false;
    if (generic(s, &minor))
        return minor <= target->python_minor;
    if (slice_is(s, "abi3"))
        return !target->free_threaded;
    return cpython(s, &minor, &threaded) && minor == target->python_minor &&
           threaded == target->free_threaded;
}

const char *wheel_python_tag(const struct wheel_target *target, char *buf, size_t room)
{
    (void)snprintf(buf, room, "cp%d%d%s", target->python_major, target->python_minor,
                   target->free_threaded ? "t" : "");
    return buf;
}

int wheel_glibc_minor(const char *platform)
{
    struct slice rest = { platform, strlen(platform) }, part;
    int lowest = 0;
    while (take_part(&rest, '.', &part)) {
        int minor = take_manylinux(&part);
        if (minor > 0 && (!lowest || minor < lowest))
            lowest = minor;
    }
    return lowest;
}

int glibc_minor(const char *version)
{
    struct slice s = { version, strlen(version) };
    if (!skip(&s, "2."))
        return 0;
    int minor = take_int(&s);
    return minor < 0 || (s.len && *s.at != '.') ? 0 : minor;
}

/* What no file says: the processor as glibc judges it, the kernel's auxiliary vector, who is asking. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/cleanup.h"
#include "place/internal.h"

#if defined(__x86_64__) || defined(__i386__)

enum cpu_reg { R1_ECX, R7_EBX, R81_ECX, CPU_REGS };

static unsigned xcr0(void)
{
    unsigned lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return lo;
}

static unsigned bit(unsigned n)
{
    return 1u << n;
}

/* The x86-64 levels of the psABI, each with the features that it adds (Intel SDM vol. 2, CPUID). AVX and AVX-512
 * count only where the operating system saves their registers. */
static unsigned isa_levels(void)
{
    unsigned r[CPU_REGS] = { 0 }, a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 1;
    r[R1_ECX] = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        r[R7_EBX] = b;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        r[R81_ECX] = c;
    unsigned saved = r[R1_ECX] & bit(27) ? xcr0() : 0;

    static const struct {
        unsigned saved, need[CPU_REGS];
    } levels[] = {
        /* SSE3 SSSE3 CMPXCHG16B SSE4.1 SSE4.2 POPCNT; LAHF */
        { 0, { 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23, 0, 1u << 0 } },
        /* FMA MOVBE OSXSAVE AVX F16C; BMI1 AVX2 BMI2; LZCNT */
        { 0x6, { 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29, 1u << 3 | 1u << 5 | 1u << 8, 1u << 5 } },
        /* AVX512 F DQ CD BW VL */
        { 0xe6, { 0, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31, 0 } },
    };
    unsigned usable = 1;
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        bool all = (saved & levels[i].saved) == levels[i].saved;
        for (size_t k = 0; k < CPU_REGS; k++)
            all = all && (r[k] & levels[i].need[k]) == levels[i].need[k];
        if (!all)
            break;
        usable |= bit((unsigned)i + 1);
    }
    return usable;
}

/* glibc's own name of the platform where it is not the kernel's: Intel's Haswell and later, and Xeon Phi. */
static const char *glibc_platform(unsigned isa_usable)
{
    unsigned a, b, c, d;
    char vendor[12];
    if (!__get_cpuid(0, &a, &b, &c, &d))
        return NULL;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    if (memcmp(vendor, "GenuineIntel", sizeof(vendor)) != 0 || !(isa_usable & bit(2)))
        return NULL;
    unsigned phi = bit(26) | bit(27) | bit(28); /* AVX512 PF ER CD */
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & phi) == phi)
        return "xeon_phi";
    return "haswell";
}

#else

static unsigned isa_levels(void)
{
    return 0;
}

static const char *glibc_platform(unsigned isa_usable)
{
    (void)isa_usable;
    return NULL;
}

#endif

/* One field of our line in /etc/passwd; getpwuid would load name service modules for it. */
static char *passwd_field(unsigned uid, int field)
{
    cleanup_(fclosep) FILE *f = fopen("/etc/passwd", "re");
    if (!f)
        return NULL;
    cleanup_(freep) char *line = NULL;
    for (size_t cap = 0; getline(&line, &cap, f) > 0;) {
        char *fields[7], *rest = line;
        size_t n = 0;
        while (n < ARRAY_LEN(fields) && (fields[n] = strsep(&rest, ":\n")))
            n++;
        if (n >= 6 && strtoul(fields[2], NULL, 10) == uid)
            return strdup(fields[field]);
    }
    return NULL;
}

static const char *own_name(struct place *p, const char *first, const char *second, unsigned uid, int field)
{
    const char *value = getenv(first);
    if (!value || !*value)
        value = second ? getenv(second) : NULL;
    if (value && *value)
        return arena_strdup(&p->arena, value);
    cleanup_(freep) char *found = passwd_field(uid, field);
    return found && *found ? arena_strdup(&p->arena, found) : NULL;
}

void place_see_machine(struct place *p, struct place_machine *ret)
{
    struct utsname u = { 0 };
    (void)uname(&u);
    unsigned isa_usable = isa_levels();
    const char *platform = glibc_platform(isa_usable);
    if (!platform)
        platform = (const char *)(uintptr_t)getauxval(AT_PLATFORM);
    *ret = (struct place_machine){
        .known = KNOWN_PRESENT,
        .arch = arena_strdup(&p->arena, u.machine),
        .isa_usable = isa_usable,
        .platform = arena_strdup(&p->arena, platform ? platform : u.machine),
        .hwcap2 = getauxval(AT_HWCAP2),
        .page_size_bytes = getauxval(AT_PAGESZ),
        .now_s = time(NULL),
    };
    /* Who sits in a root folder is not known: its names are not ours. */
    if (p->kind == PLACE_ROOT)
        return;
    ret->uid = getuid();
    ret->hostname = arena_strdup(&p->arena, u.nodename);
    ret->user = own_name(p, "USER", "LOGNAME", ret->uid, 0);
    ret->home = own_name(p, "HOME", NULL, ret->uid, 5);
}

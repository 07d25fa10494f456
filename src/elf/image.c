#include "elf/image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* The list is for the signal handler, which gets nothing but an address. It changes only outside of accesses. */
static struct image *live;
static struct sigaction before;

/* A page of ours that the file no longer has becomes a page of zeros; the access is then repeated. */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    uintptr_t at = (uintptr_t)info->si_addr;
    for (struct image *img = live; img; img = img->next) {
        uintptr_t base = (uintptr_t)img->base;
        if (at < base || at - base >= img->length)
            continue;
        uintptr_t page = at & ~(uintptr_t)(IMAGE_PAGE - 1);
        if (mmap((void *)page, IMAGE_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == MAP_FAILED)
            break;
        img->shrunk = 1;
        return;
    }
    /* not ours: happens again, as it would have without us */
    (void)sigaction(SIGBUS, &before, NULL);
}

static void enlist(struct image *img)
{
    if (!live) {
        struct sigaction act = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
        sigemptyset(&act.sa_mask);
        (void)sigaction(SIGBUS, &act, &before);
    }
    img->next = live;
    live = img;
}

static void delist(struct image *img)
{
    for (struct image **at = &live; *at; at = &(*at)->next) {
        if (*at != img)
            continue;
        *at = img->next;
        break;
    }
    if (!live)
        (void)sigaction(SIGBUS, &before, NULL);
}

int image_map(struct image *img, int fd, uint64_t size_bytes, struct err *e)
{
    *img = (struct image){ .size_bytes = size_bytes };
    if (size_bytes == 0)
        return 0;
    if (size_bytes > (UINT64_C(1) << 46))
        return err_set(e, ERR_LIMIT, "a file of %llu bytes is not read",
                       (unsigned long long)size_bytes);

    size_t length = (size_t)page_up(size_bytes);
    void *base = mmap(NULL, (size_t)size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED)
        return err_set(e, ERR_READ, "cannot map the file: %s", strerror(errno));
    img->base = base;
    img->length = length;
    enlist(img);
    return 0;
}

void image_unmap(struct image *img)
{
    if (!img->base)
        return;
    delist(img);
    (void)munmap((void *)(uintptr_t)img->base, img->length);
    img->base = NULL;
    img->length = 0;
}

struct span image_file(const struct image *img)
{
    return (struct span){ img->base, (size_t)img->size_bytes };
}

/* The spot of an address and how many bytes from there on are of the same kind. */
static enum spot locate(const struct image *img, uint64_t address, const unsigned char **ret_at,
                        uint64_t *ret_left)
{
    for (size_t i = img->n_segments; i-- > 0;) {
        const struct segment *s = &img->segments[i];
        bool zeroed = s->mem_end > s->data_end;
        uint64_t end = zeroed ? s->data_end : s->map_end;
        if (address < s->start)
            continue;
        if (address >= end) {
            if (!zeroed || address >= page_up(s->mem_end))
                continue;
            *ret_left = page_up(s->mem_end) - address;
            return SPOT_ZERO;
        }
        uint64_t offset = s->offset + (address - s->start);
        *ret_left = end - address;
        if (offset >= img->length)
            return SPOT_CUT;
        if (*ret_left > img->length - offset)
            *ret_left = img->length - offset;
        *ret_at = img->base + offset;
        return SPOT_FILE;
    }
    return SPOT_NOWHERE;
}

enum spot image_at(const struct image *img, uint64_t address, struct span *ret_bytes)
{
    const unsigned char *at = NULL;
    uint64_t left = 0;
    enum spot spot = locate(img, address, &at, &left);
    if (ret_bytes)
        *ret_bytes = (struct span){ at, spot == SPOT_FILE ? (size_t)left : 0 };
    return spot;
}

enum spot image_range(const struct image *img, uint64_t address, uint64_t n)
{
    enum spot worst = SPOT_FILE;
    uint64_t end = n > UINT64_MAX - address ? UINT64_MAX : address + n;
    while (address < end) {
        const unsigned char *at;
        uint64_t left = 0;
        enum spot spot = locate(img, address, &at, &left);
        if (spot == SPOT_NOWHERE)
            return spot;
        if (spot == SPOT_CUT)
            worst = spot;
        address += left;
    }
    return worst;
}

bool image_copy(const struct image *img, uint64_t address, void *to, size_t n)
{
    unsigned char *out = to;
    while (n > 0) {
        const unsigned char *at = NULL;
        uint64_t left = 0;
        enum spot spot = locate(img, address, &at, &left);
        if (spot == SPOT_NOWHERE || spot == SPOT_CUT)
            return false;
        size_t part = left < n ? (size_t)left : n;
        if (spot == SPOT_FILE)
            memcpy(out, at, part);
        else
            memset(out, 0, part);
        out += part;
        address += part;
        n -= part;
    }
    return true;
}

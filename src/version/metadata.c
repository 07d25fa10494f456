#include "version/metadata.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "base/vec.h"

static bool is_name_char(char c)
{
    return c > ' ' && c < 127 && c != ':';
}

/* End of the line at offset, without its line break; *ret_next is where the next one begins. */
static size_t line_end(const char *data, size_t len, size_t offset, size_t *ret_next)
{
    const char *newline = memchr(data + offset, '\n', len - offset);
    size_t end = newline ? (size_t)(newline - data) : len;
    *ret_next = newline ? end + 1 : len;
    return end > offset && data[end - 1] == '\r' ? end - 1 : end;
}

bool metadata_next(const char *data, size_t len, size_t *offset, struct metadata_header *ret)
{
    while (*offset < len) {
        size_t start = *offset, next;
        size_t end = line_end(data, len, start, &next);
        if (end == start)
            return false; /* the empty line before the description */
        size_t value_end = end;
        while (next < len && (data[next] == ' ' || data[next] == '\t'))
            value_end = line_end(data, len, next, &next);
        *offset = next;

        size_t colon = start;
        while (colon < end && is_name_char(data[colon]))
            colon++;
        if (colon == start || colon == end || data[colon] != ':')
            continue; /* not a header: skip the line as other readers do */
        size_t value = colon + 1;
        while (value < value_end && (data[value] == ' ' || data[value] == '\t'))
            value++;
        *ret = (struct metadata_header){ data + start, data + value, colon - start,
                                         value_end - value };
        return true;
    }
    return false;
}

static const char *clean_copy(const struct metadata_header *h, struct arena *a)
{
    char *copy = arena_alloc(a, h->value_len + 1);
    size_t n = 0;
    for (size_t i = 0; i < h->value_len;) {
        unsigned char c = (unsigned char)h->value[i];
        size_t step = utf8_len(h->value + i, h->value_len - i);
        if (c == '\r' || c == '\n' || c == '\t') {
            copy[n++] = ' ';
            i++;
        } else if (!step || utf8_is_control(h->value + i, step)) {
            copy[n++] = '?';
            i += step ? step : 1;
        } else {
            memcpy(copy + n, h->value + i, step);
            n += step;
            i += step;
        }
    }
    while (n && copy[n - 1] == ' ')
        n--;
    copy[n] = '\0';
    return copy;
}

static bool is_header(const struct metadata_header *h, const char *name)
{
    return h->name_len == strlen(name) && strncasecmp(h->name, name, h->name_len) == 0;
}

static const char *const *keep(struct names *list, struct arena *a, size_t *ret_n)
{
    const char **copy = arena_alloc(a, (list->n + 1) * sizeof(*copy));
    for (size_t i = 0; i < list->n; i++)
        copy[i] = list->at[i];
    copy[list->n] = NULL;
    *ret_n = list->n;
    vec_done(list);
    return copy;
}

void metadata_parse(const char *data, size_t len, struct arena *a, struct metadata *ret)
{
    struct names requires = { 0 }, extras = { 0 };
    struct metadata_header h;
    *ret = (struct metadata){ 0 };
    for (size_t offset = 0; metadata_next(data, len, &offset, &h);) {
        const char **single = is_header(&h, "Name")              ? &ret->name
                              : is_header(&h, "Version")         ? &ret->version
                              : is_header(&h, "Requires-Python") ? &ret->requires_python
                                                                 : NULL;
        struct names *list = is_header(&h, "Requires-Dist")    ? &requires
                             : is_header(&h, "Provides-Extra") ? &extras
                                                               : NULL;
        if (!single && !list)
            continue;
        if (h.value_len > METADATA_VALUE_MAX || (list && list->n == METADATA_LIST_MAX))
            ret->truncated = true;
        else if (list)
            vec_push(list, clean_copy(&h, a));
        else if (!*single)
            *single = clean_copy(&h, a);
    }
    ret->requires_dist = keep(&requires, a, &ret->n_requires_dist);
    ret->provides_extra = keep(&extras, a, &ret->n_provides_extra);
}

#include "base/yaml.h"

#include <libfyaml.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/xalloc.h"

struct anchor {
    char *name;
    json_t *value; /* one reference is ours */
    size_t weight;
};

struct frame {
    json_t *value; /* owned until it is put into its parent */
    char *key;     /* of a mapping: read, its value to come; or NULL */
    char *anchor;  /* or NULL */
    size_t weight_before;
};

struct builder {
    struct frame stack[YAML_DEPTH];
    size_t depth;
    struct {
        VEC(struct anchor);
    } anchors;
    json_t *top;
    size_t weight;
    int line; /* of the event at hand, from 1 */
    struct err *e;
};

static int refuse(struct builder *b, const char *why)
{
    return err_set(b->e, ERR_FORMAT, "line %d: %s", b->line, why);
}

static void builder_done(struct builder *b)
{
    for (size_t i = 0; i < b->depth; i++) {
        json_decref(b->stack[i].value);
        free(b->stack[i].key);
        free(b->stack[i].anchor);
    }
    for (size_t i = 0; i < b->anchors.n; i++) {
        free(b->anchors.at[i].name);
        json_decref(b->anchors.at[i].value);
    }
    vec_done(&b->anchors);
    json_decref(b->top);
}

/* NULL without a token. */
static char *token_text(struct fy_token *token)
{
    size_t n = 0;
    const char *text = token ? fy_token_get_text(token, &n) : NULL;
    return text ? xstrndup(text, n) : NULL;
}

static int add_weight(struct builder *b, size_t weight)
{
    b->weight += weight;
    return b->weight > YAML_WEIGHT ? refuse(b, "more values than a file of this kind has") : 0;
}

static void remember(struct builder *b, char *name_take, json_t *value, size_t weight)
{
    if (name_take)
        vec_push(&b->anchors, (struct anchor){ name_take, json_incref(value), weight });
}

/* Puts a value where the next one belongs; takes it in every case. */
static int put(struct builder *b, json_t *value)
{
    if (b->depth == 0) {
        b->top = value;
        return 0;
    }
    struct frame *f = &b->stack[b->depth - 1];
    if (json_is_array(f->value))
        return json_array_append_new(f->value, value) == 0 ? 0 : refuse(b, "cannot be kept");
    if (!f->key) {
        json_decref(value);
        return refuse(b, "a key that is no plain text");
    }
    cleanup_(freep) char *key = STEAL(f->key);
    return json_object_set_new(f->value, key, value) == 0 ? 0 : refuse(b, "cannot be kept");
}

static bool is_key(const struct builder *b)
{
    return b->depth && json_is_object(b->stack[b->depth - 1].value) &&
           !b->stack[b->depth - 1].key;
}

static bool is_text(const char *text, size_t n)
{
    for (size_t i = 0, step; i < n; i += step) {
        step = utf8_len(text + i, n - i);
        if (step == 0 || text[i] == '\0')
            return false;
    }
    return true;
}

static int take_key(struct builder *b, const char *text, size_t n)
{
    struct frame *f = &b->stack[b->depth - 1];
    cleanup_(freep) char *key = xstrndup(text, n);
    if (json_object_get(f->value, key)) {
        char why[120];
        (void)snprintf(why, sizeof(why), "the key '%.60s' stands here twice", key);
        return refuse(b, why);
    }
    f->key = STEAL(key);
    return 0;
}

static json_t *scalar_value(const char *text, size_t n, bool plain)
{
    static const struct {
        const char *text;
        char type;
    } words[] = { { "", 'n' },     { "~", 'n' },    { "null", 'n' }, { "Null", 'n' },
                  { "NULL", 'n' }, { "true", 't' }, { "True", 't' }, { "TRUE", 't' },
                  { "false", 'f' }, { "False", 'f' }, { "FALSE", 'f' } };
    for (size_t i = 0; plain && i < ARRAY_LEN(words); i++)
        if (strlen(words[i].text) == n && memcmp(words[i].text, text, n) == 0)
            return words[i].type == 'n' ? json_null() : json_boolean(words[i].type == 't');
    return json_stringn(text, n);
}

static int take_scalar(struct builder *b, const struct fy_event *event)
{
    size_t n = 0;
    const char *text = event->scalar.value ? fy_token_get_text(event->scalar.value, &n) : "";
    if (!text || !is_text(text, n))
        return refuse(b, "a text that is no UTF-8");
    int r = add_weight(b, 64 + n);
    if (r < 0)
        return r;
    if (is_key(b))
        return take_key(b, text, n);
    bool plain = !event->scalar.tag && (!event->scalar.value ||
                                        fy_token_scalar_style(event->scalar.value) == FYSS_PLAIN);
    json_t *value = scalar_value(text, n, plain);
    if (!value)
        return refuse(b, "a text that is no UTF-8");
    remember(b, token_text(event->scalar.anchor), value, 64 + n);
    return put(b, value);
}

static int take_alias(struct builder *b, const struct fy_event *event)
{
    cleanup_(freep) char *name = token_text(event->alias.anchor);
    for (size_t i = b->anchors.n; name && i-- > 0;) { /* the latest of that name */
        const struct anchor *a = &b->anchors.at[i];
        if (!str_eq(a->name, name))
            continue;
        int r = add_weight(b, a->weight);
        if (r < 0)
            return r;
        if (is_key(b))
            return json_is_string(a->value)
                       ? take_key(b, json_string_value(a->value), json_string_length(a->value))
                       : refuse(b, "a key that is no plain text");
        return put(b, json_incref(a->value));
    }
    return refuse(b, "an alias of an anchor that is not complete above it");
}

static int open_value(struct builder *b, json_t *value_take, struct fy_token *anchor)
{
    if (b->depth == YAML_DEPTH || is_key(b)) {
        json_decref(value_take);
        return refuse(b, b->depth == YAML_DEPTH ? "nested too deep" : "a key that is no plain text");
    }
    b->stack[b->depth++] = (struct frame){ .value = value_take,
                                           .anchor = token_text(anchor),
                                           .weight_before = b->weight };
    return add_weight(b, 64);
}

static int close_value(struct builder *b)
{
    struct frame *f = &b->stack[--b->depth];
    remember(b, f->anchor, f->value, b->weight - f->weight_before);
    free(f->key);
    return put(b, f->value);
}

static int take_event(struct builder *b, const struct fy_event *event)
{
    switch (event->type) {
    case FYET_DOCUMENT_START:
        return b->top ? refuse(b, "a second document begins; one is read") : 0;
    case FYET_SCALAR:
        return take_scalar(b, event);
    case FYET_ALIAS:
        return take_alias(b, event);
    case FYET_SEQUENCE_START:
        return open_value(b, json_array(), event->sequence_start.anchor);
    case FYET_MAPPING_START:
        return open_value(b, json_object(), event->mapping_start.anchor);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        return close_value(b);
    default:
        return 0;
    }
}

static struct fy_token *first_token(const struct fy_event *event)
{
    switch (event->type) {
    case FYET_SCALAR:
        return event->scalar.value;
    case FYET_ALIAS:
        return event->alias.anchor;
    case FYET_SEQUENCE_START:
        return event->sequence_start.sequence_start;
    case FYET_MAPPING_START:
        return event->mapping_start.mapping_start;
    default:
        return NULL;
    }
}

/* What libfyaml found wrong first. */
static int syntax(struct fy_diag *diag, struct err *e)
{
    void *at = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diag, &at);
    if (!first || !first->msg)
        return err_set(e, ERR_FORMAT, "no YAML");
    return err_set(e, ERR_FORMAT, "line %d: %.*s", first->line + 1,
                   (int)strcspn(first->msg, "\n"), first->msg);
}

static int build(struct fy_parser *parser, struct fy_diag *diag, struct builder *b)
{
    for (;;) {
        struct fy_event *event = fy_parser_parse(parser);
        if (!event)
            return fy_parser_get_stream_error(parser) ? syntax(diag, b->e)
                                                      : err_set(b->e, ERR_FORMAT, "no YAML");
        struct fy_token *token = first_token(event);
        const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
        if (mark)
            b->line = mark->line + 1;
        enum fy_event_type type = event->type;
        int r = take_event(b, event);
        fy_parser_event_free(parser, event);
        if (r < 0 || type == FYET_STREAM_END)
            return r;
    }
}

int yaml_parse(const char *text, size_t len, json_t **ret, struct err *e)
{
    if (!is_text(text, len))
        return err_set(e, ERR_FORMAT, "no text: bytes that are no UTF-8");
    jsonr_seed();
    struct fy_diag_cfg quiet;
    fy_diag_cfg_default(&quiet);
    quiet.fp = NULL;
    struct fy_diag *diag = fy_diag_create(&quiet);
    if (!diag)
        return err_set(e, ERR_FORMAT, "libfyaml does not start");
    fy_diag_set_collect_errors(diag, true);
    const struct fy_parse_cfg config = { .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_AUTO |
                                                  FYPCF_JSON_NONE,
                                         .diag = diag };
    struct builder b = { .line = 1, .e = e };
    struct fy_parser *parser = fy_parser_create(&config);
    int r = parser && fy_parser_set_string(parser, len ? text : "\n", len ? len : 1) == 0
                ? build(parser, diag, &b)
                : err_set(e, ERR_FORMAT, "libfyaml does not start");
    if (r == 0)
        *ret = b.top ? STEAL(b.top) : json_null();
    if (parser)
        fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    builder_done(&b);
    return r;
}

int yaml_read_file(const char *path, size_t max_bytes, json_t **ret, struct err *e)
{
    struct str text = { 0 };
    int r = io_read_file(path, max_bytes, &text, e);
    if (r == 0)
        r = yaml_parse(str_get(&text), text.len, ret, e);
    str_done(&text);
    if (r == -(int)ERR_FORMAT)
        err_while(e, "reading '%s'", path);
    return r;
}

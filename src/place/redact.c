/* Leaving out who it was: user, host and home names are replaced in every text of a finished record, paths included
 * and everywhere alike, so that the record still replays. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/path.h"
#include "place/internal.h"

enum { RULES = 20, SHORTEST = 3, LONGEST = 64 };

struct rule {
    const char *from, *to;
    size_t from_len;
    bool path; /* from is an absolute path; else a word */
};

struct redaction {
    struct arena *arena;
    struct rule rules[RULES];
    size_t n;
    const char *user, *host; /* what replaces them where a value is nothing but the name */
    const struct place_machine *machine;
};

/* Names that say nothing of a person, or that would tear up the record where they are words of the trade. */
static bool ordinary(const char *name)
{
    static const char *const words[] = {
        "root", "user", "users", "admin", "administrator", "ubuntu", "debian", "fedora", "centos", "rocky", "alpine",
        "arch", "linux", "gnu", "x86_64", "aarch64", "docker", "podman", "container", "containers", "nvidia", "cuda",
        "cudnn", "tensorrt", "python", "python3", "conda", "mamba", "miniconda", "anaconda", "pip", "torch", "pytorch",
        "numpy", "onnx", "onnxruntime", "triton", "runner", "jovyan", "vscode", "codespace", "coder", "dev", "developer",
        "work", "workspace", "app", "home", "tmp", "var", "usr", "lib", "lib64", "bin", "sbin", "opt", "etc", "srv",
        "proc", "sys", "run", "mnt", "media", "data", "local", "share", "site", "packages", "default", "test", "tests",
        "build", "live", "none", "true", "false", "null", "host", "localhost", "localdomain", "node", "server", "gpu",
        "venv", "env", "envs", "kubernetes", "linuxbrew", "driver", "version", "name", "file", "files", "path",
        "include", "raw", "linux-gnu", "snapshot", "machine",
        "haswell", "xeon_phi", "exec", "plain", "versions", "init",
    };
    if (strlen(name) < SHORTEST)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(name, words[i]) == 0)
            return true;
    return false;
}

static bool word_char(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 0x80 || u == '_' || (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z');
}

/* Whether the rule's text, found at s + i, stands for itself there. */
static bool stands_alone(const struct rule *r, const char *s, size_t n, size_t i)
{
    size_t after = i + r->from_len;
    if (!r->path) /* the edges of a name that is no word inside (a.b-c) are its own first and last characters */
        return !(i > 0 && word_char(s[i - 1])) && !(after < n && word_char(s[after]));
    bool end = after == n || !(word_char(s[after]) || s[after] == '-' || s[after] == '.');
    /* "/root" inside "/mnt/root" is another folder; "/home/al" inside a longer path is still telling. */
    bool begin = i == 0 || strchr(r->from + 1, '/') || !(word_char(s[i - 1]) || s[i - 1] == '.' || s[i - 1] == '-');
    return begin && end;
}

/* masked: names become question marks, so that nothing moves. */
static void redact_bytes(const struct redaction *r, const char *s, size_t n, bool masked, struct str *to)
{
    for (size_t i = 0; i < n;) {
        const struct rule *hit = NULL;
        for (size_t k = 0; k < r->n && !hit; k++) {
            const struct rule *rule = &r->rules[k];
            if (rule->from_len <= n - i && s[i] == rule->from[0] && memcmp(s + i, rule->from, rule->from_len) == 0 &&
                stands_alone(rule, s, n, i))
                hit = rule;
        }
        if (hit) {
            for (size_t k = 0; masked && k < hit->from_len; k++)
                str_addc(to, '?');
            if (!masked)
                str_add(to, hit->to);
            i += hit->from_len;
        } else {
            str_addc(to, s[i++]);
        }
    }
}

/* A binary file points into its own strings: a shorter stand-in is filled up with NUL, and where none fits the name
 * is masked; then what was at that path is unknown in a replay. */
static void redact_binary(const struct redaction *r, const char *s, size_t n, struct str *to)
{
    for (size_t i = 0; i < n;) {
        size_t len = strnlen(s + i, n - i), before = to->len;
        redact_bytes(r, s + i, len, false, to);
        if (to->len - before > len) {
            str_cut(to, before);
            redact_bytes(r, s + i, len, true, to);
        }
        while (to->len - before < len)
            str_addc(to, '\0');
        i += len;
        if (i < n)
            str_addc(to, s[i++]);
    }
}

static void put_redacted(const struct redaction *r, const json_t *v, struct json *to)
{
    struct str out = { 0 };
    redact_bytes(r, json_string_value(v), json_string_length(v), false, &out);
    json_strn(to, str_get(&out), out.len);
    str_done(&out);
}

/* {"raw": ...}: the names are sought in the bytes, not in their escapes. */
static void put_raw(const struct redaction *r, const json_t *raw, struct json *to)
{
    struct str bytes = { 0 }, out = { 0 }, text = { 0 };
    (void)bytes_unescape(&bytes, json_string_value(raw), json_string_length(raw)); /* ours: well-formed */
    if (memchr(str_get(&bytes), '\0', bytes.len))
        redact_binary(r, str_get(&bytes), bytes.len, &out);
    else
        redact_bytes(r, str_get(&bytes), bytes.len, false, &out);
    bytes_escape(&text, str_get(&out), out.len);
    json_obj_inline(to);
    json_key(to, "raw");
    json_strn(to, str_get(&text), text.len);
    json_obj_end(to);
    str_done(&bytes);
    str_done(&out);
    str_done(&text);
}

/* The depth is that of what we wrote ourselves: small. */
static void put_value(const struct redaction *r, const json_t *v, struct json *to)
{
    const char *key;
    json_t *member;
    size_t i;
    const json_t *raw = json_object_get(v, "raw");
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        if (json_is_string(raw) && json_object_size(v) == 1) {
            put_raw(r, raw, to);
            break;
        }
        json_obj_inline(to);
        json_object_foreach ((json_t *)(uintptr_t)v, key, member) {
            json_key(to, key);
            put_value(r, member, to);
        }
        json_obj_end(to);
        break;
    case JSON_ARRAY:
        json_arr_inline(to);
        json_array_foreach (v, i, member)
            put_value(r, member, to);
        json_arr_end(to);
        break;
    case JSON_STRING:
        put_redacted(r, v, to);
        break;
    case JSON_INTEGER:
        json_int(to, json_integer_value(v));
        break;
    case JSON_REAL:
        json_num(to, json_real_value(v));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        json_bool(to, json_is_true(v));
        break;
    case JSON_NULL:
        json_nil(to);
        break;
    }
}

/* Is name a component of any path in the record? Then it cannot stand in for another. */
static bool taken(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = text; (s = strstr(s, name)); s += n)
        if ((s == text || s[-1] == '/' || s[-1] == '"') && (s[n] == '/' || s[n] == '"' || !s[n]))
            return true;
    return false;
}

static const char *stand_in(struct arena *a, const char *text, const char *name)
{
    const char *s = name;
    for (unsigned i = 1; taken(text, s) && i < 100; i++)
        s = arena_printf(a, "%s%u", name, i);
    return s;
}

static void add_rule(struct redaction *r, const char *from, const char *to, bool path)
{
    for (size_t i = 0; i < r->n; i++)
        if (str_eq(r->rules[i].from, from))
            return;
    if (r->n < RULES)
        r->rules[r->n++] = (struct rule){ from, to, strlen(from), path };
}

/* Other people's homes, and everybody's in a tree, whose machine nobody asked for its user. */
static void add_homes(struct redaction *r, const char *record, const char *files)
{
    static const char folder[] = "/home/";
    unsigned count = 0;
    for (const char *s = record; (s = strstr(s, folder)) && r->n < RULES;) {
        s += sizeof(folder) - 1;
        size_t n = strcspn(s, "/\":; \\");
        if (n == 0 || n > LONGEST || s[0] == '.' || !(s[n] == '/' || s[n] == '"' || s[n] == ':'))
            continue;
        const char *name = arena_strndup(r->arena, s, n);
        bool known = ordinary(name) || str_eq(name, r->user);
        for (size_t i = 0; i < r->n && !known; i++)
            known = str_eq(r->rules[i].from, name) || str_eq(r->rules[i].to, name);
        if (!known)
            add_rule(r, name, stand_in(r->arena, files, arena_printf(r->arena, "person%u", ++count)), false);
    }
}

/* record: as place_write writes it, compact. */
static void make_rules(struct redaction *r, const char *record)
{
    const struct place_machine *m = r->machine;
    const char *files = strstr(record, "\"files\":["), *text = files ? files : ""; /* our own words come before */
    r->user = stand_in(r->arena, text, "user");
    r->host = stand_in(r->arena, text, "host");
    const char *home = m->home && m->home[0] == '/' ? path_clean(r->arena, m->home) : NULL;
    if (home && home[1]) {
        if (ordinary(path_base(home)))
            add_rule(r, home, arena_printf(r->arena, "/home/%s", r->user), true);
        else
            add_rule(r, path_base(home), r->user, false);
    }
    if (m->user && !ordinary(m->user))
        add_rule(r, m->user, r->user, false);
    if (m->hostname) {
        const char *first = arena_strndup(r->arena, m->hostname, strcspn(m->hostname, "."));
        if (!ordinary(m->hostname))
            add_rule(r, m->hostname, r->host, false);
        if (!ordinary(first))
            add_rule(r, first, r->host, false);
    }
    add_homes(r, record, text);
}

/* Values that are names whatever they look like. */
static const char *whole_name(const struct redaction *r, const char *key, const char *value)
{
    static const char *const users[] = { "user", "USER", "LOGNAME", "USERNAME" };
    static const char *const hosts[] = { "hostname", "HOSTNAME", "HOST" };
    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        if (value && str_eq(key, users[i]))
            return r->user;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        if (value && str_eq(key, hosts[i]))
            return r->host;
    return NULL;
}

static void put_member(const struct redaction *r, const char *key, const json_t *v, struct json *to)
{
    const char *whole = whole_name(r, key, json_string_value(v));
    json_key(to, key);
    if (whole)
        json_str(to, whole);
    else
        put_value(r, v, to);
}

static void put_machine(const struct redaction *r, const json_t *machine, struct json *to)
{
    const char *key;
    json_t *v;
    json_obj(to);
    json_object_foreach ((json_t *)(uintptr_t)machine, key, v)
        put_member(r, key, v, to);
    json_obj_end(to);
}

static void put_env(const struct redaction *r, const json_t *env, struct json *to)
{
    size_t i;
    json_t *v;
    json_arr(to);
    json_array_foreach (env, i, v) {
        const char *name = jsonr_str(v, "name");
        const char *whole = name ? whole_name(r, name, jsonr_str(v, "value")) : NULL;
        json_obj_inline(to);
        json_key(to, "name");
        put_value(r, json_object_get(v, "name"), to);
        json_key(to, "value");
        if (whole)
            json_str(to, whole);
        else
            put_value(r, json_object_get(v, "value"), to);
        json_obj_end(to);
    }
    json_arr_end(to);
}

static const struct redaction *redaction_of(struct place *p, const char *record)
{
    if (!p->redaction) {
        p->redaction = arena_new(&p->arena, struct redaction);
        p->redaction->arena = &p->arena;
        p->redaction->machine = place_machine(p);
        make_rules(p->redaction, record);
    }
    return p->redaction;
}

const char *place_redacted(struct place *p, const char *text)
{
    if (!text)
        return NULL;
    if (!p->redaction) {
        cleanup_(freep) char *record = place_record(p, NULL);
        (void)redaction_of(p, record);
    }
    struct str out = { 0 };
    redact_bytes(p->redaction, text, strlen(text), false, &out);
    const char *kept = arena_strdup(&p->arena, str_get(&out));
    str_done(&out);
    return kept;
}

/* Names hide in every text; they are replaced in the finished record, where none can be forgotten. */
void place_write_redacted(struct place *p, struct json *to)
{
    size_t len;
    cleanup_(freep) char *text = place_record(p, &len);
    cleanup_(jsonr_decref) json_t *record = NULL;
    struct err e = { 0 };
    if (jsonr_parse(text, len, &record, &e) < 0) {
        json_kstr(to, "error", e.text); /* too large to be read back; never the names instead */
        return;
    }
    const struct redaction *r = redaction_of(p, text);
    const char *key;
    json_t *v, *item;
    size_t i;
    json_object_foreach (record, key, v) {
        json_key(to, key);
        if (str_eq(key, "machine")) {
            put_machine(r, v, to);
        } else if (str_eq(key, "env")) {
            put_env(r, v, to);
        } else if (json_is_array(v)) {
            json_arr(to);
            json_array_foreach (v, i, item)
                put_value(r, item, to);
            json_arr_end(to);
        } else {
            put_value(r, v, to);
        }
    }
}

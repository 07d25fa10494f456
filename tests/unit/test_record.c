/* The record: what was asked is answered again, byte for byte; what was not asked is not known; hostile files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "place/internal.h"
#include "tree.h"

static char *save(struct place *p, bool redact)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct json j;
    json_begin(&j, f, true);
    json_obj(&j);
    json_kint(&j, "schema", 1);
    json_kstr(&j, "verb", "snapshot");
    json_key(&j, "place");
    json_obj(&j);
    place_save(p, redact, &j);
    json_obj_end(&j);
    json_obj_end(&j);
    json_end(&j);
    (void)fclose(f);
    return text;
}

static int load_bytes(const char *dir, const char *text, size_t n, struct place **ret, struct err *e)
{
    tree_bytes(dir, "snapshot.json", text, n);
    return place_open_snapshot(tree_path(dir, "snapshot.json"), ret, e);
}

static struct place *load(const char *dir, const char *text)
{
    struct place *p = NULL;
    struct err e = { 0 };
    if (load_bytes(dir, text, strlen(text), &p, &e) != 0)
        fail_msg("%s", e.text);
    assert_int_equal(place_kind(p), PLACE_SNAPSHOT);
    assert_string_equal(place_name(p), tree_path(dir, "snapshot.json"));
    return p;
}

/* The record without its first members, which say where it came from. */
static const char *past_origin(const char *text)
{
    const char *at = strstr(text, "\"cwd\"");
    assert_non_null(at);
    return at;
}

static void same_str(const char *what, const char *path, const char *a, const char *b)
{
    if (!a != !b || (a && strcmp(a, b) != 0))
        fail_msg("%s of %s: '%s', recorded '%s'", what, path, a ? a : "-", b ? b : "-");
}

static void same_info(const char *path, const struct file_info *a, const struct file_info *b)
{
    if (a->known != b->known || a->error != b->error || a->type != b->type || a->size_bytes != b->size_bytes ||
        a->dev != b->dev || a->ino != b->ino || a->mode != b->mode || a->mtime_s != b->mtime_s)
        fail_msg("stat of %s differs", path);
}

static void same_text(const char *path, const struct text *a, const struct text *b)
{
    if (a->known != b->known || a->error != b->error || a->len != b->len || memcmp(a->at, b->at, a->len + 1) != 0 ||
        a->cut != b->cut)
        fail_msg("text of %s: %zu bytes '%s', recorded %zu '%s'", path, a->len, a->at, b->len, b->at);
}

static void same_list(const char *path, const struct listing *a, const struct listing *b)
{
    if (a->known != b->known || a->error != b->error || a->n != b->n || a->cut != b->cut)
        fail_msg("list of %s differs: %zu, recorded %zu", path, a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->at[i].name, b->at[i].name) != 0 || a->at[i].type != b->at[i].type)
            fail_msg("list of %s differs at %zu: '%s', recorded '%s'", path, i, a->at[i].name, b->at[i].name);
}

static void same_elf(const char *path, const struct place_elf *a, const struct place_elf *b)
{
    if (a->known != b->known || a->error != b->error || !a->elf != !b->elf)
        fail_msg("elf of %s: %d %d, recorded %d %d", path, a->known, a->error, b->known, b->error);
    if (!a->elf)
        return;
    assert_int_equal(a->elf->problem, b->elf->problem);
    assert_int_equal(a->elf->size_bytes, b->elf->size_bytes);
    assert_int_equal(a->elf->ino, b->elf->ino);
    same_str("soname", path, a->elf->soname, b->elf->soname);
    same_str("runpath", path, a->elf->runpath, b->elf->runpath);
    same_str("interpreter", path, a->elf->interp, b->elf->interp);
    assert_int_equal(a->elf->n_needed, b->elf->n_needed);
    for (size_t i = 0; i < a->elf->n_needed; i++)
        same_str("needed", path, a->elf->needed[i], b->elf->needed[i]);
    const struct elf_undef *x, *y;
    size_t n = elf_undefs(a->elf, &x);
    assert_int_equal(n, elf_undefs(b->elf, &y));
    for (size_t i = 0; i < n; i++) {
        same_str("undefined symbol", path, x[i].name, y[i].name);
        assert_int_equal(elf_defines(a->elf, x[i].name, x[i].version), elf_defines(b->elf, x[i].name, x[i].version));
    }
}

/* Asks both for everything and compares. */
static void same(struct place *a, struct place *b, const char *path)
{
    same_info(path, place_stat(a, path), place_stat(b, path));
    same_info(path, place_lstat(a, path), place_lstat(b, path));
    same_str("link", path, place_readlink(a, path), place_readlink(b, path));
    same_str("real path", path, place_realpath(a, path), place_realpath(b, path));
    same_list(path, place_list(a, path), place_list(b, path));
    for (enum text_part part = TEXT_WHOLE; part < TEXT_PARTS; part++)
        same_text(path, place_text(a, path, part), place_text(b, path, part));
    same_elf(path, place_elf(a, path), place_elf(b, path));
    const struct place_gpu_code *g = place_gpu_code(a, path), *h = place_gpu_code(b, path);
    assert_int_equal(g->known, h->known);
    assert_int_equal(g->code.containers, h->code.containers);
    assert_int_equal(g->code.n_arch, h->code.n_arch);
    same_str("sha256", path, place_sha256(a, path, 1 << 20), place_sha256(b, path, 1 << 20));
}

/* Every file and name that is hard to write down. */
static size_t make_tree(const char *dir, const char **ret_paths, size_t max)
{
    tree_file(dir, "plain", "text\n");
    tree_file(dir, "\xff\xfename", "x\n");
    tree_file(dir, "caf\xc3\xa9/M\xc3\xbcnchen", "gr\xc3\xbc\xc3\x9f\x65\n");
    static const char binary[] = "a\0b\xff\\x41\\\r\n\t\x7f\x01\"{\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80";
    tree_bytes(dir, "binary", binary, sizeof(binary));
    tree_file(dir, "back\\slash\xff", "\\");
    tree_file(dir, "quote\"new\nline", "\xe2\x80");
    tree_file(dir, "empty", "");
    tree_file(dir, "METADATA", "Name: x\n\nbody\n");
    tree_link(dir, "link", "plain");
    tree_link(dir, "raw-link", "\xff\xfename");
    tree_link(dir, "dangling", "\x80none");
    tree_link(dir, "loop", "loop");
    tree_dir(dir, "folder/\x80\x81");
    tree_file(dir, "folder/a", "");
    tree_file(dir, "folder/\xf0\x9f\x98\x80", "");
    static const char *const names[] = {
        "plain", "\xff\xfename", "caf\xc3\xa9/M\xc3\xbcnchen", "caf\xc3\xa9", "binary", "back\\slash\xff",
        "quote\"new\nline", "empty", "METADATA", "link", "raw-link", "dangling", "loop", "folder", "folder/\x80\x81",
        "folder/../plain", "none", "none/\xff", "plain/x", "folder/", "plain/", "",
    };
    size_t n = 0;
    for (; n < ARRAY_LEN(names) && n < max; n++)
        ret_paths[n] = strdup(tree_path(dir, names[n]));
    static const char *const others[] = { "/", "/proc/self/exe", "/lib64/ld-linux-x86-64.so.2", "/dev/null", "/proc/self/comm" };
    for (size_t i = 0; i < ARRAY_LEN(others) && n < max; i++)
        ret_paths[n++] = strdup(others[i]);
    return n;
}

static void run_bytes(int fd)
{
    if (write(fd, "a\0\xff", 3) != 3)
        _exit(1);
}

static void run_abort(int fd)
{
    (void)fd;
    abort();
}

static void test_round_trip(void **state)
{
    (void)state;
    char *dir = tree_new();
    const char *paths[64];
    size_t n = make_tree(dir, paths, ARRAY_LEN(paths));
    struct place *live, *again, *third;
    assert_int_equal(place_open_live(&live, NULL), 0);
    assert_int_equal(setenv("ORTFIT_TEST_A", "one\xff", 1), 0);
    assert_int_equal(unsetenv("ORTFIT_TEST_B"), 0);
    (void)place_getenv(live, "ORTFIT_TEST_A");
    (void)place_getenv(live, "ORTFIT_TEST_B");
    (void)place_call(live, "bytes", run_bytes, 20000);
    (void)place_call(live, "abort", run_abort, 20000);
    for (size_t i = 0; i < n; i++)
        same(live, live, paths[i]); /* asks */
    cleanup_(freep) char *text = save(live, false);
    assert_false(bytes_need_escape(text, strlen(text)));
    again = load(dir, text);
    for (size_t i = n; i-- > 0;)
        same(live, again, paths[i]);
    assert_string_equal(place_getenv(again, "ORTFIT_TEST_A"), "one\xff");
    assert_null(place_getenv(again, "ORTFIT_TEST_B"));
    assert_null(place_getenv(again, "PATH")); /* not asked then */
    assert_string_equal(place_cwd(again), place_cwd(live));
    same_text("bytes", place_call(live, "bytes", run_bytes, 1), place_call(again, "bytes", NULL, 1));
    same_text("abort", place_call(live, "abort", run_abort, 1), place_call(again, "abort", NULL, 1));
    assert_int_equal(place_call(again, "other", NULL, 1)->known, KNOWN_NOT_LOOKED);
    const struct place_machine *m = place_machine(live), *r = place_machine(again);
    same_str("arch", "machine", m->arch, r->arch);
    same_str("platform", "machine", m->platform, r->platform);
    same_str("home", "machine", m->home, r->home);
    assert_int_equal(m->isa_usable, r->isa_usable);
    assert_int_equal(m->hwcap2, r->hwcap2);
    assert_int_equal(m->now_s, r->now_s);
    assert_int_equal(m->uid, r->uid);

    /* A record of the record is the same. */
    cleanup_(freep) char *second = save(again, false);
    assert_string_equal(past_origin(text), past_origin(second));
    third = load(dir, second);
    for (size_t i = 0; i < n; i++)
        same(live, third, paths[i]);
    place_free(third);
    place_free(again);
    place_free(live);
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)paths[i]);
    tree_remove(dir);
}

static void test_unknown_is_not_absent(void **state)
{
    (void)state;
    char *dir = tree_new();
    tree_file(dir, "asked", "x");
    struct place *live;
    assert_int_equal(place_open_live(&live, NULL), 0);
    (void)place_lstat(live, tree_path(dir, "asked"));
    (void)place_stat(live, tree_path(dir, "gone"));
    cleanup_(freep) char *text = save(live, false);
    struct place *p = load(dir, text);
    const char *asked = tree_path(dir, "asked"), *never = tree_path(dir, "never");
    assert_int_equal(place_stat(p, asked)->known, KNOWN_PRESENT); /* no link: the same */
    assert_null(place_readlink(p, asked));
    assert_int_equal(place_text(p, asked, TEXT_WHOLE)->known, KNOWN_NOT_LOOKED);
    assert_int_equal(place_elf(p, asked)->known, KNOWN_NOT_LOOKED);
    assert_int_equal(place_gpu_code(p, asked)->known, KNOWN_NOT_LOOKED);
    assert_null(place_sha256(p, asked, 10));
    assert_int_equal(place_stat(p, never)->known, KNOWN_NOT_LOOKED);
    assert_int_equal(place_lstat(p, never)->known, KNOWN_NOT_LOOKED);
    assert_int_equal(place_list(p, never)->known, KNOWN_NOT_LOOKED);
    assert_int_equal(place_text(p, never, TEXT_HEADERS)->known, KNOWN_NOT_LOOKED);
    assert_int_equal(place_elf(p, never)->known, KNOWN_NOT_LOOKED);
    assert_null(place_realpath(p, never));
    assert_null(place_readlink(p, never));
    assert_false(place_exists(p, never));
    /* What a known absence decides is known. */
    assert_int_equal(place_elf(p, tree_path(dir, "gone/x"))->known, KNOWN_ABSENT);
    assert_int_equal(place_text(p, tree_path(dir, "gone"), TEXT_WHOLE)->known, KNOWN_ABSENT);
    /* Asking leaves no traces in the next record. */
    cleanup_(freep) char *second = save(p, false);
    assert_null(strstr(second, "never"));
    place_free(p);
    place_free(live);
    tree_remove(dir);
}

/* ---- redaction ---- */

struct who {
    const char *user, *host, *home;
};

static struct place *live_as(const struct who *who)
{
    struct place *p;
    assert_int_equal(place_open_live(&p, NULL), 0);
    struct place_machine *m = (struct place_machine *)(uintptr_t)place_machine(p);
    m->user = who->user;
    m->hostname = who->host;
    m->home = who->home;
    place_set_cwd(p, "/");
    return p;
}

static char *redacted_text(const struct who *who, const char *dir, const char *content)
{
    struct place *p = live_as(who);
    tree_file(dir, "t", content);
    assert_int_equal(place_text(p, tree_path(dir, "t"), TEXT_WHOLE)->known, KNOWN_PRESENT);
    cleanup_(freep) char *text = save(p, true);
    place_free(p);
    p = load(dir, text);
    char *got = strdup(place_text(p, tree_path(dir, "t"), TEXT_WHOLE)->at);
    place_free(p);
    return got;
}

static const struct redact_case {
    struct who who;
    const char *from, *to;
} redact_cases[] = {
    { { "grace", "cobol", "/home/grace" }, "/home/grace/x by grace@cobol", "/home/user/x by user@host" },
    { { "grace", "cobol", "/home/grace" }, "disgrace graceful grace_x gracehopper", "disgrace graceful grace_x gracehopper" },
    { { "grace", "cobol", "/home/grace" }, "grace-env (grace) \"grace\" grace.", "user-env (user) \"user\" user." },
    { { "grace", "cobol.navy.mil", "/home/grace/" }, "cobol.navy.mil cobol", "host host" },
    { { "grace", NULL, "/srv/people/ghopper" }, "/srv/people/ghopper/grace", "/srv/people/user/user" },
    { { "root", "vm", "/root" }, "root /root /root/x:/root /mnt/root /rooted /root-x vm $/root", "root /home/user /home/user/x:/home/user /mnt/root /rooted /root-x vm $/home/user" },
    { { "root", "vm", "/root" }, "file:///root/x PATH=/root/bin \"/root\"", "file:///home/user/x PATH=/home/user/bin \"/home/user\"" },
    { { "al", "x", "/home/al" }, "al /home/al/x /home/alice -I/home/al also", "al /home/user/x /home/alice -I/home/user also" },
    { { "", "", "" }, "a user on a host", "a user on a host" },
    { { NULL, NULL, NULL }, "a user on a host", "a user on a host" },
    { { "nobody", "h", "/" }, "/ /usr //", "/ /usr //" },
    { { "torch", "cuda", "/home/torch" }, "torch 2.4 cuda 12 /home/torch/x", "torch 2.4 cuda 12 /home/user/x" },
    { { "gr\xc3\xa1inne", "cobol", "/home/gr\xc3\xa1inne" }, "/home/gr\xc3\xa1inne\n", "/home/user\n" },
};

static void test_redact_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(redact_cases); i++) {
        char *dir = tree_new();
        cleanup_(freep) char *got = redacted_text(&redact_cases[i].who, dir, redact_cases[i].from);
        if (strcmp(got, redact_cases[i].to) != 0)
            fail_msg("case %zu: '%s' became '%s', not '%s'", i, redact_cases[i].from, got, redact_cases[i].to);
        tree_remove(dir);
    }
}

static void test_redact_replays(void **state)
{
    (void)state;
    char *dir = tree_new();
    tree_file(dir, "home/grace/.venv/pyvenv.cfg", "home = /x/home/grace/bin\xff grace\n");
    tree_file(dir, "home/zoe/a", "");
    tree_link(dir, "home/grace/link", ".venv/../../grace/.venv");
    tree_link(dir, "home/by-grace", "grace");
    struct who who = { "grace", "cobol", "/home/grace" };
    struct place *p = live_as(&who);
    assert_int_equal(setenv("LOGNAME", "grace", 1), 0);
    assert_int_equal(setenv("ORTFIT_TEST_A", "/home/grace/lib:/cobol/lib", 1), 0);
    (void)place_getenv(p, "LOGNAME");
    (void)place_getenv(p, "ORTFIT_TEST_A");
    const char *asked[] = { "home", "home/grace", "home/grace/link", "home/by-grace", "home/grace/.venv/pyvenv.cfg", "home/zoe" };
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        same(p, p, tree_path(dir, asked[i]));
    assert_string_equal(place_redacted(p, "grace at /home/grace"), "user at /home/user");
    assert_null(place_redacted(p, NULL));
    cleanup_(freep) char *text = save(p, true);
    assert_null(strstr(text, "grace"));
    assert_null(strstr(text, "cobol"));
    assert_null(strstr(text, "zoe"));
    struct place *r = load(dir, text);
    const struct listing *list = place_list(r, tree_path(dir, "home"));
    assert_int_equal(list->n, 3);
    assert_string_equal(list->at[0].name, "person1"); /* by-grace and zoe: other people's homes */
    assert_string_equal(list->at[1].name, "person2");
    assert_string_equal(list->at[2].name, "user");
    assert_true(place_is_dir(r, tree_path(dir, "home/user")));
    assert_string_equal(place_readlink(r, tree_path(dir, "home/user/link")), ".venv/../../user/.venv");
    assert_string_equal(place_realpath(r, tree_path(dir, "home/user/link")), tree_path(dir, "home/user/.venv"));
    assert_string_equal(place_realpath(r, tree_path(dir, "home/person1")), tree_path(dir, "home/user"));
    assert_string_equal(place_text(r, tree_path(dir, "home/user/.venv/pyvenv.cfg"), TEXT_WHOLE)->at,
                        "home = /x/home/user/bin\xff user\n");
    assert_string_equal(place_getenv(r, "LOGNAME"), "user");
    assert_string_equal(place_getenv(r, "ORTFIT_TEST_A"), "/home/user/lib:/host/lib");
    assert_string_equal(place_machine(r)->user, "user");
    assert_string_equal(place_machine(r)->hostname, "host");
    assert_string_equal(place_machine(r)->home, "/home/user");
    place_free(r);
    place_free(p);

    /* A folder called user is there already: another name stands in. */
    tree_file(dir, "home/user/a", "");
    p = live_as(&who);
    (void)place_list(p, tree_path(dir, "home"));
    (void)place_stat(p, tree_path(dir, "home/grace"));
    (void)place_stat(p, tree_path(dir, "home/user/a"));
    cleanup_(freep) char *second = save(p, true);
    place_free(p);
    r = load(dir, second);
    assert_int_equal(place_list(r, tree_path(dir, "home"))->n, 4);
    assert_true(place_is_dir(r, tree_path(dir, "home/user1")));
    assert_string_equal(place_machine(r)->home, "/home/user1");
    place_free(r);
    tree_remove(dir);
}

/* A file with NUL bytes keeps its size and the places of its strings, as offsets in ld.so.cache want it. */
static void test_redact_binary(void **state)
{
    (void)state;
    static const struct {
        struct who who;
        char from[40], to[40];
        size_t n;
    } binary[] = {
        { { "grace", "cobol", "/home/grace" }, "\1\0/home/grace/a.so\0/b\0cobol", "\1\0/home/user/a.so\0\0/b\0host\0", 27 },
        { { "bob", "cobol", "/home/bob" }, "\1\0/home/bob/a.so\0/b\0", "\1\0/home/?\?\?/a.so\0/b\0", 21 },
    };
    for (size_t i = 0; i < ARRAY_LEN(binary); i++) {
        char *dir = tree_new();
        struct place *p = live_as(&binary[i].who);
        tree_bytes(dir, "ld.so.cache", binary[i].from, binary[i].n);
        (void)place_text(p, tree_path(dir, "ld.so.cache"), TEXT_LDCACHE);
        cleanup_(freep) char *text = save(p, true);
        place_free(p);
        p = load(dir, text);
        const struct text *t = place_text(p, tree_path(dir, "ld.so.cache"), TEXT_LDCACHE);
        assert_int_equal(t->len, binary[i].n);
        assert_memory_equal(t->at, binary[i].to, binary[i].n);
        place_free(p);
        tree_remove(dir);
    }
}

/* ---- files that are no record of ours ---- */

#define MACHINE "\"cwd\":\"/\",\"machine\":{\"arch\":\"x86_64\"}"
#define DOC(files) "{\"schema\":1,\"verb\":\"snapshot\",\"place\":{" MACHINE ",\"files\":[" files "]}}"

static const struct hostile {
    const char *text;
    enum err_code code; /* ERR_NONE: loads */
    const char *says;
} hostile[] = {
    { "", ERR_FORMAT, "" },
    { "{", ERR_FORMAT, "" },
    { "[]", ERR_FORMAT, "no 'schema'" },
    { "{}", ERR_FORMAT, "no 'schema'" },
    { "null", ERR_FORMAT, "" },
    { "{\"schema\":2}", ERR_SCHEMA, "schema 2 and this ortfit reads 1; use a newer ortfit" },
    { "{\"schema\":99999999999999999999}", ERR_FORMAT, "" },
    { "{\"schema\":\"1\",\"verb\":\"snapshot\"}", ERR_FORMAT, "no 'schema'" },
    { "{\"schema\":0,\"verb\":\"snapshot\"}", ERR_FORMAT, "" },
    { "{\"schema\":1,\"verb\":\"check\"}", ERR_FORMAT, "'check'" },
    { "{\"schema\":1,\"verb\":\"snapshot\"}", ERR_FORMAT, "no 'place'" },
    { "{\"schema\":1,\"verb\":\"snapshot\",\"place\":[]}", ERR_FORMAT, "no 'place'" },
    { "{\"schema\":1,\"verb\":\"snapshot\",\"place\":{}}", ERR_FORMAT, "cwd" },
    { "{\"schema\":1,\"verb\":\"snapshot\",\"place\":{\"cwd\":\"x\"}}", ERR_FORMAT, "cwd" },
    { "{\"schema\":1,\"verb\":\"snapshot\",\"place\":{\"cwd\":\"/\"}}", ERR_FORMAT, "machine" },
    { "{\"schema\":1,\"verb\":\"snapshot\",\"place\":{" MACHINE "}}", ERR_FORMAT, "files" },
    { DOC(""), ERR_NONE, "" },
    { DOC("{\"path\":\"/a\",\"later\":{\"addition\":1}}"), ERR_NONE, "" },
    { DOC("1"), ERR_FORMAT, "files[0]" },
    { DOC("{}"), ERR_FORMAT, "files[0]" },
    { DOC("{\"path\":\"a\"}"), ERR_FORMAT, "absolute" },
    { DOC("{\"path\":\"/a\"},{\"path\":\"//a\"}"), ERR_FORMAT, "twice" },
    { DOC("{\"path\":{\"raw\":\"/\\\\xff\"}}"), ERR_NONE, "" },
    { DOC("{\"path\":{\"raw\":\"/\\\\x00b\"}}"), ERR_FORMAT, "path" },
    { DOC("{\"path\":{\"raw\":\"/\\\\xf\"}}"), ERR_FORMAT, "path" },
    { DOC("{\"path\":{\"raw\":\"/\\\\\"}}"), ERR_FORMAT, "path" },
    { DOC("{\"path\":{\"raw\":1}}"), ERR_FORMAT, "path" },
    { DOC("{\"path\":\"/a\\u0000b\"}"), ERR_FORMAT, "" },
    { DOC("{\"path\":\"/a\",\"stat\":1}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{}}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{\"t\":\"fd\"}}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{\"t\":\"\"}}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{\"error\":\"ENOSUCH\"}}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{\"error\":0}}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{\"error\":4096}}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{\"error\":5000000000}}"), ERR_FORMAT, "'stat'" },
    { DOC("{\"path\":\"/a\",\"stat\":{\"t\":\"f\",\"size\":-1,\"mode\":-1,\"mtime\":\"x\"}}"), ERR_NONE, "" },
    { DOC("{\"path\":\"/a\",\"lstat\":true}"), ERR_FORMAT, "'lstat'" },
    { DOC("{\"path\":\"/a\",\"link\":{}}"), ERR_FORMAT, "'link'" },
    { DOC("{\"path\":\"/a\",\"link\":{\"at\":null}}"), ERR_FORMAT, "'link'" },
    { DOC("{\"path\":\"/a\",\"real\":\"/b\"}"), ERR_FORMAT, "'real'" },
    { DOC("{\"path\":\"/a\",\"list\":[]}"), ERR_FORMAT, "'list'" },
    { DOC("{\"path\":\"/a\",\"list\":{\"f\":[1]}}"), ERR_FORMAT, "'list'" },
    { DOC("{\"path\":\"/a\",\"list\":{\"f\":\"x\"}}"), ERR_NONE, "" },
    { DOC("{\"path\":\"/a\",\"text\":{\"whole\":{}}}"), ERR_FORMAT, "'text'" },
    { DOC("{\"path\":\"/a\",\"text\":{\"whole\":1}}"), ERR_FORMAT, "'text'" },
    { DOC("{\"path\":\"/a\",\"text\":[]}"), ERR_FORMAT, "'text'" },
    { DOC("{\"path\":\"/a\",\"elf\":1}"), ERR_FORMAT, "'elf'" },
    { DOC("{\"path\":\"/a\",\"elf\":{}}"), ERR_NONE, "" },
    { DOC("{\"path\":\"/a\",\"elf\":{\"problem\":1}}"), ERR_NONE, "" },
    { DOC("{\"path\":\"/a\",\"elf\":{\"soname\":1}}"), ERR_FORMAT, "'elf'" },
    { DOC("{\"path\":\"/a\",\"gpu\":{\"arch\":[1]}}"), ERR_FORMAT, "'gpu'" },
    { DOC("{\"path\":\"/a\",\"gpu\":{\"arch\":[[90,true]]}}"), ERR_FORMAT, "'gpu'" },
    { DOC("{\"path\":\"/a\",\"sha256\":{\"hex\":\"12\"}}"), ERR_FORMAT, "'sha256'" },
    { DOC("{\"path\":\"/a\",\"sha256\":{}}"), ERR_FORMAT, "'sha256'" },
};

static void test_hostile_documents(void **state)
{
    (void)state;
    char *dir = tree_new();
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        struct place *p = NULL;
        struct err e = { 0 };
        int r = load_bytes(dir, hostile[i].text, strlen(hostile[i].text), &p, &e);
        if (r != -(int)hostile[i].code || (r < 0 && !strstr(e.text, hostile[i].says)) ||
            (r < 0 && !strstr(e.text, "snapshot.json")))
            fail_msg("%s: %d '%s'", hostile[i].text, r, e.text);
        place_free(p);
    }
    struct place *p = NULL;
    struct err e = { 0 };
    assert_int_equal(place_open_snapshot(tree_path(dir, "none"), &p, &e), -(int)ERR_READ);
    assert_int_equal(place_open_snapshot(dir, &p, &e), -(int)ERR_READ);
    assert_non_null(strstr(e.text, dir));
    /* deep, wide */
    size_t n = 100000;
    char *deep = malloc(n);
    memset(deep, '[', n);
    assert_int_equal(load_bytes(dir, deep, n, &p, &e), -(int)ERR_FORMAT);
    for (size_t i = 0; i < n; i++)
        deep[i] = "{\"a\":"[i % 5];
    assert_int_equal(load_bytes(dir, deep, n, &p, &e), -(int)ERR_FORMAT);
    free(deep);
    n = 9 * 1024 * 1024;
    char *wide = malloc(n);
    for (size_t i = 0; i < n; i++)
        wide[i] = i == 0 ? '[' : "1,"[(i + 1) % 2];
    assert_int_equal(load_bytes(dir, wide, n, &p, &e), -(int)ERR_FORMAT);
    assert_non_null(strstr(e.text, "too many values"));
    free(wide);
    assert_null(p);
    tree_remove(dir);
}

static char *small_record(const char *dir)
{
    struct place *live;
    assert_int_equal(place_open_live(&live, NULL), 0);
    tree_file(dir, "\xff/a", "text \xfe");
    tree_link(dir, "link", "a");
    (void)place_getenv(live, "HOME");
    same(live, live, tree_path(dir, "\xff/a"));
    same(live, live, tree_path(dir, "\xff"));
    same(live, live, tree_path(dir, "link"));
    (void)place_elf(live, "/proc/self/exe");
    char *text = save(live, false);
    place_free(live);
    return text;
}

static void test_truncated(void **state)
{
    (void)state;
    char *dir = tree_new();
    cleanup_(freep) char *text = small_record(dir);
    size_t n = strlen(text), step = n / 700 + 1;
    for (size_t len = 0; len + 4 < n; len += step) {
        struct place *p = NULL;
        if (load_bytes(dir, text, len, &p, NULL) == 0)
            fail_msg("the first %zu of %zu bytes load", len, n);
    }
    place_free(load(dir, text));
    tree_remove(dir);
}

/* Changed bytes: refused or loaded, and then usable. */
static void test_mutated(void **state)
{
    (void)state;
    char *dir = tree_new();
    cleanup_(freep) char *text = small_record(dir);
    size_t n = strlen(text);
    uint32_t seed = 1;
    unsigned loaded = 0;
    for (int round = 0; round < 1500; round++) {
        cleanup_(freep) char *copy = malloc(n + 1);
        memcpy(copy, text, n + 1);
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            size_t at = (seed >> 8) % n;
            seed = seed * 1664525u + 1013904223u;
            copy[at] = "{}[]\",:0189xtfn\\\xff /"[(seed >> 8) % 20];
        }
        struct place *p = NULL;
        if (load_bytes(dir, copy, n, &p, NULL) != 0)
            continue;
        loaded++;
        for (struct entry *e = p->entries, *next; e; e = next) {
            next = e->hh.next;
            same(p, p, e->path);
        }
        for (int redact = 0; redact <= 1; redact++) {
            cleanup_(freep) char *again = save(p, redact);
            struct place *q = NULL;
            if (load_bytes(dir, again, strlen(again), &q, NULL) != 0)
                fail_msg("what was loaded and saved does not load: %s", copy);
            place_free(q);
        }
        place_free(p);
    }
    assert_true(loaded > 50);
    tree_remove(dir);
}

/* Names in a file may be any bytes; two that differ must not become one. */
static void test_elf_names(void **state)
{
    (void)state;
    static const char record[] =
        "{\"soname\":{\"raw\":\"a\\\\xff\\\\\\\\\"},\"needed\":[{\"raw\":\"lib\\\\xfe.so\"},\"lib\\ufffd.so\"],"
        "\"verdef\":[[{\"raw\":\"V\\\\x80\"},1]],\"relocs_size\":0,\"cut\":false,"
        "\"undefs\":[[{\"raw\":\"f\\\\xfe\"}],[{\"raw\":\"f\\\\xff\"},{\"raw\":\"V\\\\xff\"},\"x.so\"]]}";
    struct arena a = { 0 };
    struct elf *elf = NULL;
    struct err e = { 0 };
    json_t *doc = NULL;
    assert_int_equal(jsonr_parse(record, sizeof(record) - 1, &doc, &e), 0);
    if (elf_load(doc, &a, &elf, &e) != 0)
        fail_msg("%s", e.text);
    assert_string_equal(elf->soname, "a\xff\\");
    assert_string_equal(elf->needed[0], "lib\xfe.so");
    assert_string_equal(elf->needed[1], "lib\xef\xbf\xbd.so");
    assert_string_equal(elf->verdef[0], "V\x80");
    const struct elf_undef *undefs;
    assert_int_equal(elf_undefs(elf, &undefs), 2);
    assert_string_equal(undefs[0].name, "f\xfe");
    assert_string_equal(undefs[1].version, "V\xff");
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct elf_asked *asked = elf_asked_new();
    struct json j;
    json_begin(&j, f, false);
    elf_save(elf, asked, &j);
    json_end(&j);
    (void)fclose(f);
    json_t *again = NULL;
    assert_int_equal(jsonr_parse(text, len, &again, &e), 0);
    static const char *const same[] = { "soname", "needed", "verdef", "undefs" };
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        assert_true(json_equal(json_object_get(doc, same[i]), json_object_get(again, same[i])));
    elf_asked_free(asked);
    elf_done(elf);
    json_decref(doc);
    json_decref(again);
    free(text);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_unknown_is_not_absent),
        cmocka_unit_test(test_redact_texts),   cmocka_unit_test(test_redact_replays),
        cmocka_unit_test(test_redact_binary), cmocka_unit_test(test_hostile_documents), cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_mutated), cmocka_unit_test(test_elf_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

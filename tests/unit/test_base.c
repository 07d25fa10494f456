/* Strings, paths, lines, JSON out and in: the small things that everything else leans on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/path.h"
#include "base/utf8.h"

static void test_utf8(void **state)
{
    static const struct {
        const char *bytes;
        size_t left, len;
        bool control;
    } cases[] = {
        { "a", 1, 1, false },         { "", 1, 1, true },              { "\x1b", 1, 1, true },
        { "\x7f", 1, 1, true },       { "\xc3\xa9", 2, 2, false },     { "\xc2\x9b", 2, 2, true },
        { "\xc2\xa0", 2, 2, false },  { "\xc3", 1, 0, false },         { "\x80", 1, 0, false },
        { "\xc0\xaf", 2, 0, false },  { "\xe0\x9f\xbf", 3, 0, false }, { "\xe0\xa0\x80", 3, 3, false },
        { "\xed\xa0\x80", 3, 0, false }, { "\xed\x9f\xbf", 3, 3, false }, { "\xef\xbf\xbd", 3, 3, false },
        { "\xf0\x8f\xbf\xbf", 4, 0, false }, { "\xf0\x90\x80\x80", 4, 4, false }, { "\xf4\x8f\xbf\xbf", 4, 4, false },
        { "\xf4\x90\x80\x80", 4, 0, false }, { "\xf5\x80\x80\x80", 4, 0, false }, { "\xe2\x82\x41", 3, 0, false },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = utf8_len(cases[i].bytes, cases[i].left);
        if (len != cases[i].len || (len && utf8_is_control(cases[i].bytes, len) != cases[i].control))
            fail_msg("case %zu: length %zu", i, len);
    }
}

static void test_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *text; /* NULL: needs no escape */
    } cases[] = {
        { "", 0, NULL },
        { "a\\b\xc3\xa9", 5, NULL },
        { "a\0b", 3, "a\\x00b" },
        { "\\\xff", 2, "\\\\\\xff" },
        { "\xc3\xa9\xc3", 3, "\xc3\xa9\\xc3" },
    };
    static const char *const broken[] = { "\\", "\\x", "\\x0", "\\xg0", "\\n", "\\xFF" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup_(str_done) struct str text = { 0 }, back = { 0 };
        assert_int_equal(bytes_need_escape(cases[i].bytes, cases[i].n), cases[i].text != NULL);
        bytes_escape(&text, cases[i].bytes, cases[i].n);
        if (cases[i].text)
            assert_string_equal(str_get(&text), cases[i].text);
        assert_true(bytes_unescape(&back, str_get(&text), text.len));
        assert_int_equal(back.len, cases[i].n);
        assert_memory_equal(str_get(&back), cases[i].bytes, cases[i].n);
    }
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        cleanup_(str_done) struct str back = { 0 };
        assert_false(bytes_unescape(&back, broken[i], strlen(broken[i])));
    }
}

/* A name in a message must not act on the terminal. */
static void test_errors_are_printable(void **state)
{
    (void)state;
    struct err e = { 0 };
    assert_int_equal(err_set(&e, ERR_READ, "a\x1b[2J\nb\x7f\xc2\x9b" "31m\x9b\xc3\xa9"), -ERR_READ);
    assert_string_equal(e.text, "a?[2J?b???31m?\xc3\xa9");
    err_while(&e, "reading '%s'", "x\r");
    assert_string_equal(e.text, "a?[2J?b???31m?\xc3\xa9, while reading 'x?'");
    for (int i = 0; i < 100; i++)
        err_while(&e, "more");
    assert_true(strlen(e.text) < sizeof(e.text));
    assert_int_equal(err_set(NULL, ERR_USAGE, "no place for it"), -ERR_USAGE);
}

static void test_paths(void **state)
{
    static const struct {
        const char *path, *clean;
    } cases[] = {
        { "/", "/" },           { "//", "/" },        { "/.", "/" },      { "/..", "/" },       { "/a/", "/a" },
        { "/a/./b//c", "/a/b/c" }, { "/a/../b", "/b" }, { "/../../a", "/a" }, { "", "." },      { ".", "." },
        { "a/..", "." },        { "a/../..", ".." },  { "../a/../b", "../b" }, { "../..", "../.." }, { "/a/b/../../..", "/" },
    };
    (void)state;
    struct arena a = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (strcmp(path_clean(&a, cases[i].path), cases[i].clean) != 0)
            fail_msg("'%s' becomes '%s'", cases[i].path, path_clean(&a, cases[i].path));
    assert_string_equal(path_join(&a, "/", "a"), "/a");
    assert_string_equal(path_join(&a, "/x", "a/b"), "/x/a/b");
    assert_string_equal(path_join(&a, "/x/", "/y"), "/y");
    assert_string_equal(path_join(&a, "", "a"), "a");
    assert_string_equal(path_dir(&a, "/a"), "/");
    assert_string_equal(path_dir(&a, "a"), ".");
    assert_string_equal(path_dir(&a, "/a/b/c"), "/a/b");
    assert_string_equal(path_base("/a/b"), "b");
    arena_done(&a);
}

static int file_of(const char *bytes, size_t n)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

struct lines {
    struct str text;
    size_t n, most;
};

static bool take(void *ctx, const char *line, size_t n)
{
    struct lines *l = ctx;
    str_addn(&l->text, line, n);
    str_addc(&l->text, '|');
    return ++l->n < l->most;
}

/* Whatever the size of the first read and the word of fstat, the lines are the same. */
static void test_lines(void **state)
{
    static const char text[] = "one\n\ntwo\nlast";
    (void)state;
    for (size_t first = 1; first < 20; first++)
        for (uint64_t size = 0; size < 2; size++) {
            cleanup_(closep) int fd = file_of(text, sizeof(text) - 1);
            struct lines l = { .most = 100 };
            bool cut = true;
            assert_int_equal(io_lines(fd, size * (sizeof(text) - 1), first, 1000, take, &l, &cut), 0);
            assert_string_equal(str_get(&l.text), "one\n|\n|two\n|last|");
            assert_false(cut);
            str_done(&l.text);
        }
    static const struct {
        size_t most, max;
        const char *want;
        bool cut;
    } cases[] = {
        { 1, 1000, "one\n|", false }, { 100, 4, "one\n|", true },   { 100, 6, "one\n|\n|t|", true },
        { 100, 0, "", true },         { 100, 13, "one\n|\n|two\n|last|", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup_(closep) int fd = file_of(text, sizeof(text) - 1);
        struct lines l = { .most = cases[i].most };
        bool cut = false;
        assert_int_equal(io_lines(fd, 0, 3, cases[i].max, take, &l, &cut), 0);
        if (strcmp(str_get(&l.text), cases[i].want) != 0 || cut != cases[i].cut)
            fail_msg("case %zu: '%s', cut %d", i, str_get(&l.text), cut);
        str_done(&l.text);
    }
    bool cut;
    struct lines none = { 0 };
    assert_int_equal(io_lines(-1, 0, 10, 10, take, &none, &cut), -EBADF);
}

static void test_read(void **state)
{
    (void)state;
    for (size_t max = 0; max < 12; max++)
        for (uint64_t size = 0; size < 20; size += 5) { /* fstat may be wrong: the file grows or shrinks */
            cleanup_(closep) int fd = file_of("0123456789", 10);
            cleanup_(str_done) struct str got = { 0 };
            bool cut;
            assert_int_equal(io_read(fd, size, max, &got, &cut), 0);
            size_t want = max < 10 ? max : 10;
            assert_int_equal(got.len, want);
            assert_memory_equal(str_get(&got), "0123456789", want);
            assert_int_equal(cut, max < 10);
        }
    struct err e = { 0 };
    struct str got = { 0 };
    assert_int_equal(io_read_file("/nonexistent", 10, &got, &e), -ERR_READ);
    assert_int_equal(io_read_file("/", 10, &got, &e), -ERR_READ);
    assert_int_equal(io_read_file("/dev/null", 10, &got, &e), -ERR_READ);
    assert_int_equal(io_read_file("/proc/self/status", 10, &got, &e), -ERR_LIMIT);
    assert_null(got.at);
}

static void test_json(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct json j;
    json_begin(&j, f, false);
    json_obj(&j);
    json_kstr(&j, "s", "\"\\\n\t\x01\x7f\xff\xc3\xa9");
    json_key(&j, "b");
    json_text(&j, "\xff");
    json_key(&j, "nothing");
    json_text(&j, NULL);
    json_key(&j, "numbers");
    json_arr(&j);
    json_int(&j, INT64_MIN);
    json_uint(&j, UINT64_MAX);
    json_num(&j, (double)NAN);
    json_num(&j, 0.1);
    json_arr_end(&j);
    json_kbool(&j, "t", true);
    json_obj_end(&j);
    json_end(&j);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "{\"s\":\"\\\"\\\\\\n\\t\\u0001\\u007f\xef\xbf\xbd\xc3\xa9\",\"b\":{\"raw\":\"\\\\xff\"},\"nothing\":null,"
                              "\"numbers\":[-9223372036854775808,18446744073709551615,null,0.1],\"t\":true}\n");
    free(text);

    static const char *const refused[] = { "", "{", "[1,]", "{\"a\":1}x", "\"\\u0000\"", "[99999999999999999999]" };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        json_t *doc = NULL;
        assert_int_equal(jsonr_parse(refused[i], strlen(refused[i]), &doc, NULL), -ERR_FORMAT);
        assert_null(doc);
    }
    char deep[2 * (JSONR_DEPTH + 1)];
    for (int depth = JSONR_DEPTH; depth <= JSONR_DEPTH + 1; depth++) {
        json_t *doc = NULL;
        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        assert_int_equal(jsonr_parse(deep, 2 * (size_t)depth, &doc, NULL), depth > JSONR_DEPTH ? -ERR_FORMAT : 0);
        json_decref(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),  cmocka_unit_test(test_bytes), cmocka_unit_test(test_errors_are_printable),
        cmocka_unit_test(test_paths), cmocka_unit_test(test_lines), cmocka_unit_test(test_read),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

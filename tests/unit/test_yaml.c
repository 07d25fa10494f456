/* YAML: what it becomes, what is refused, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"

/* As one line of JSON, or the error's text. */
static char *read_as(const char *text)
{
    struct err e = { 0 };
    json_t *value = NULL;
    if (yaml_parse(text, strlen(text), &value, &e) < 0) {
        assert_null(value);
        assert_int_equal(e.code, ERR_FORMAT);
        return strdup(e.text);
    }
    char *line = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(value);
    return line;
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        { "", "null" },
        { "# nothing\n", "null" },
        { "a: 3.10\nb: yes\nc: ~\nd:\ne: true\nf: 'true'\ng: !!str null\n",
          "{\"a\":\"3.10\",\"b\":\"yes\",\"c\":null,\"d\":null,\"e\":true,\"f\":\"true\",\"g\":"
          "\"null\"}" },
        { "dependencies:\n- python=3.11\n- pip:\n  - a==1 # why\n",
          "{\"dependencies\":[\"python=3.11\",{\"pip\":[\"a==1\"]}]}" },
        { "a: &x {k: v}\nb: *x\nc: [*x, *x]\n",
          "{\"a\":{\"k\":\"v\"},\"b\":{\"k\":\"v\"},\"c\":[{\"k\":\"v\"},{\"k\":\"v\"}]}" },
        { "a: &x k\n*x : 1\n", "{\"a\":\"k\",\"k\":\"1\"}" },
        { "- &x 1\n- &x 2\n- *x\n", "[\"1\",\"2\",\"2\"]" },
        { "a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}" },
        { "just words", "\"just words\"" },
        { "{\"json\": [1, \"two\", null]}", "{\"json\":[\"1\",\"two\",null]}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup_(freep) char *got = read_as(cases[i].yaml);
        assert_string_equal(got, cases[i].json);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *has;
    } cases[] = {
        { "a: 1\nb: 2\na: 3\n", "line 3: the key 'a' stands here twice" },
        { "a: 1\n? [x]\n: y\n", "line 2: a key that is no plain text" },
        { "a\n---\nb\n", "a second document" },
        { "a: &x [*x]\n", "line 1: an alias of an anchor that is not complete" },
        { "a: *nowhere\n", "line 1" },
        { "a: [1, 2\nb: 3\n", "line " },
        { "\tname: x\n  y: :\n", "line " },
        { "a: \"\\0\"\n", "no UTF-8" },
        { "a: \xff\n", "no UTF-8" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup_(freep) char *got = read_as(cases[i].yaml);
        if (!strstr(got, cases[i].has))
            fail_msg("%s: got '%s', not '%s'", cases[i].yaml, got, cases[i].has);
    }
}

static void test_caps(void **state)
{
    (void)state;
    char deep[2 * YAML_DEPTH + 3] = "";
    for (int depth = YAML_DEPTH; depth <= YAML_DEPTH + 1; depth++) {
        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        cleanup_(freep) char *got = read_as(deep);
        assert_int_equal(strstr(got, "too deep") != NULL, depth > YAML_DEPTH);
    }
    /* ten lists of the ten above each, seven times: ten million words in 300 bytes */
    struct str laughs = { 0 };
    str_add(&laughs, "a0: &a0 lol\n");
    for (int i = 1; i <= 7; i++) {
        str_addf(&laughs, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            str_addf(&laughs, "*a%d%s", i - 1, k < 9 ? ", " : "]\n");
    }
    cleanup_(freep) char *got = read_as(str_get(&laughs));
    assert_non_null(strstr(got, "more values than"));
    str_done(&laughs);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values),
                                        cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_caps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

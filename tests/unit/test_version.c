/* cmocka.h wants these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "version/driver.h"
#include "version/metadata.h"
#include "version/pep440.h"
#include "version/pep508.h"
#include "version/tag.h"

/* The order of PEP 440's own summary, from old to new; neighbours on one line are equal. */
static const char *const ascending[][3] = {
    { "1.dev0", "1.0.dev" },      { "1.0.dev456", "v1.0_DEV-456" },
    { "1.0a1", "1.0.alpha.1" },   { "1.0a2.dev456" },
    { "1.0a12.dev456" },          { "1.0a12" },
    { "1.0b1.dev456" },           { "1.0b2", "1.0-beta2" },
    { "1.0b2.post345.dev456" },   { "1.0b2.post345" },
    { "1.0rc1.dev456" },          { "1.0rc1", "1.0c1", "1.0.preview_1" },
    { "1.0", "1", " 1.0.0 " },    { "1.0+abc.5" },
    { "1.0+abc.7" },              { "1.0+5" },
    { "1.0+5.0" },                { "1.0.post456.dev34" },
    { "1.0.post456", "1.0-456" }, { "1.0.15" },
    { "1.1.dev1" },               { "9.10.2.21" },
    { "9.28.0.42.dev76646929" },  { "9.28.0.42" },
    { "10.13.3.9.post1" },        { "1!0.1" },
};

static void test_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ascending); i++)
        for (size_t k = 0; k < ARRAY_LEN(ascending); k++) {
            int order = pep440_compare_text(ascending[i][0], ascending[k][0]);
            if ((i < k && order >= 0) || (i > k && order <= 0) || (i == k && order != 0))
                fail_msg("%s against %s gives %d", ascending[i][0], ascending[k][0], order);
        }
    for (size_t i = 0; i < ARRAY_LEN(ascending); i++)
        for (size_t k = 1; k < 3 && ascending[i][k]; k++)
            assert_int_equal(pep440_compare_text(ascending[i][0], ascending[i][k]), 0);
}

static void test_not_versions(void **state)
{
    static const char *const bad[] = { "",
                                       "abc",
                                       "1.",
                                       "1..2",
                                       "1.0+",
                                       "1.0+a-",
                                       "1.0x",
                                       "!1",
                                       "1!",
                                       "1.0 .1",
                                       "-1",
                                       "1.0++a",
                                       "1.*",
                                       "99999999999999999999",
                                       "1.2.3.4.5.6.7.8.9.10.11.12.13",
                                       "1.0post99999999999999999999" };
    struct pep440 v;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (pep440_parse(bad[i], &v))
            fail_msg("'%s' was taken for a version", bad[i]);
    assert_true(pep440_compare_text("junk", "0.dev0") < 0);
    assert_true(pep440_same_public("2.4.1+cu118", "2.4.1"));
    assert_false(pep440_same_public("2.4.1.post1", "2.4.1"));
}

static const struct {
    const char *spec, *version;
    bool matches;
} specs[] = {
    { "", "1.0", true },
    { ">=1.21,<2", "1.26.4", true },
    { ">=1.21,<2", "2.0.0", false },
    { "(<2.0,>=1.21.6)", "1.21.6", true },
    { "==1.23.*", "1.23", true },
    { "==1.23.*", "1.23.2.post1", true },
    { "==1.23.*", "1.230", false },
    { "!=1.23.*", "1.23.2", false },
    { "==1.23.0", "1.23", true },
    { "==2.4.1", "2.4.1+cu118", true },
    { "==2.4.1+cu118", "2.4.1", false },
    { "~=12.0", "12.9.86", true },
    { "~=12.0", "13.0", false },
    { "~=2.2.0", "2.2.9", true },
    { "~=2.2.0", "2.3", false },
    { "~=2.2.post3", "2.2", false },
    { "<1.0", "1.0rc1", false },
    { "<1.0rc2", "1.0rc1", true },
    { ">1.7", "1.7.0.post1", false },
    { ">1.7", "1.7.1", true },
    { ">1.7", "1.7+local", false },
    { ">=1.7", "1.7+local", true },
    { "<=1.7", "1.7+local", true },
    { "===1.0.0", "1.0", false },
    { "===1.0.0", "1.0.0", true },
    { ">=9,<9.11", "9.10.2.21", true },
    { ">=9,<9.11", "9.11.0.98", false },
    { "==1!1.*", "1.1", false },
};

static void test_specifiers(void **state)
{
    static const char *const bad[] = { "1.0",    ">=",  "~=1",    "==1.0.*.*", ">=1.*",
                                       "<1.0+a", "=>1", ">=1.0;", "==1.0a1.*" };
    struct pep440_spec s;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++)
        if (pep440_matches(specs[i].spec, specs[i].version) != specs[i].matches)
            fail_msg("%s %s %s", specs[i].version,
                     specs[i].matches ? "should match" : "should not match", specs[i].spec);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (pep440_spec_parse(bad[i], &s))
            fail_msg("'%s' was taken for a specifier", bad[i]);
}

static void test_prereleases(void **state)
{
    struct pep440_spec s;
    struct pep440 v;
    (void)state;
    assert_true(pep440_parse("9.28.0.42.dev1", &v));
    assert_true(pep440_spec_parse(">=9", &s));
    assert_true(pep440_spec_matches(&s, &v, true));
    assert_false(pep440_spec_matches(&s, &v, false));
    assert_true(pep440_spec_parse(">=9.0a1", &s));
    assert_true(pep440_spec_matches(&s, &v, false));
}

static void test_wishes(void **state)
{
    static const struct {
        const char *wish, *version;
        bool matches;
    } wishes[] = {
        { "12", "12.8", true },       { "12", "120.1", false },    { "2.4.1", "2.4.1", true },
        { "2.4.1", "2.4.1.1", true }, { "2.4.1", "2.4.2", false }, { ">=1.29", "1.31.1", true },
        { "1.0rc1", "1.0", false },   { "1.0rc1", "1.0rc1", true }, { "12.*", "12.4", true },
    };
    struct pep440_spec s;
    struct pep440 v;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        assert_true(pep440_wish_parse(wishes[i].wish, &s));
        assert_true(pep440_parse(wishes[i].version, &v));
        if (pep440_spec_matches(&s, &v, true) != wishes[i].matches)
            fail_msg("wish %s, version %s", wishes[i].wish, wishes[i].version);
    }
    assert_false(pep440_wish_parse("", &s));
    assert_false(pep440_wish_parse("newest", &s));
}

static void test_drivers(void **state)
{
    char buf[16];
    (void)state;
    assert_true(driver_compare_text("525.60.13", "525.85.12") < 0);
    assert_true(driver_compare_text("580.65.06", "580.65.6") == 0);
    assert_true(driver_compare_text("450.80", "450.80.02") < 0);
    assert_true(driver_compare_text("none", "1") < 0);
    assert_int_equal(driver_branch("550.54.14"), 550);
    assert_int_equal(driver_branch("550.54.14-server"), 0);
    assert_int_equal(cuda_parse("12.8"), 12080);
    assert_int_equal(cuda_parse("13.0.88"), 13000);
    assert_int_equal(cuda_parse("11"), 11000);
    assert_int_equal(cuda_parse("12.x"), 0);
    assert_string_equal(cuda_text(11080, buf, sizeof(buf)), "11.8");
    assert_string_equal(cuda_text(13000, buf, sizeof(buf)), "13.0");
}

static void test_requirements(void **state)
{
    struct requirement r;
    char name[64];
    (void)state;
    assert_true(requirement_parse(
        "nvidia-cuda-runtime-cu11 (==11.7.99) ; platform_system == \"Linux\"", &r));
    assert_true(name_same_n(r.name, "nvidia_cuda.runtime-CU11"));
    assert_true(requirement_satisfied(&r, "11.7.99"));
    assert_false(requirement_satisfied(&r, "11.8.89"));
    assert_int_equal(r.marker.len, strlen("platform_system == \"Linux\""));

    assert_true(requirement_parse("cuda-toolkit[cublas, cudart ,cufft]==13.0.2; extra == 'x'", &r));
    assert_int_equal(r.n_extras, 3);
    assert_memory_equal(r.extra[1].at, "cudart", r.extra[1].len);
    assert_true(requirement_parse("numpy", &r));
    assert_true(requirement_satisfied(&r, "anything"));
    assert_true(requirement_parse("x @ https://host/a;b.whl ; python_version>'3'", &r));
    assert_memory_equal(r.url.at, "https://host/a;b.whl", r.url.len);
    assert_int_equal(r.url.len, 20);

    assert_false(requirement_parse("", &r));
    assert_false(requirement_parse("-x", &r));
    assert_false(requirement_parse("x[a", &r));
    assert_false(requirement_parse("x >= ", &r));
    assert_false(requirement_parse("x ; ", &r));
    assert_false(requirement_parse("x >=1,,<2", &r));
    assert_string_equal(name_normalise("Foo__.Bar", name, sizeof(name)), "foo-bar");
    assert_string_equal(name_normalise("abcdef", name, 4), "abc");
    assert_true(name_same("ONNXRuntime_GPU", "onnxruntime-gpu"));
    assert_false(name_same("onnxruntime-gpu", "onnxruntime"));
}

static void test_markers(void **state)
{
    static const struct marker_env env = {
        .sys_platform = "linux",
        .platform_system = "Linux",
        .python_version = "3.11",
        .python_full_version = "3.11.7",
        .extra = "CUDA",
    };
    static const struct {
        const char *text;
        enum marker expected;
    } cases[] = {
        { "", MARKER_TRUE },
        { "python_version >= '3.9'", MARKER_TRUE }, /* as text 3.11 would be below 3.9 */
        { "python_version < \"3.9\" or sys_platform == 'linux'", MARKER_TRUE },
        { "python_version < '3.9' and sys_platform == 'linux'", MARKER_FALSE },
        { "'3.12' > python_version", MARKER_TRUE },
        { "extra == 'cuda'", MARKER_TRUE },
        { "extra != 'cudnn'", MARKER_TRUE },
        { "'lin' in sys_platform", MARKER_TRUE },
        { "sys_platform not in 'win32 cygwin'", MARKER_TRUE },
        { "(python_version >= '3.8') and (extra == 'x' or (extra == 'cuda'))", MARKER_TRUE },
        { "platform_machine == 'x86_64'", MARKER_UNKNOWN },
        { "platform_machine == 'x86_64' and extra == 'x'", MARKER_FALSE },
        { "platform_machine == 'x86_64' or extra == 'cuda'", MARKER_TRUE },
        { "python_version ~= '3.10'", MARKER_TRUE },
        { "sys_platform ~= 'linux'", MARKER_INVALID },
        { "python_version >= ", MARKER_INVALID },
        { "'a' == 'a'", MARKER_INVALID },
        { "(python_version > '3'", MARKER_INVALID },
        { "python_version > '3')", MARKER_INVALID },
        { "python_version > '3' and", MARKER_INVALID },
        { "unknown_variable == 'x'", MARKER_INVALID },
    };
    char deep[200];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (marker_eval(cases[i].text, &env) != cases[i].expected)
            fail_msg("'%s' gives %d", cases[i].text, (int)marker_eval(cases[i].text, &env));
    memset(deep, '(', sizeof(deep));
    assert_int_equal(marker_eval_n(deep, sizeof(deep), &env), MARKER_INVALID);
}

static void test_tags(void **state)
{
    static const struct wheel_target here = { 3, 11, false, "linux", "x86_64", 36, 0 };
    static const struct wheel_target old = { 3, 8, false, "linux", "x86_64", 17, 0 };
    static const struct wheel_target threaded = { 3, 13, true, "linux", "x86_64", 36, 0 };
    static const struct wheel_target alpine = { 3, 11, false, "linux", "x86_64", 0, 2 };
    static const struct wheel_target windows = { 3, 11, false, "windows", "amd64", 0, 0 };
    struct wheel_file f;
    char buf[16];
    (void)state;
    assert_true(wheel_tag_fits("cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64", &here));
    assert_false(wheel_tag_fits("cp311-cp311-manylinux_2_34_aarch64", &here));
    assert_false(wheel_tag_fits("cp311-cp311-manylinux_2_39_x86_64", &here));
    assert_false(wheel_tag_fits("cp312-cp312-manylinux_2_17_x86_64", &here));
    assert_true(wheel_tag_fits("py2.py3-none-any", &here));
    assert_true(wheel_tag_fits("py3-none-manylinux1_x86_64", &here));
    assert_true(wheel_tag_fits("cp38-abi3-linux_x86_64", &here));
    assert_true(wheel_tag_fits("cp38-cp38-manylinux2014_x86_64", &old));
    assert_false(wheel_tag_fits("cp38-cp38-manylinux_2_27_x86_64", &old));
    assert_true(wheel_tag_fits("cp313-cp313t-manylinux_2_28_x86_64", &threaded));
    assert_false(wheel_tag_fits("cp313-cp313-manylinux_2_28_x86_64", &threaded));
    assert_false(wheel_tag_fits("cp311-cp311-manylinux_2_17_x86_64", &alpine));
    assert_true(wheel_tag_fits("cp311-cp311-musllinux_1_2_x86_64", &alpine));
    assert_true(wheel_tag_fits("cp311-cp311-win_amd64", &windows));
    assert_false(wheel_tag_fits("cp311-cp311", &here));
    assert_true(wheel_python_fits("cp313t", &threaded));
    assert_false(wheel_python_fits("cp313", &threaded));
    assert_string_equal(wheel_python_tag(&threaded, buf, sizeof(buf)), "cp313t");
    assert_int_equal(wheel_glibc_minor("manylinux_2_17_x86_64.manylinux2014_x86_64"), 17);
    assert_int_equal(wheel_glibc_minor("manylinux_2_27_x86_64.manylinux_2_28_x86_64"), 27);
    assert_int_equal(wheel_glibc_minor("win_amd64"), 0);
    assert_int_equal(glibc_minor("2.36"), 36);
    assert_int_equal(glibc_minor("1.2.4"), 0);

    assert_true(wheel_file_parse("torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl", &f));
    assert_memory_equal(f.build.at, "3", f.build.len);
    assert_memory_equal(f.platform.at, "manylinux_2_28_x86_64", f.platform.len);
    assert_true(wheel_file_parse("a-1-py3-none-any.whl", &f));
    assert_int_equal(f.build.len, 0);
    assert_false(wheel_file_parse("a-1-py3-none.whl", &f));
    assert_false(wheel_file_parse("a-1-x-py3-none-any.whl", &f));
    assert_false(wheel_file_parse(".whl", &f));
}

static const char metadata_text[] = "Metadata-Version: 2.1\r\n"
                                    "Name: onnxruntime-gpu\r\n"
                                    "Version: 1.23.2\r\n"
                                    "Requires-Python: >=3.10\r\n"
                                    "Summary: a\r\n"
                                    "  folded: line\r\n"
                                    "requires-dist: numpy>=1.21.6\r\n"
                                    "Requires-Dist: nvidia-cudnn-cu12~=9.0;\r\n"
                                    "  extra == \"cudnn\"\r\n"
                                    "garbage without colon\r\n"
                                    "Provides-Extra: cudnn\r\n"
                                    "Author: \xff\x01 M\xc3\xbcller\r\n"
                                    "\r\n"
                                    "Requires-Dist: not-a-header\r\n";

static void test_metadata(void **state)
{
    struct arena a = { 0 };
    struct metadata m;
    (void)state;
    metadata_parse(metadata_text, strlen(metadata_text), &a, &m);
    assert_string_equal(m.name, "onnxruntime-gpu");
    assert_string_equal(m.version, "1.23.2");
    assert_string_equal(m.requires_python, ">=3.10");
    assert_int_equal(m.n_requires_dist, 2);
    assert_string_equal(m.requires_dist[0], "numpy>=1.21.6");
    struct requirement r;
    assert_true(requirement_parse(m.requires_dist[1], &r));
    assert_true(name_same_n(r.name, "nvidia-cudnn-cu12"));
    assert_int_equal(m.n_provides_extra, 1);
    assert_string_equal(m.provides_extra[0], "cudnn");
    assert_false(m.truncated);
    arena_done(&a);
}

static void test_metadata_hostile(void **state)
{
    struct arena a = { 0 };
    struct metadata m;
    static char big[METADATA_VALUE_MAX + 200];
    (void)state;
    metadata_parse("", 0, &a, &m);
    assert_null(m.name);
    metadata_parse("Name: a\xf0\x80 b\x7f\n", 13, &a, &m);
    assert_non_null(m.name);
    for (const char *p = m.name; *p; p++)
        assert_true((unsigned char)*p >= ' ' && *p != 127);

    memset(big, 'x', sizeof(big));
    memcpy(big, "Name: ", 6);
    memcpy(big + sizeof(big) - 20, "\nVersion: 1\n", 12);
    metadata_parse(big, sizeof(big) - 8, &a, &m);
    assert_null(m.name);
    assert_string_equal(m.version, "1");
    assert_true(m.truncated);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),        cmocka_unit_test(test_not_versions),
        cmocka_unit_test(test_specifiers),   cmocka_unit_test(test_prereleases),
        cmocka_unit_test(test_wishes),       cmocka_unit_test(test_drivers),
        cmocka_unit_test(test_requirements), cmocka_unit_test(test_markers),
        cmocka_unit_test(test_tags),         cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_metadata_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

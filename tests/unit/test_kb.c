/* What the knowledge base must say. Expected values come from the wheels, the index and the
 * vendor's tables, not from the tables under test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "kb/kb.h"
#include "version/driver.h"
#include "version/pep440.h"

static bool has(const char *const *list, const char *item)
{
    for (; *list; list++)
        if (strcmp(*list, item) == 0)
            return true;
    return false;
}

static size_t length(const char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

static void test_ort(void **state)
{
    static const struct {
        const char *version;
        int cuda, cudnn, tensorrt;
        size_t needs;
        const char *needed, *not_needed;
        enum kb_open opened;
        enum kb_known preload, exec_stack;
        int date;
    } cases[] = {
        { "1.11.0", 11040, 8, 8, 5, "libcublas.so.11", "libcublasLt.so.11", KB_OPEN_BARE_NAME,
          KB_NO, KB_YES, 20220325 },
        { "1.15.1", 11080, 8, 8, 6, "libcublasLt.so.11", "libcuda.so.1", KB_OPEN_BARE_NAME, KB_NO,
          KB_YES, 20230616 },
        { "1.17.1", 11080, 8, 8, 6, "libcufft.so.10", "libnvrtc.so.11.2", KB_OPEN_BARE_NAME, KB_NO,
          KB_NO, 20240225 },
        { "1.18.1", 11080, 8, 10, 6, "libcudnn.so.8", "libcudnn.so.9", KB_OPEN_BARE_NAME, KB_NO,
          KB_NO, 20240627 },
        { "1.19.2", 12020, 9, 10, 6, "libcudart.so.12", "libnvrtc.so.12", KB_OPEN_BARE_NAME, KB_NO,
          KB_NO, 20240904 },
        { "1.20.2", 12020, 9, 10, 14, "libcudnn_adv.so.9", "libcuda.so.1", KB_OPEN_BARE_NAME, KB_NO,
          KB_NO, 20250307 },
        { "1.21.0", 12020, 9, 10, 7, "libnvrtc.so.12", "libcudnn_adv.so.9", KB_OPEN_BARE_NAME,
          KB_YES, KB_NO, 20250307 },
        { "1.23.2", 12020, 9, 10, 6, "libcufft.so.11", "libnvrtc.so.12", KB_OPEN_BARE_NAME, KB_YES,
          KB_NO, 20251022 },
        { "1.24.4", 12080, 9, 10, 6, "libcublas.so.12", "libcuda.so.1", KB_OPEN_FULL_PATH, KB_YES,
          KB_NO, 20260317 },
        { "1.27.0", 13000, 9, 10, 8, "libcuda.so.1", "libcudart.so.12", KB_OPEN_FULL_PATH, KB_YES,
          KB_NO, 20260618 },
        { "1.31.1", 13000, 9, 10, 5, "libcurand.so.10", "libcudnn.so.9", KB_OPEN_FULL_PATH, KB_YES,
          KB_NO, 20261026 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct kb_ort *o = kb_ort_find(cases[i].version);
        assert_non_null(o);
        assert_int_equal(o->cuda, cases[i].cuda);
        assert_int_equal(o->cuda_major, cases[i].cuda / 1000);
        assert_int_equal(o->cudnn_major, cases[i].cudnn);
        assert_int_equal(o->tensorrt_major, cases[i].tensorrt);
        assert_int_equal(length(o->needs), cases[i].needs);
        assert_true(has(o->needs, cases[i].needed));
        assert_false(has(o->needs, cases[i].not_needed));
        assert_int_equal(o->opened_by, cases[i].opened);
        assert_int_equal(o->preload_dlls, cases[i].preload);
        assert_int_equal(o->exec_stack, cases[i].exec_stack);
        assert_int_equal(o->date, cases[i].date);
        assert_int_equal(o->prov.confidence, KB_CONF_BINARY);
        assert_non_null(o->prov.source);
    }
    assert_null(kb_ort_find("1.20.1")); /* taken from the index */
    assert_null(kb_ort_find("1.32.0")); /* CPU only */
    assert_ptr_equal(kb_ort_find("1.31.1+local"), kb_ort_find("1.31.1"));
}

static void test_ort_details(void **state)
{
    (void)state;
    assert_int_equal(kb_ort_find("1.15.1")->needs_by, KB_NEEDS_LD_PRELOAD_PY);
    assert_int_equal(kb_ort_find("1.16.0")->needs_by, KB_NEEDS_DT_NEEDED);
    assert_string_equal(kb_ort_find("1.18.1")->cuda_runpath, "/usr/local/cuda-11.8/lib:");
    assert_null(kb_ort_find("1.20.2")->cuda_runpath);
    assert_true(has(kb_ort_find("1.28.0")->lazy, "libcudnn.so.9"));
    assert_true(has(kb_ort_find("1.28.0")->lazy, "libcufft.so.12"));
    assert_int_equal(length(kb_ort_find("1.27.0")->lazy), 0);
    assert_true(has(kb_ort_find("1.27.0")->pybind_needs, "libcudart.so.13"));
    assert_string_equal(kb_ort_find("1.17.0")->glibc_tag, "2.28");
    assert_string_equal(kb_ort_find("1.17.0")->glibc_needed, "2.27");
    assert_null(kb_ort_find("1.28.0")->glibc_tag_aarch64);
    assert_string_equal(kb_ort_find("1.29.0")->glibc_tag_aarch64, "2.34");
    assert_true(has(kb_ort_find("1.20.0")->py_linux, "cp313t"));
    assert_false(has(kb_ort_find("1.24.1")->py_linux, "cp310"));
    size_t n = 0;
    for (const struct kb_ort *o; (o = kb_ort_at(n)) != NULL; n++)
        if (n)
            assert_true(pep440_compare_text(kb_ort_at(n - 1)->version, o->version) < 0);
    assert_int_equal(n, 35);
}

static void test_nearest(void **state)
{
    static const char *const cases[][2] = { { "1.20.1", "1.20.0" },     { "1.22.1", "1.22.0" },
                                            { "1.31.1", "1.31.1" },     { "1.40.0", "1.31.1" },
                                            { "1.2.0", "1.11.0" },      { "1.23.1", "1.23.0" },
                                            { "1.32.0.dev1", "1.31.1" } };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(kb_ort_nearest(cases[i][0])->version, cases[i][1]);
    assert_null(kb_ort_nearest("newest"));
}

static void test_newest(void **state)
{
    (void)state;
#define newest(...) kb_ort_newest(&(struct kb_ort_wish){ __VA_ARGS__ })->version
    assert_string_equal(newest(0), "1.31.1");
    assert_string_equal(newest(.cuda_major = 12), "1.26.0");
    assert_string_equal(newest(.cuda_major = 11), "1.18.1");
    assert_string_equal(newest(.py_tag = "cp310"), "1.23.2");
    assert_string_equal(newest(.py_tag = "cp38"), "1.19.2");
    assert_string_equal(newest(.glibc = "2.17"), "1.16.3");
    assert_string_equal(newest(.glibc = "2.27"), "1.28.0");
    assert_string_equal(newest(.cc = 70), "1.26.0");  /* V100 */
    assert_string_equal(newest(.cc = 100), "1.28.0"); /* B200: sm_100a went with 1.29 */
    assert_string_equal(newest(.cc = 90, .platform = KB_WIN_AMD64), "1.28.0");
    assert_string_equal(newest(.platform = KB_LINUX_AARCH64), "1.31.1");
    assert_string_equal(newest(.spec = "<1.20"), "1.19.2");
    assert_string_equal(newest(.as_of = 20251001), "1.23.0");
#undef newest
    assert_null(kb_ort_newest(&(struct kb_ort_wish){ .cuda_major = 10 }));
    assert_null(
        kb_ort_newest(&(struct kb_ort_wish){ .cuda_major = 12, .platform = KB_LINUX_AARCH64 }));
}

static void test_gpu_code(void **state)
{
    static const struct {
        const char *version;
        enum kb_platform platform;
        int cc;
        enum kb_cover expected;
    } cases[] = {
        { "1.31.1", KB_LINUX_X86_64, 75, KB_COVER_CUBIN },
        { "1.31.1", KB_LINUX_X86_64, 70, KB_COVER_NONE },
        { "1.31.1", KB_LINUX_X86_64, 87, KB_COVER_CUBIN },
        { "1.31.1", KB_LINUX_X86_64, 90, KB_COVER_CUBIN },
        { "1.31.1", KB_LINUX_X86_64, 100, KB_COVER_NONE },
        { "1.31.1", KB_LINUX_X86_64, 121, KB_COVER_NONE },
        { "1.31.1", KB_LINUX_AARCH64, 121, KB_COVER_CUBIN },
        { "1.31.1", KB_WIN_AMD64, 90, KB_COVER_PARTIAL },
        { "1.29.0", KB_WIN_AMD64, 120, KB_COVER_PARTIAL },
        { "1.30.0", KB_WIN_AMD64, 120, KB_COVER_CUBIN },
        { "1.28.0", KB_LINUX_X86_64, 103, KB_COVER_NONE },
        { "1.28.0", KB_LINUX_X86_64, 121, KB_COVER_PTX },
        { "1.23.0", KB_LINUX_X86_64, 120, KB_COVER_NONE }, /* compute_90a only */
        { "1.23.2", KB_LINUX_X86_64, 120, KB_COVER_PTX },
        { "1.20.2", KB_LINUX_X86_64, 89, KB_COVER_CUBIN }, /* sm_80 serves 8.9 */
        { "1.20.2", KB_LINUX_X86_64, 90, KB_COVER_PTX },
        { "1.22.0", KB_WIN_AMD64, 80, KB_COVER_NONE },
        { "1.22.0", KB_WIN_AMD64, 70, KB_COVER_NONE }, /* 6.1 is another major, PTX 9.0 is above */
        { "1.14.1", KB_LINUX_X86_64, 37, KB_COVER_CUBIN },
        { "1.15.0", KB_LINUX_X86_64, 50, KB_COVER_NONE },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct kb_gpu_code *code = kb_ort_gpu_code(cases[i].version, cases[i].platform);
        assert_non_null(code);
        if (kb_gpu_code_cover(code, cases[i].cc) != cases[i].expected)
            fail_msg("%s %s %d gives %d", cases[i].version, kb_platform_name(cases[i].platform),
                     cases[i].cc, (int)kb_gpu_code_cover(code, cases[i].cc));
    }
    assert_int_equal(kb_ort_gpu_code("1.20.2", KB_LINUX_X86_64)->ptx_cuda, 12020);
    assert_int_equal(kb_ort_gpu_code("1.28.0", KB_LINUX_X86_64)->ptx_cuda, 13000);
    assert_int_equal(kb_ort_gpu_code("1.24.1", KB_WIN_AMD64)->prov.confidence, KB_CONF_INFERENCE);
    assert_null(kb_ort_gpu_code("1.28.0", KB_LINUX_AARCH64));
    assert_int_equal(kb_gpu_code_cover(NULL, 80), KB_COVER_UNKNOWN);
    for (size_t i = 0; kb_ort_at(i); i++) { /* each release has code known for both */
        assert_non_null(kb_ort_gpu_code(kb_ort_at(i)->version, KB_LINUX_X86_64));
        assert_non_null(kb_ort_gpu_code(kb_ort_at(i)->version, KB_WIN_AMD64));
    }
}

static void test_extras(void **state)
{
    (void)state;
    assert_null(kb_extra_find("1.20.2", "cuda"));
    const struct kb_extra *e = kb_extra_find("1.23.2", "cuda");
    assert_non_null(e);
    assert_true(has(e->requires, "nvidia-cufft-cu12~=11.0"));
    assert_true(has(e->brings, "libcufft.so.11"));
    assert_false(has(e->brings, "libcublas.so.12"));
    assert_true(has(kb_extra_find("1.23.2", "cudnn")->brings, "libcublas.so.12"));
    assert_int_equal(kb_extra_find("1.27.0", "cuda")->installable, KB_NO);
    assert_int_equal(kb_extra_find("1.28.0", "cuda")->installable, KB_YES);
    /* what an installable extra names exists, and both together bring everything but the driver's
     * library */
    for (size_t i = 0; (e = kb_extra_at(i)) != NULL; i++)
        for (size_t k = 0; e->requires[k]; k++) {
            char name[64];
            const char *spec = strpbrk(e->requires[k], "~=<>");
            assert_non_null(spec);
            assert_true((size_t)(spec - e->requires[k]) < sizeof(name));
            memcpy(name, e->requires[k], (size_t)(spec - e->requires[k]));
            name[spec - e->requires[k]] = '\0';
            assert_int_equal(kb_wheel_newest(name, spec, 0) != NULL, e->installable == KB_YES);
        }
    for (size_t i = 0; kb_ort_at(i); i++) {
        const struct kb_ort *o = kb_ort_at(i);
        const struct kb_extra *cuda = kb_extra_find(o->version, "cuda");
        const struct kb_extra *cudnn = kb_extra_find(o->version, "cudnn");
        if (!cuda || cuda->installable != KB_YES)
            continue;
        for (size_t k = 0; o->needs[k]; k++)
            if (strcmp(o->needs[k], "libcuda.so.1") != 0)
                assert_true(has(cuda->brings, o->needs[k]) || has(cudnn->brings, o->needs[k]));
    }
}

static void test_dists(void **state)
{
    (void)state;
    assert_int_equal(kb_dist_find("ONNXRuntime_GPU")->kind, KB_DIST_CUDA);
    assert_int_equal(kb_dist_find("onnxruntime")->kind, KB_DIST_CPU);
    assert_int_equal(kb_dist_find("onnxruntime-directml")->owns_package, KB_YES);
    assert_int_equal(kb_dist_find("onnxruntime-genai-cuda")->kind, KB_DIST_PLUGIN);
    assert_null(kb_dist_find("onnx"));
    assert_int_equal(kb_dist_find_in("conda", "onnxruntime")->kind, KB_DIST_CUDA);
    assert_string_equal(kb_dist_release_find("onnxruntime", "1.32.0")->glibc_tag, "2.28");
    assert_null(kb_dist_release_find("onnxruntime", "1.20.2"));
    assert_int_equal(kb_feed_find("1.19.2", 11)->cuda, 11080);
    assert_int_equal(kb_feed_find("1.18.1", 12)->cudnn_major, 9);
    assert_int_equal(kb_feed_find("1.18.0", 12)->cudnn_major, 8);
    assert_int_equal(kb_feed_find("1.26.0", 13)->cuda, 13000);
    assert_null(kb_feed_find("1.22.0", 11));
    assert_string_equal(kb_numpy_find("1.17.1", KB_LINUX_X86_64, "cp312")->spec, ">=1.26.0");
    assert_string_equal(kb_numpy_find("1.17.1", KB_WIN_AMD64, "cp312")->spec, ">=1.26.4");
    assert_string_equal(kb_numpy_find("1.17.1", KB_LINUX_X86_64, "cp38")->spec, ">=1.21.6");
    assert_null(kb_numpy_find("1.17.1", KB_LINUX_X86_64, "cp313"));
    assert_int_equal(kb_numpy_abi_find("1.18.1")->abi, 1);
    assert_int_equal(kb_numpy_abi_find("1.19.0")->abi, 2);
}

static void test_torch(void **state)
{
    (void)state;
    const struct kb_torch *t = kb_torch_find("2.4.1+cu121");
    assert_non_null(t);
    assert_int_equal(t->cuda, 12010);
    assert_int_equal(t->cudnn_major, 9);
    assert_string_equal(t->cudnn, "9.1.0.70");
    assert_true(has(t->pins, "nvidia-cudnn-cu12==9.1.0.70"));
    assert_int_equal(kb_torch_find("2.3.1")->cudnn_major, 8);
    assert_int_equal(kb_torch_find("1.12.1")->cudnn_major, 0);
    assert_int_equal(kb_torch_find("2.11.0")->cuda_major, 13);
    assert_true(has(kb_torch_find("2.11.0")->needs, "libcurand.so.10"));
    assert_false(has(kb_torch_find("2.15.0")->needs, "libcurand.so.10"));
    assert_int_equal(kb_torch_find("2.14.1")->needs_known, KB_NO);
    assert_null(kb_torch_find("2.16.0"));
    assert_int_equal(kb_torch_label_cuda("2.4.1+cu118"), 11080);
    assert_int_equal(kb_torch_label_cuda("2.11.0+cu130"), 13000);
    assert_int_equal(kb_torch_label_cuda("2.4.1+cpu"), -1);
    assert_int_equal(kb_torch_label_cuda("2.4.1"), 0);
    assert_int_equal(kb_torch_label_cuda("2.4.1+cu12x"), 0);
}

static void test_sonames(void **state)
{
    static const struct {
        const char *soname;
        int cuda_major;
        const char *package, *folder;
    } cases[] = {
        { "libcublasLt.so.11", 11, "nvidia-cublas-cu11", "nvidia/cublas/lib" },
        { "libcublasLt.so.12", 12, "nvidia-cublas-cu12", "nvidia/cublas/lib" },
        { "libcublasLt.so.13", 13, "nvidia-cublas", "nvidia/cu13/lib" },
        { "libcudart.so.11.0", 11, "nvidia-cuda-runtime-cu11", "nvidia/cuda_runtime/lib" },
        { "libcudart.so.13", 13, "nvidia-cuda-runtime", "nvidia/cu13/lib" },
        { "libcudnn.so.9", 12, "nvidia-cudnn-cu12", "nvidia/cudnn/lib" },
        { "libcudnn.so.9", 13, "nvidia-cudnn-cu13", "nvidia/cudnn/lib" },
        { "libcudnn.so.8", 12, "nvidia-cudnn-cu12", "nvidia/cudnn/lib" },
        { "libcufft.so.11", 12, "nvidia-cufft-cu12", "nvidia/cufft/lib" },
        { "libcurand.so.10", 11, "nvidia-curand-cu11", "nvidia/curand/lib" },
        { "libcurand.so.10", 13, "nvidia-curand", "nvidia/cu13/lib" },
        { "libnvinfer.so.10", 12, "tensorrt-cu12", "tensorrt_libs" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct kb_soname *s = kb_soname_find(cases[i].soname, cases[i].cuda_major);
        assert_non_null(s);
        assert_string_equal(s->package, cases[i].package);
        assert_string_equal(s->folder, cases[i].folder);
    }
    assert_null(kb_soname_find("libcuda.so.1", 12));
    assert_null(kb_soname_find("libcublasLt.so.12", 13));
    assert_null(kb_soname_find("libcudnn.so.8", 13));
    assert_string_equal(kb_soname_find_in("conda", "libcudart.so.12", 12)->package, "cuda-cudart");
    assert_string_equal(kb_soname_find_in("conda", "libcufft.so.10", 11)->package, "cudatoolkit");
    assert_string_equal(kb_soname_find_in("apt", "libcudnn.so.9", 12)->package,
                        "libcudnn9-cuda-12");

    assert_string_equal(kb_soname_for_cuda("libcublasLt.so.11", 12), "libcublasLt.so.12");
    assert_string_equal(kb_soname_for_cuda("libcufft.so.10", 13), "libcufft.so.12");
    assert_string_equal(kb_soname_for_cuda("libcurand.so.10", 13), "libcurand.so.10");
    assert_string_equal(kb_soname_for_cuda("libcudnn.so.8", 13), "libcudnn.so.9");
    assert_string_equal(kb_soname_for_cuda("libcudart.so.12", 11), "libcudart.so.11.0");
    assert_string_equal(kb_soname_for_cuda("cublas64_11.dll", 13), "cublas64_13.dll");
    assert_null(kb_soname_for_cuda("libcuda.so.1", 12));
    assert_true(kb_soname_ambiguous("libcudnn.so.9"));
    assert_true(kb_soname_ambiguous("libcurand.so.10"));
    assert_false(kb_soname_ambiguous("libcudart.so.12"));
    assert_false(kb_soname_ambiguous("libcuda.so.1"));
}

/* Every soname that some release needs is identified, and has a package unless it belongs to the
 * driver. */
static void test_sonames_complete(void **state)
{
    (void)state;
    for (size_t i = 0; kb_ort_at(i); i++) {
        const struct kb_ort *o = kb_ort_at(i);
        const char *const *lists[] = { o->needs, o->lazy, o->trt_needs, o->pybind_needs };
        for (size_t k = 0; k < ARRAY_LEN(lists); k++)
            for (const char *const *so = lists[k]; *so; so++) {
                const struct kb_library *l = kb_library_find(*so);
                assert_non_null(l);
                assert_int_equal(l->family, kb_soname_family(*so));
                if (l->cuda_first)
                    assert_true(l->cuda_first <= o->cuda_major && o->cuda_major <= l->cuda_last);
                if (l->family == KB_FAMILY_DRIVER || l->family == KB_FAMILY_TENSORRT)
                    continue;
                const struct kb_soname *s = kb_soname_find(*so, o->cuda_major);
                assert_non_null(s);
                assert_non_null(kb_wheel_newest(s->package, s->spec, 0));
                assert_int_equal(kb_package_cuda_major(s->package), o->cuda_major);
            }
    }
}

static void test_families(void **state)
{
    static const struct {
        const char *soname;
        enum kb_family family;
    } cases[] = {
        { "libcublas.so.99", KB_FAMILY_CUBLAS },
        { "libcublasLt.so.12", KB_FAMILY_CUBLAS },
        { "libcudnn_adv_infer.so.8", KB_FAMILY_CUDNN },
        { "cudnn_ops64_9.dll", KB_FAMILY_CUDNN },
        { "libcuda.so.1", KB_FAMILY_DRIVER },
        { "libcudart.so.12", KB_FAMILY_CUDART },
        { "cudart64_110.dll", KB_FAMILY_CUDART },
        { "nvinfer_10.dll", KB_FAMILY_TENSORRT },
        { "libnvinfer_plugin.so.8", KB_FAMILY_TENSORRT },
        { "libnvrtc-builtins.so.12.9", KB_FAMILY_NVRTC },
        { "nvcuda.dll", KB_FAMILY_DRIVER },
        { "libc.so.6", KB_FAMILY_UNKNOWN },
        { "libcudnnx.so.1", KB_FAMILY_UNKNOWN },
        { "", KB_FAMILY_UNKNOWN },
        { ".so.1", KB_FAMILY_UNKNOWN },
        { "libcublas", KB_FAMILY_UNKNOWN },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (kb_soname_family(cases[i].soname) != cases[i].family)
            fail_msg("%s is %s", cases[i].soname,
                     kb_family_name(kb_soname_family(cases[i].soname)));
}

static void test_specs(void **state)
{
    static const struct {
        const char *soname;
        int cuda_major, cc;
        const char *spec; /* NULL: none */
    } cases[] = {
        { "libcudnn.so.9", 12, 0, ">=9,<10" },
        { "libcudnn.so.9", 12, 89, ">=9,<10" },
        { "libcudnn.so.9", 12, 70, ">=9,<9.11" },  /* V100 */
        { "libcudnn.so.9", 12, 61, ">=9,<9.11" },
        { "libcudnn.so.9", 12, 120, ">=9.7,<10" }, /* Blackwell */
        { "libcudnn.so.9", 13, 75, ">=9.12,<10" },
        { "libcudnn.so.9", 13, 70, NULL },
        { "libcudnn.so.8", 12, 70, ">=8.8,<9" },
        { "libcudnn.so.8", 12, 120, NULL },
        { "libcudnn.so.9", 11, 89, ">=9,<10" },
        { "libcublas.so.12", 12, 70, ">=12,<13" },
        { "libnvinfer.so.10", 13, 89, ">=10.13,<11" },
        { "libcuda.so.1", 12, 89, NULL },
    };
    char spec[64];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool found =
            kb_soname_spec(cases[i].soname, cases[i].cuda_major, cases[i].cc, spec, sizeof(spec));
        if (found != (cases[i].spec != NULL) || (found && strcmp(spec, cases[i].spec) != 0))
            fail_msg("%s for CUDA %d and %d: %s", cases[i].soname, cases[i].cuda_major, cases[i].cc,
                     found ? spec : "none");
    }
    assert_false(kb_soname_spec("libcudnn.so.9", 12, 0, spec, 4));
}

static void test_wheels(void **state)
{
    (void)state;
    assert_string_equal(kb_wheel_newest("nvidia-cudnn-cu12", ">=9,<9.11", 0)->version, "9.10.2.21");
    assert_string_equal(kb_wheel_newest("nvidia-cudnn-cu12", ">=8,<9", 0)->version, "8.9.7.29");
    assert_string_equal(kb_wheel_newest("nvidia-cudnn-cu11", "<9", 0)->version, "8.9.6.50");
    assert_string_equal(kb_wheel_newest("nvidia-cudnn-cu12", NULL, 0)->version, "9.28.0.42");
    assert_string_equal(kb_wheel_newest("nvidia-cudnn-cu12", NULL, 20250101)->version, "9.6.0.74");
    assert_string_equal(kb_wheel_newest("nvidia-cublas", "~=13.0", 0)->version, "13.10.0.20");
    assert_string_equal(kb_wheel_newest("tensorrt-cu12", "<11", 0)->version, "10.16.1.11");
    assert_string_equal(kb_wheel_newest("tensorrt-cu12", NULL, 0)->version, "11.4.0.106");
    assert_null(kb_wheel_newest("nvidia-cuda-runtime-cu13", NULL, 0)); /* a placeholder */
    assert_null(kb_wheel_newest("no-such-package", NULL, 0));
    assert_null(kb_wheel_newest("nvidia-cublas", "not a specifier", 0));
    assert_int_equal(kb_wheel_version_find("nvidia-cudnn-cu12", "9.25.0.15")->yanked, KB_YES);
    assert_null(kb_wheel_version_find("nvidia-cudnn-cu12", "9.25.0.16"));
    assert_int_equal(kb_package_cuda_major("nvidia-cudnn-cu13"), 13);
    assert_int_equal(kb_package_cuda_major("nvidia_cublas"), 13);
    assert_int_equal(kb_package_cuda_major("nvidia-nccl-cu12"), 12);
    assert_int_equal(kb_package_cuda_major("torch"), 0);
    for (size_t i = 0; kb_wheel_at(i);
         i++) { /* what the table calls newest is what the versions say */
        const struct kb_wheel *w = kb_wheel_at(i);
        if (w->placeholder != KB_YES)
            assert_string_equal(kb_wheel_newest(w->package, NULL, 0)->version, w->newest);
    }
}

static void test_drivers(void **state)
{
    static const struct {
        const char *driver;
        int cuda;
    } natives[] = {
        { "525.60.13", 12000 },  { "550.54.14", 12040 }, { "552.22", 12040 },
        { "565.57.01", 12070 },  { "580.65.06", 13000 }, { "591.44", 13010 },
        { "450.51.05", 11000 },  { "390.157", 0 },       { "junk", 0 },
        { "470.256.02", 11040 },
    };
    (void)state;
    assert_string_equal(kb_driver_floor(11, KB_OS_LINUX)->driver, "450.80.02");
    assert_string_equal(kb_driver_floor(12, KB_OS_LINUX)->driver, "525.60.13");
    assert_string_equal(kb_driver_floor(13, KB_OS_LINUX)->driver, "580.65.06");
    assert_string_equal(kb_driver_floor(12, KB_OS_WINDOWS)->driver, "527.41");
    assert_null(kb_driver_floor(14, KB_OS_LINUX));
    for (size_t i = 0; i < ARRAY_LEN(natives); i++)
        assert_int_equal(kb_driver_native_cuda(natives[i].driver), natives[i].cuda);
    assert_int_equal(kb_branch_for_cuda(12080)->branch, 570);
    assert_int_equal(kb_branch_find(535)->cuda, 12020);
    assert_null(kb_branch_find(536));
    assert_null(kb_branch_for_cuda(14000));
    assert_int_equal(kb_compat_find(13000, 535)->works, KB_YES);
    assert_int_equal(kb_compat_find(12080, 580)->works, KB_NO);
    assert_int_equal(kb_compat_find(13000, 580)->needless, KB_YES);
    /* a toolkit's driver is of a branch that knows that toolkit */
    for (size_t i = 0; kb_toolkit_at(i); i++) {
        const struct kb_toolkit *t = kb_toolkit_at(i);
        if (t->driver_linux)
            assert_true(kb_driver_native_cuda(t->driver_linux) >= t->cuda);
        if (t->driver_windows)
            assert_true(kb_driver_native_cuda(t->driver_windows) >= t->cuda);
    }
}

static void test_gpus(void **state)
{
    static const struct {
        const char *name;
        int cc;
    } gpus[] = {
        { "NVIDIA L4", 89 },
        { "NVIDIA L40S", 89 },
        { "Tesla V100-SXM2-16GB", 70 },
        { "NVIDIA A100-SXM4-40GB", 80 },
        { "NVIDIA H100 80GB HBM3", 90 },
        { "NVIDIA H200", 90 },
        { "NVIDIA B200", 100 },
        { "NVIDIA GeForce RTX 4070 Ti SUPER", 89 },
        { "NVIDIA GeForce RTX 3080 Laptop GPU", 86 },
        { "rtx 4090", 89 },
        { "NVIDIA RTX 6000 Ada Generation", 89 },
        { "Quadro RTX 6000", 75 },
        { "NVIDIA TITAN X (Pascal)", 61 },
        { "GeForce GTX TITAN X", 0 }, /* 5.2, not the Pascal one */
        { "NVIDIA A10G", 0 },
        { "Tesla T4", 75 },
        { "", 0 },
        { "---", 0 },
    };
    static const struct {
        const char *name;
        int cc;
    } chips[] = {
        { "AD104GL [L4]", 89 },
        { "GA102", 86 },
        { "GH100 [H100 PCIe]", 90 },
        { "GV100GL [Tesla V100 PCIe 16GB]", 70 },
        { "TU104GL [Tesla T4]", 75 },
        { "GA100 [A100 PCIe 40GB]", 80 },
        { "GB202 [GeForce RTX 5090]", 120 },
        { "GP104", 61 },
        { "GA1020", 0 },
        { "", 0 },
        { "G80", 0 },
        { "GB20B", 121 },
    };
    static const struct {
        int id, cc;
        const char *chip;
    } ids[] = { { 0x27b8, 89, "AD104" },  { 0x2235, 86, "GA102" }, { 0x1db4, 70, "GV100" },
                { 0x1eb8, 75, "TU104" },  { 0x20b0, 80, "GA100" }, { 0x2330, 90, "GH100" },
                { 0x2901, 100, "GB100" }, { 0x2b85, 120, "GB202" } };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++) {
        const struct kb_gpu *g = kb_gpu_find(gpus[i].name);
        if ((g ? g->cc : 0) != gpus[i].cc)
            fail_msg("%s gives %s", gpus[i].name, g ? g->name : "nothing");
    }
    for (size_t i = 0; i < ARRAY_LEN(chips); i++) {
        const struct kb_chip *c = kb_chip_find(chips[i].name);
        if ((c ? c->cc : 0) != chips[i].cc)
            fail_msg("%s gives %s", chips[i].name, c ? c->chip : "nothing");
    }
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        const struct kb_chip *c = kb_chip_by_pci_id(ids[i].id);
        assert_non_null(c);
        assert_string_equal(c->chip, ids[i].chip);
        assert_int_equal(c->cc, ids[i].cc);
    }
    assert_null(kb_chip_by_pci_id(0x0001));
    for (size_t i = 1; kb_chip_at(i); i++) /* sorted, no overlap */
        assert_true(kb_chip_at(i - 1)->pci_last < kb_chip_at(i)->pci_first);
    assert_int_equal(kb_arch_find(70)->branch_last, 580);
    assert_int_equal(kb_arch_find(37)->branch_last, 470);
    assert_int_equal(kb_arch_find(89)->cuda_first, 11080);
    assert_int_equal(kb_arch_find(61)->cuda_last, 12090);
    assert_null(kb_arch_find(99));
}

static void test_cc_text(void **state)
{
    static const struct {
        const char *text;
        int cc;
    } cases[] = {
        { "8.6", 86 },   { "86", 86 }, { "sm_86", 86 }, { "sm_90a", 90 }, { "compute_120", 120 },
        { "12.0", 120 }, { "8", 0 },   { "8.60", 0 },   { "sm_", 0 },     { "1.2.3", 0 },
        { "L4", 0 },     { "", 0 },    { "8.", 0 },     { "9999", 0 },
        { "99999999999999999999", 0 }
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (kb_cc_parse(cases[i].text) != cases[i].cc)
            fail_msg("%s gives %d", cases[i].text, kb_cc_parse(cases[i].text));
}

static void test_cudnn(void **state)
{
    (void)state;
    assert_non_null(kb_cudnn_dropped(70, "9.11.0.98", 12));
    assert_null(kb_cudnn_dropped(70, "9.10.2.21", 12));
    assert_null(kb_cudnn_dropped(75, "9.28.0.42", 12));
    assert_non_null(kb_cudnn_dropped(120, "9.5.1.17", 12));
    assert_null(kb_cudnn_dropped(120, "9.10.2.21", 12));
    assert_non_null(kb_cudnn_dropped(61, "9.13.0.50", 13));
    assert_null(kb_cudnn_dropped(0, "9.13.0.50", 13));
    assert_null(kb_cudnn_dropped(70, "junk", 12));
    assert_null(kb_cudnn_find("7.6.5", 10));
}

static void test_whole(void **state)
{
    static const char *const rules[] = { "cuda-minor",          "cudnn-major", "same-soname",
                                         "wheels-not-searched", "exec-stack",  "libcuda-driver",
                                         "one-package",         "ptx-driver" };
    (void)state;
    assert_string_equal(kb_date(), "2026-12-01");
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        assert_non_null(kb_rule_find(rules[i]));
    assert_null(kb_rule_find("no such rule"));
    for (size_t i = 0; kb_rule_at(i); i++)
        assert_non_null(kb_source_find(kb_rule_at(i)->prov.source->id));
    assert_string_equal(kb_confidence_name(KB_CONF_INFERENCE), "inference");
    assert_string_equal(kb_confidence_name((enum kb_confidence)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ort),      cmocka_unit_test(test_ort_details),
        cmocka_unit_test(test_nearest),  cmocka_unit_test(test_newest),
        cmocka_unit_test(test_gpu_code), cmocka_unit_test(test_extras),
        cmocka_unit_test(test_dists),    cmocka_unit_test(test_torch),
        cmocka_unit_test(test_sonames),  cmocka_unit_test(test_sonames_complete),
        cmocka_unit_test(test_families), cmocka_unit_test(test_specs),
        cmocka_unit_test(test_wheels),   cmocka_unit_test(test_drivers),
        cmocka_unit_test(test_gpus),     cmocka_unit_test(test_cc_text),
        cmocka_unit_test(test_cudnn),    cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

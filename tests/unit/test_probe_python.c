/* Python environments and ONNX Runtime installations in trees made for the purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "probe/python.h"
#include "tree.h"

#define SITE "opt/venv/lib/python3.11/site-packages/"
#define PYBIND "onnxruntime/capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so"
#define CUDA "onnxruntime/capi/libonnxruntime_providers_cuda.so"

struct seen {
    struct place *place;
    struct snapshot s;
    struct err e;
    int r;
};

static void see_with(struct seen *seen, const char *dir, const struct probe_request *want,
                     const char *name, const char *value)
{
    memset(seen, 0, sizeof *seen);
    assert_int_equal(place_open_root(dir, &seen->place, &seen->e), 0);
    if (name)
        place_setenv(seen->place, name, value);
    seen->s.place = seen->place;
    seen->r = probe_python(&seen->s, want, &seen->e);
    if (seen->r == 0)
        seen->r = probe_ort(&seen->s, want, &seen->e);
}

static void see(struct seen *seen, const char *dir, const struct probe_request *want)
{
    see_with(seen, dir, want, NULL, NULL);
}

static void unsee(struct seen *seen)
{
    snapshot_done(&seen->s);
    place_free(seen->place);
}

static const struct fact *fact_of(const struct seen *seen, const char *key)
{
    for (size_t i = 0; i < seen->s.facts.n; i++)
        if (str_eq(seen->s.facts.at[i]->key, key))
            return seen->s.facts.at[i];
    return NULL;
}

static void file_of_size(const char *dir, const char *name, size_t n, char fill)
{
    char *bytes = malloc(n + 1);
    memset(bytes, fill, n);
    tree_bytes(dir, name, bytes, n);
    free(bytes);
}

static void venv(const char *dir)
{
    tree_file(dir, "opt/venv/pyvenv.cfg",
              "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n");
    tree_dir(dir, SITE);
}

static void dist(const char *dir, const char *site, const char *info, const char *record)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s/METADATA", site, info);
    tree_file(
        dir, name,
        "Metadata-Version: 2.1\nRequires-Dist: numpy>=1.21\nRequires-Dist: flatbuffers\n\nbody\n");
    snprintf(name, sizeof name, "%s%s/INSTALLER", site, info);
    tree_file(dir, name, "pip\n");
    if (!record)
        return;
    snprintf(name, sizeof name, "%s%s/RECORD", site, info);
    tree_file(dir, name, record);
}

/* --- environments --- */

static void test_root_search(void **state)
{
    (void)state;
    char *dir = tree_new();
    venv(dir);
    tree_file(dir, "usr/lib/python3.9/os.py", "");
    tree_file(dir, "usr/bin/python3.9", "\177ELF");
    tree_link(dir, "usr/bin/python3", "python3.9");
    tree_file(dir, "opt/tool/bin/python3", "\177ELF");
    tree_file(dir, "opt/tool/pyvenv.cfg", "home = /usr/bin\nversion_info = 3.9.2\n");
    tree_file(dir, "usr/local/bin/python3.12", "\177ELF");
    assert_int_equal(chmod(tree_path(dir, "usr/local/bin/python3.12"), 0755), 0);
    tree_file(dir, "usr/local/lib/python3.12/os.py", "");
    tree_file(dir, "usr/local/lib/python3.12/site-packages/onnxruntime/__init__.py",
              "__version__ = \"1.19.2\"\n");
    struct seen seen;
    struct probe_request want = { 0 };
    see(&seen, dir, &want);
    assert_int_equal(seen.r, 0);
    assert_int_equal(seen.s.envs.n, 4);
    assert_string_equal(seen.s.envs.at[0]->prefix, "/usr/local"); /* has an onnxruntime */
    assert_string_equal(seen.s.envs.at[1]->prefix, "/opt/venv");
    assert_string_equal(seen.s.envs.at[2]->prefix, "/opt/tool");
    assert_string_equal(seen.s.envs.at[3]->prefix, "/usr");
    assert_int_equal(seen.s.envs.at[0]->minor, 12);
    assert_int_equal(seen.s.envs.at[1]->kind, ENV_VENV);
    assert_null(seen.s.envs.at[1]->exe);
    assert_int_equal(seen.s.envs.at[2]->minor, 9);
    assert_string_equal(seen.s.envs.at[3]->exe, "/usr/bin/python3.9");
    assert_int_equal(seen.s.targets.n, 4);
    assert_string_equal(seen.s.targets.at[0].ort->version, "1.19.2");
    assert_null(seen.s.targets.at[0].ort->package);
    assert_null(seen.s.targets.at[1].ort);
    unsee(&seen);
    tree_remove(dir);
}

static void test_active_first(void **state)
{
    (void)state;
    char *dir = tree_new();
    venv(dir);
    tree_file(dir, SITE "onnxruntime/__init__.py", "");
    tree_file(dir, "work/x/pyvenv.cfg", "version = 3.12.1\n");
    tree_dir(dir, "work/x/lib/python3.12/site-packages");
    struct seen seen;
    struct probe_request want = { 0 };
    see_with(&seen, dir, &want, "VIRTUAL_ENV", "/work/x");
    assert_int_equal(seen.s.envs.n, 2);
    assert_string_equal(seen.s.envs.at[0]->prefix, "/work/x"); /* though it has no onnxruntime */
    assert_string_equal(seen.s.envs.at[0]->why, "VIRTUAL_ENV");
    unsee(&seen);
    see_with(&seen, dir, &want, "VIRTUAL_ENV", "/work/gone");
    assert_int_equal(seen.s.envs.n, 1);
    assert_int_equal(fact_of(&seen, "python.VIRTUAL_ENV")->known, KNOWN_ABSENT);
    unsee(&seen);
    tree_remove(dir);
}

static void test_pyenv_shim(void **state)
{
    (void)state;
    static const struct {
        const char *local, *global, *variable, *expect;
    } rows[] = {
        { NULL, "3.11\n", NULL, "/p/versions/3.11.10" },
        { "# comment\n\n 3.9.1 \n", "3.11\n", NULL, "/p/versions/3.9.1" },
        { "3.9.1\n", NULL, "3.11.7", "/p/versions/3.11.7" },
        { "4.0\n3.9.1\n", NULL, NULL, "/p/versions/3.9.1" },
        { "../../opt\n", NULL, NULL,
          "/usr" }, /* not followed out of versions/: as if it named nothing */
        { "system\n", NULL, NULL, "/usr" },
        { "4.0\n", NULL, NULL, NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *dir = tree_new();
        static const char *const versions[] = { "3.9.1", "3.11.7", "3.11.10" };
        for (size_t k = 0; k < ARRAY_LEN(versions); k++) {
            char name[128];
            snprintf(name, sizeof name, "p/versions/%s/bin/python3", versions[k]);
            tree_file(dir, name, "\177ELF");
            snprintf(name, sizeof name, "p/versions/%s/lib/python3.%d/os.py", versions[k],
                     k ? 11 : 9);
            tree_file(dir, name, "");
        }
        tree_file(dir, "p/shims/python3", "#!/usr/bin/env bash\nexec pyenv exec\n");
        tree_file(dir, "usr/bin/python3", "\177ELF");
        tree_file(dir, "usr/lib/python3.10/os.py", "");
        assert_int_equal(chmod(tree_path(dir, "p/shims/python3"), 0755), 0);
        assert_int_equal(chmod(tree_path(dir, "usr/bin/python3"), 0755), 0);
        if (rows[i].local)
            tree_file(dir, ".python-version", rows[i].local);
        if (rows[i].global)
            tree_file(dir, "p/version", rows[i].global);
        struct seen seen = { 0 };
        struct probe_request want = { .python = "python3" };
        assert_int_equal(place_open_root(dir, &seen.place, &seen.e), 0);
        place_setenv(seen.place, "PATH", "/p/shims:/usr/bin");
        place_setenv(seen.place, "PYENV_VERSION", rows[i].variable);
        seen.s.place = seen.place;
        int r = probe_python(&seen.s, &want, &seen.e);
        if (rows[i].expect) {
            assert_int_equal(r, 0);
            assert_string_equal(seen.s.envs.at[0]->prefix, rows[i].expect);
        } else {
            assert_int_equal(r, -ERR_NOT_FOUND);
            assert_int_equal(fact_of(&seen, "python.shim")->known, KNOWN_FAILED);
        }
        unsee(&seen);
        tree_remove(dir);
    }
}

static void test_named_errors(void **state)
{
    (void)state;
    char *dir = tree_new();
    tree_file(dir, "notes.txt", "hello\n");
    tree_file(dir, "run.sh", "#!/bin/sh\n");
    tree_dir(dir, "empty");
    assert_int_equal(mkfifo(tree_path(dir, "fifo"), 0666), 0);
    tree_link(dir, "loop", "loop");
    const struct {
        struct probe_request want;
        int r;
    } rows[] = {
        { { .python = "/none" }, -ERR_NOT_FOUND },
        { { .python = "/empty" }, -ERR_NOT_FOUND },
        { { .python = "/notes.txt" }, -ERR_NOT_FOUND },
        { { .python = "/run.sh" }, -ERR_NOT_FOUND },
        { { .python = "/fifo" }, -ERR_NOT_FOUND },
        { { .python = "/loop" }, -ERR_READ },
        { { .python = "3.11" }, -ERR_NOT_FOUND },
        { { .python = "" }, -ERR_NOT_FOUND },
        { { .library = "/none" }, -ERR_NOT_FOUND },
        { { .library = "/notes.txt" }, -ERR_FORMAT },
        { { .library = "/empty" }, -ERR_NOT_FOUND },
        { { .library = "/fifo" }, -ERR_FORMAT },
        { { .library = "/loop" }, -ERR_READ },
        { { .program = "/none" }, -ERR_NOT_FOUND },
        { { .program = "none" }, -ERR_NOT_FOUND },
        { { .program = "/notes.txt" }, -ERR_FORMAT },
        { { .program = "/run.sh" }, -ERR_FORMAT },
        { { .program = "/empty" }, -ERR_FORMAT },
        { { .program = "/fifo" }, -ERR_FORMAT },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen;
        see(&seen, dir, &rows[i].want);
        if (seen.r != rows[i].r)
            fail_msg("row %zu: %d instead of %d (%s)", i, seen.r, rows[i].r, seen.e.text);
        assert_true(strlen(seen.e.text) > 10);
        assert_null(strchr(seen.e.text, '\n'));
        unsee(&seen);
    }
    tree_remove(dir);
}

/* --- distributions --- */

static void test_dists(void **state)
{
    (void)state;
    char *dir = tree_new();
    venv(dir);
    dist(dir, SITE, "numpy-2.1.3.dist-info", NULL);
    dist(dir, SITE, "Foo.Bar_baz-1.0.post1.dist-info", NULL);
    dist(dir, SITE, "~orch-2.0.dist-info", NULL);
    dist(dir, "opt/first/", "numpy-1.26.4.dist-info", NULL);
    tree_file(dir, SITE "old-2.0-py3.11.egg-info", "Name: old\n");
    tree_file(dir, SITE "dev.egg-info/PKG-INFO", "Version: 3\n");
    tree_file(dir, SITE "torch.egg-info/PKG-INFO", "Name: torch\nVersion: 2.9.0a0\n\n");
    tree_dir(dir, SITE
             "onnxruntime_gpu-1.0.dist-info"); /* no METADATA: what a broken uninstall leaves */
    tree_file(dir, SITE "linked-pkg.egg-link", "/src/linked\n.");
    tree_file(dir, "src/linked/linked_pkg.egg-info/PKG-INFO", "Version: 9\n");
    tree_file(dir, SITE "nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA",
              "Requires-Dist: nvidia-cublas-cu12\n");
    tree_file(dir, SITE "nvidia_cudnn_cu12-9.1.0.70.dist-info/INSTALLER", "uv");
    struct seen seen;
    struct probe_request want = { .python = "/opt/venv" };
    see_with(&seen, dir, &want, "PYTHONPATH", "/opt/first");
    assert_int_equal(seen.r, 0);
    static const struct {
        const char *name, *version, *installer;
        size_t requires;
    } rows[] = {
        { "dev", NULL, NULL, 0 },
        { "foo-bar-baz", "1.0.post1", NULL, 0 },
        { "linked-pkg", NULL, NULL, 0 },
        { "numpy", "1.26.4", "pip", 2 }, /* the first on sys.path */
        { "nvidia-cudnn-cu12", "9.1.0.70", "uv", 1 },
        { "old", "2.0", NULL, 0 },
        { "torch", "2.9.0a0", NULL, 0 },
    };
    const struct pyenv *env = seen.s.envs.at[0];
    assert_int_equal(env->n_dists, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct dist *d = env->dists[i];
        assert_string_equal(d->name, rows[i].name);
        assert_true(d->version ? rows[i].version && str_eq(d->version, rows[i].version)
                               : !rows[i].version);
        assert_true(d->installer ? rows[i].installer && str_eq(d->installer, rows[i].installer)
                                 : !rows[i].installer);
        assert_int_equal(d->n_requires, rows[i].requires);
    }
    assert_string_equal(env->numpy->site, "/opt/first");
    assert_ptr_equal(env->torch, env->dists[6]);
    assert_int_equal(fact_of(&seen, "dist.left_over")->known, KNOWN_PRESENT);
    assert_int_equal(fact_of(&seen, "dist.onnxruntime-gpu.metadata")->known, KNOWN_ABSENT);
    unsee(&seen);
    tree_remove(dir);
}

static void test_conda(void **state)
{
    (void)state;
    char *dir = tree_new();
#define CONDA "opt/conda/lib/python3.12/site-packages/"
    tree_file(dir, "opt/conda/bin/python3.12", "\177ELF");
    tree_link(dir, "opt/conda/bin/python", "python3.12");
    tree_file(dir, "opt/conda/lib/python3.12/os.py", "");
    tree_file(dir, "opt/conda/conda-meta/onnxruntime-1.22.0-py312h1_200_cuda.json", "{}");
    tree_file(dir, "opt/conda/conda-meta/cuda-version-12.9-h4f385c5_3.json", "{}");
    tree_file(dir, "opt/conda/conda-meta/history", "");
    tree_file(dir, CONDA "onnxruntime-1.22.0.dist-info/METADATA", "Name: onnxruntime\n");
    tree_file(dir, CONDA "onnxruntime-1.22.0.dist-info/INSTALLER", "conda\n");
    tree_file(dir, CONDA "onnxruntime-1.22.0.dist-info/RECORD",
              "onnxruntime/capi/libonnxruntime_providers_cuda.so,,9\n");
    tree_file(dir, CONDA CUDA, "changed by conda");
    tree_file(dir, CONDA "onnxruntime/__init__.py", "");
    struct seen seen;
    struct probe_request want = { 0 };
    see_with(&seen, dir, &want, "CONDA_PREFIX", "/opt/conda");
    assert_int_equal(seen.s.envs.n, 1);
    const struct pyenv *env = seen.s.envs.at[0];
    assert_int_equal(env->kind, ENV_CONDA);
    assert_string_equal(env->why, "CONDA_PREFIX");
    assert_string_equal(env->exe, "/opt/conda/bin/python3.12");
    assert_string_equal(env->installer, "conda");
    assert_int_equal(env->n_dists, 2);
    assert_string_equal(env->dists[0]->name, "cuda-version");
    assert_string_equal(env->dists[0]->version, "12.9");
    assert_string_equal(env->dists[1]->build, "py312h1_200_cuda");
    assert_int_equal(env->ort->files, ORT_FILES_ITS_OWN);
    assert_string_equal(env->ort->package, "onnxruntime");
    unsee(&seen);
    tree_remove(dir);
}

static void test_torch_and_folders(void **state)
{
    (void)state;
    char *dir = tree_new();
    venv(dir);
    tree_file(dir, SITE "torch/version.py",
              "from typing import Optional\n\n__all__ = ['cuda']\n__version__ = '2.8.0+cu128'\n"
              "debug = False\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n");
    dist(dir, SITE, "torch-2.8.0.dist-info", NULL);
    tree_dir(dir, SITE "nvidia/cudnn/lib");
    tree_dir(dir, SITE "nvidia/cublas/include");
    tree_file(dir, SITE "nvidia/__init__.py", "");
    tree_dir(dir, SITE "tensorrt_libs");
    tree_dir(dir, "opt/first/nvidia/cu13/lib");
    struct seen seen;
    struct probe_request want = { .python = "/opt/venv" };
    see_with(&seen, dir, &want, "PYTHONPATH", "/opt/first");
    const struct pyenv *env = seen.s.envs.at[0];
    assert_string_equal(env->torch_cuda, "12.8");
    assert_string_equal(env->torch_dir, "/" SITE "torch");
    assert_string_equal(fact_of(&seen, "python.0.torch_cuda")->source,
                        "/" SITE "torch/version.py:6");
    assert_int_equal(env->n_nvidia_dirs, 2);
    assert_string_equal(env->nvidia_dirs[0], "/opt/first/nvidia/cu13/lib");
    assert_string_equal(env->nvidia_dirs[1], "/" SITE "nvidia/cudnn/lib");
    assert_string_equal(env->tensorrt_dir, "/" SITE "tensorrt_libs");
    assert_null(env->ort);
    unsee(&seen);
    tree_file(dir, SITE "torch/version.py",
              "__version__ = '2.8.0+cpu'\ncuda: Optional[str] = None\n");
    see(&seen, dir, &want);
    assert_null(seen.s.envs.at[0]->torch_cuda);
    assert_int_equal(fact_of(&seen, "python.0.torch_cuda")->known, KNOWN_ABSENT);
    unsee(&seen);
    tree_remove(dir);
}

static void test_installer(void **state)
{
    (void)state;
    static const struct {
        const char *cfg, *installer;
        bool pip;
        const char *expect;
    } rows[] = {
        { "version = 3.11.2\n", "pip", true, "pip" },
        { "version = 3.11.2\n", "uv", true, "uv" },
        { "version_info = 3.11.2\nuv = 0.9.1\n", NULL, false, "uv" },
        { "version_info = 3.11.2\nuv = 0.9.1\n", "pip", true, "pip" },
        { "version = 3.11.2\n", NULL, false, "pip" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *dir = tree_new();
        venv(dir);
        tree_file(dir, "opt/venv/pyvenv.cfg", rows[i].cfg);
        if (rows[i].installer) {
            dist(dir, SITE, "onnxruntime-1.22.0.dist-info", "");
            tree_file(dir, SITE "onnxruntime-1.22.0.dist-info/INSTALLER", rows[i].installer);
        }
        if (rows[i].pip)
            dist(dir, SITE, "pip-25.0.dist-info", "");
        struct seen seen;
        struct probe_request want = { .python = "/opt/venv" };
        see(&seen, dir, &want);
        assert_string_equal(seen.s.envs.at[0]->installer, rows[i].expect);
        assert_true(rows[i].pip == (fact_of(&seen, "python.0.dist.pip")->known == KNOWN_PRESENT));
        unsee(&seen);
        tree_remove(dir);
    }
}

/* --- ONNX Runtime --- */

static const char record_cpu[] =
    PYBIND ",sha256=AAAA,100\nonnxruntime/capi/libonnxruntime.so.1.31.1,sha256=BBBB,60\n"
           "onnxruntime/capi/libonnxruntime_providers_shared.so,sha256=CCCC,10\n"
           "onnxruntime/__init__.py,sha256=DDDD,\nonnxruntime/transformers/x.py,sha256=x,99\n";
static const char record_gpu[] =
    PYBIND ",sha256=aaaa,120\nonnxruntime/capi/libonnxruntime.so.1.31.1,sha256=bbbb,70\n" CUDA
           ",sha256=eeee,500\nonnxruntime/capi/libonnxruntime_providers_shared.so,sha256=CCCC,10\n"
           "onnxruntime/__init__.py,sha256=DDDD,\n";

static void test_ownership(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool cpu, gpu;
        size_t pybind, runtime, cuda; /* sizes; 0: not there */
        const char *package;
        enum ort_files files;
        const char *says;
    } rows[] = {
        { "CPU alone", true, false, 100, 60, 0, "onnxruntime", ORT_FILES_ITS_OWN,
          "onnxruntime 1.31.1" },
        { "GPU alone", false, true, 120, 70, 500, "onnxruntime-gpu", ORT_FILES_ITS_OWN,
          "onnxruntime-gpu 1.31.1" },
        { "CPU over GPU", true, true, 100, 60, 500, "onnxruntime", ORT_FILES_ITS_OWN,
          "libonnxruntime_providers_cuda.so is of onnxruntime-gpu 1.31.1 alone" },
        { "GPU over CPU", true, true, 120, 70, 500, "onnxruntime-gpu", ORT_FILES_ITS_OWN,
          "(120 bytes), not that of onnxruntime 1.31.1 (100)" },
        { "half of each", true, true, 120, 60, 500, "onnxruntime-gpu", ORT_FILES_MIXED,
          "but libonnxruntime.so.1.31.1 is of onnxruntime 1.31.1" },
        { "the other half", true, true, 100, 70, 500, "onnxruntime", ORT_FILES_MIXED,
          "is of onnxruntime-gpu" },
        { "CPU uninstalled after GPU", false, true, 0, 0, 500, "onnxruntime-gpu",
          ORT_FILES_INCOMPLETE, "2 of its files are gone: onnxruntime_pybind11_state" },
        { "stripped by hand", false, true, 90, 70, 500, "onnxruntime-gpu", ORT_FILES_UNKNOWN,
          "has 90 bytes, RECORD says 120" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *dir = tree_new();
        venv(dir);
        tree_file(dir, SITE "onnxruntime/__init__.py", "");
        file_of_size(dir, SITE "onnxruntime/capi/libonnxruntime_providers_shared.so", 10, 's');
        if (rows[i].cpu)
            dist(dir, SITE, "onnxruntime-1.31.1.dist-info", record_cpu);
        if (rows[i].gpu)
            dist(dir, SITE, "onnxruntime_gpu-1.31.1.dist-info", record_gpu);
        if (rows[i].pybind)
            file_of_size(dir, SITE PYBIND, rows[i].pybind, 'p');
        if (rows[i].runtime)
            file_of_size(dir, SITE "onnxruntime/capi/libonnxruntime.so.1.31.1", rows[i].runtime,
                         'r');
        if (rows[i].cuda)
            file_of_size(dir, SITE CUDA, rows[i].cuda, 'c');
        struct seen seen;
        struct probe_request want = { .python = "/opt/venv" };
        see(&seen, dir, &want);
        const struct ort_install *o = seen.s.targets.at[0].ort;
        assert_non_null(o);
        if (!str_eq(o->package, rows[i].package) || o->files != rows[i].files ||
            !strstr(o->ownership->value, rows[i].says))
            fail_msg("%s: package %s, files %d, %s", rows[i].name, o->package, o->files,
                     o->ownership->value);
        assert_int_equal(o->n_dists, rows[i].cpu + rows[i].gpu);
        assert_true((o->cuda != NULL) == (rows[i].cuda > 0));
        assert_true((o->pybind != NULL) == (rows[i].pybind > 0));
        assert_string_equal(o->version, "1.31.1");
        unsee(&seen);
        tree_remove(dir);
    }
}

/* Two wheels whose files have equal sizes: only the hash of a small file tells. */
static void test_ownership_by_hash(void **state)
{
    (void)state;
    /* SHA-256 of "a\n" and of "b\n" */
    static const char a[] = "h0KPxSKAPTEGXnvOPPA_5HUJZjHl4Hu9eg_eYMTPJcc",
                      b[] = "AmOCmYm2_ZVPcrqvL8ZLwuLwHWktTecphuqAj26ZgT8";
    static const struct {
        const char *text, *package;
    } rows[] = { { "a\n", "onnxruntime" }, { "b\n", "ort-nightly-gpu" } };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *dir = tree_new(), record[256];
        venv(dir);
        tree_file(dir, SITE "onnxruntime/__init__.py", rows[i].text);
        snprintf(record, sizeof record, "onnxruntime/__init__.py,sha256=%s,2\n", a);
        dist(dir, SITE, "onnxruntime-1.0.dist-info", record);
        snprintf(record, sizeof record, "onnxruntime/__init__.py,sha256=%s,2\n", b);
        dist(dir, SITE, "ort_nightly_gpu-1.0.dev1.dist-info", record);
        struct seen seen;
        struct probe_request want = { .python = "/opt/venv" };
        see(&seen, dir, &want);
        assert_string_equal(seen.s.targets.at[0].ort->package, rows[i].package);
        assert_int_equal(seen.s.targets.at[0].ort->files, ORT_FILES_ITS_OWN);
        unsee(&seen);
        tree_remove(dir);
    }
}

static void test_texts(void **state)
{
    (void)state;
    char *dir = tree_new();
    venv(dir);
    tree_file(dir, SITE "onnxruntime/__init__.py",
              "x = 1\n__version__ = \"1.15.1\"\ndef preload_dlls(cuda=True):\n    pass\n");
    tree_file(dir, SITE "onnxruntime/capi/build_and_package_info.py",
              "package_name = 'onnxruntime-gpu'\n__version__ = '1.15.9'\ncuda_version = '11.8'\n");
    tree_file(
        dir, SITE "onnxruntime/capi/_ld_preload.py",
        "# CDLL(\"libno.so\")\nfrom ctypes import CDLL, RTLD_GLOBAL\ntry:\n"
        "    _a = CDLL(\"libcublasLt.so.11\", mode=RTLD_GLOBAL)\n"
        "    _b = CDLL('libcudnn.so.8', mode=RTLD_GLOBAL)\n"
        "except OSError:\n    import os\n    os.environ[\"ORT_CUDA_UNAVAILABLE\"] = \"1\"\ntry:\n"
        "    _c = CDLL(\"libnvinfer.so.8\", mode=RTLD_GLOBAL)\nexcept OSError:\n"
        "    os.environ[\"ORT_TENSORRT_UNAVAILABLE\"] = \"1\"\n");
    tree_file(dir,
              SITE "onnxruntime/capi/onnxruntime_pybind11_state.cpython-310-x86_64-linux-gnu.so",
              "x");
    tree_file(dir, SITE PYBIND, "x");
    struct seen seen;
    struct probe_request want = { .python = "/opt/venv" };
    see(&seen, dir, &want);
    const struct ort_install *o = seen.s.targets.at[0].ort;
    assert_string_equal(o->package, "onnxruntime-gpu");
    assert_string_equal(o->version, "1.15.9");
    assert_string_equal(o->cuda_built, "11.8");
    assert_string_equal(o->pybind, "/" SITE PYBIND);
    assert_true(o->has_preload_dlls && o->has_ld_preload);
    assert_int_equal(o->n_ld_preload, 2);
    assert_string_equal(o->ld_preload[0], "libcublasLt.so.11");
    assert_string_equal(o->ld_preload[1], "libcudnn.so.8");
    assert_int_equal(o->n_ld_preload_tensorrt, 1);
    assert_string_equal(o->ld_preload_tensorrt[0], "libnvinfer.so.8");
    assert_int_equal(o->ownership->known, KNOWN_ABSENT);
    unsee(&seen);
    tree_remove(dir);
}

/* What should be files are pipes, folders and loops: nothing hangs, nothing is taken for something.
 */
static void test_hostile(void **state)
{
    (void)state;
    char *dir = tree_new();
    venv(dir);
    assert_int_equal(mkfifo(tree_path(dir, SITE "a.pth"), 0666), 0);
    tree_link(dir, SITE "b.pth", "b.pth");
    tree_link(dir, SITE "c.pth", "/dev/zero");
    tree_file(dir, SITE "d.pth", "/\n/..\n../../../../../../../../etc\n\xff\xfe\n");
    tree_dir(dir, "etc");
    tree_dir(dir, SITE "onnxruntime-.dist-info");
    tree_dir(dir, SITE "-.dist-info");
    tree_file(dir, SITE ".dist-info", "");
    dist(dir, SITE, "onnxruntime_gpu-1.31.1.dist-info", NULL);
    tree_dir(dir, SITE "onnxruntime_gpu-1.31.1.dist-info/RECORD");
    assert_int_equal(
        mkfifo(tree_path(dir, SITE "onnxruntime_gpu-1.31.1.dist-info/INSTALLER.x"), 0666), 0);
    dist(dir, SITE, "onnxruntime-1.0.dist-info",
         "onnxruntime/capi/../../../x,sha256=,5\nonnxruntime/capi/,,\nonnxruntime/capi/y\n"
         "onnxruntime/capi/z,sha256=!,"
         "99999999999999999999999999\nonnxruntime/capi/w,,\n,,,\n");
    tree_dir(dir, SITE "numpy-1.dist-info");
    tree_link(dir, SITE "numpy-1.dist-info/METADATA", "/dev/zero");
    assert_int_equal(mkfifo(tree_path(dir, SITE "onnxruntime_x"), 0666), 0);
    tree_dir(dir, SITE "onnxruntime/capi/libonnxruntime_providers_cuda.so");
    tree_link(dir, SITE "onnxruntime/__init__.py", "/proc/self/mem");
    assert_int_equal(mkfifo(tree_path(dir, SITE "onnxruntime/capi/_ld_preload.py"), 0666), 0);
    tree_dir(dir, SITE "torch/version.py");
    struct seen seen;
    struct probe_request want = { .python = "/opt/venv", .deep = true };
    see(&seen, dir, &want);
    assert_int_equal(seen.r, 0);
    const struct pyenv *env = seen.s.envs.at[0];
    assert_int_equal(env->n_sys_path, 3); /* the site folder, "/" and "/etc" */
    assert_string_equal(env->sys_path[1], "/");
    assert_string_equal(env->sys_path[2], "/etc");
    assert_null(env->torch_cuda);
    unsee(&seen);
    tree_remove(dir);
}

/* --- without Python --- */

static bool build(const char *dir, const char *line)
{
    char command[2048];
    snprintf(command, sizeof command, "cd '%s' && %s 2>&1", dir, line);
    FILE *f = popen(command, "r");
    return f && pclose(f) == 0;
}

static void test_library_and_program(void **state)
{
    (void)state;
    char *dir = tree_new();
    tree_file(dir, "v", "VERS_1.22.0 { global: OrtGetApiBase; local: *; };\n");
    tree_file(dir, "o.c", "int OrtGetApiBase(void); int OrtGetApiBase(void) { return 0; }\n");
    tree_file(
        dir, "p.c",
        "int OrtGetApiBase(void); void _start(void); void _start(void) { OrtGetApiBase(); }\n");
    tree_file(dir, "q.c", "void _start(void); void _start(void) {}\n");
    if (!build(dir, "mkdir -p opt/ort/lib app/bin app/lib own && ${CC:-cc} -shared -nostdlib -fPIC "
                    "-o opt/ort/lib/libonnxruntime.so.1 "
                    "-Wl,-soname,libonnxruntime.so.1 -Wl,--version-script=v o.c && "
                    "cp opt/ort/lib/libonnxruntime.so.1 app/lib/ && "
                    "ln -s libonnxruntime.so.1 opt/ort/lib/libonnxruntime.so && "
                    "${CC:-cc} -nostdlib -fPIE -pie -o app/bin/p p.c app/lib/libonnxruntime.so.1 "
                    "-Wl,-rpath,'$ORIGIN/../lib' && "
                    "${CC:-cc} -nostdlib -fPIE -pie -o own/p p.c app/lib/libonnxruntime.so.1 && "
                    "${CC:-cc} -nostdlib -fPIE -pie -o own/q q.c && "
                    "touch opt/ort/lib/libonnxruntime_providers_cuda.so"))
        skip();
    tree_file(dir, "opt/ort/VERSION_NUMBER", "1.99.0\n");
    static const struct {
        const char *library, *program, *variable, *value, *dir;
        bool cuda;
    } rows[] = {
        { "/opt/ort/lib/libonnxruntime.so.1", NULL, NULL, NULL, "/opt/ort/lib", true },
        { "/opt/ort/lib/libonnxruntime.so", NULL, NULL, NULL, "/opt/ort/lib", true },
        { "/opt/ort", NULL, NULL, NULL, "/opt/ort/lib", true },
        { NULL, "/app/bin/p", NULL, NULL, "/app/lib", false },
        { NULL, "p", "PATH", "/none:/app/bin", "/app/lib", false },
        { NULL, "/app/bin/p", "LD_LIBRARY_PATH", "/none;/opt/ort/lib", "/opt/ort/lib",
          true }, /* before the RUNPATH */
        { NULL, "/own/p", NULL, NULL, NULL, false },
        { NULL, "/own/q", NULL, NULL, NULL, false },
        { NULL, "/own/q", "ORT_DYLIB_PATH", "/opt/ort/lib/libonnxruntime.so", "/opt/ort/lib",
          true },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen;
        struct probe_request want = { .library = rows[i].library, .program = rows[i].program };
        see_with(&seen, dir, &want, rows[i].variable, rows[i].value);
        if (seen.r != 0 || seen.s.targets.n != 1)
            fail_msg("row %zu: %s", i, seen.e.text);
        const struct target *t = &seen.s.targets.at[0];
        assert_int_equal(t->kind, rows[i].library ? TARGET_LIBRARY : TARGET_PROGRAM);
        if (!rows[i].dir) {
            assert_null(t->ort);
        } else if (!t->ort || !str_eq(t->ort->dir, rows[i].dir) ||
                   (t->ort->cuda != NULL) != rows[i].cuda) {
            fail_msg("row %zu: %s", i, t->ort ? t->ort->dir : "none");
        } else {
            assert_string_equal(t->ort->version, "1.22.0");
        }
        unsee(&seen);
    }
    tree_remove(dir);
}

/* A program that is an interpreter, or a script of one, stands for its environment. */
static void test_program_is_python(void **state)
{
    (void)state;
    static const char *const programs[] = { "/opt/venv/bin/tool", "/opt/venv/bin/python",
                                            "/opt/venv/bin/other" };
    char *dir = tree_new();
    venv(dir);
    tree_file(dir, "opt/venv/bin/tool", "#!/opt/venv/bin/python -s\nimport x\n");
    tree_file(dir, "opt/venv/bin/other", "#!/usr/bin/env /opt/venv/bin/python3.11\n");
    tree_link(dir, "opt/venv/bin/python", "python3.11");
    assert_true(build(dir, "cp /bin/true opt/venv/bin/python3.11"));
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct seen seen;
        struct probe_request want = { .program = programs[i] };
        see(&seen, dir, &want);
        if (seen.r != 0)
            fail_msg("%s: %s", programs[i], seen.e.text);
        assert_int_equal(seen.s.targets.n, 1);
        assert_int_equal(seen.s.targets.at[0].kind, TARGET_ENV);
        assert_string_equal(seen.s.targets.at[0].env->prefix, "/opt/venv");
        unsee(&seen);
    }
    tree_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root_search),
        cmocka_unit_test(test_active_first),
        cmocka_unit_test(test_pyenv_shim),
        cmocka_unit_test(test_named_errors),
        cmocka_unit_test(test_dists),
        cmocka_unit_test(test_conda),
        cmocka_unit_test(test_torch_and_folders),
        cmocka_unit_test(test_installer),
        cmocka_unit_test(test_ownership),
        cmocka_unit_test(test_ownership_by_hash),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_library_and_program),
        cmocka_unit_test(test_program_is_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

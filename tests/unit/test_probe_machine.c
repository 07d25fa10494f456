/* The probes of the machine on small trees that stand for machines (tests/places), on hostile ones,
 * and NVML through a stand-in. Arguments: the folder of the trees, the stand-in library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonw.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/nvml.h"
#include "probe/snapshot.h"

#define PATH_ROOM 4096

static const char *places_dir;

/* --- a tree, seen ---------------------------------------------------------------------------- */

struct seen {
    struct place *place;
    struct snapshot s;
};

static void open_tree(struct seen *w, const char *dir)
{
    struct err e = { 0 };
    *w = (struct seen){ 0 };
    if (place_open_root(dir, &w->place, &e) != 0)
        fail_msg("%s: %s", dir, e.text);
    w->s.place = w->place;
}

static void open_named(struct seen *w, const char *name)
{
    char dir[PATH_ROOM];
    snprintf(dir, sizeof(dir), "%s/%s", places_dir, name);
    open_tree(w, dir);
}

static void look(struct seen *w)
{
    struct probe_request want = { 0 };
    probe_machine(&w->s);
    probe_driver(&w->s, &want);
    probe_gpu(&w->s);
    probe_toolkit(&w->s);
    probe_copies(&w->s);
}

static void done(struct seen *w)
{
    snapshot_done(&w->s);
    place_free(w->place);
}

static const struct fact *fact_of(const struct seen *w, const char *key)
{
    for (size_t i = 0; i < w->s.facts.n; i++)
        if (str_eq(w->s.facts.at[i]->key, key))
            return w->s.facts.at[i];
    return NULL;
}

static void assert_fact(const struct seen *w, const char *key, enum known known, const char *value)
{
    const struct fact *f = fact_of(w, key);
    if (!f)
        fail_msg("no fact '%s'", key);
    assert_int_equal(f->known, known);
    if (value)
        assert_string_equal(f->value ? f->value : "(null)", value);
    assert_non_null(f->source);
}

static const struct lib_copy *copy_of(const struct seen *w, const char *path)
{
    for (size_t i = 0; i < w->s.copies.n; i++)
        if (str_eq(w->s.copies.at[i].path, path))
            return &w->s.copies.at[i];
    fail_msg("no copy '%s'", path);
    return NULL;
}

/* The n-th component of that kind, seen that way. */
static const struct component *component_of(const struct seen *w, const char *kind, const char *how,
                                            size_t n)
{
    for (size_t i = 0; i < w->s.components.n; i++)
        if (str_eq(w->s.components.at[i].kind, kind) && str_eq(w->s.components.at[i].how, how) &&
            n-- == 0)
            return &w->s.components.at[i];
    return NULL;
}

/* --- machines -------------------------------------------------------------------------------- */

static void test_pc(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "ubuntu2204-driver550-l4");
    look(&w);
    struct driver *d = &w.s.driver;
    assert_string_equal(w.s.distro, "ubuntu 22.04");
    assert_int_equal(d->known, KNOWN_PRESENT);
    assert_fact(&w, "driver.kernel_module", KNOWN_PRESENT, "550.54.14");
    assert_fact(&w, "driver.libcuda", KNOWN_PRESENT, "550.54.14");
    assert_string_equal(d->version, "550.54.14");
    assert_string_equal(d->library_version, "550.54.14");
    assert_string_equal(d->libcuda_path, "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14");
    assert_null(d->compat_dir);
    assert_null(d->stub_path);
    assert_true(d->device_nodes && d->uvm_node);
    assert_false(d->wsl || d->jetson || d->container);
    /* Nothing of a tree is executed. */
    assert_int_equal(d->nvml->known, KNOWN_NOT_LOOKED);
    assert_int_equal(w.s.gpus_known, KNOWN_PRESENT);
    assert_int_equal(w.s.gpus.n, 1);
    assert_string_equal(w.s.gpus.at[0].name, "NVIDIA L4");
    assert_string_equal(w.s.gpus.at[0].pci, "0000:00:04.0");
    assert_int_equal(w.s.gpus.at[0].cc, 89);
    done(&w);
}

static void test_pc_components(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "ubuntu2204-driver550-l4");
    look(&w);
    const struct component *c = component_of(&w, "cuda", "toolkit", 0);
    assert_non_null(c);
    assert_string_equal(c->version, "12.4.1");
    assert_string_equal(c->path, "/usr/local/cuda-12.4");
    assert_true(c->current);
    assert_string_equal(c->fact->source, "/usr/local/cuda-12.4/version.json");
    assert_null(component_of(&w, "cuda", "toolkit", 1));
    c = component_of(&w, "cudnn", "header", 0);
    assert_non_null(c);
    assert_string_equal(c->version, "9.1.0");
    assert_null(component_of(&w, "cudnn", "header", 1)); /* the other name is a link to it */
    c = component_of(&w, "cudnn", "dpkg", 0);
    assert_non_null(c);
    assert_string_equal(c->package, "libcudnn9-cuda-12");
    assert_string_equal(c->version, "9.1.0.70");
    assert_null(component_of(&w, "cudnn", "dpkg", 1)); /* neither the removed one nor -dev */
    c = component_of(&w, "cuda", "dpkg", 0);
    assert_non_null(c);
    assert_string_equal(c->version, "12.4.1");
    c = component_of(&w, "cudnn", "library", 0);
    assert_non_null(c);
    assert_string_equal(c->version, "9.1.0");
    done(&w);
}

static void test_pc_copies(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "ubuntu2204-driver550-l4");
    look(&w);
    const struct lib_copy *c = copy_of(&w, "/usr/local/cuda-12.4/lib64/libcurand.so.10");
    assert_string_equal(c->soname, "libcurand.so.10");
    assert_string_equal(c->version, "10.3.5.147");
    assert_string_equal(c->owner, "cuda-12.4");
    assert_int_equal(c->cuda_major, 12);
    c = copy_of(&w, "/usr/local/cuda-12.4/lib64/libcublasLt.so.12");
    assert_string_equal(c->cuda_by, "soname");
    c = copy_of(&w, "/usr/local/cuda-12.4/lib64/stubs/libcuda.so");
    assert_true(c->stub);
    assert_string_equal(c->soname, "libcuda.so.1");
    c = copy_of(&w, "/usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9");
    assert_int_equal(c->cuda_major, 12);
    assert_string_equal(c->cuda_by, "dpkg package libcudnn9-cuda-12");
    assert_string_equal(c->version, "9.1.0");
    c = copy_of(&w, "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
    assert_string_equal(c->version, "550.54.14");
    /* Each file once, though the folder has several names and each file two. */
    for (size_t i = 0; i < w.s.copies.n; i++)
        for (size_t k = i + 1; k < w.s.copies.n; k++)
            if (!w.s.copies.at[i].stub &&
                str_eq(w.s.copies.at[i].soname, w.s.copies.at[k].soname) && !w.s.copies.at[k].stub)
                fail_msg("%s and %s", w.s.copies.at[i].path, w.s.copies.at[k].path);
    done(&w);
}

static void test_wsl(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "wsl2");
    look(&w);
    struct driver *d = &w.s.driver;
    assert_true(d->wsl && d->device_nodes);
    assert_int_equal(d->known, KNOWN_PRESENT);
    assert_int_equal(d->kernel_module->known, KNOWN_ABSENT);
    assert_int_equal(d->libcuda->known, KNOWN_PRESENT);
    assert_string_equal(d->libcuda_path, "/usr/lib/wsl/lib/libcuda.so.1.1");
    assert_null(d->library_version); /* 1.1 is no driver number */
    assert_null(d->version);
    assert_int_equal(w.s.gpus_known, KNOWN_NOT_LOOKED);
    assert_int_equal(w.s.gpus.n, 0);
    done(&w);
}

static void test_jetson(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "jetson");
    look(&w);
    assert_true(w.s.driver.jetson && w.s.driver.device_nodes);
    assert_fact(&w, "machine.jetson", KNOWN_PRESENT, "35.4.1");
    assert_int_equal(w.s.gpus.n, 1);
    assert_string_equal(w.s.gpus.at[0].name, "NVIDIA Jetson AGX Orin Developer Kit");
    assert_int_equal(w.s.gpus.at[0].cc, 87);
    assert_int_equal(w.s.driver.libcuda->known, KNOWN_PRESENT);
    const struct lib_copy *c = copy_of(&w, "/usr/lib/aarch64-linux-gnu/libcudnn.so.8");
    assert_int_equal(c->cuda_major, 11); /* by the package's version, "+cuda11.4" */
    done(&w);
}

static void test_mismatch(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "driver-mismatch");
    look(&w);
    assert_string_equal(w.s.driver.version, "550.54.14");
    assert_string_equal(w.s.driver.library_version, "550.90.07");
    done(&w);
}

static void test_container(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "container-no-gpu");
    place_setenv(w.place, "NVIDIA_VISIBLE_DEVICES", "void");
    place_setenv(w.place, "CUDA_VISIBLE_DEVICES", "");
    look(&w);
    struct driver *d = &w.s.driver;
    assert_true(d->container);
    assert_fact(&w, "machine.container", KNOWN_PRESENT, "docker");
    assert_string_equal(d->visible_devices, "void");
    assert_string_equal(d->cuda_visible_devices, "");
    assert_int_equal(d->known, KNOWN_ABSENT);
    assert_int_equal(d->libcuda->known, KNOWN_ABSENT);
    assert_null(d->version);
    assert_fact(&w, "driver.devices", KNOWN_ABSENT, NULL);
    /* The card is on the bus; its audio function and the other vendor's line of pci.ids are not it.
     */
    assert_int_equal(w.s.gpus.n, 1);
    assert_string_equal(w.s.gpus.at[0].name, "AD102 [GeForce RTX 4090]");
    assert_string_equal(w.s.gpus.at[0].pci, "0000:01:00.0");
    assert_int_equal(w.s.gpus.at[0].cc, 89);
    done(&w);
}

static void test_compat(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "cuda-compat");
    look(&w);
    assert_null(w.s.driver.compat_dir); /* it lies there, and nothing reaches it */
    assert_fact(&w, "driver.compat", KNOWN_PRESENT, "535.104.05");
    assert_fact(&w, "driver.libcuda", KNOWN_PRESENT, "470.223.02");
    done(&w);

    open_named(&w, "cuda-compat");
    place_setenv(w.place, "LD_LIBRARY_PATH", "/nowhere:/usr/local/cuda/compat");
    look(&w);
    assert_string_equal(w.s.driver.compat_dir, "/usr/local/cuda/compat");
    assert_fact(&w, "driver.libcuda", KNOWN_PRESENT, "535.104.05");
    assert_string_equal(w.s.driver.version, "470.223.02");
    assert_string_equal(w.s.driver.library_version, "470.223.02"); /* of libnvidia-ml */
    done(&w);
}

static void test_toolkits(void **state)
{
    static const struct {
        const char *path, *version;
        bool current;
    } want[] = {
        { "/usr/local/cuda-12.1", "12.1.1", true },
        { "/usr/local/cuda-10.2", "10.2.89", false },
        { "/usr/local/cuda-13.0", "13.0",
          false }, /* its version.json is damaged: the folder's name */
    };
    (void)state;
    struct seen w;
    open_named(&w, "multi-toolkit");
    place_setenv(w.place, "LD_LIBRARY_PATH", "/usr/local/cuda/lib64/stubs");
    place_setenv(w.place, "CUDA_HOME", "/usr/local/cuda-11.8");
    look(&w);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct component *c = component_of(&w, "cuda", "toolkit", i);
        if (!c)
            fail_msg("no toolkit %zu", i);
        assert_string_equal(c->path, want[i].path);
        assert_string_equal(c->version, want[i].version);
        assert_int_equal(c->current, want[i].current);
    }
    assert_null(component_of(&w, "cuda", "toolkit", ARRAY_LEN(want)));
    assert_fact(&w, "environment.CUDA_HOME", KNOWN_FAILED, "/usr/local/cuda-11.8 is no folder");
    assert_string_equal(component_of(&w, "cudnn", "header", 0)->version, "7.6.5");
    assert_string_equal(component_of(&w, "tensorrt", "header", 0)->version, "10.9.0.34");
    /* A stub on the search path: the loader would take it. */
    assert_string_equal(w.s.driver.stub_path, "/usr/local/cuda/lib64/stubs/libcuda.so.1");
    assert_int_equal(w.s.driver.known, KNOWN_ABSENT);
    assert_null(w.s.driver.version);
    done(&w);
}

static void test_toolkit_copies(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "multi-toolkit");
    look(&w);
    const struct lib_copy *c = copy_of(&w, "/usr/local/cuda-13.0/lib64/libcudnn.so.9");
    assert_int_equal(c->cuda_major, 13);
    assert_string_equal(c->cuda_by, "folder /usr/local/cuda-13.0");
    assert_int_equal(copy_of(&w, "/usr/local/cuda-12.1/lib64/libcudnn.so.9")->cuda_major, 12);
    for (size_t i = 0; i < w.s.copies.n; i++)
        assert_null(
            strchr(strrchr(w.s.copies.at[i].path, '/'), '-')); /* no hashed names, no builtins */
    done(&w);
}

static void test_musl(void **state)
{
    (void)state;
    struct seen w;
    open_named(&w, "alpine");
    look(&w);
    assert_true(w.s.musl);
    assert_null(w.s.glibc);
    /* A bare tree says nothing about the machine it will run on. */
    assert_int_equal(w.s.driver.known, KNOWN_NOT_LOOKED);
    assert_int_equal(w.s.gpus_known, KNOWN_NOT_LOOKED);
    done(&w);
}

/* --- Python's and conda's copies ------------------------------------------------------------- */

#define SITE "/opt/venv/lib/python3.11/site-packages"

static void test_two_cudnn(void **state)
{
    (void)state;
    static const struct dist cu12 = { .name = "nvidia-cudnn-cu12",
                                      .version = "9.10.2.21",
                                      .site = SITE,
                                      .path = SITE "/nvidia_cudnn_cu12-9.10.2.21.dist-info" };
    static const struct dist cu13 = { .name = "nvidia-cudnn-cu13",
                                      .version = "9.19.0.56",
                                      .site = SITE,
                                      .path = SITE "/nvidia_cudnn_cu13-9.19.0.56.dist-info" };
    static const struct dist curand = { .name = "nvidia-curand-cu12",
                                        .version = "10.3.5.147",
                                        .site = SITE,
                                        .path = SITE "/nvidia_curand_cu12-10.3.5.147.dist-info" };
    static const struct dist fresh = { .name = "nvidia-cuda-fresh-cu12",
                                       .version = "12.99.1",
                                       .site = SITE,
                                       .path = SITE "/nvidia_cuda_fresh_cu12-12.99.1.dist-info" };
    static const struct dist *const dists[] = { &fresh, &cu12, &cu13, &curand };
    static const char *const dirs[] = { SITE "/nvidia/cuda_fresh/lib", SITE "/nvidia/cudnn/lib",
                                        SITE "/nvidia/curand/lib" };
    struct pyenv env = { .kind = ENV_VENV,
                         .prefix = "/opt/venv",
                         .dists = dists,
                         .n_dists = ARRAY_LEN(dists),
                         .nvidia_dirs = dirs,
                         .n_nvidia_dirs = ARRAY_LEN(dirs) };
    struct seen w;
    open_named(&w, "two-cudnn");
    vec_push(&w.s.envs, &env);
    look(&w);
    /* Both wheels wrote the folder: the sizes in RECORD say which came last. */
    const struct lib_copy *c = copy_of(&w, SITE "/nvidia/cudnn/lib/libcudnn.so.9");
    assert_string_equal(c->owner, "nvidia-cudnn-cu13 9.19.0.56");
    assert_string_equal(c->version, "9.19.0.56");
    assert_int_equal(c->cuda_major, 13);
    /* Same size in both: the file itself stays open, what lies beside it decides. */
    c = copy_of(&w, SITE "/nvidia/cudnn/lib/libcudnn_ops.so.9");
    assert_null(c->owner);
    assert_int_equal(c->cuda_major, 13);
    assert_string_equal(c->cuda_by, "libcudnn.so.9 beside it");
    c = copy_of(&w, SITE "/nvidia/curand/lib/libcurand.so.10");
    assert_string_equal(c->owner, "nvidia-curand-cu12 10.3.5.147");
    assert_int_equal(c->cuda_major, 12);
    c = copy_of(&w, SITE
                "/nvidia/cuda_fresh/lib/libcublas.so.12"); /* a package that the kb does not know */
    assert_string_equal(c->owner, "nvidia-cuda-fresh-cu12 12.99.1");
    assert_string_equal(component_of(&w, "cudnn", "wheel", 1)->version, "9.19.0.56");
    done(&w);
}

static void test_conda_and_foreign(void **state)
{
    (void)state;
    struct pyenv env = { .kind = ENV_CONDA, .prefix = "/opt/conda" };
    struct seen w;
    open_named(&w, "two-cudnn");
    place_setenv(w.place, "LD_LIBRARY_PATH", SITE "/nvidia/curand/lib:/opt/mine/lib");
    vec_push(&w.s.envs, &env);
    look(&w);
    const struct component *c = component_of(&w, "cuda", "conda", 0);
    assert_non_null(c);
    assert_string_equal(c->version, "12.6");
    assert_string_equal(component_of(&w, "cudnn", "conda", 0)->version, "9.3.0.75");
    assert_null(component_of(&w, "cudnn", "conda", 1));
    const struct lib_copy *copy = copy_of(&w, "/opt/conda/lib/libcudnn.so.9");
    assert_int_equal(copy->cuda_major, 12);
    assert_string_equal(copy->version, "9.3.0");
    /* The wheels of an environment that is not the one in use. */
    copy = copy_of(&w, SITE "/nvidia/curand/lib/libcurand.so.10");
    assert_string_equal(copy->owner, "nvidia-curand-cu12 10.3.5.147");
    assert_int_equal(copy->cuda_major, 12);
    /* Nobody's: cuRAND's own number tells. */
    copy = copy_of(&w, "/opt/mine/lib/libcurand.so.10");
    assert_null(copy->owner);
    assert_int_equal(copy->cuda_major, 13);
    assert_string_equal(copy->cuda_by, "its version");
    done(&w);
}

/* --- replayed -------------------------------------------------------------------------------- */

/* Writes down what the place was asked, as "ortfit snapshot" does, and opens that. */
static void reopen(const struct seen *from, struct seen *ret)
{
    char file[] = "/tmp/ortfit-snapshot-XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    struct json j;
    struct err e = { 0 };
    json_begin(&j, out, false);
    json_obj(&j);
    json_kint(&j, "schema", 1);
    json_kstr(&j, "verb", "snapshot");
    json_key(&j, "place");
    json_obj(&j);
    place_save(from->place, false, &j);
    json_obj_end(&j);
    json_obj_end(&j);
    json_end(&j);
    assert_int_equal(fclose(out), 0);
    *ret = (struct seen){ 0 };
    if (place_open_snapshot(file, &ret->place, &e) != 0)
        fail_msg("%s", e.text);
    ret->s.place = ret->place;
    assert_int_equal(unlink(file), 0);
}

static const char *text_or_dash(const char *text)
{
    return text ? text : "-";
}

static void assert_same(const struct seen *a, const struct seen *b, const char *name)
{
    if (a->s.facts.n != b->s.facts.n || a->s.copies.n != b->s.copies.n)
        fail_msg("%s: %zu facts and %zu copies, then %zu and %zu", name, a->s.facts.n,
                 a->s.copies.n, b->s.facts.n, b->s.copies.n);
    for (size_t i = 0; i < a->s.facts.n; i++) {
        const struct fact *x = a->s.facts.at[i], *y = b->s.facts.at[i];
        assert_string_equal(x->key, y->key);
        if (x->known != y->known || !str_eq(text_or_dash(x->value), text_or_dash(y->value)))
            fail_msg("%s: %s is %d %s, then %d %s", name, x->key, (int)x->known,
                     text_or_dash(x->value), (int)y->known, text_or_dash(y->value));
        assert_string_equal(x->source, y->source);
    }
    for (size_t i = 0; i < a->s.copies.n; i++) {
        const struct lib_copy *x = &a->s.copies.at[i], *y = &b->s.copies.at[i];
        assert_string_equal(x->path, y->path);
        assert_string_equal(text_or_dash(x->owner), text_or_dash(y->owner));
        assert_string_equal(text_or_dash(x->version), text_or_dash(y->version));
        assert_int_equal(x->cuda_major, y->cuda_major);
    }
}

static void test_replay(void **state)
{
    static const char *const names[] = {
        "ubuntu2204-driver550-l4",
        "wsl2",
        "jetson",
        "driver-mismatch",
        "container-no-gpu",
        "cuda-compat",
        "multi-toolkit",
        "alpine",
        "two-cudnn",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct seen tree, replayed;
        open_named(&tree, names[i]);
        place_setenv(tree.place, "LD_LIBRARY_PATH",
                     "/usr/local/cuda/compat:" SITE "/nvidia/cudnn/lib");
        look(&tree);
        reopen(&tree, &replayed);
        look(&replayed);
        assert_same(&tree, &replayed, names[i]);
        done(&tree);
        done(&replayed);
    }
}

/* NVML's answer is part of what a snapshot holds. */
static void test_replay_nvml(void **state)
{
    (void)state;
    struct seen live = { 0 }, replayed;
    struct err e = { 0 };
    setenv("FAKE_NVML", "fine", 1);
    assert_int_equal(place_open_live(&live.place, &e), 0);
    live.s.place = live.place;
    look(&live);
    reopen(&live, &replayed);
    setenv("FAKE_NVML", "crash", 1);
    look(&replayed);
    assert_same(&live, &replayed, "live");
    assert_int_equal(replayed.s.gpus.n, 2);
    done(&live);
    done(&replayed);
}

/* --- hostile trees --------------------------------------------------------------------------- */

static void make(const char *root, const char *path, const char *text)
{
    char full[PATH_ROOM];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        (void)mkdir(full, 0755);
    }
    if (!text) {
        assert_int_equal(mkfifo(full, 0644), 0);
    } else if (str_starts(text, "-> ")) {
        assert_int_equal(symlink(text + 3, full), 0);
    } else {
        FILE *f = fopen(full, "we");
        assert_non_null(f);
        fputs(text, f);
        assert_int_equal(fclose(f), 0);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_tree(const char *root)
{
    assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* A 32-bit driver library first on the path is not the one that a 64-bit loader takes. */
static void test_other_class(void **state)
{
    (void)state;
    char root[] = "/tmp/ortfit-class-XXXXXX", header[64] = "\x7f"
                                                           "ELF";
    header[4] = 1; /* ELFCLASS32 */
    header[5] = header[6] = 1;
    assert_non_null(mkdtemp(root));
    make(root, "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "-> libcuda.so.550.54.14");
    make(root, "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14", "stands for libcuda");
    make(root, "/opt/old/libcudnn.so.9", "");
    make(root, "/opt/old/libcuda.so.1", "");
    char path[PATH_ROOM];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/opt/old/%s", root, i ? "libcudnn.so.9" : "libcuda.so.1");
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(header, sizeof(header), 1, f), 1);
        assert_int_equal(fclose(f), 0);
    }
    struct seen w;
    open_tree(&w, root);
    place_setenv(w.place, "LD_LIBRARY_PATH", "/opt/old");
    look(&w);
    assert_fact(&w, "driver.libcuda", KNOWN_PRESENT, "550.54.14");
    for (size_t i = 0; i < w.s.copies.n; i++)
        assert_false(str_starts(w.s.copies.at[i].path, "/opt/old/"));
    done(&w);
    remove_tree(root);
}

static void test_hostile(void **state)
{
    static const char *const fifos[] = {
        "/etc/os-release",
        "/proc/driver/nvidia/version",
        "/proc/version",
        "/etc/ld.so.conf",
        "/proc/1/cgroup",
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
        "/usr/lib/x86_64-linux-gnu/libcudnn.so.9",
        "/usr/local/cuda-12.1/version.json",
        "/usr/local/cuda-12.1/include/cudnn_version.h",
        "/sys/bus/pci/devices/0000:01:00.0/modalias",
        "/sys/bus/pci/devices/0000:01:00.0/vendor",
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/var/lib/dpkg/status",
        "/usr/local/cuda-12.1/lib64/libcurand.so.10",
    };
    static const struct {
        const char *path, *text;
    } files[] = {
        { "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "-> libcuda.so.1" },
        { "/usr/local/cuda", "-> ../local/cuda" },
        { "/usr/local/cuda-9.9", "a file" },
        { "/usr/local/cuda-12.2/lib64", "-> /usr/local/cuda-12.2/lib64" },
        { "/etc/ld.so.conf.d/odd.conf", "/etc\nrelative\n\n#\n///\n/proc/../../../../etc\n" },
        { "/proc/driver/nvidia/gpus/x/information", "Model:\nBus Location:" },
        { "/etc/nv_tegra_release", "\x01\xff R" },
        { "/opt/cuda/lib64/libcudnn.so.", "x" },
        { "/opt/cuda/lib64/libcudnn.so.9.", "x" },
        { "/opt/cuda/lib64/libcudnn.so.99999999999999999999", "x" },
    };
    (void)state;
    char root[] = "/tmp/ortfit-hostile-XXXXXX";
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < ARRAY_LEN(fifos); i++)
        make(root, fifos[i], NULL);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        make(root, files[i].path, files[i].text);
    struct seen w;
    open_tree(&w, root);
    place_setenv(w.place, "LD_LIBRARY_PATH",
                 ":::/::;/usr/local/cuda/lib64:$ORIGIN/x:/opt/cuda/lib64");
    place_setenv(w.place, "CUDA_HOME", "/");
    look(&w); /* must come back, at once */
    assert_null(w.s.glibc);
    assert_int_equal(w.s.driver.libcuda->known, KNOWN_ABSENT);
    assert_null(w.s.driver.version);
    done(&w);
    remove_tree(root);
}

/* --- NVML ------------------------------------------------------------------------------------ */

static void ask(const char *mode, int timeout_ms, struct seen *w, struct nvml_answer *ret)
{
    struct err e = { 0 };
    setenv("FAKE_NVML", mode, 1);
    *w = (struct seen){ 0 };
    if (place_open_live(&w->place, &e) != 0)
        fail_msg("%s", e.text);
    nvml_ask(w->place, &w->s.arena, timeout_ms, ret);
}

static void test_nvml_fine(void **state)
{
    (void)state;
    struct seen w;
    struct nvml_answer a;
    ask("fine", 5000, &w, &a);
    assert_int_equal(a.known, KNOWN_PRESENT);
    assert_string_equal(a.driver, "550.54.14");
    assert_int_equal(a.cuda, 12040);
    assert_int_equal(a.error, 0);
    assert_int_equal(a.n_gpus, 2);
    assert_string_equal(a.gpus[0].name, "NVIDIA L4");
    assert_string_equal(a.gpus[0].pci, "00000000:01:00.0");
    assert_int_equal(a.gpus[0].cc, 89);
    assert_true(a.gpus[0].memory_bytes == 24ULL << 30);
    assert_int_equal(a.gpus[0].compute_mode, 3);
    assert_int_equal(a.gpus[0].mig, -1); /* the stand-in has no such function */
    assert_string_equal(a.gpus[1].name, "NVIDIA?H100 with a tab");
    assert_int_equal(a.gpus[1].cc, 90);
    done(&w);
}

static void test_nvml_faults(void **state)
{
    static const struct {
        const char *mode;
        int timeout_ms;
        enum known known;
        int error;
        const char *reason;
    } want[] = {
        { "crash", 5000, KNOWN_FAILED, 0, NULL },
        { "hang", 300, KNOWN_FAILED, 0, NULL },
        { "mismatch", 5000, KNOWN_FAILED, NVML_RM_MISMATCH,
          "Driver/library version mismatch (18) in nvmlInit" },
        { "no-count", 5000, KNOWN_FAILED, 3, "Not Supported (3) in nvmlDeviceGetCount" },
        { "no-gpu", 5000, KNOWN_PRESENT, 0, NULL },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct seen w;
        struct nvml_answer a;
        ask(want[i].mode, want[i].timeout_ms, &w, &a);
        if (a.known != want[i].known || a.error != want[i].error)
            fail_msg("%s: known %d, error %d, %s", want[i].mode, (int)a.known, a.error,
                     a.reason ? a.reason : "-");
        if (want[i].reason)
            assert_string_equal(a.reason, want[i].reason);
        if (a.known == KNOWN_FAILED)
            assert_non_null(a.reason);
        assert_int_equal(a.n_gpus, 0);
        done(&w);
    }
}

/* The whole way: found through LD_LIBRARY_PATH, asked, and its GPUs in the snapshot. */
static void test_nvml_probe(void **state)
{
    (void)state;
    struct seen w = { 0 };
    struct err e = { 0 };
    struct probe_request want = { 0 };
    setenv("FAKE_NVML", "fine", 1);
    assert_int_equal(place_open_live(&w.place, &e), 0);
    w.s.place = w.place;
    probe_machine(&w.s);
    probe_driver(&w.s, &want);
    probe_gpu(&w.s);
    assert_fact(&w, "driver.nvml", KNOWN_PRESENT, "550.54.14");
    assert_fact(&w, "driver.cuda", KNOWN_PRESENT, "12.4");
    assert_int_equal(w.s.gpus.n, 2);
    assert_fact(&w, "gpu.0", KNOWN_PRESENT, "NVIDIA L4 (8.9)");
    assert_fact(&w, "gpu.0.compute_mode", KNOWN_PRESENT, "exclusive process");
    done(&w);

    want.no_nvml = true;
    assert_int_equal(place_open_live(&w.place, &e), 0);
    w.s = (struct snapshot){ .place = w.place };
    probe_driver(&w.s, &want);
    assert_int_equal(w.s.driver.nvml->known, KNOWN_NOT_LOOKED);
    done(&w);
}

/* --- small readers --------------------------------------------------------------------------- */

static void test_readers(void **state)
{
    static const struct {
        const char *line, *want;
    } lines[] = {
        { "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024",
          "550.54.14" },
        { "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  "
          "(x@y)",
          "570.86.15" },
        { "NVRM version: NVIDIA UNIX Kernel Module for aarch64  35.4.1  Release", NULL },
        { "580.65.06", "580.65.06" },
        { "", NULL },
        { "550", NULL },
        { "1.1", NULL },
    };
    static const struct {
        const char *name, *want;
    } names[] = {
        { "libcudnn.so.9.10.2", "9.10.2" },
        { "libcudnn.so.9", "9" },
        { "libcudnn.so", NULL },
        { "libcudnn.so.", NULL },
        { "libcudnn.so.9x", NULL },
        { "libnvrtc.alt.so.13", "13" },
    };
    (void)state;
    struct snapshot s = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const char *got = look_driver_number(&s, lines[i].line);
        if (lines[i].want ? !got || !str_eq(got, lines[i].want) : got != NULL)
            fail_msg("'%s' gives %s", lines[i].line, got ? got : "nothing");
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *got = look_soname_version(names[i].name);
        if (names[i].want ? !got || !str_eq(got, names[i].want) : got != NULL)
            fail_msg("'%s' gives %s", names[i].name, got ? got : "nothing");
    }
    snapshot_done(&s);
}

/* --- all ------------------------------------------------------------------------------------- */

/* The loader reads LD_LIBRARY_PATH once, at the start of a process: so begin again with the
 * stand-in on it. */
static int again_with_stand_in(char **argv, const char *library)
{
    char dir[] = "/tmp/ortfit-nvml-XXXXXX", link[64];
    char real[PATH_ROOM];
    if (!realpath(library, real) || !mkdtemp(dir))
        return 1;
    snprintf(link, sizeof(link), "%s/libnvidia-ml.so.1", dir);
    if (symlink(real, link) != 0)
        return 1;
    setenv("LD_LIBRARY_PATH", dir, 1);
    setenv("ORTFIT_TEST_DIR", dir, 1);
    execv("/proc/self/exe", argv);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s PLACES FAKE-NVML\n", argv[0]);
        return 2;
    }
    const char *dir = getenv("ORTFIT_TEST_DIR");
    if (!dir)
        return again_with_stand_in(argv, argv[2]);
    places_dir = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers),
        cmocka_unit_test(test_pc),
        cmocka_unit_test(test_pc_components),
        cmocka_unit_test(test_pc_copies),
        cmocka_unit_test(test_wsl),
        cmocka_unit_test(test_jetson),
        cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_compat),
        cmocka_unit_test(test_toolkits),
        cmocka_unit_test(test_toolkit_copies),
        cmocka_unit_test(test_musl),
        cmocka_unit_test(test_two_cudnn),
        cmocka_unit_test(test_conda_and_foreign),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_other_class),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_replay_nvml),
        cmocka_unit_test(test_nvml_fine),
        cmocka_unit_test(test_nvml_faults),
        cmocka_unit_test(test_nvml_probe),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char link[64];
    snprintf(link, sizeof(link), "%s/libnvidia-ml.so.1", dir);
    (void)unlink(link);
    (void)rmdir(dir);
    return failed;
}

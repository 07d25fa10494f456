/* The rules, one row each: what must hold between a release, a build of torch and a machine. */
#include <string.h>

#include "base/cleanup.h"
#include "match/query.h"

#define BIT(kind) (1U << (kind))

static bool on_linux(const struct m_candidate *c)
{
    return c->platform != KB_WIN_AMD64 - 1;
}

static bool published(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    size_t i = (size_t)(c->o - mq->d->ort);
    if (!(w->ort & (1ULL << i)))
        return false;
    return !w->as_of || (c->o->date <= w->as_of && (!c->t || c->t->date <= w->as_of));
}

static bool platform(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    return (w->platforms & (1U << c->platform)) && c->w->py;
}

static bool python_tag(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    c->py &= w->py & c->w->py & (c->t ? c->t->py : UINT32_MAX);
    return c->py != 0;
}

static bool glibc_tag(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    int need = c->t && c->t->glibc > c->w->glibc ? c->t->glibc : c->w->glibc;
    return !on_linux(c) || need >= 64 || (w->glibc >> need) != 0;
}

/* glibc 2.41 refuses to open what wants an executable stack. */
static bool exec_stack(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    int need = c->t && c->t->glibc > c->w->glibc ? c->t->glibc : c->w->glibc;
    uint64_t below_41 = (1ULL << 41) - 1;
    return !on_linux(c) || !c->o->exec_stack || ((w->glibc & below_41) >> need) != 0;
}

static bool cuda(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    return (w->cuda >> c->o->cuda_major) & 1;
}

static bool cudnn(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    return w->cudnn_cc[c->o->cudnn_major] != 0;
}

static bool tensorrt(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    return (w->tensorrt >> c->o->tensorrt_major) & 1;
}

static bool opset(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    const struct kb_opset *max = c->o->opset;
    return !max || (w->model.opset <= max->opset && w->model.opset_ml <= max->opset_ml && w->model.ir <= max->ir);
}

static bool numpy_two(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    return !w->numpy_wished || c->o->numpy_abi != 1 || m_bits_meet(&w->numpy, &mq->d->numpy_1);
}

/* A numpy that is wished, that the wheel's metadata accepts, and that has a wheel for a Python that is left. */
static bool numpy(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    const struct match_domain *d = mq->d;
    uint32_t left = 0;
    if (!w->numpy_wished) {
        c->py &= c->w->numpy_py;
        return c->py != 0;
    }
    for (size_t y = 0; y < d->n_py; y++) {
        if (!(c->py & (1U << y)))
            continue;
        const struct m_bits *asks = &c->w->numpy[y], *has = &d->numpy_of_py[c->platform][y];
        struct m_bits set = { { w->numpy.w[0] & asks->w[0] & has->w[0], w->numpy.w[1] & asks->w[1] & has->w[1] } };
        if (c->o->numpy_abi == 1) {
            set.w[0] &= d->numpy_1.w[0];
            set.w[1] &= d->numpy_1.w[1];
        }
        if (set.w[0] || set.w[1])
            left |= 1U << y;
    }
    c->py = left;
    return left != 0;
}

/* Equal majors: one set of libraries. Other cuDNN majors, or cuDNN linked into torch: each its own. One cuDNN name for
 * two CUDA majors: neither. */
static bool torch_shared(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    c->sharing = MATCH_SHARED;
    c->torch_cuda = 0;
    if (!c->t || (mq->torch_cpu & w->mask) || !c->t->kb->cuda_major)
        return true;
    c->torch_cuda = c->t->kb->cuda_major;
    bool cudnn_alike = c->t->kb->cudnn_major == c->o->cudnn_major;
    if (cudnn_alike && c->torch_cuda == c->o->cuda_major)
        return true;
    c->sharing = MATCH_SEPARATE;
    return !cudnn_alike;
}

static bool driver_floor(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    const uint64_t *floor = mq->drivers.floor_ok[on_linux(c) ? 0 : 1];
    c->drivers &= w->drivers & floor[c->o->cuda_major] & floor[c->torch_cuda];
    return c->drivers != 0;
}

static bool torch_gpu_code(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    c->cc &= w->cc & (c->torch_cuda ? c->t->cubin : UINT32_MAX);
    return c->cc != 0;
}

static bool cudnn_gpu(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    if (c->o->cudnn_major == 8)
        c->cc &= mq->d->cudnn_8_cc;
    c->cc &= w->cudnn_cc[c->o->cudnn_major];
    if (c->torch_cuda && c->sharing == MATCH_SHARED)
        c->cc &= c->t->cudnn_cc;
    return c->cc != 0;
}

static bool gpu_code(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)mq;
    (void)w;
    c->cc &= c->w->cubin | c->w->ptx | (c->take_partial ? c->w->partial : 0);
    return c->cc != 0;
}

/* A driver that knows a GPU that is left. */
static bool gpu_driver(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)w;
    for (uint64_t left = c->drivers; left; left &= left - 1)
        if (mq->drivers.known[__builtin_ctzll(left)] & c->cc)
            return true;
    return false;
}

/* PTX needs a driver that knows the CUDA it was made with. */
static bool ptx_driver(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    (void)w;
    uint32_t ready = c->w->cubin | (c->take_partial ? c->w->partial : 0);
    c->ptx = false;
    for (uint64_t left = c->drivers; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        uint32_t known = mq->drivers.known[i] & c->cc;
        if (known & ready) {
            c->ptx = false;
            return true;
        }
        c->ptx |= (known & c->w->ptx) && mq->drivers.native[i] >= c->w->ptx_cuda;
    }
    return c->ptx;
}

const struct m_rule m_rules[] = {
    { "published", BIT(WISH_ORT) | BIT(WISH_AS_OF), published },
    { "torch-shared", BIT(WISH_TORCH), torch_shared },
    { "wheel-platform", BIT(WISH_OS) | BIT(WISH_ARCH), platform },
    { "cuda-minor", BIT(WISH_CUDA), cuda },
    { "cudnn-major", BIT(WISH_CUDNN), cudnn },
    { "tensorrt-major", BIT(WISH_TENSORRT), tensorrt },
    { "opset-max", BIT(WISH_OPSET) | BIT(WISH_MODEL), opset },
    { "python-tag", BIT(WISH_PYTHON) | BIT(WISH_TORCH), python_tag },
    { "glibc-tag", BIT(WISH_GLIBC) | BIT(WISH_TORCH), glibc_tag },
    { "exec-stack", BIT(WISH_GLIBC), exec_stack },
    { "numpy-2", BIT(WISH_NUMPY), numpy_two },
    { "numpy-metadata", BIT(WISH_NUMPY) | BIT(WISH_PYTHON), numpy },
    { "driver-floor", BIT(WISH_DRIVER) | BIT(WISH_TORCH), driver_floor },
    { "torch-gpu-code", BIT(WISH_TORCH) | BIT(WISH_GPU), torch_gpu_code },
    { "cudnn-gpu", BIT(WISH_CUDNN) | BIT(WISH_GPU) | BIT(WISH_TORCH), cudnn_gpu },
    { "gpu-code", BIT(WISH_GPU), gpu_code },
    { "gpu-driver", BIT(WISH_GPU) | BIT(WISH_DRIVER), gpu_driver },
    { "ptx-driver", BIT(WISH_GPU) | BIT(WISH_DRIVER), ptx_driver },
};
const size_t m_rules_n = ARRAY_LEN(m_rules);

uint32_t m_rule_bit(const char *id)
{
    for (size_t i = 0; i < m_rules_n; i++)
        if (strcmp(m_rules[i].id, id) == 0)
            return 1U << i;
    return 0;
}

static void start(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    c->w = &c->o->wheel[c->platform];
    c->py = UINT32_MAX;
    c->cc = UINT32_MAX;
    c->drivers = w->drivers & (w->driver ? UINT64_MAX : (1ULL << mq->d->drivers.n) - 1);
    c->sharing = MATCH_SHARED;
    c->torch_cuda = 0;
    c->ptx = false;
}

bool m_holds(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    start(mq, w, c);
    for (size_t i = 0; i < m_rules_n; i++)
        if (!m_rules[i].holds(mq, w, c))
            return false;
    return true;
}

uint32_t m_failing(const struct m_query *mq, const struct m_allowed *w, struct m_candidate *c)
{
    uint32_t failing = 0;
    start(mq, w, c);
    for (size_t i = 0; i < m_rules_n; i++) {
        struct m_candidate before = *c;
        if (m_rules[i].holds(mq, w, c))
            continue;
        failing |= 1U << i;
        before.torch_cuda = c->torch_cuda;
        *c = before;
    }
    return failing;
}

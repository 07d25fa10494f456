#include "probe/snapshot.h"

int snapshot_take(struct place *p, const struct probe_request *want, struct snapshot *ret,
                  struct err *e)
{
    *ret = (struct snapshot){ .place = p, .everything = want->everything };
    probe_machine(ret);
    probe_driver(ret, want);
    probe_gpu(ret);
    probe_toolkit(ret);
    int r = probe_python(ret, want, e);
    if (r < 0)
        return r;
    r = probe_ort(ret, want, e);
    if (r < 0)
        return r;
    probe_copies(ret);
    return 0;
}

/* musl's loader. */
#include "load/process.h"

void musl_start(struct load_process *proc, const struct load_config *config, const struct elf *exe_elf)
{
    (void)config;
    proc->main = walk_new(proc, "", "", NULL, exe_elf);
    proc->main->is_main = proc->main->own = proc->main->inited = true;
}

struct object *musl_dlopen(struct load_process *proc, const char *name, struct object *caller, unsigned flags)
{
    (void)caller;
    (void)flags;
    load_fail(proc, 0, name, "musl is not predicted yet");
    return NULL;
}

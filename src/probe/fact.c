#include "probe/snapshot.h"

#include <errno.h>
#include <string.h>

const struct fact *fact_add(struct snapshot *s, enum known known, const char *key,
                            const char *value, const char *source)
{
    struct fact *f = arena_new(&s->arena, struct fact);
    f->known = known;
    f->key = arena_strdup(&s->arena, key);
    f->value = value ? arena_strdup(&s->arena, value) : NULL;
    f->source = source ? arena_strdup(&s->arena, source) : NULL;
    vec_push(&s->facts, f);
    return f;
}

const struct fact *fact_unread(struct snapshot *s, const struct pyenv *env, const char *key,
                               const char *path, int error)
{
    if (error == ELOOP || error == ENAMETOOLONG)
        return NULL;
    const char *why = error == EINVAL ? "not a regular file" : strerror(error);
    const struct fact *f = fact_add(s, KNOWN_FAILED, key, why, path);
    vec_push(&s->unread, (struct unread){ f, env });
    return f;
}

void snapshot_done(struct snapshot *s)
{
    vec_done(&s->facts);
    vec_done(&s->unread);
    vec_done(&s->gpus);
    vec_done(&s->components);
    vec_done(&s->copies);
    vec_done(&s->envs);
    vec_done(&s->targets);
    arena_done(&s->arena);
    *s = (struct snapshot){ 0 };
}

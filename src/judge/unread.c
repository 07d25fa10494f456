/* What decides and could not be read: said, and no verdict is `fits` over it. */
#include "judge/judge.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

bool judge_lacks_facts(const struct judgement *j)
{
    int error;
    if (place_damage(j->s->place, &error))
        return true;
    for (size_t i = 0; i < j->s->unread.n; i++)
        if (!j->s->unread.at[i].env || j->s->unread.at[i].env == j->env)
            return true;
    return false;
}

void judge_unread(const struct judgement *j)
{
    if (!judge_lacks_facts(j))
        return;
    struct finding *f = findings_of(j->out, "not-readable"); /* of libraries */
    if (!f)
        f = finding_add(j->out, "not-readable", SEVERITY_WARNING,
                        "what decides cannot be read here");
    for (size_t i = 0; i < j->s->unread.n; i++) {
        const struct unread *u = &j->s->unread.at[i];
        if (!u->env || u->env == j->env)
            finding_evidence(j->out, f, u->fact->key, u->fact->value, u->fact->source);
    }
    int error;
    const char *damaged = place_damage(j->s->place, &error);
    if (damaged)
        finding_evidence(j->out, f, "damaged", strerror(error), damaged);
    want_plain(j, f, "run ortfit as a user who may read it; an input/output error is the disk's");
}

/* A plan in the spelling of one tool: one file an emitter, one row of the table in emit.c. */
#ifndef ORTFIT_PLAN_EMIT_H
#define ORTFIT_PLAN_EMIT_H

#include <stdio.h>

#include "plan/plan.h"

/* What an emitter may look at besides the plan. */
struct emit_options {
    bool hashes;              /* exact files with their SHA-256 where the tool can say it */
    const char *made_by;      /* the command line, for the first comment line: "ortfit plan --torch 2.4.1 --for pip" */
    const char *const *conda_channels; /* the user's, in order; NULL: conda-forge */
};

struct emitter {
    const char *name;     /* value of --for: "pip" */
    const char *file;     /* what the file is usually called: "requirements.txt" */
    /* Writes the whole file. ERR_UNSUPPORTED-like errors say what cannot be spelt and which tool can. */
    int (*emit)(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
};
extern const struct emitter emitters[]; /* ends with a NULL name */
const struct emitter *emitter_find(const char *name);

/* Each in a file of its own: emit_pip.c (pip, uv, pyproject, pylock), emit_conda.c (conda, pixi), emit_docker.c,
 * emit_source.c. */
int emit_pip(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
int emit_uv(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
int emit_pyproject(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
int emit_pylock(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
int emit_conda(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
int emit_pixi(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
int emit_docker(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);
int emit_source(const struct plan *p, const struct emit_options *o, FILE *out, struct err *e);

/* The lines of code that the plan needs besides, as comments behind prefix ("# "). */
void emit_notes(const struct plan *p, const char *prefix, FILE *out);

#endif

/*
 * A plan: ordered steps that lead a place to one match, or mend the findings of a place, each step with its undo.
 *
 * Data only. Built by plan_from_match or plan_from_findings, shown by report/, spelt for one tool by an emitter
 * (plan/emit.h), written to and read from JSON (schema/plan.json), carried out by plan/apply.h. All texts live in the
 * arena that the plan was built in; lists of strings end with NULL.
 */
#ifndef ORTFIT_PLAN_PLAN_H
#define ORTFIT_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "judge/judge.h"
#include "match/match.h"

enum plan_step_kind {
    PLAN_INSTALL, /* run: the installer of the environment lays packages down */
    PLAN_REMOVE,  /* run: the installer takes packages away */
    PLAN_RUN,     /* run: any other command on the environment (ensurepip) */
    PLAN_LINK,    /* the symlink `link` comes to lead to `target`; undo: to `old_target` again */
    PLAN_CODE,    /* a line of the user's program; ortfit never writes it there */
    PLAN_ENV,     /* a variable of the user's process; ortfit never sets it for good */
    PLAN_TELL,    /* words only: the driver, the container. Never carried out */
};
const char *plan_step_kind_text(enum plan_step_kind kind); /* "install" */

struct plan_step {
    enum plan_step_kind kind;
    const char *why;
    const char *const *run;  /* argv; NULL: nothing to run */
    const char *const *undo; /* argv that takes it back; NULL: the copy of the environment does */
    const char *code;        /* PLAN_CODE */
    const char *env_name, *env_value;           /* PLAN_ENV */
    const char *link, *target, *old_target;     /* PLAN_LINK; old_target NULL: there was no such link */
};

/* One package as the plan wants it, in no installer's spelling. */
struct plan_package {
    const char *name;   /* normalised: "onnxruntime-gpu" */
    const char *extras; /* "cuda,cudnn"; NULL none */
    const char *spec;   /* PEP 440: "==1.23.2", ">=9,<9.11"; NULL any */
    const char *index;  /* URL of the only index that has this build; NULL: the usual index */
    bool index_replaces; /* the same version is on the usual index too, in another build: index must be the only one asked */
    const char *why;    /* NULL: nothing to say */
};

/* The environment that a plan was made for; apply refuses any other. */
struct plan_env {
    const char *prefix, *python; /* as in struct pyenv */
    const char *version;         /* "3.11" */
    const char *installer;       /* "pip", "uv", "conda" */
    const char *kind;            /* "venv", "conda", "system" */
    const char *digest;          /* of its distributions' names and versions: hex SHA-256 of "name==version\n" sorted */
};

struct plan {
    const char *kb_date;          /* "2026-12-01" */
    const char *platform;         /* "linux_x86_64" */
    const struct plan_env *env;   /* NULL: for no environment in particular */
    const char *ort, *torch;      /* versions that come out; NULL: none, or left as it is */
    const char *feed;             /* "pypi", "conda", or the feed's name */
    const char *python;           /* "3.11": of the match, or of the environment */
    int cuda;                     /* as in kb.h; 0: not known */
    int cudnn_major, tensorrt_major;
    int cc;                       /* of the GPU that was asked for or seen; 0: none */
    bool shared;                  /* torch's libraries serve ONNX Runtime too */
    const char *driver_min;       /* NULL: nothing is asked of it */
    struct { VEC(struct plan_package); } packages; /* what the match needs, in the order to write them */
    struct { VEC(const char *); } remove;          /* distributions in the way */
    struct { VEC(struct plan_step); } steps;
};
void plan_done(struct plan *p); /* the lists; texts belong to the arena */

/* The steps that reach the choice, spelt for tool ("pip", "uv", "conda"); env NULL: for a new environment. */
void plan_from_match(const struct match_choice *choice, const struct pyenv *env, const char *tool, struct arena *a,
                     struct plan *ret);
/* The steps of all findings' fixes, each once, in the order in which they are to be done. */
void plan_from_findings(const struct judged *judged, struct arena *a, struct plan *ret);

#endif

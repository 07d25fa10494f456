/* A finding: one cause of the fixed list, how bad it is, what proves it and what mends it. Data,
 * never an error. Everything lives in the arena of the stage that made it. */
#ifndef ORTFIT_JUDGE_FINDING_H
#define ORTFIT_JUDGE_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/vec.h"

enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };

const char *severity_text(enum severity s); /* "error" */

struct evidence {
    const char *fact;   /* what was looked at: "libcudnn.so.9" */
    const char *value;  /* what was seen: "not found" */
    const char *source; /* where: a path, a call, a kb source */
};

/* A fix is abstract here: what is wanted, not how an installer spells it. plan/ turns it into
 * steps. */
enum want_kind {
    WANT_PACKAGE,   /* this distribution at this version specifier ("onnxruntime-gpu", "==1.23.2",
                       extras "cuda,cudnn") */
    WANT_REMOVE,    /* this distribution gone */
    WANT_REINSTALL, /* this distribution's files anew */
    WANT_PRELOAD_DLLS, /* the line onnxruntime.preload_dlls() before the first session */
    WANT_IMPORT_TORCH, /* import torch before onnxruntime */
    WANT_LIBRARY_PATH, /* these folders on LD_LIBRARY_PATH */
    WANT_UNSET_PATH,   /* this folder off LD_LIBRARY_PATH */
    WANT_DRIVER,       /* a driver of at least this version */
    WANT_GPU_ACCESS,   /* the container started with the GPU in it */
    WANT_REBOOT,       /* kernel module and library of one version */
    WANT_FILE,         /* this file beside that folder (shared provider library) */
    WANT_PLAIN,        /* said in words only: name */
};

struct want {
    enum want_kind kind;
    const char
        *name; /* distribution, driver version, folder list joined by ':' or words, by kind */
    const char *spec;   /* "==1.23.2", ">=9,<9.11"; NULL none */
    const char *extras; /* "cuda,cudnn"; NULL none */
    const char
        *manager;    /* "apt" for a package of the system; NULL: the installer of the environment */
    const char *why; /* one line for people */
    bool
        force; /* install again though the version is there (files of another package lie on top) */
};

/* One step as a person or script can do it. Exactly one of run, code, env is set, or none (then why
 * says it). */
struct fix {
    const char *why;
    const char *const *run; /* NULL-ended argv */
    const char *code;       /* a line of the user's program */
    const char *env_name, *env_value;
};

struct finding {
    const char *cause; /* slug */
    enum severity severity;
    const char *title;
    struct {
        VEC(struct evidence);
    } evidence;
    struct {
        VEC(struct want);
    } wants;
    struct {
        VEC(struct fix);
    } fixes;          /* filled by plan_fixes */
    const char *file; /* lint: NULL here */
    int line, column;
};

struct findings {
    struct arena arena;
    VEC(struct finding *);
};

struct finding *finding_add(struct findings *f, const char *cause, enum severity severity,
                            const char *title);
/* Texts are copied into the arena. */
void finding_evidence(struct findings *f, struct finding *to, const char *fact, const char *value,
                      const char *source);
void finding_want(struct findings *f, struct finding *to, const struct want *w);
void findings_done(struct findings *f);
bool findings_any_error(const struct findings *f);
/* NULL when there is none of this cause. */
struct finding *findings_of(const struct findings *f, const char *cause);

#endif

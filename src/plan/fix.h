/* Wants -> steps: how the installer of the environment (pip, uv, conda, apt) spells what judge/
 * wants. */
#ifndef ORTFIT_PLAN_FIX_H
#define ORTFIT_PLAN_FIX_H

#include "judge/judge.h"

/* Fills finding->fixes of every finding, in the order in which they are to be done. Texts live in
 * f's arena. */
void plan_fixes(const struct judgement *j, struct findings *f);

/* Where no ONNX Runtime was found: fills judged->would_install for the first environment seen, if
 * any fits. */
void plan_install(struct judged *judged);

/* "/x/.venv/bin/python -m pip install 'onnxruntime-gpu[cuda,cudnn]==1.23.2'": quoted for a POSIX
 * shell. */
const char *plan_shell_line(struct arena *a, const struct fix *fix);

#endif

/* NVIDIA driver numbers: 525.60.13, 580.65.06, 452.39 (Windows). */
#ifndef ORTFIT_VERSION_DRIVER_H
#define ORTFIT_VERSION_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#define DRIVER_PARTS 4

struct driver_version {
    unsigned part[DRIVER_PARTS];
    size_t n;    /* parts given */
};

/* Digits and dots only, one to four parts. False: not a driver number. */
bool driver_parse(const char *text, struct driver_version *ret);
/* Missing parts count as 0. Below, equal, above zero. */
int driver_compare(const struct driver_version *a, const struct driver_version *b);
/* The same for texts; a text that is no driver number is below every one. */
int driver_compare_text(const char *a, const char *b);
/* 550 of "550.54.14"; 0 when it is no driver number. */
int driver_branch(const char *text);
/* CUDA as text, "12.8" or "13.0.88" or "12", to major * 1000 + minor * 10; 0 when it is none. */
int cuda_parse(const char *text);
/* And back: 12080 to "12.8". room at least 8; returns buf. */
const char *cuda_text(int cuda, char *buf, size_t room);

#endif

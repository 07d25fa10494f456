/*
 * Python versions and version specifiers (PEP 440), with the meaning that pip's own library gives
 * them. Nothing here allocates. A parsed version or specifier borrows the text it was parsed from.
 */
#ifndef ORTFIT_VERSION_PEP440_H
#define ORTFIT_VERSION_PEP440_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEP440_SEGMENTS 12 /* longest release number that is read; longer ones are no version */
#define PEP440_CLAUSES 16  /* longest comma-separated specifier that is read */

enum pep440_pre { PEP440_FINAL, PEP440_ALPHA, PEP440_BETA, PEP440_RC };

struct pep440 {
    const char *text; /* borrowed, not NUL-ended at len */
    size_t len;
    uint64_t epoch;
    uint64_t release[PEP440_SEGMENTS];
    size_t n; /* segments of release, at least 1 */
    enum pep440_pre pre;
    uint64_t pre_n;
    bool has_post, has_dev;
    uint64_t post, dev;
    const char *local; /* borrowed; NULL: none */
    size_t local_len;
};

/* Blanks around the text are allowed, a leading v too. False: not a version (*ret is then
 * unspecified). */
bool pep440_parse_n(const char *text, size_t len, struct pep440 *ret);
bool pep440_parse(const char *text, struct pep440 *ret);
/* Below, equal, above zero. 1.0 and 1.0.0 are equal; a local label counts. */
int pep440_compare(const struct pep440 *a, const struct pep440 *b);
/* The same for texts. A text that is no version is below every version; two such are compared as
 * text. */
int pep440_compare_text(const char *a, const char *b);
/* Equal but for the local label. */
bool pep440_same_public(const char *a, const char *b);
bool pep440_is_prerelease(const struct pep440 *v); /* pre or dev */

enum pep440_op {
    PEP440_EQ,       /* ==, and ==V.* with wildcard set */
    PEP440_NE,
    PEP440_LE,
    PEP440_GE,
    PEP440_LT,
    PEP440_GT,
    PEP440_COMPATIBLE, /* ~= */
    PEP440_EXACT,      /* ===, compared as text */
};
struct pep440_clause {
    enum pep440_op op;
    bool wildcard;
    struct pep440 version; /* for PEP440_EXACT only text and len */
};
struct pep440_spec {
    struct pep440_clause clause[PEP440_CLAUSES];
    size_t n; /* 0: anything goes */
};

/* ">=1.21,<2". Parentheses around it are allowed, as old metadata has them. False: malformed or too
 * long. */
bool pep440_spec_parse_n(const char *text, size_t len, struct pep440_spec *ret);
bool pep440_spec_parse(const char *text, struct pep440_spec *ret);
/* prereleases: whether a pre-release may match at all; as in pip it may also when a clause names
 * one itself. */
bool pep440_spec_matches(const struct pep440_spec *spec, const struct pep440 *v, bool prereleases);
/* For texts, pre-releases allowed. spec NULL or "": anything. False also when malformed. */
bool pep440_matches(const char *spec, const char *version);
/* What a person writes: a specifier when it begins with an operator, else a prefix: "1.23"
 * means 1.23.*. */
bool pep440_wish_parse(const char *wish, struct pep440_spec *ret);

#endif

/* An error: our program could not do its work. (What we learn about a machine is a finding, not an
 * error.) Functions return 0 or a negative code and fill struct err; the verb that gives up prints
 * it once. */
#ifndef ORTFIT_BASE_ERR_H
#define ORTFIT_BASE_ERR_H

/* name, number (never reused), text for JSON ("code"), exit code of the program */
#define ERR_TABLE(X)                                \
    X(ERR_USAGE, 1, "usage", 2)                     \
    X(ERR_READ, 2, "read-failed", 3)                \
    X(ERR_FORMAT, 3, "malformed", 3)                \
    X(ERR_SCHEMA, 4, "schema-too-new", 3)           \
    X(ERR_UNKNOWN_RELEASE, 5, "unknown-release", 2) \
    X(ERR_WRITE, 6, "write-failed", 3)              \
    X(ERR_CHILD, 7, "child-failed", 3)              \
    X(ERR_LIMIT, 8, "limit-exceeded", 3)            \
    X(ERR_NOT_FOUND, 9, "not-found", 3)

enum err_code {
    ERR_NONE,
#define X(name, num, text, exit_code) name = num,
    ERR_TABLE(X)
#undef X
};

struct err {
    enum err_code code;
    char text[400]; /* innermost cause first, each caller appends one "while ..." */
};

/* e may be NULL: then only the code is returned. */
__attribute__((format(printf, 3, 4))) void err_fill(struct err *e, enum err_code code,
                                                    const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void err_while(struct err *e, const char *fmt, ...);
const char *err_code_text(enum err_code code); /* "read-failed" */
int err_exit_code(enum err_code code);         /* 2 or 3 */

/* A macro, so that the compiler sees the negative value at the call. */
#define err_set(e, code, ...) (err_fill((e), (code), __VA_ARGS__), -(int)(code))

#endif

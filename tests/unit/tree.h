/* Temporary trees for tests. Every call stops the test on failure. */
#ifndef ORTFIT_TESTS_TREE_H
#define ORTFIT_TESTS_TREE_H

#include <stddef.h>

/* A fresh folder (real path); tree_remove deletes it with all below. Caller frees. */
char *tree_new(void);
char *tree_new_in(const char *parent);
void tree_remove(char *dir);
/* Names are relative to dir; the folders above are made. */
void tree_dir(const char *dir, const char *name);
void tree_file(const char *dir, const char *name, const char *text);
void tree_bytes(const char *dir, const char *name, const void *at, size_t n);
void tree_link(const char *dir, const char *name, const char *target);
/* dir/name in one of a few static buffers, for immediate use. */
const char *tree_path(const char *dir, const char *name);

#endif

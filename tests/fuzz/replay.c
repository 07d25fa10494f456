/* Runs a fuzz target over files: each argument is a file, or a folder whose files are all taken. An
 * input that made the target fail once stays in the corpus and is run here as an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1 << 24)

static size_t replay_file(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > INPUT_MAX)
        return 0;
    cleanup_(fclosep) FILE *f = fopen(path, "re");
    if (!f) {
        perror(path);
        exit(1);
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = xmalloc(size + 1);
    size = fread(data, 1, size, f);
    fprintf(stderr, "%s\n", path); /* the last one named is the one that failed */
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static size_t replay(const char *path)
{
    cleanup_(closedirp) DIR *dir = opendir(path);
    if (!dir)
        return replay_file(path);
    size_t n = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        cleanup_(freep) char *file = xasprintf("%s/%s", path, e->d_name);
        n += replay_file(file);
    }
    return n;
}

int main(int argc, char **argv)
{
    size_t n = 0;
    for (int i = 1; i < argc; i++)
        n += replay(argv[i]);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("%zu inputs replayed\n", n);
    return n ? 0 : 1;
}

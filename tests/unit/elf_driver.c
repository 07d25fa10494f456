/* Writes what src/elf reads of each file named, one JSON object a line. For elf_oracle.py. */
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/jsonw.h"
#include "elf/elf.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct arena a = { 0 };
        struct elf *elf;
        struct err e = { 0 };
        const struct elf_undef *u;
        cleanup_(closep) int fd = open(argv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || elf_read(fd, &a, &elf, &e) < 0) {
            fprintf(stderr, "%s: %s\n", argv[i], fd < 0 ? "cannot open" : e.text);
            return 1;
        }
        (void)elf_undefs(elf, &u);
        struct json j;
        json_begin(&j, stdout, false);
        elf_save(elf, NULL, &j);
        json_end(&j);
        elf_done(elf);
        arena_done(&a);
    }
    return 0;
}

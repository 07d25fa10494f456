/* Any bytes as a library with GPU code. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_(closep) int fd = memfd_create("fatbin", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    struct arena a = { 0 };
    struct gpu_code code;
    if (fatbin_read(fd, &a, &code, NULL) == 0)
        for (size_t i = 0; i < code.n_arch; i++)
            if (code.arch[i].containers == 0 || code.arch[i].containers > code.containers)
                abort();
    arena_done(&a);
    return 0;
}

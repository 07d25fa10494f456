/* Any bytes as an ONNX model. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "match/match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_(closep) int fd = memfd_create("model", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    struct match_model m = { 0 };
    struct err e = { 0 };
    int r = match_model_read(fd, &m, &e);
    if (r == 0 ? m.ir <= 0 || m.opset < 0 || m.opset_ml < 0 : !e.text[0])
        abort();
    return 0;
}

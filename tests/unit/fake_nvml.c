/* A stand-in for libnvidia-ml.so.1 that tests load in its place; what it does is said by FAKE_NVML.
 * It is not NVIDIA's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *text, unsigned room);
int nvmlSystemGetCudaDriverVersion(int *ret);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetName(void *device, char *text, unsigned room);
int nvmlDeviceGetPciInfo_v3(void *device, void *ret);
int nvmlDeviceGetCudaComputeCapability(void *device, int *ret_major, int *ret_minor);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *ret);
int nvmlDeviceGetComputeMode(void *device, int *ret);

static int mode_is(const char *mode)
{
    const char *wanted = getenv("FAKE_NVML");
    return wanted && strcmp(wanted, mode) == 0;
}

int nvmlInit_v2(void)
{
    if (mode_is("crash"))
        abort();
    if (mode_is("hang"))
        for (;;)
            pause();
    return mode_is("mismatch") ? 18 : 0;
}

int nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result == 18 ? "Driver/library version mismatch" : "Not Supported";
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    snprintf(text, room, "550.54.14");
    return 0;
}

int nvmlSystemGetCudaDriverVersion(int *ret)
{
    *ret = 12040;
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    if (mode_is("no-count"))
        return 3;
    *ret = mode_is("no-gpu") ? 0 : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    *ret = (void *)(uintptr_t)(index + 1);
    return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned room)
{
    snprintf(text, room, device == (void *)1 ? "NVIDIA L4" : "NVIDIA\tH100 with a tab");
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void *device, void *ret)
{
    snprintf((char *)ret + 36, 32, "00000000:0%c:00.0", device == (void *)1 ? '1' : '2');
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *ret_major, int *ret_minor)
{
    *ret_major = device == (void *)1 ? 8 : 9;
    *ret_minor = device == (void *)1 ? 9 : 0;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *ret)
{
    (void)device;
    ret[0] = 24ULL << 30;
    ret[1] = ret[2] = 0;
    return 0;
}

int nvmlDeviceGetComputeMode(void *device, int *ret)
{
    *ret = device == (void *)1 ? 3 : 0;
    return 0;
}

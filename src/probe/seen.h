/* What one probe of the machine has seen and another one asks for. */
#ifndef ORTFIT_PROBE_SEEN_H
#define ORTFIT_PROBE_SEEN_H

#include "base/vec.h"
#include "probe/nvml.h"
#include "probe/snapshot.h"

/* Folders of CUDA toolkits, each once: /usr/local/cuda*, CUDA_HOME, CUDA_PATH, /usr/lib/cuda,
 * /opt/cuda. A link
 * (/usr/local/cuda) is left out when the folder it points to is there by its own name. Caller:
 * vec_done. */
void seen_toolkit_folders(struct snapshot *s, struct names *ret);

/* Adds the GPUs that NVML named, with their facts. */
void seen_nvml_gpus(struct snapshot *s, const struct nvml_answer *answer);

/* Records of dpkg about NVIDIA's packages -> components; says when rpm's were not read. dpkg's
 * status file is big: to be asked only where an NVIDIA library lies in a system folder. */
void seen_packages(struct snapshot *s);
/* The CUDA major that dpkg's package of this library was made for ("libcudnn9-cuda-12" for
 * libcudnn.so.9); 0: none, or several. *ret_package names it. */
int seen_package_cuda_major(struct snapshot *s, const char *soname, const char **ret_package);
/* conda-meta of the conda environments -> components; the CUDA major of the environment at prefix,
 * 0 unknown. */
void seen_conda(struct snapshot *s);
int seen_conda_cuda_major(struct snapshot *s, const char *prefix);

#endif

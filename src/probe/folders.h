/* Folders in which a loader would look for libraries, and others in which NVIDIA's lie, as hints: which file a name
 * gives is known to load/ only. */
#ifndef ORTFIT_PROBE_FOLDERS_H
#define ORTFIT_PROBE_FOLDERS_H

#include "probe/snapshot.h"

enum folder_via {
    FOLDER_ENV,     /* LD_LIBRARY_PATH */
    FOLDER_CONF,    /* named in ld.so.conf or ld.so.conf.d, so probably in the cache */
    FOLDER_CACHE,   /* an NVIDIA library of it is in ld.so.cache, whatever ld.so.conf says now */
    FOLDER_DEFAULT, /* the loader's own */
    FOLDER_KNOWN, /* where drivers and toolkits are known to lie; the loader does not look there by
                     itself */
};

struct lib_folder {
    const char *path;
    enum folder_via via;
    const char *source; /* "LD_LIBRARY_PATH", "/etc/ld.so.conf.d/cuda.conf:1", "default folder" */
    uint64_t dev, ino;
};

struct lib_folders {
    VEC(struct lib_folder);
};

/* Existing folders only, each once (by device and inode), in the order in which a loader would try
 * them. ret starts zeroed; vec_done it. Texts live in the snapshot's arena. */
void folders_find(struct snapshot *s, struct lib_folders *ret);
/* Adds one unless it is there already or does not exist. True: added. */
bool folders_add(struct snapshot *s, struct lib_folders *to, const char *path, enum folder_via via,
                 const char *source);

#endif

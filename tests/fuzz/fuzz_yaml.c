/* YAML as people write it into environment files. What was read is walked as a reader would: the
 * weight must hold. */
#include <stdint.h>
#include <stdlib.h>

#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t walk(const json_t *value)
{
    size_t weight = 64;
    size_t i;
    json_t *part;
    const char *key;
    if (json_is_string(value))
        weight += json_string_length(value);
    json_array_foreach((json_t *)(uintptr_t)value, i, part)
        weight += walk(part);
    json_object_foreach((json_t *)(uintptr_t)value, key, part)
        weight += walk(part);
    return weight;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = NULL;
    if (yaml_parse((const char *)data, size, &value, NULL) < 0) {
        if (value)
            abort();
        return 0;
    }
    if (walk(value) > YAML_WEIGHT + 64) /* an empty document weighs nothing */
        abort();
    json_decref(value);
    return 0;
}

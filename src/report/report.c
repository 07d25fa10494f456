#include "report/report.h"

#include "base/cleanup.h"
#include "base/str.h"

static const struct renderer renderers[] = {
    { "text", render_text },
    { "json", render_json },
};

const struct renderer *renderer_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(renderers); i++)
        if (str_eq(renderers[i].name, name))
            return &renderers[i];
    return NULL;
}

const char *renderer_names(void)
{
    return "text, json";
}

int report_exit_code(const struct report *r)
{
    switch (r->kind) {
    case REPORT_CHECK:
        return r->judged->verdict == VERDICT_FITS ? 0 : 1;
    case REPORT_LOADS:
        return r->load->known && r->load->loads ? 0 : 1;
    case REPORT_ERROR:
        return err_exit_code(r->error->code);
    case REPORT_SHOW:
    case REPORT_SNAPSHOT:
        break;
    }
    return 0;
}

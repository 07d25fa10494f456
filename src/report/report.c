#include "report/report.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "report/kb.h"

static const struct renderer renderers[] = {
    { "text", NULL, render_text },
    { "json", NULL, render_json },
    { "md", "kb", render_md },
};

const struct renderer *renderer_find(const char *name, const char *verb)
{
    for (size_t i = 0; i < ARRAY_LEN(renderers); i++)
        if (str_eq(renderers[i].name, name) && (!renderers[i].verb || str_eq(renderers[i].verb, verb)))
            return &renderers[i];
    return NULL;
}

const char *renderer_names(const char *verb)
{
    return str_eq(verb, "kb") ? "text, json, md" : "text, json";
}

int report_exit_code(const struct report *r)
{
    switch (r->kind) {
    case REPORT_CHECK:
        return r->judged->verdict == VERDICT_FITS ? 0 : 1;
    case REPORT_LOADS:
        return r->load->known && r->load->loads ? 0 : 1;
    case REPORT_MATCH:
        return r->match->fits ? 0 : 1;
    case REPORT_ERROR:
        return err_exit_code(r->error->code);
    case REPORT_SHOW:
    case REPORT_SNAPSHOT:
    case REPORT_KB:
        break;
    }
    return 0;
}

/* match for machines: schema/match.json. */
#include <stdio.h>

#include "base/str.h"
#include "report/match.h"
#include "version/driver.h"

static void names(struct json *j, const char *key, const struct names *list)
{
    json_key(j, key);
    json_arr_inline(j);
    for (size_t i = 0; i < list->n; i++)
        json_str(j, list->at[i]);
    json_arr_end(j);
}

static void texts(struct json *j, const char *key, const char *const *at)
{
    json_key(j, key);
    json_arr_inline(j);
    for (; *at; at++)
        json_str(j, *at);
    json_arr_end(j);
}

static void wish(struct json *j, const struct match_wish *w)
{
    char text[400];
    (void)snprintf(text, sizeof(text), "%s %s", wish_name(w->kind), w->value);
    json_str(j, text);
}

static void wishes(struct json *j, const struct match_query *q, unsigned set)
{
    json_arr_inline(j);
    for (size_t i = 0; i < q->n; i++)
        if (set >> i & 1)
            wish(j, &q->wish[i]);
    json_arr_end(j);
}

static void release(struct json *j, const char *key, const char *version, const char *channel)
{
    json_key(j, key);
    if (!version) {
        json_nil(j);
        return;
    }
    json_obj_inline(j);
    json_kstr(j, "version", version);
    json_kstr(j, "channel", channel);
    json_obj_end(j);
}

static void choice(struct json *j, const struct match_choice *x)
{
    char text[16];
    json_obj(j);
    release(j, "ort", x->ort, x->channel);
    release(j, "torch", x->torch, x->torch_channel);
    json_kstr(j, "sharing", !x->torch ? NULL : x->sharing == MATCH_SHARED ? "shared" : "separate");
    json_kstr(j, "cuda", cuda_text(x->cuda, text, sizeof(text)));
    json_kstr(j, "cudnn", x->cudnn);
    json_kbool(j, "cudnn_optional", x->cudnn_optional);
    (void)snprintf(text, sizeof(text), "%d", x->tensorrt_major);
    json_kstr(j, "tensorrt", x->tensorrt_major ? text : NULL);
    json_kstr(j, "python", x->python);
    json_kstr(j, "numpy", x->numpy);
    json_kstr(j, "driver_min", x->driver_min);
    json_kstr(j, "platform", x->platform);
    json_kstr(j, "gpu_code", x->gpu_code);
    texts(j, "install", x->install);
    json_kstr(j, "then", x->then);
    texts(j, "why", x->why);
    json_obj_end(j);
}

static void conflict(struct json *j, const struct match_query *q, const struct match_conflict *c)
{
    json_obj(j);
    json_key(j, "wishes");
    wishes(j, q, c->wishes);
    json_key(j, "because");
    json_arr(j);
    for (size_t i = 0; i < c->n_because; i++) {
        json_obj_inline(j);
        json_kstr(j, "text", c->because[i].text);
        json_kstr(j, "rule", c->because[i].rule);
        json_kstr(j, "source", c->because[i].source);
        json_obj_end(j);
    }
    json_arr_end(j);
    json_obj_end(j);
}

static void nearest(struct json *j, const struct match_nearest *n)
{
    json_obj(j);
    json_kstr(j, "change", n->change);
    json_kstr(j, "from", n->from);
    json_kstr(j, "drop_gives_best_ort", n->drop_best_ort);
    json_key(j, "alternatives");
    json_arr(j);
    for (size_t i = 0; i < n->n_alternatives; i++) {
        json_obj_inline(j);
        json_kstr(j, "value", n->alternatives[i].value);
        json_kstr(j, "best_ort", n->alternatives[i].best_ort);
        json_obj_end(j);
    }
    json_arr_end(j);
    json_obj_end(j);
}

static const char *as_of(const struct match_query *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->wish[i].kind == WISH_AS_OF)
            return q->wish[i].value;
    return kb_date();
}

void json_match(struct json *j, const struct match_query *q, const struct match_answer *answer)
{
    static const char *const channels[] = { [MATCH_PYPI] = "pypi", [MATCH_FEED] = "feed", [MATCH_ALL] = "all" };
    json_kstr(j, "as_of", as_of(q));
    json_kstr(j, "channel", channels[q->channel]);
    json_key(j, "wishes");
    wishes(j, q, UINT32_MAX);
    json_kbool(j, "satisfiable", answer->fits);
    json_key(j, "matches");
    json_arr(j);
    for (size_t i = 0; i < answer->choices.n; i++)
        choice(j, &answer->choices.at[i]);
    json_arr_end(j);
    names(j, "ort_versions", &answer->ort_versions);
    names(j, "separate_libraries_only", &answer->separate);
    names(j, "only_by_ptx_jit", &answer->by_ptx);
    names(j, "maybe_ort", &answer->maybe);
    json_key(j, "feed_ort");
    json_arr(j);
    for (size_t i = 0; i < answer->feeds.n; i++) {
        json_obj_inline(j);
        json_kstr(j, "ort", answer->feeds.at[i].ort);
        json_kstr(j, "feed", answer->feeds.at[i].feed);
        json_kstr(j, "confidence", answer->feeds.at[i].confidence);
        json_kbool(j, "gpu_code_known", !answer->feeds.at[i].gpu_code_unknown);
        json_obj_end(j);
    }
    json_arr_end(j);
    json_key(j, "conflicts");
    json_arr(j);
    for (size_t i = 0; i < answer->conflicts.n; i++)
        conflict(j, q, &answer->conflicts.at[i]);
    json_arr_end(j);
    json_key(j, "nearest");
    json_arr(j);
    for (size_t i = 0; i < answer->nearest.n; i++)
        nearest(j, &answer->nearest.at[i]);
    json_arr_end(j);
    json_key(j, "smallest_changes");
    json_arr(j);
    for (size_t i = 0; i < answer->smallest_changes.n; i++)
        wishes(j, q, answer->smallest_changes.at[i]);
    json_arr_end(j);
}

/* Answers of match, for the renderers. */
#ifndef ORTFIT_REPORT_MATCH_H
#define ORTFIT_REPORT_MATCH_H

#include "base/jsonw.h"
#include "match/match.h"

/* The members of the document behind the head. */
void json_match(struct json *j, const struct match_query *q, const struct match_answer *answer);

#endif

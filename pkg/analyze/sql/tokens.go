package sql

import (
	"github.com/pa-tools/pa/pkg/answer"
)

// readsTokens reports whether the query of a metric reads the view of tokensView.
func readsTokens(m metric) bool {
	return m.name == answer.TTST.String() || m.name == answer.TTFAT.String()
}

// tokensView returns the query of the view tokens: a row for each streamed request, with the times to its
// second token and to its first answer token after reasoning, which no column holds. The column events, where
// it is not null, has the token events; elsewhere token_choice and token_reasoning have them by response.
// A time of arrival below 0 is beyond 63 bits: the report has no times from it.
func tokensView(e *engine) string {
	l := listsOf(e)
	// first returns the first position of a list that satisfies a condition on g; 0 if there is none.
	first := func(list, condition string) string {
		return "coalesce(" + l.at(l.filter(l.positions(list), condition), "1") + ", 0)"
	}
	// after returns the same where another position is known; else 0.
	after := func(position, list, condition string) string {
		return "CASE WHEN " + position + " > 0 THEN " + first(list, "g > "+position+" AND "+condition) + " ELSE 0 END"
	}
	// known makes a position that may be 0 one that can be asked for.
	known := func(position string) string { return call("greatest", position, "1") }
	event := func(position, member string) string { return l.member("events", position, member) }
	reasons, events := l.element("token_reasoning", "g"), l.element("token_events", "g")
	// response returns the position of a response: of an event where the events are listed.
	response := func(ofEvent, position, name string) string {
		return "    CASE WHEN listed = 0 THEN " + position + " WHEN " + ofEvent + " > 0 THEN " + event(known(ofEvent), "response") + " + 1 ELSE 0 END AS " + name
	}
	rest := e.group + ", start_ns, recv_ns"
	at := func(position string) string { return l.element("recv_ns", known(position)) }
	return "SELECT " + e.group + ",\n" +
		"  CASE WHEN second > 0 AND " + at("second") + " >= 0 AND " + at("began") + " >= 0 THEN " + at("second") + " - " + at("began") + " END AS ttst_ns,\n" +
		"  CASE WHEN answered > 0 AND start_ns > 0 AND " + at("answered") + " >= 0 THEN " + at("answered") + " - start_ns END AS ttfat_ns\n" +
		"FROM (\n" +
		"  SELECT " + rest + ",\n" +
		response("1", "first_response", "began") + ",\n" +
		response("second_event", "second_response", "second") + ",\n" +
		response("answer_event", "answer_response", "answered") + "\n" +
		"  FROM (\n" +
		"    SELECT " + rest + ", events, listed, first_response,\n" +
		"      " + after("listed", "events", event("g", "choice")+" = "+event("1", "choice")) + " AS second_event,\n" +
		"      " + after("reasoning_event", "events", "NOT "+event("g", "reasoning")) + " AS answer_event,\n" +
		"      CASE WHEN first_response > 0 AND " + l.element("token_events", known("first_response")) + " > 1 THEN first_response ELSE\n" +
		"        " + after("first_response", "token_choice", events+" > 0 AND "+l.element("token_choice", "g")+" = "+l.element("token_choice", known("first_response"))) + " END AS second_response,\n" +
		"      " + after("reasoning_response", "token_reasoning", events+" > 0 AND NOT "+reasons) + " AS answer_response\n" +
		"    FROM (\n" +
		"      SELECT " + rest + ", events, token_events, token_choice, token_reasoning,\n" +
		"        CASE WHEN " + l.length("events") + " > 0 THEN 1 ELSE 0 END AS listed,\n" +
		"        " + first("token_events", events+" > 0") + " AS first_response,\n" +
		"        " + first("events", event("g", "reasoning")) + " AS reasoning_event,\n" +
		"        " + first("token_reasoning", reasons) + " AS reasoning_response\n" +
		"      FROM measured\n" +
		"      WHERE streamed\n" +
		"    ) AS streamed_requests\n" +
		"  ) AS found\n" +
		") AS placed"
}

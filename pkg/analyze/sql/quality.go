package sql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
)

// QualityNames lists the queries about the quality of streams, which a script holds only by name.
func QualityNames() []string { return namesOf(qualityMetrics(quality.Default())) }

// qualityMetrics lists the queries about quality with these parameters.
func qualityMetrics(cfg quality.Config) []metric {
	perToken := func(e *engine) string {
		return "CASE WHEN output_tokens > 0 THEN " + e.float("e2el_ns") + " / output_tokens END"
	}
	return []metric{
		{"fluidity", "deadlines of tokens", columnsOf(explain.Quality, "fluidity_index", "tokens_in_time", "smooth_goodput"), func(e *engine) string { return fluidity(e, cfg.PaceNS) }},
		distributed(explain.Quality, answer.TokensInTime, func(e *engine) string { return distribution(e, "streams", e.float("met")+" / tokens") }),
		distributed(explain.Quality, answer.ReaderIdle, func(e *engine) string { return distribution(e, "streams", "idle_ns") }),
		{answer.Stalls.String(), "stalls", columnsOf(explain.Quality, "stalls", "stalled_requests", "stall_share"), stalls},
		distributed(explain.Quality, answer.LongestStall, func(e *engine) string { return distribution(e, "streams", "longest_stall_ns") }),
		distributed(explain.Quality, answer.StallShare, func(e *engine) string {
			return distribution(e, "streams", "CASE WHEN decode_ns > 0 THEN "+e.float("stalled_ns")+" / decode_ns END")
		}),
		distributed(explain.Quality, answer.TokensPerEvent, func(e *engine) string {
			events := listsOf(e).sum("token_events")
			known := "(timed_tokens IS NOT NULL OR output_tokens = 1 OR " + events + " = 1)" // the tokens that events carried
			visible := e.float("output_tokens - CASE WHEN token_source = 'usage' THEN coalesce(hidden_tokens, 0) ELSE 0 END")
			return distribution(e, "measured", "CASE WHEN streamed AND output_tokens > 0 AND token_source <> 'responses' AND "+known+" THEN "+visible+" / "+events+" END")
		}),
		distributed(explain.Quality, answer.NormalizedLatency, func(e *engine) string { return distribution(e, "measured", perToken(e)) }),
		ofRequests(distributed(explain.Quality, answer.Fluidity, func(e *engine) string {
			return distribution(e, "streams", "1 - "+e.float("misses")+" / deadlines")
		})),
		ofRequests(distributed(explain.Quality, answer.Stalls, func(e *engine) string { return distribution(e, "streams", "n_stalls") })),
		{"interactivity", "tokens per second of a user", columnsOf(explain.Quality, "interactivity_p90", "interactivity_p75"), func(e *engine) string {
			return "SELECT " + e.group + ",\n  1e9 / " + e.quantile(perToken(e), 0.9) + " AS interactivity_p90,\n  1e9 / " + e.quantile(perToken(e), 0.75) + " AS interactivity_p75" + e.byGroup("measured")
		}},
	}
}

// readsStreams reports whether the query of a metric reads the view of streamsView.
func readsStreams(m metric) bool {
	switch m.name {
	case answer.TokensPerEvent.String(), answer.NormalizedLatency.String(), "interactivity":
		return false
	}
	return slices.Contains(QualityNames(), m.name)
}

// ofRequests renames a query of the values of requests, because a query of whole levels has the name of its metric.
func ofRequests(m metric) metric {
	m.name = "request_" + m.name
	return m
}

// fluidity pools the deadlines of each level or window. Windows have no smooth goodput, because it is a rate.
func fluidity(e *engine, paceNS int64) string {
	goodput, times := "", ""
	if !e.windowed() {
		goodput = fmt.Sprintf(",\n  (tokens - %s / %d) / seconds AS smooth_goodput", e.float("idle"), paceNS)
		times = "JOIN (\n" +
			"  SELECT experiment AS level, " + e.float("max("+e.lastOf("recv_ns")+") - min(start_ns)") + " / 1e9 AS seconds\n" +
			"  FROM measured\n" +
			"  GROUP BY experiment\n" +
			") AS times ON experiment = level\n"
	}
	return "SELECT " + e.group + ", n, deadlines, deadlines_missed,\n" +
		"  1 - " + e.float("deadlines_missed") + " / deadlines AS fluidity_index,\n" +
		"  " + e.float("met") + " / tokens AS tokens_in_time" + goodput + "\n" +
		"FROM (\n" +
		"  SELECT " + e.group + ", count(*) AS n, sum(deadlines) AS deadlines, sum(misses) AS deadlines_missed,\n" +
		"    sum(tokens) AS tokens, sum(met) AS met, sum(idle_ns) AS idle\n" +
		"  FROM streams\n" +
		"  GROUP BY " + e.group + "\n" +
		") AS sums\n" + times +
		"ORDER BY " + e.order
}

// stalls pools the stalls of each level or window.
func stalls(e *engine) string {
	return "SELECT " + e.group + ", count(*) AS n,\n" +
		"  sum(n_stalls) AS stalls,\n" +
		"  sum(CASE WHEN n_stalls > 0 THEN 1 ELSE 0 END) AS stalled_requests,\n" +
		"  max(longest_stall_ns) AS longest_stall_ns,\n" +
		"  CASE WHEN sum(decode_ns) > 0 THEN " + e.float("sum(stalled_ns)") + " / sum(decode_ns) END AS stall_share" +
		e.byGroup("streams")
}

// The state of the walk through the tokens of a request, by index.
const (
	slack  = iota // banked, in ns
	due           // deadlines
	missed        // of them
	late          // the time by which a token came after the reader's deadline; negative if earlier
	met           // tokens that came by the reader's deadline
	idle          // the longest late
	numState
)

var stateNames = [numState]string{"slack", "due", "missed", "late", "met", "idle"}

// lists holds the functions of an engine for lists of whole numbers.
type lists struct {
	gaps string // all gaps of a request; an empty list for none
	sum  func(list string) string
	// at returns the element at a position from 1; null or 0 beyond the end.
	at func(list, position string) string
	// element is like at, but for a position that exists: of columns whose elements may be null.
	element func(list, position string) string
	// member returns a member of an element of a list of structures.
	member func(list, position, name string) string
	// positions returns the list of the positions of a list, which may be null.
	positions func(list string) string
	length    func(list string) string
	sort      func(list string) string
	concat    func(first, list string) string
	// filter returns the elements that satisfy a condition on g.
	filter func(list, condition string) string
	// fold walks through a list. next returns the new state from the expressions of the old state
	// and of the element.
	fold  func(list string, initial [numState]int64, next func(state [numState]string, element string) [numState]string) string
	field func(state string, i int) string
	div   func(a, b string) string
}

// streamsView returns the query of the view streams: a row for each request whose token times are
// known, with its deadlines and stalls.
func streamsView(e *engine, cfg quality.Config) string {
	l := listsOf(e)
	initial := [numState]int64{slack: cfg.FirstTokenNS - cfg.TokenNS}
	next := func(s [numState]string, gap string) [numState]string {
		left := fmt.Sprintf("(%s + %d - %s)", s[slack], cfg.TokenNS, gap)
		behind := fmt.Sprintf("(%s + %s - %d)", s[late], gap, cfg.PaceNS)
		misses := l.div("-"+left, strconv.FormatInt(cfg.TokenNS, 10)) + " + 1"
		return [numState]string{
			slack:  "greatest(" + left + ", 0)",
			due:    fmt.Sprintf("%s + CASE WHEN %s < 0 THEN %s ELSE 1 END", s[due], left, misses),
			missed: fmt.Sprintf("%s + CASE WHEN %s < 0 THEN %s ELSE 0 END", s[missed], left, misses),
			late:   behind,
			met:    fmt.Sprintf("%s + CASE WHEN %s <= 0 THEN 1 ELSE 0 END", s[met], behind),
			idle:   fmt.Sprintf("greatest(%s, %s)", s[idle], behind),
		}
	}
	half := func(offset int) string {
		return e.float(l.at("sorted", "greatest(1, "+l.div(fmt.Sprintf("(%s + %d)", l.length("gaps"), offset), "2")+")"))
	}
	median := "(" + half(1) + " + " + half(2) + ") / 2"
	factor := strconv.FormatFloat(cfg.StallFactor, 'f', -1, 64)
	return "SELECT " + e.group + ", " + l.length("gaps") + " + 1 AS tokens,\n" +
		"  " + l.field("state", due) + " AS deadlines, " + l.field("state", missed) + " AS misses,\n" +
		"  " + l.field("state", met) + " AS met, " + l.field("state", idle) + " AS idle_ns,\n" +
		"  " + l.length("stalled") + " AS n_stalls, " + l.sum("stalled") + " AS stalled_ns, " + l.sum("gaps") + " AS decode_ns,\n" +
		"  CASE WHEN " + l.length("stalled") + " > 0 THEN " + e.lastOf("stalled") + " END AS longest_stall_ns\n" +
		"FROM (\n" +
		"  SELECT " + e.group + ", gaps,\n" +
		"    " + l.fold(l.concat("ttft_ns", "gaps"), initial, next) + " AS state,\n" +
		"    " + l.filter("gaps", fmt.Sprintf("g > %d AND g > %s * middle", cfg.StallNS, factor)) + " AS stalled\n" +
		"  FROM (\n" +
		"    SELECT " + e.group + ", ttft_ns, gaps, " + median + " AS middle\n" +
		"    FROM (\n" +
		"      SELECT " + e.group + ", ttft_ns, gaps, " + l.sort("gaps") + " AS sorted\n" +
		"      FROM (\n" +
		"        SELECT " + e.group + ", ttft_ns, " + l.gaps + " AS gaps, " + l.sum("token_events") + " AS events\n" +
		"        FROM measured\n" +
		"        WHERE streamed AND ttft_ns IS NOT NULL\n" +
		"      ) AS timed\n" +
		"      WHERE events = " + l.length("gaps") + " + 1\n" +
		"    ) AS ordered\n" +
		"  ) AS middled\n" +
		") AS walked"
}

// whole returns an expression as a 64-bit integer.
func whole(expression string) string { return "CAST(" + expression + " AS BIGINT)" }

// call returns a call of a function.
func call(function string, arguments ...string) string {
	return function + "(" + strings.Join(arguments, ", ") + ")"
}

// function returns a call of a function with one list.
func function(name string) func(string) string {
	return func(list string) string { return call(name, list) }
}

// fieldsOf returns the expressions of the fields of the state a.
func fieldsOf(field func(string, int) string) (all [numState]string) {
	for i := range all {
		all[i] = field("a", i)
	}
	return all
}

// dotted returns a field of a structure by name.
func dotted(state string, i int) string { return state + "." + stateNames[i] }

// numbers returns a state as expressions.
func numbers(state [numState]int64) (all [numState]string) {
	for i, v := range state {
		all[i] = strconv.FormatInt(v, 10)
	}
	return all
}

func duckDBLists() lists {
	structure := func(element string, state [numState]string) string {
		parts := []string{"gap: " + element}
		for i, v := range state {
			parts = append(parts, stateNames[i]+": "+whole(v))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return lists{
		gaps:      "coalesce(flatten(itl_ns), [])",
		sum:       func(list string) string { return "coalesce(list_sum(" + list + "), 0)" },
		at:        func(list, position string) string { return list + "[" + position + "]" },
		element:   func(list, position string) string { return list + "[" + position + "]" },
		member:    func(list, position, name string) string { return list + "[" + position + "]." + name },
		positions: func(list string) string { return call("range", "1", call("len", list)+" + 1") },
		length:    function("len"), sort: function("list_sort"),
		concat: func(first, list string) string { return call("list_prepend", first, list) },
		filter: func(list, condition string) string { return call("list_filter", list, "lambda g: "+condition) },
		// The state of a reduction has the type of the elements, so each element has room for one.
		fold: func(list string, initial [numState]int64, next func([numState]string, string) [numState]string) string {
			var empty [numState]int64
			first := structure(whole("0"), numbers(initial))
			elements := call("list_transform", list, "lambda g: "+structure("g", numbers(empty)))
			return call("list_reduce", call("list_prepend", first, elements), "lambda a, x: "+structure("x.gap", next(fieldsOf(dotted), "x.gap")))
		},
		field: dotted,
		div:   func(a, b string) string { return a + " // " + b },
	}
}

func sparkLists() lists {
	structure := func(state [numState]string) string {
		var parts []string
		for i, v := range state {
			parts = append(parts, "'"+stateNames[i]+"'", whole(v))
		}
		return call("named_struct", parts...)
	}
	return lists{
		gaps:    "coalesce(flatten(itl_ns), CAST(array() AS ARRAY<BIGINT>))",
		sum:     func(list string) string { return call("aggregate", list, whole("0"), "(a, g) -> a + g") },
		at:      func(list, position string) string { return call("get", list, position+" - 1") },
		element: func(list, position string) string { return call("get", list, position+" - 1") },
		member:  func(list, position, name string) string { return call("get", list, position+" - 1") + "." + name },
		positions: func(list string) string {
			return "CASE WHEN " + call("size", list) + " > 0 THEN " + call("sequence", "1", call("size", list)) + " ELSE CAST(array() AS ARRAY<INT>) END"
		},
		length: function("size"), sort: function("array_sort"),
		concat: func(first, list string) string { return call("concat", call("array", first), list) },
		filter: func(list, condition string) string { return call("filter", list, "g -> "+condition) },
		fold: func(list string, initial [numState]int64, next func([numState]string, string) [numState]string) string {
			return call("aggregate", list, structure(numbers(initial)), "(a, g) -> "+structure(next(fieldsOf(dotted), "g")))
		},
		field: dotted,
		div:   func(a, b string) string { return a + " div " + b },
	}
}

func clickHouseLists() lists {
	structure := func(state [numState]string) string {
		var parts []string
		for _, v := range state {
			parts = append(parts, whole(v))
		}
		return call("tuple", parts...)
	}
	field := func(state string, i int) string { return call("tupleElement", state, strconv.Itoa(i+1)) }
	return lists{
		gaps:    "arrayMap(g -> assumeNotNull(g), arrayFlatten(itl_ns))",
		sum:     func(list string) string { return call("arraySum", "g -> "+whole("assumeNotNull(g)"), list) },
		at:      func(list, position string) string { return call("arrayElement", list, position) },
		element: func(list, position string) string { return call("assumeNotNull", call("arrayElement", list, position)) },
		member: func(list, position, name string) string {
			return call("assumeNotNull", call("tupleElement", call("arrayElement", list, position), text(name)))
		},
		positions: func(list string) string { return call("range", "1", call("toInt64", call("length", list))+" + 1") },
		length:    func(list string) string { return call("toInt64", call("length", list)) }, sort: function("arraySort"),
		concat: func(first, list string) string { return call("arrayPushFront", list, call("assumeNotNull", first)) },
		filter: func(list, condition string) string { return call("arrayFilter", "g -> "+condition, list) },
		fold: func(list string, initial [numState]int64, next func([numState]string, string) [numState]string) string {
			return call("arrayFold", "(a, g) -> "+structure(next(fieldsOf(field), "g")), list, structure(numbers(initial)))
		},
		field: field,
		div:   func(a, b string) string { return call("intDiv", a, b) },
	}
}

func trinoLists() lists {
	var types []string
	for _, name := range stateNames {
		types = append(types, name+" BIGINT")
	}
	structure := func(state [numState]string) string {
		return "CAST(ROW(" + strings.Join(state[:], ", ") + ") AS ROW(" + strings.Join(types, ", ") + "))"
	}
	return lists{
		gaps:    "coalesce(flatten(itl_ns), CAST(ARRAY[] AS ARRAY(BIGINT)))",
		sum:     func(list string) string { return call("reduce", list, whole("0"), "(a, g) -> a + g", "a -> a") },
		at:      func(list, position string) string { return call("element_at", list, position) },
		element: func(list, position string) string { return call("element_at", list, position) },
		member:  func(list, position, name string) string { return call("element_at", list, position) + "." + name },
		positions: func(list string) string {
			return "CASE WHEN " + call("cardinality", list) + " > 0 THEN " + call("sequence", "1", call("cardinality", list)) + " ELSE CAST(ARRAY[] AS ARRAY(BIGINT)) END"
		},
		length: function("cardinality"), sort: function("array_sort"),
		concat: func(first, list string) string { return "ARRAY[" + first + "] || " + list },
		filter: func(list, condition string) string { return call("filter", list, "g -> "+condition) },
		fold: func(list string, initial [numState]int64, next func([numState]string, string) [numState]string) string {
			return call("reduce", list, structure(numbers(initial)), "(a, g) -> "+structure(next(fieldsOf(dotted), "g")), "a -> a")
		},
		field: dotted,
		div:   func(a, b string) string { return a + " / " + b },
	}
}

// among returns the queries whose name is chosen.
func among(metrics []metric, chosen []string) []metric {
	return slices.DeleteFunc(metrics, func(m metric) bool { return !slices.Contains(chosen, m.name) })
}

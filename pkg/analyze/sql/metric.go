package sql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// A metric is a query that a script can hold.
type metric struct {
	// name is the name on the command line: of a metric of the report "ttft", "itl", …
	name string
	// doc says in a line what the query returns. For a metric of the report it is the definition.
	doc string
	// columns are the columns that are figures of the report.
	columns []column
	// statement returns the query without its semicolon.
	statement func(e *engine) string
}

// A column is a column of a result that is a figure of the report.
type column struct {
	name string
	// figure is the entry of package explain.
	figure explain.Entry
}

// columnsOf returns the columns that have the keys of figures of a group.
func columnsOf(group explain.Group, keys ...string) []column {
	var all []column
	for _, key := range keys {
		all = append(all, column{key, explain.Find(group, key, true)})
	}
	return all
}

// metrics lists the queries, in the order of a report.
func metrics() []metric {
	all := []metric{{name: "requests", doc: "requests by whether they count", statement: requests}}
	all = append(all, distributions(explain.Usual, answer.StrictMetrics)...)
	return append(all,
		metric{"throughput", "rates of the requests that count", columnsOf(explain.Rates, explain.KeyRequestRate, explain.KeyOutputRate, explain.KeyTotalRate), throughput},
		metric{"user_rate", "output tokens per second of a user", []column{
			{"decode_per_s", explain.Find(explain.Economics, "output_tokens_per_s_per_user_decode", true)},
			{"request_per_s", explain.Find(explain.Economics, "output_tokens_per_s_per_user_e2e", true)},
		}, userRate},
		metric{"prefix", "prefix cache", columnsOf(explain.Prefix, figure.KeyHitRate, figure.KeyHitRateZero), prefix},
		metric{name: "failures", doc: "failed requests by the kind of failure", statement: failures},
	)
}

// distributed returns the query of the distribution of a metric of a group of the report.
func distributed(group explain.Group, m answer.Metric, statement func(e *engine) string) metric {
	e := explain.Find(group, m.Key(), false)
	return metric{name: m.String(), doc: e.Definition(), statement: statement}
}

// withoutQuery returns why a figure of the report has no query, and which command computes it; "" for any
// other name.
func withoutQuery(name string) string {
	switch name {
	case "windows":
		return "windows are not a metric; --windows LENGTH gives each metric a row for each window"
	case answer.FluidInterval.String(), "fluid_token_rate":
		return "it needs a search for each request, which SQL cannot express; pa-analyze report --metrics quality computes it"
	case answer.ITLPerToken.String():
		return "where the server counts the tokens of an event, the time of the event counts once for each token; pa-analyze report --metrics quality computes it"
	}
	return ""
}

// Names returns the names of all metrics.
func Names() []string { return namesOf(metrics()) }

// PhaseNames lists the queries of the times and of the speculation that answers state. A script holds them only by
// name, because few servers state them.
func PhaseNames() []string { return namesOf(phaseMetrics()) }

func phaseMetrics() []metric {
	return append(distributions(explain.Phases, answer.ServerMetrics),
		metric{name: "ttft_parts", doc: "mean TTFT of the requests whose answers state a time before the first token, and the share and the mean of each part", statement: ttftParts},
		metric{"speculation", "pooled acceptance of draft tokens", columnsOf(explain.Phases, figure.KeyAcceptance, figure.KeyAcceptedShare), speculation})
}

// ttftParts divides the TTFT, which begins when the request leaves, like answer.Measures.Waterfall.
func ttftParts(e *engine) string {
	parts := []string{"send", "queue", "prefill", "first_decode", "rest"}
	lines := []string{"count(*) AS n", "avg(" + e.float("ttft_ns") + ") AS ttft_mean_ns"}
	for _, p := range parts {
		lines = append(lines, e.float("sum("+p+")")+" / nullif(sum(ttft_ns), 0) AS "+p+"_share", "avg("+e.float(p)+") AS "+p+"_mean_ns")
	}
	const queue, prefill = "coalesce(server_queue_ns, 0)", "coalesce(server_prefill_ns, server_ttft_ns - coalesce(server_queue_ns, 0), 0)"
	return "SELECT " + e.group + ",\n  " + strings.Join(lines, ",\n  ") + "\n" +
		"FROM (\n" +
		"  SELECT " + e.group + ", ttft_ns, send, queue, prefill, first_decode, ttft_ns - send - queue - prefill - first_decode AS rest\n" +
		"  FROM (\n" +
		"    SELECT " + e.group + ", ttft_ns,\n" +
		"      CASE WHEN sent_ns >= start_ns AND start_ns > 0 THEN least(sent_ns - start_ns, ttft_ns) ELSE 0 END AS send,\n" +
		"      " + queue + " AS queue,\n" +
		"      " + prefill + " AS prefill,\n" +
		"      CASE WHEN server_prefill_ns IS NOT NULL THEN coalesce(server_ttft_ns - " + queue + " - server_prefill_ns, 0) ELSE 0 END AS first_decode\n" +
		"    FROM measured\n" +
		"    WHERE ttft_ns IS NOT NULL AND coalesce(server_queue_ns, server_prefill_ns, server_ttft_ns) IS NOT NULL\n" +
		"  ) AS stated\n" +
		") AS parts\n" +
		"GROUP BY " + e.group + "\nORDER BY " + e.order
}

// speculation pools the acceptance of draft tokens.
func speculation(e *engine) string {
	per := func(below string) string {
		both := func(of string) string {
			return e.float("sum(CASE WHEN accepted_tokens IS NOT NULL AND " + below + " IS NOT NULL THEN " + of + " END)")
		}
		return both("accepted_tokens") + " / nullif(" + both(below) + ", 0)"
	}
	return "SELECT " + e.group + ",\n" +
		"  1 + " + per("draft_steps") + " AS pooled_acceptance_length,\n" +
		"  " + per("draft_tokens") + " AS accepted_draft_tokens" +
		e.byGroup("measured")
}

// distributions returns the queries of the metrics of a group that are columns of a view.
func distributions(group explain.Group, metrics []answer.Definition) []metric {
	var all []metric
	for i := range metrics {
		if m := &metrics[i]; m.View != "" {
			all = append(all, distributed(group, m.Metric, func(e *engine) string { return distribution(e, m.View, m.Key()) }))
		}
	}
	return all
}

// namesOf returns the names of metrics.
func namesOf(metrics []metric) []string {
	var all []string
	for _, m := range metrics {
		all = append(all, m.name)
	}
	return all
}

// levelColumns identify a load level.
const levelColumns = "experiment, mode, value"

// requests counts the requests of each level or window.
func requests(e *engine) string {
	count := func(condition, name string) string {
		return fmt.Sprintf("  sum(CASE WHEN %s THEN 1 ELSE 0 END) AS %s", condition, name)
	}
	return "SELECT " + e.group + ",\n" + strings.Join([]string{
		count("reason = ''", "ok"),
		count("reason = 'failed'", "failed"),
		count("reason NOT IN ('', 'failed')", "excluded"),
	}, ",\n") + e.byGroup(allRequests(e))
}

// allRequests returns the rows that the query requests counts. With windows, it adds a row without a reason for each
// window, so that a window without requests has a row in the result.
func allRequests(e *engine) string {
	if !e.windowed() {
		return e.all
	}
	return "(\n" +
		"  SELECT " + e.group + ", reason FROM " + e.all + "\n" +
		"  UNION ALL\n" +
		"  SELECT " + e.group + ", NULL AS reason\n" +
		"  FROM (SELECT DISTINCT " + levelColumns + " FROM " + allView + ") AS levels JOIN windows ON experiment = level\n" +
		") AS counted"
}

// distribution describes the values of a column by the statistics of the report.
func distribution(e *engine, view answer.View, column string) string {
	lines := []string{
		fmt.Sprintf("count(%s) AS n", column),
		fmt.Sprintf("avg(%s) AS mean", e.float(column)),
		fmt.Sprintf("%s(%s) AS std", e.std, e.float(column)),
		fmt.Sprintf("min(%s) AS min", column),
	}
	for _, level := range summary.Levels {
		lines = append(lines, e.quantile(column, level/100)+" AS "+percentileColumn(level))
	}
	lines = append(lines, fmt.Sprintf("max(%s) AS max", column))
	return "SELECT " + e.group + ",\n  " + strings.Join(lines, ",\n  ") + e.byGroup(string(view))
}

// percentileColumn returns the column of a percentile: "p50", "p99_9".
func percentileColumn(level float64) string {
	return "p" + strings.ReplaceAll(strconv.FormatFloat(level, 'f', -1, 64), ".", "_")
}

// throughput computes rates over the time from the first start to the last response.
func throughput(e *engine) string {
	rate := func(sum, name string) string {
		return fmt.Sprintf("  %s / seconds AS %s", e.float(sum), name)
	}
	return "SELECT " + e.group + ", seconds,\n" +
		rate("n", "requests_per_s") + ",\n" +
		rate("sum_output", "output_tokens_per_s") + ",\n" +
		"  CASE WHEN with_input = n THEN " + e.float("sum_output + sum_input") + " / seconds END AS total_tokens_per_s\n" +
		"FROM (\n" +
		"  SELECT " + e.group + ", count(*) AS n, sum(output_tokens) AS sum_output,\n" +
		"    sum(input_tokens) AS sum_input, count(input_tokens) AS with_input,\n" +
		"    " + e.float("max("+e.lastOf("recv_ns")+") - min(start_ns)") + " / 1e9 AS seconds\n" +
		"  FROM measured\n" +
		"  GROUP BY " + e.group + "\n" +
		") AS totals\n" +
		"ORDER BY " + e.order
}

// userRate computes the rates of users.
func userRate(e *engine) string {
	return "SELECT " + e.group + ",\n" +
		"  1e9 / avg(" + e.float("tpot_ns") + ") AS decode_per_s,\n" +
		"  avg(CASE WHEN e2el_ns > 0 THEN " + e.float("output_tokens") + " / (" + e.float("e2el_ns") + " / 1e9) END) AS request_per_s" +
		e.byGroup("measured")
}

// prefix computes the hit rates of the prefix cache: of the requests whose answers state cached tokens and
// input tokens, and, where it differs, of all requests whose answers state input tokens.
func prefix(e *engine) string {
	const stated = "cached_tokens BETWEEN 0 AND input_tokens AND input_tokens > 0"
	cached, input := "sum(CASE WHEN "+stated+" THEN cached_tokens END)", "sum(CASE WHEN "+stated+" THEN input_tokens END)"
	const all = "sum(CASE WHEN input_tokens > 0 AND NOT coalesce(input_counted, false) THEN input_tokens END)"
	return "SELECT " + e.group + ",\n" +
		"  " + cached + " AS sum_cached, " + input + " AS sum_input,\n" +
		"  " + e.float(cached) + " / " + e.float(input) + " AS hit_rate,\n" +
		"  CASE WHEN " + all + " > " + input + " THEN " + e.float(cached) + " / " + e.float(all) + " END AS hit_rate_absent_is_0" +
		e.byGroup("measured")
}

// failures counts failed requests by class.
func failures(e *engine) string {
	return "SELECT " + e.group + ", error_class, count(*) AS n\n" +
		"FROM " + e.all + "\n" +
		"WHERE reason = 'failed'\n" +
		"GROUP BY " + e.group + ", error_class\n" +
		"ORDER BY " + e.order + ", n DESC, error_class"
}

// byGroup returns the end of a query that has a row for each level or window.
func (e *engine) byGroup(view string) string {
	return "\nFROM " + view + "\nGROUP BY " + e.group + "\nORDER BY " + e.order
}

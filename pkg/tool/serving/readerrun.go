package serving

import (
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// A fileRun is one object of the file.
type fileRun struct {
	tool    *fileTool
	columns [numCols]int64 // offset of the '[', −1 for none
	names   [numCols]string
	// scalars are the texts of the members; "" for an array or an object.
	scalars map[string]string
	// order lists the names in scalars in the order of the file.
	order  []string
	chat   bool
	rows   int64 // in the columns
	values fileValues
}

// kept compares the rows with the numbers of requests that the result states.
func (x *fileRun) kept() resultfile.KeptLevel {
	k := resultfile.KeptLevel{Kept: x.rows, Stated: -1, Rate: x.number("request_throughput")}
	if completed := x.number("completed"); completed >= 0 && completed < 1<<53 {
		k.Stated = int64(completed)
		if failed := x.number("failed"); failed >= 0 && failed < 1<<53 {
			k.Stated += int64(failed)
		}
	}
	return k
}

// totals returns the totals that the result states.
func (x *fileRun) totals() export.StatedTotals {
	count := func(name string) *int64 { return resultfile.Total(x.number(name)) }
	return export.StatedTotals{DurationS: x.number("duration"), Requests: count("completed"), InputTokens: count("total_input_tokens"), OutputTokens: count("total_output_tokens")}
}

// lacksEnds reports whether requests may have gone on after their last chunk for a time that the file lacks.
func (x *fileRun) lacksEnds() bool { return x.tool.ends != "" && (x.chat || x.tool != &trtllmOldTool) }

// rowsBeforeCut reports whether an object has whole rows although the file was cut in
// it: each column begins before the cut. The column of errors may be missing, because
// no failed request has output in a result of any of the tools.
func (x *fileRun) rowsBeforeCut() bool {
	x.setTool()
	for _, col := range append([]int{colTTFT, colITL, colOutput, colText}, x.tool.late...) {
		if x.columns[col] < 0 {
			return false
		}
	}
	return true
}

func (x *fileRun) note(name, text string) {
	x.scalars[name] = text
	x.order = append(x.order, name)
}

// has reports whether the object has a member of that name.
func (x *fileRun) has(name string) bool {
	_, ok := x.scalars[name]
	return ok
}

// text returns the content of a member that is a string, else "".
func (x *fileRun) text(name string) string {
	v := x.scalars[name]
	if v == "" || v[0] != '"' {
		return ""
	}
	return string(jsonscan.DecodeText([]byte(v)))
}

// number returns a member that is a number, and NaN for any other. An unlimited rate is
// written as "inf" or Infinity.
func (x *fileRun) number(name string) float64 {
	v := x.scalars[name]
	if x.text(name) == "inf" {
		return math.Inf(1)
	}
	n, err := resultfile.ParseFloat([]byte(v))
	if err != nil {
		return math.NaN()
	}
	return n
}

// resultMembers names the members of a result file that the tool's own report repeats,
// and that its requests do not give, or not to the last digit.
var resultMembers = []string{"date", "model_id", "tokenizer_id", "duration", "mean_e2e_latency_ms"}

// result returns the resultMembers as text: strings without quotes, numbers unchanged.
func (x *fileRun) result() map[string]string {
	const longest = 1000 // bytes; a name that is longer is none
	all := map[string]string{}
	for _, name := range resultMembers {
		v := x.scalars[name]
		if s := x.text(name); s != "" {
			v = strings.ToValidUTF8(s, "\ufffd")
		} else if math.IsNaN(x.number(name)) {
			continue
		}
		if len(v) <= longest {
			all[name] = v
		}
	}
	return all
}

// setTool finds out which tool wrote the result.
func (x *fileRun) setTool() {
	x.tool = toolOf(x.has, x.columns[colLatency] >= 0)
	x.chat = strings.HasSuffix(x.text("backend"), "chat") || strings.HasSuffix(x.text("endpoint_type"), "chat")
}

// toolOf returns the tool that wrote a result, by the members that it has. latencies says that it has a column of latencies.
func toolOf(has func(name string) bool, latencies bool) *fileTool {
	switch {
	case has("max_model_len") || has("steady_state"):
		return &vllmRustTool
	case has("server_info") || has("mean_e2e_latency_ms"):
		return &sglangTool
	case (has("user_throughput") || has("mean_request_ar")) && !latencies:
		return &trtllmOldTool
	case has("user_throughput") || has("mean_request_ar"):
		return &trtllmTool
	}
	return &vllmTool
}

// identify finds out which tool wrote the result. It returns an error if the result
// holds no requests: a *leftOutResult.
func (x *fileRun) identify() error {
	x.setTool()
	if x.has("total_input_sequences") || x.has("input_sequence_throughput") {
		why := fmt.Sprintf("of %s for a model that gives no tokens (backend %q), which holds latencies only", x.tool.name, x.text("backend"))
		return &leftOutResult{why: "it is " + why, whole: "is a result " + why, figures: true, level: x.experiment()}
	}
	for _, col := range []int{colTTFT, colITL, colOutput, colError} {
		if x.columns[col] >= 0 {
			continue
		}
		how := "--save-detailed"
		if x.tool == &sglangTool {
			how = "--output-details"
		}
		why := fmt.Sprintf("holds figures and no requests; run it with %s to keep them", how)
		return &leftOutResult{
			why: "it " + why, whole: fmt.Sprintf("is a result of %s of %s that %s", x.tool.name, sanitize.Cut(x.when(), 40), why), figures: true, level: x.experiment(),
		}
	}
	return nil
}

// when returns the date of a result, for messages.
func (x *fileRun) when() string {
	if d := x.text("date"); d != "" {
		return d
	}
	return "unknown date"
}

// experiment returns the load level of a result.
func (x *fileRun) experiment() export.Experiment {
	return loadOf(x.number, func(name string) string { return strings.Trim(x.scalars[name], `"`) })
}

// loadOf returns the load level of a result, from its numbers and texts.
func loadOf(number func(name string) float64, text func(name string) string) export.Experiment {
	rate, most := number("request_rate"), number("max_concurrency")
	switch {
	case !math.IsNaN(rate) && !math.IsInf(rate, 0):
		return export.Experiment{Mode: export.ModeRequestRate, Value: text("request_rate")}
	case !math.IsNaN(most):
		return export.Experiment{Mode: export.ModeConcurrency, Value: text("max_concurrency")}
	case math.IsInf(rate, 1) && !math.IsNaN(number("num_prompts")):
		// All requests are sent at once.
		return export.Experiment{Mode: export.ModeConcurrency, Value: text("num_prompts")}
	}
	return export.Experiment{}
}

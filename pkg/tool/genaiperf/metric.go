package genaiperf

import (
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// The names of the metrics, as in the JSON report.
const (
	requestRate    = "request_throughput"
	requestLatency = "request_latency"
	requestGood    = "request_goodput"
	requestCount   = "request_count"
	firstToken     = "time_to_first_token"
	secondToken    = "time_to_second_token"
	interToken     = "inter_token_latency"
	tokenRate      = "output_token_throughput"
	tokensPerReq   = "output_token_throughput_per_request"
	tokensPerUser  = "output_token_throughput_per_user"
	outputLength   = "output_sequence_length"
	inputLength    = "input_sequence_length"
	numOutput      = "num_output_token" // of 24.03 to 24.06
	numInput       = "num_input_token"
	imageRate      = "image_throughput"
	imageLatency   = "image_latency"
)

// units holds the unit of each metric in the JSON report, and the unit on the console
// and in the CSV report. A metric without a unit on the console has one from 25.01 on.
var units = map[string]struct{ json, console string }{
	requestRate:    {"requests/sec", "per sec"},
	requestLatency: {"ms", "ms"},
	requestGood:    {"requests/sec", "per sec"},
	requestCount:   {"count", "count"},
	firstToken:     {"ms", "ms"},
	secondToken:    {"ms", "ms"},
	interToken:     {"ms", "ms"},
	tokenRate:      {"tokens/sec", ""},
	tokensPerReq:   {"tokens/sec", "tokens/sec"},
	tokensPerUser:  {"tokens/sec/user", "tokens/sec/user"},
	outputLength:   {"tokens", "tokens"},
	inputLength:    {"tokens", "tokens"},
	numOutput:      {"tokens", ""},
	numInput:       {"tokens", ""},
	imageRate:      {"pages/sec", "images/sec"},
	imageLatency:   {"ms", "ms/image"},
}

// isTime reports whether a metric is in nanoseconds before it is printed.
func isTime(name string) bool { return units[name].json == "ms" }

// A metric is a metric with its statistics.
type metric struct {
	// Name is the metric's name in the JSON report: "time_to_first_token".
	Name string
	// Unit is the unit in the JSON report: "ms". It is wrong here if the
	// release names a wrong one.
	Unit string
	// N is the number of values.
	N int
	// Single is set for a metric of the whole level (a throughput, the request count):
	// its only value is Avg.
	Single bool
	dialect.Statistics
}

// summarize returns the statistics of a list, which must not be empty, times scale.
func summarize(name string, v stat.NumpyVersion, x *stat.List, scale float64) metric {
	mean, std := x.MeanStd(v)
	least, most := x.Bounds()
	m := metric{Name: name, N: x.Len(), Statistics: dialect.Statistics{Avg: mean * scale, Std: std * scale, Min: least * scale, Max: most * scale}}
	var percentages []float64
	for _, pct := range dialect.Percentiles {
		percentages = append(percentages, float64(pct))
	}
	for i, p := range x.Percentiles(percentages...) {
		m.Pct[i] = p * scale
	}
	return m
}

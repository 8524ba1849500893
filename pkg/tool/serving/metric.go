package serving

import "slices"

// metricNames lists the names that percentile_metrics of any of the tools may have. A
// tool leaves out names that it does not know.
var metricNames = []string{"ttft", "tpot", "itl", "e2el", "request_ar", "client_queue_time", "e2el_including_client_queue"}

// goodputNames lists the metrics that --goodput accepts.
var goodputNames = []string{"ttft", "tpot", "e2el"}

// observed returns the value of one of goodputNames, in seconds.
func (o *outcome) observed(name string) float64 {
	switch name {
	case "ttft":
		return o.ttft
	case "tpot":
		return o.tpot()
	}
	return o.latency
}

// A section is a metric of a report: its names and its statistics.
type section struct {
	key         string // in the result file: "ttft"
	name, title string // in the block
	unit        string // "ms", or ""
	spread      bool   // with minimum and maximum
	stats       *stats
}

// sections returns the sections of a level that the command line asks for, in the order
// of TensorRT-LLM and vLLM.
func (r *report) sections(l *levelReport) []section {
	all := []section{
		{"ttft", "TTFT", "Time to First Token", "ms", false, &l.TTFT},
		{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", "ms", false, &l.TPOT},
		{"itl", "ITL", "Inter-token Latency", "ms", false, &l.ITL},
		{"e2el", "E2EL", "End-to-end Latency", "ms", false, &l.E2EL},
		{"client_queue_time", "Client Queue Time", "Client-side Queueing", "ms", false, l.Queue},
		{"e2el_including_client_queue", "E2EL incl. Client Queue", "Queue-inclusive End-to-end Latency", "ms", false, l.E2ELQueue},
	}
	var chosen []section
	if r.release.rules.deviations && l.Decoded.Mean > 0 {
		const name = "Avg Decoded Tokens per Iter"
		chosen = append(chosen, section{"avg_decoded_tokens_per_iter", name, name, "", true, &l.Decoded})
	}
	for _, s := range all {
		if s.stats != nil && slices.Contains(r.args.metrics, s.key) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// sglangSections returns the sections of a level in the order of SGLang, which always
// has all of them.
func (l *levelReport) sglangSections() []section {
	return []section{
		{"e2e_latency", "E2E Latency", "End-to-End Latency", "ms", false, &l.E2EL},
		{"ttft", "TTFT", "Time to First Token", "ms", false, &l.TTFT},
		{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", "ms", false, &l.TPOT},
		{"itl", "ITL", "Inter-Token Latency", "ms", true, &l.ITL},
	}
}

// suffix returns the end of a label: its unit and a colon.
func (s *section) suffix() string {
	if s.unit == "" {
		return ":"
	}
	return " (" + s.unit + "):"
}

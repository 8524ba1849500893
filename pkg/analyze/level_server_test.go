package analyze

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/export"
)

// hist are the series of a histogram.
type hist struct{ sum, count, running *export.Series }

func newHist() hist {
	label := []export.Label{{Name: "model_name", Value: "m"}}
	return hist{
		&export.Series{Source: "s", Name: "vllm:time_to_first_token_seconds_sum", Labels: label},
		&export.Series{Source: "s", Name: "vllm:time_to_first_token_seconds_count", Labels: label},
		&export.Series{Source: "s", Name: "vllm:num_requests_running", Labels: label},
	}
}

func (h hist) at(ns uint64, sum, count, running float64) export.Scrape {
	return export.Scrape{Source: "s", StartNS: ns, EndNS: ns + 1, Samples: []export.Sample{{Series: h.sum, Value: sum}, {Series: h.count, Value: count}, {Series: h.running, Value: running}}}
}

// Figures cover the time from the last scrape before the measurement, from 100 to
// 200, to the first scrape after it. Gauges use the scrapes within.
func TestServerFigures(t *testing.T) {
	h := newHist()
	for _, tt := range []struct {
		name    string
		scrapes []export.Scrape
		want    string
	}{
		{"nothing", nil, ""},
		{
			"before, within and after",
			[]export.Scrape{h.at(10, 1, 1, 50), h.at(90, 5, 5, 50), h.at(120, 8, 6, 2), h.at(180, 10, 8, 4), h.at(210, 14, 8, 50), h.at(300, 99, 99, 50)},
			"time to first token n=3 mean=3e+09 client=40; running requests n=2 mean=3 min=2 max=4; ",
		},
		{
			"only within: from the first to the last",
			[]export.Scrape{h.at(120, 8, 6, 2), h.at(180, 10, 8, 4)},
			"time to first token n=2 mean=1e+09 client=40; running requests n=2 mean=3 min=2 max=4; ",
		},
		{
			"a counter that is born within",
			[]export.Scrape{{Source: "s", StartNS: 50, EndNS: 51}, h.at(150, 4, 2, 1)},
			"time to first token n=2 mean=2e+09 client=40; running requests n=1 mean=1 min=1 max=1; ",
		},
		{
			"a server that is started again",
			[]export.Scrape{h.at(90, 5, 5, 1), h.at(150, 1, 1, 1), h.at(210, 9, 9, 1)},
			"time to first token n/a: the server was started again; running requests n=1 mean=1 min=1 max=1; | time to first token of m s has no value: the server was started again",
		},
		{
			"a counter that falls by itself",
			[]export.Scrape{h.at(90, 5, 5, 1), h.at(150, 6, 4, 1), h.at(210, 9, 9, 1)},
			"time to first token n/a: vllm:time_to_first_token_seconds_count fell from 5 to 4; running requests n=1 mean=1 min=1 max=1; | time to first token of m s has no value: vllm:time_to_first_token_seconds_count fell from 5 to 4",
		},
		{
			"a gauge below 0",
			[]export.Scrape{h.at(120, 1, 1, 3), h.at(150, 2, 2, -5)},
			"time to first token n=1 mean=1e+09 client=40; running requests n/a: vllm:num_requests_running is as low as -5; | running requests of m s has no value: vllm:num_requests_running is as low as -5",
		},
		{
			"a gauge that is not a number at times",
			[]export.Scrape{h.at(120, 1, 1, 3), h.at(150, 1, 1, math.NaN()), h.at(160, 2, 2, math.Inf(1))},
			"time to first token n=1 mean=1e+09 client=40; running requests n=1 mean=3 min=3 max=3; | left out, because not a number: 2 values of gauges; the first is of vllm:num_requests_running of s",
		},
		{
			"no requests, and no scrape within",
			[]export.Scrape{h.at(90, 5, 5, 0), h.at(210, 5, 5, 0)},
			"running requests n/a: no scrape fell into the measurement; | running requests has no value: no scrape fell into the measurement, which took 100 ns; a shorter --metrics-interval reads more often",
		},
		{
			"scrapes that failed, values that are none",
			[]export.Scrape{{Source: "s", StartNS: 150, EndNS: 151, Error: "gone"}, h.at(160, math.NaN(), math.NaN(), math.NaN())},
			"time to first token n/a: vllm:time_to_first_token_seconds_sum is not a number; running requests n/a: vllm:num_requests_running is not a number; | time to first token of m s has no value: vllm:time_to_first_token_seconds_sum is not a number | running requests of m s has no value: vllm:num_requests_running is not a number",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reader("openai", []export.Request{{StartNS: 110, Status: export.StatusOK, Responses: []export.Response{
				{RecvNS: 150, Outputs: export.Fields{{Name: "response", Value: export.Text("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")}}},
			}}})
			r.Header.Experiments[0].WindowBoundaries = []uint64{100, 200}
			r.Telemetry = tt.scrapes
			rep, err := Run(t.Context(), r, Config{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range rep.Experiments[0].Server {
				if f.NA != "" {
					got += fmt.Sprintf("%s n/a: %s; ", f.Name, f.NA)
					if f.N != 0 || f.Mean != 0 || f.Compared {
						t.Errorf("%+v", f)
					}
					continue
				}
				got += fmt.Sprintf("%s n=%d mean=%v", f.Name, f.N, f.Mean)
				if f.Kind == serverfigures.Gauge {
					got += fmt.Sprintf(" min=%v max=%v", f.Min, f.Max)
				}
				if f.Compared {
					got += fmt.Sprintf(" client=%v", f.Client)
				}
				got += "; "
			}
			for _, w := range rep.Experiments[0].Warnings {
				got += "| " + w.Error() + " "
			}
			if got = strings.TrimSpace(got); got != strings.TrimSpace(tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

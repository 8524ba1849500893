package analyze

import (
	"fmt"
	"math"
	"testing"

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

// Figures are those between the last scrape before the measurement, from 100 to
// 200, and the first after it; gauges those within.
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
			"running requests n=1 mean=1 min=1 max=1; ",
		},
		{"no requests", []export.Scrape{h.at(90, 5, 5, 0), h.at(210, 5, 5, 0)}, ""},
		{"scrapes that failed, values that are none", []export.Scrape{{Source: "s", StartNS: 150, EndNS: 151, Error: "gone"}, h.at(160, math.NaN(), math.NaN(), math.NaN())}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reader("openai", []export.Request{{StartNS: 110, Status: export.StatusOK, Responses: []export.Response{
				{RecvNS: 150, Outputs: export.Fields{{Name: "response", Value: export.Text("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")}}},
			}}})
			r.run.Experiments[0].WindowBoundaries = []uint64{100, 200}
			r.scrapes = tt.scrapes
			rep, err := Run(t.Context(), r, Config{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range rep.Experiments[0].Server {
				got += fmt.Sprintf("%s n=%d mean=%v", f.Name, f.N, f.Mean)
				if f.Gauge {
					got += fmt.Sprintf(" min=%v max=%v", f.Min, f.Max)
				}
				if f.Compared {
					got += fmt.Sprintf(" client=%v", f.Client)
				}
				got += "; "
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestServerFiguresOfTriton(t *testing.T) {
	snap := func(edge export.StatsEdge, n uint64) export.StatsSnapshot {
		return export.StatsSnapshot{Edge: edge, Stats: []export.ModelStats{{Name: "m", Version: "1", InferenceStats: export.InferenceStats{
			Success: export.CountNS{Count: n, NS: 100 * n}, Queue: export.CountNS{Count: n, NS: 30 * n},
		}}}}
	}
	e := &Experiment{}
	tritonFigures(e, &export.ServerStats{Models: []export.ServerModel{{Name: "m"}}, Snapshots: []export.StatsSnapshot{
		snap(export.EdgeLevel, 1), snap(export.EdgeMeasure, 2), snap(export.EdgeWindow, 5), snap(export.EdgeWindow, 9), snap(export.EdgeEnd, 20),
	}})
	if len(e.Server) != 2 || e.Server[0].N != 7 || e.Server[0].Mean != 100 || e.Server[1].Name != "queue" || e.Server[1].Mean != 30 || e.Server[0].Compared {
		t.Errorf("%+v", e.Server)
	}
}

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A made is a request of an export made for a test; times are milliseconds
// since the start of its level.
type made struct {
	start  int
	tokens []int
	status string // "" for one that succeeded
	phase  string
}

// A madeLevel is a level of so many users.
type madeLevel struct {
	users, windowEnd int // ms; 0 for no windows
	requests         []made
}

// write writes the level as pa-record does. Levels are an hour apart.
func (l madeLevel) write(b *strings.Builder, index int) {
	base := 1_700_000_000_000 + index*3_600_000
	at := func(ms int) string { return fmt.Sprintf("%d000000", base+ms) }
	fmt.Fprintf(b, `{"experiment":{"mode":"concurrency","value":%d},"requests":[`, l.users)
	var excluded []string
	sep := ""
	for i, r := range l.requests {
		var times, outputs []string
		for _, t := range r.tokens {
			times = append(times, at(t))
			outputs = append(outputs, `{"text_output":"x"}`)
		}
		pa := fmt.Sprintf(`{"id":%d`, i)
		if r.status != "" {
			pa += fmt.Sprintf(`,"status":%q,"message":"because","ended_ns":%s`, r.status, at(r.start+100))
		}
		if r.phase != "" {
			pa += fmt.Sprintf(`,"phase":%q`, r.phase)
		}
		text := fmt.Sprintf(`{"timestamp":%s,"response_timestamps":[%s],"response_outputs":[%s],"pa":%s}}`, at(r.start), strings.Join(times, ","), strings.Join(outputs, ","), pa)
		if r.status+r.phase != "" {
			excluded = append(excluded, text)
			continue
		}
		b.WriteString(sep + text)
		sep = ","
	}
	b.WriteString("]")
	if l.windowEnd > 0 {
		fmt.Fprintf(b, `,"window_boundaries":[%s,%s]`, at(0), at(l.windowEnd))
	}
	fmt.Fprintf(b, `,"pa":{"measured":%d,"excluded_requests":[%s]}}`, len(l.requests)-len(excluded), strings.Join(excluded, ","))
}

// measured is the report of an export that consists of these levels.
func measured(t *testing.T, name string, levels []madeLevel, cfg analyze.Config) Input {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"experiments":[`)
	for i, l := range levels {
		if i > 0 {
			b.WriteByte(',')
		}
		l.write(&b, i)
	}
	b.WriteString(`],"version":"0.1.0","service_kind":"triton","endpoint":"","pa":{"schema":"pa-export/1","tool":"pa-record 0.1.0","model":"m","streaming":true}}`)
	r, err := profilejson.NewReader(context.Background(), name, strings.NewReader(b.String()), int64(b.Len()), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := analyze.Run(context.Background(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rep.Experiments {
		if p := rep.Experiments[i].Problem; p != nil {
			t.Fatal(p)
		}
	}
	return Input{Name: name, Report: rep}
}

// sweep is two levels of 12 s. With one user a request of 1 s follows the
// other, tokens at 200 and 400 ms and at the end; with two users every second
// one takes 300 ms to its first token, one fails, one is late and one warms up.
func sweep() []madeLevel {
	one := madeLevel{users: 1, windowEnd: 12_000}
	two := madeLevel{users: 2, windowEnd: 12_000, requests: []made{
		{start: -900, tokens: []int{-500, -100}, phase: "warmup"},
		{start: 11_500, tokens: []int{11_900, 12_400}, phase: "cooldown"},
		{start: 11_000, status: "timeout"},
	}}
	for s := 0; s < 12_000; s += 1000 {
		r := made{start: s, tokens: []int{s + 200, s + 400, s + 1000}}
		one.requests = append(one.requests, r)
		if s < 11_000 {
			two.requests = append(two.requests, r, made{start: s + 500, tokens: []int{s + 800, s + 1000, s + 1500}})
		}
	}
	return []madeLevel{one, two}
}

// busy is two levels of 3000 requests, of which about 5 % and 20 % take 300 ms to
// their only token, the others 200 ms.
func busy() []madeLevel {
	random := rand.New(rand.NewPCG(1, 2))
	level := func(users int, slow float64) madeLevel {
		l := madeLevel{users: users}
		for i := range 3000 {
			ttft := 200
			if random.Float64() < slow {
				ttft = 300
			}
			l.requests = append(l.requests, made{start: 100 * i, tokens: []int{100*i + ttft}})
		}
		return l
	}
	return []madeLevel{level(4, 0.05), level(8, 0.2)}
}

func parts(t *testing.T) analyze.Config {
	return analyze.Config{
		Selection: analyze.Selection{TrimStart: analyze.Trim{Length: 2 * time.Second}},
		Windows:   analyze.Windows{Every: 4 * time.Second},
		SLO:       expression(t, "ttft<=250ms && itl_max<1s"), SLOTarget: 0.9,
	}
}

func steady(t *testing.T) analyze.Config {
	return analyze.Config{Selection: analyze.Selection{SteadyState: true}, SLO: expression(t, "ttft<=250ms || cached_tokens>5")}
}

// edges are runs with hardly anything in them.
func edges(t *testing.T) []Input {
	cfg := parts(t)
	cfg.Selection = analyze.Selection{}
	return []Input{
		measured(t, "empty.json", []madeLevel{{users: 1}}, cfg),
		measured(t, "single.json", []madeLevel{{users: 1, requests: []made{{start: 0, tokens: []int{100, 150, 200}}}}}, cfg),
		measured(t, "one_token.json", []madeLevel{{users: 1, requests: []made{{start: 0, tokens: []int{100}}, {start: 100, tokens: []int{300}}}}}, cfg),
		measured(t, "failed.json", []madeLevel{{users: 1, requests: []made{{start: 0, status: "timeout"}, {start: 100, status: "http_error"}}}}, cfg),
	}
}

func expression(t *testing.T, text string) *expr.Objective {
	t.Helper()
	e, err := expr.ParseObjective(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Each table of Markdown has as many cells in a line as in its head.
func TestMarkdownTables(t *testing.T) {
	for _, in := range append(edges(t), full(), measured(t, "sweep.json", sweep(), parts(t))) {
		var b bytes.Buffer
		if err := Markdown([]Input{in})(&b); err != nil {
			t.Fatal(err)
		}
		cells, tables := 0, 0
		for line := range strings.Lines(b.String()) {
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if cells == 0 {
				tables++
			} else if n != cells {
				t.Errorf("%s: %d cells after %d: %s", in.Name, n, cells, line)
			}
			cells = n
		}
		if tables == 0 && len(in.Report.Experiments[0].Metrics) > 0 {
			t.Errorf("%s: no table in\n%s", in.Name, b.String())
		}
	}
}

// The maximum load in words, with its bounds and its interval.
func TestMaxLoad(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	within, beyond := &figure.LoadLevel{Load: 4, Value: "4", Share: 0.97}, &figure.LoadLevel{Load: 8, Value: "8", Share: 0.5}
	load := func(within, beyond *figure.LoadLevel, estimate, low, high float64, na string) figure.MaxLoad {
		return figure.MaxLoad{Mode: "request_rate", Target: 0.95, Within: within, Beyond: beyond, Estimate: estimate, Interval: inference.Interval{Low: low, High: high}, NA: na}
	}
	with := func(m figure.MaxLoad, change func(*figure.MaxLoad)) figure.MaxLoad {
		change(&m)
		return m
	}
	const of = "maximum request rate for 95% of the requests: "
	for _, tt := range []struct {
		m    figure.MaxLoad
		want string
	}{
		{load(within, beyond, 4.17, 4, 4.301, ""), of + "about 4.2 (95% interval 4 to 4.4), between 97.00% at 4 and 50.00% at 8"},
		{load(within, beyond, 4.03, 4, 7.99, ""), of + "about 4 (95% interval 4 to 8), between 97.00% at 4 and 50.00% at 8"},
		{with(load(within, beyond, 6, 5.1, 7.2, ""), func(m *figure.MaxLoad) { m.Next = []float64{5, 6, 7} }), of + "about 6 (95% interval 5.1 to 7.2), between 97.00% at 4 and 50.00% at 8; measure 5, 6 and 7 next"},
		{
			load(&figure.LoadLevel{Load: 1234, Value: "1234", Share: 1}, &figure.LoadLevel{Load: 1789, Value: "1789", Share: 0.5}, 1551, 1432.1, 1788, ""),
			of + "about 1600 (95% interval 1400 to 1789), between 100.0% at 1234 and 50.00% at 1789",
		},
		{
			with(load(within, nil, 6, 4.3, inf, "no level surely misses the target"), func(m *figure.MaxLoad) { m.Next, m.NextRequests = []float64{8}, 1500 }),
			of + "about 6 (95% interval from 4.3 on), at least 4 (97.00%); no level surely misses the target; measure 8 again, with about 1,500 requests",
		},
		{load(nil, beyond, 6, -inf, 7.21, "no level surely attains the target"), of + "about 6 (95% interval up to 7.3), below 8 (50.00%); no level surely attains the target"},
		{
			with(load(nil, nil, 6, -inf, inf, "no level surely attains or misses the target"), func(m *figure.MaxLoad) { m.Next, m.NextRequests = []float64{4, 8}, 900 }),
			of + "about 6; no level surely attains or misses the target; measure 4 and 8 again, with about 900 requests each",
		},
		{load(nil, nil, nan, -inf, inf, "no level surely attains or misses the target"), of + "not known; no level surely attains or misses the target"},
		{with(load(nil, beyond, nan, -inf, 8, "no level surely attains the target"), func(m *figure.MaxLoad) { m.Under, m.Next = beyond, []float64{2, 4} }), of + "below 8 (50.00%); measure 2 and 4 next"},
		{
			with(load(within, nil, nan, 4, inf, "no level surely misses the target"), func(m *figure.MaxLoad) { m.Above, m.Again, m.Unknown = within, true, []string{"2", "x\x1b"} }),
			of + `4 or more (97.00%); a higher level attains it again, so the levels are not in order; not known at 2, x\x1b`,
		},
		// Rates that were sent have as many digits as the clock; loads to measure are as a flag takes them.
		{
			load(&figure.LoadLevel{Load: 11.999887399056592, Value: "12", Share: 1}, &figure.LoadLevel{Load: 14.998765, Value: "15", Share: 0.5}, 11.9998874, 11.7, 15.02, ""),
			of + "about 12 (95% interval 12 to 15), between 100.0% at 12 and 50.00% at 15",
		},
		{
			load(&figure.LoadLevel{Load: 1.2345678, Value: "1.3", Share: 1}, nil, 1.21, 1.21, inf, ""),
			of + "about 1.235 (95% interval from 1.235 on), at least 1.3 (100.0%, 1.235/s sent)",
		},
		{
			with(load(within, nil, nan, 4, inf, ""), func(m *figure.MaxLoad) { m.Above, m.Next = within, []float64{1.23456} }),
			of + "4 or more (97.00%); measure 1.23456 next",
		},
		// All levels attain the target, or none does, but only a level further in surely.
		{
			with(load(within, nil, nan, 4, inf, "no level surely misses the target"), func(m *figure.MaxLoad) { m.Above = &figure.LoadLevel{Load: 16, Value: "16", Share: 0.96} }),
			of + "probably 16 or more (96.00%), the highest level measured; surely 4 or more (97.00%)",
		},
		{
			with(load(nil, nil, nan, -inf, inf, "no level surely attains or misses the target"), func(m *figure.MaxLoad) { m.Above = within }),
			of + "probably 4 or more (97.00%), the highest level measured; no level surely attains or misses the target",
		},
		{
			with(load(nil, beyond, nan, -inf, 8, "no level surely attains the target"), func(m *figure.MaxLoad) { m.Under = &figure.LoadLevel{Load: 1, Value: "1", Share: 0.94} }),
			of + "probably below 1 (94.00%), the lowest level measured; surely below 8 (50.00%)",
		},
		// Several objectives have no share in common.
		{
			figure.MaxLoad{Mode: "concurrency", Within: &figure.LoadLevel{Load: 4, Value: "4", Share: nan}, Estimate: 6, Interval: inference.Interval{Low: 4, High: inf}, NA: "no level surely misses the target"},
			"maximum concurrency: about 6 (95% interval from 4 on), at least 4; no level surely misses the target",
		},
		{
			with(load(&figure.LoadLevel{Load: 4, Value: "4", Share: nan}, &figure.LoadLevel{Load: 7.5, Value: "8", Share: nan}, 6, 4, 7.5, ""), func(m *figure.MaxLoad) { m.Target = 0 }),
			"maximum request rate: about 6 (95% interval 4 to 7.5), between 4 and 8 (7.500/s sent)",
		},
	} {
		if got := MaxLoad(&tt.m); got != tt.want {
			t.Errorf("%+v\n got %s\nwant %s", tt.m, got, tt.want)
		}
	}
	// Ends without bound are left out.
	m := load(within, nil, 4.17, 4, inf, "")
	if text, err := json.Marshal(MaxLoadJSON(&m)); err != nil || !strings.Contains(string(text), `"estimate":4.17,"low":4,"within":`) {
		t.Errorf("JSON %s, %v", text, err)
	}
	if rows := csvMaxLoad(&m); len(rows) != 2 || rows[1].min != "4" || rows[1].max != "" {
		t.Errorf("CSV %q", rows)
	}
}

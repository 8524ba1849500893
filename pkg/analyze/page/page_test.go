package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/export"
)

const ms = 1_000_000

// requests returns n streamed requests of a closed loop of two. Each tenth one fails, and each
// seventh one has a stall of a second.
func requests(n int) []export.Request {
	all := make([]export.Request, n)
	for i := range all {
		at := uint64(1_700_000_000_000_000_000 + i*200*ms)
		q := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), memrun.Delta("c"), memrun.Delta("d"), memrun.Delta("e"), memrun.Usage5)
		for k := range q.Responses {
			q.Responses[k].RecvNS = at + uint64(50+i%3+10*k)*ms
			if i%7 == 3 && k > 2 {
				q.Responses[k].RecvNS += 1000 * ms
			}
		}
		q.StartNS, q.HasMeta, q.ID, q.Status, q.Phase, q.Worker = at, true, uint64(i), export.StatusOK, export.PhaseMeasured, i%2
		if i%10 == 9 {
			q.Status, q.Message, q.Responses, q.FailedNS = export.StatusTimeout, "no answer", nil, at+500*ms
		}
		all[i] = q
	}
	return all
}

// collected returns what a page shows of a run.
func collected(t *testing.T, name string, r export.Reader, cfg analyze.Config) Run {
	t.Helper()
	run, err := Collect(t.Context(), name, r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// full is a run with everything that a report can ask for.
func full(t *testing.T) Run {
	t.Helper()
	objective, err := expr.ParseObjective("ttft<=51ms && itl_p99<=100ms")
	if err != nil {
		t.Fatal(err)
	}
	quality := quality.Default()
	r := memrun.New("openai", requests(40), requests(70), requests(20))
	r.Header.Meta = &export.RunMeta{Tool: "pa-record 1.0", Model: "tiny", Streaming: new(true), StartNS: 1_700_000_000_000_000_000, EndNS: 1_700_000_100_000_000_000}
	return collected(t, "runs/full.json", r, analyze.Config{
		SLO: objective, Quality: &quality, Economics: &figure.EconomicsConfig{GPUs: 2, GPUHourPrice: 3}, Prefix: true, Phases: true,
		Windows: analyze.Windows{Every: 5_000_000_000},
	})
}

// ofSessions gives the requests to two sessions; the second has a sub-agent.
func ofSessions(n int) []export.Request {
	all := requests(n)
	for i := range all {
		all[i].SessionID, all[i].Turn = []string{"first", "second<b>"}[i%2], i/2
	}
	all[5].Agent, all[5].Depth = "sub<i>", 1
	return all
}

// The page has tables of sessions, by depth and by turn, and no figure of them twice.
func TestSessionTables(t *testing.T) {
	page := written(t, Page{Runs: []Run{collected(t, "s.json", memrun.New("openai", ofSessions(6)), analyze.Config{Sessions: &figure.SessionsConfig{}})}})
	for text, n := range map[string]int{
		"<caption>Finished sessions, and their agents by depth</caption>": 1, "<caption>Requests by turn</caption>": 1,
		`<th scope="row">depth 1</th>`: 1, "second<b>": 0, `<section id="sessions"`: 1,
		"<dt>sessions › jobs per hour</dt>": 0, "sessions › jobs per hour and user": 1, "by depth 1": 0, "first sessions 1": 0,
	} {
		if got := strings.Count(page, text); got != n {
			t.Errorf("%q is %d times on the page, want %d", text, got, n)
		}
	}
}

// The page shows the sessions of any run that has some, whatever the figures: a row for each session, and a lane for each
// of its agents, in which each request has its place.
func TestSessions(t *testing.T) {
	all := ofSessions(10)
	all[5].ParentAgent = "gone"
	page := written(t, Page{Runs: []Run{collected(t, "s.json", memrun.New("openai", all, requests(3)), analyze.Config{})}})
	for text, n := range map[string]int{
		`<section id="sessions"`: 1, `href="#sessions"`: 1, "no request of this level names a session": 1, "are shown: the slowest": 0,
		"<caption>Requests by turn</caption>": 0, "jobs per hour</a>": 0, // not asked for
		`<th scope="row"><div><bdi>first</bdi></div></th><td>finished</td><td>0</td><td>5</td><td>1</td><td>0</td>`:              1,
		`<th scope="row"><div><bdi>second&lt;b&gt;</bdi></div></th><td>failed</td><td>0.2000</td><td>5</td><td>2</td><td>1</td>`: 1,
		`<th scope="row"><div>root</div></th><td>5</td>`:                                                                         1, `<th scope="row"><div>root</div></th><td>4</td>`: 1,
		`<th scope="row"><div>· <bdi>sub&lt;i&gt;</bdi></div></th><td>1</td>`: 1, "second<b>": 0, "sub<i>": 0,
		`class="failure"`: 1, `class="ttft"`: 9, `class="decode"`: 9,
	} {
		if got := strings.Count(page, text); got != n {
			t.Errorf("%q is %d times on the page, want %d", text, got, n)
		}
	}
	// The first session takes from its first request to the end of the one at 1,600 ms: 1,600 + 50 + 2 + 50 ms.
	want := `<title>turn 4, sent at 1600 ms, TTFT 52.00 ms, took 102.0 ms, input 9, cached 8, output 5</title><rect class="decode" x="970.6" y="4" width="29.4" height="6"/><rect class="ttft" x="940.1" y="1" width="30.6" height="12"/>`
	if !strings.Contains(page, want) {
		i := strings.Index(page, "<title>turn 4")
		t.Errorf("want %s, got %.400s", want, page[i:])
	}
	without := written(t, Page{Runs: []Run{collected(t, "s.json", memrun.New("openai", requests(3)), analyze.Config{})}})
	if strings.Contains(without, `id="sessions"`) || strings.Contains(without, `href="#sessions"`) {
		t.Error("a page without sessions speaks of them")
	}
}

// Of many sessions, the slowest and a sample are on the page.
func TestManySessions(t *testing.T) {
	all := requests(6000)
	for i := range all {
		all[i].SessionID, all[i].Turn = fmt.Sprintf("s%04d", i%1500), i/1500
	}
	all[17].SessionID, all[17].Turn = "slow", 0
	all[5992].SessionID, all[5992].Turn = "slow", 1
	page := written(t, Page{Runs: []Run{collected(t, "s.json", memrun.New("openai", all), analyze.Config{})}})
	for text, n := range map[string]int{
		"200 of 1,501 sessions are shown: the slowest ones and a sample of the others.": 1, "<bdi>slow</bdi>": 1, "requests by agent": 200, "cannot be opened": 0,
	} {
		if got := strings.Count(page, text); got != n {
			t.Errorf("%q is %d times on the page, want %d", text, got, n)
		}
	}
	for i := range all {
		all[i].SessionID, all[i].Turn = fmt.Sprintf("s%d", i%2), i/2
	}
	page = written(t, Page{Runs: []Run{collected(t, "s.json", memrun.New("openai", all), analyze.Config{})}})
	for text, n := range map[string]int{"The first 2,000 of 3,000 requests are shown.": 1, "requests by agent": 2, "<title>turn": 5000} {
		if got := strings.Count(page, text); got != n {
			t.Errorf("%q is %d times on the page, want %d", text, got, n)
		}
	}
}

// written returns the text of a page.
func written(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(p)(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// elements calls f with each start tag of a page and the text directly behind it.
func elements(t *testing.T, page string, f func(tag html.Token, text string)) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		if z.Next() == html.ErrorToken {
			return
		}
		tag := z.Token()
		for tag.Type == html.StartTagToken {
			if z.Next() != html.TextToken {
				f(tag, "")
				tag = z.Token()
				continue
			}
			f(tag, string(z.Text()))
			break
		}
	}
}

// attribute returns an attribute of a tag.
func attribute(tag html.Token, name string) (string, bool) {
	for _, a := range tag.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// numbers returns all numbers of a JSON document by their paths.
func numbers(path string, v any, all map[string]string) map[string]string {
	switch v := v.(type) {
	case json.Number:
		all[path] = v.String()
	case map[string]any:
		for k, x := range v {
			numbers(strings.TrimPrefix(path+"."+k, "."), x, all)
		}
	case []any:
		for i, x := range v {
			numbers(path+"["+strconv.Itoa(i)+"]", x, all)
		}
	}
	return all
}

// The page has every number of the report in JSON, with the same digits, and no other.
func TestNumbersAreTheReports(t *testing.T) {
	run := full(t)
	var b bytes.Buffer
	if err := report.JSON(report.Input{Name: run.Name, Report: run.Report})(&b); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&b)
	d.UseNumber()
	var document any
	if err := d.Decode(&document); err != nil {
		t.Fatal(err)
	}
	want := numbers("", document, map[string]string{})
	got := map[string]string{}
	elements(t, written(t, Page{Runs: []Run{run}}), func(tag html.Token, text string) {
		path, ok := attribute(tag, "data-path")
		if !ok {
			return
		}
		value, _ := attribute(tag, "data-value")
		if before, ok := got[path]; ok && before != value {
			t.Errorf("%s is %s and %s", path, before, value)
		}
		got[path] = value
		level, inLevel := attribute(tag, "data-level")
		metric, _ := attribute(tag, "data-metric")
		stat, _ := attribute(tag, "data-stat")
		short := strings.TrimPrefix(metric+"."+stat, ".")
		if whole := strings.TrimPrefix(path, "experiments["+level+"]."); short != whole && "metrics."+short != whole || !inLevel && strings.HasPrefix(path, "experiments") {
			t.Errorf("%s has level %q, metric %q and stat %q", path, level, metric, stat)
		}
		if strings.TrimSpace(text) == "" {
			t.Errorf("%s shows nothing", path)
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-JSON +page):\n%s", diff)
	}
	if len(want) < 1000 {
		t.Errorf("only %d numbers: is something left out of the run?", len(want))
	}
}

// Figures of a group that lack a value for one reason are one entry with the reason; a figure with a value has its
// unit; a fluid interval of 1 ns, which says that every interval is long enough, shows as 0.
func TestGroups(t *testing.T) {
	run := full(t)
	page := written(t, Page{Runs: []Run{run}})
	for text, want := range map[string]int{
		`<dt>prefix › TTFT per uncached input token, TTFT at`: 3, // once for each level
		`all requests have the same number of uncached input`: 3,
		`<dt>phases › decode, prefill, queue</dt>`:            3,
		`no server metric and no answer states it`:            3,
		`GPU price per million output tokens</a></dt><dd><s`:  3,
		` dollars</span>`: 3,
		` › why`:          0,
	} {
		if got := strings.Count(page, text); got != want {
			t.Errorf("%q is there %d times, want %d", text, got, want)
		}
	}
	shown := 0
	elements(t, page, func(tag html.Token, text string) {
		path, _ := attribute(tag, "data-path")
		if value, _ := attribute(tag, "data-value"); strings.Contains(path, "fluid_interval_ns") && !strings.HasSuffix(path, ".n") && value == "1" {
			shown++
			if text != "0 ms" {
				t.Errorf("%s of 1 ns shows as %q", path, text)
			}
		}
	})
	if shown == 0 {
		t.Error("no interval of 1 ns")
	}
}

// The policy allows exactly the scripts and styles that are there, and nothing else runs or loads.
func TestPolicy(t *testing.T) {
	run := full(t)
	page := written(t, Page{Runs: []Run{run}, Program: "pa-analyze test"})
	policy := ""
	want := map[string][]string{}
	elements(t, page, func(tag html.Token, text string) {
		if equiv, _ := attribute(tag, "http-equiv"); equiv == "Content-Security-Policy" {
			policy, _ = attribute(tag, "content")
		}
		kind, _ := attribute(tag, "type")
		if tag.Data == "style" || tag.Data == "script" && kind == "" {
			sum := sha256.Sum256([]byte(text))
			want[tag.Data] = append(want[tag.Data], "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		}
		for _, a := range tag.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("<%s> has the attribute %s", tag.Data, a.Key)
			}
			if (a.Key == "src" || a.Key == "href" || a.Key == "xlink:href") && !strings.HasPrefix(a.Val, "#") && a.Val != "data:," {
				t.Errorf("<%s %s=%q> leads out of the page", tag.Data, a.Key, a.Val)
			}
		}
	})
	got := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", strings.Join(want["script"], " "), strings.Join(want["style"], " "))
	if policy != got || len(want["script"]) != 2 || len(want["style"]) != 2 {
		t.Errorf("policy\n%s\nthe page has\n%s", policy, got)
	}
	if page != written(t, Page{Runs: []Run{run}, Program: "pa-analyze test"}) {
		t.Error("the page is not the same each time")
	}
}

// No text of a server or a file becomes markup, hides or turns around, however long it is.
func TestHostileText(t *testing.T) {
	const evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.exe\u2028\u0000\x1b[31m\"'&<!--"
	all := requests(30)
	for i := range all {
		all[i].Model = evil
		if all[i].Status != export.StatusOK {
			all[i].Message = evil + strings.Repeat("x", 1<<20)
		}
	}
	r := memrun.New(evil, all)
	r.Header.Meta = &export.RunMeta{Tool: evil, Model: evil, Models: []string{evil, "b"}, Interrupted: evil, Warnings: []string{evil}}
	r.Header.Experiments[0].Mode, r.Header.Experiments[0].Value = evil, evil
	r.Telemetry = []export.Scrape{{Source: evil, StartNS: 1_700_000_000_000_000_000, EndNS: 1_700_000_000_000_000_000, Samples: []export.Sample{{Series: &export.Series{Name: "vllm:kv_cache_usage_perc", Labels: []export.Label{{Name: "engine", Value: evil}}}, Value: 1}}}}
	run := collected(t, evil+strings.Repeat("y", 1<<20), r, analyze.Config{})
	page := written(t, Page{Runs: []Run{run, run}, Program: evil})
	if i := strings.IndexAny(page, "\u202e\u2028\x00\x1b"); i >= 0 {
		t.Errorf("invisible character in %q", page[max(0, i-50):min(len(page), i+50)])
	}
	count := map[string]int{}
	elements(t, page, func(tag html.Token, text string) {
		count[tag.Data]++
		kind, _ := attribute(tag, "type")
		if kind == "application/json" {
			if err := json.Unmarshal([]byte(text), &struct{ Runs *[]any }{}); err != nil {
				t.Error(err)
			}
			if strings.Contains(text, "<") {
				t.Error("the data holds a <")
			}
		}
	})
	if count["script"] != 3 || count["img"] != 0 {
		t.Errorf("%d scripts, %d images", count["script"], count["img"])
	}
	if !strings.Contains(page, `\u202egnp.exe\u2028`) {
		t.Error("the override is not visible")
	}
	if len(page) > 1<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

// Each part of a page has its charts, and no two elements of a page have one id.
func TestCharts(t *testing.T) {
	run := full(t)
	page := written(t, New("pa-analyze test", []Run{run}))
	at := ""
	charts, ids := map[string]int{}, map[string]int{}
	elements(t, page, func(tag html.Token, _ string) {
		id, _ := attribute(tag, "id")
		if id != "" {
			ids[id]++
		}
		switch tag.Data {
		case "section":
			at = id
		case "svg":
			charts[at]++
		}
	})
	// Throughputs, latencies and the objective; four metrics; two maps and one chart for each of three levels.
	want := map[string]int{"sweep": 7, "pareto": 1, "distributions": 4, "itl": 6, "prompts": 3}
	delete(charts, "overtime") // its chart is for readers without JavaScript: the text of a noscript element
	if d := cmp.Diff(want, charts); d != "" {
		t.Errorf("charts (-want +got):\n%s", d)
	}
	if !strings.Contains(page, "<noscript><figure><svg") {
		t.Error("no chart over time for readers without JavaScript")
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
}

// The legends and captions of a comparison say which side a run is on.
func TestLegendsNameSides(t *testing.T) {
	before, after := full(t), full(t)
	before.Side, after.Side = "old", "new"
	section, seen := "", map[string]bool{}
	elements(t, written(t, New("pa-analyze test", []Run{before, after})), func(tag html.Token, text string) {
		if tag.Data == "section" {
			section, _ = attribute(tag, "id")
		}
		for _, side := range []string{"old ", "new "} {
			if (tag.Data == "text" || tag.Data == "caption") && strings.HasPrefix(strings.TrimSpace(text), side) {
				seen[section+" "+tag.Data+": "+side] = true
			}
		}
	})
	for _, want := range []string{"sweep text", "sweep caption", "pareto text", "distributions text"} {
		for _, side := range []string{"old ", "new "} {
			if !seen[want+": "+side] {
				t.Errorf("no legend or caption of %s: %q", want, side)
			}
		}
	}
}

// A page says once why a maximum load has no interval.
func TestMaxLoadOnce(t *testing.T) {
	objective, err := expr.ParseObjective("ttft<=500ms")
	if err != nil {
		t.Fatal(err)
	}
	run := collected(t, "run.json", memrun.New("openai", requests(9), requests(40)), analyze.Config{SLO: objective})
	m := run.Report.MaxLoad()
	if m == nil || m.NA == "" {
		t.Fatalf("%+v has an interval", m)
	}
	notes := 0
	elements(t, written(t, New("pa-analyze test", []Run{run})), func(tag html.Token, text string) {
		if tag.Data == "p" && strings.Contains(html.UnescapeString(text), m.NA) {
			notes++
		}
	})
	if notes != 1 {
		t.Errorf("%d notes of %q", notes, m.NA)
	}
}

// Runs that lack something give pages that say so.
func TestDegenerateRuns(t *testing.T) {
	failed := requests(10)
	for i := range failed {
		failed[i].Status, failed[i].Responses, failed[i].FailedNS = export.StatusHTTPError, nil, failed[i].StartNS+1
	}
	whole := requests(10)
	for i := range whole {
		if n := len(whole[i].Responses); n > 1 {
			whole[i].Responses = whole[i].Responses[n-1:]
		}
	}
	not := false
	for _, tt := range []struct {
		name  string
		r     *memrun.Reader
		wants []string
	}{
		{"no level", memrun.New("openai"), []string{"nothing was measured"}},
		{"no request", memrun.New("openai", nil), []string{"no measured request succeeded", "n/a"}},
		{"one request", memrun.New("openai", requests(1)), []string{"a sweep needs several load levels, and this run has one", "a frontier needs several load levels, and there is one", "too few requests to compare"}},
		{"all failed", memrun.New("openai", failed), []string{`data-verdict="failures" data-status="fail"`, "10 of 10 requests", `data-request="0"`}},
		{"not streamed", memrun.New("openai", whole), []string{"not streamed", "n/a (no gaps between tokens are known)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "not streamed" {
				tt.r.Header.Meta = &export.RunMeta{Streaming: &not}
			}
			run := collected(t, "x.json", tt.r, analyze.Config{Economics: &figure.EconomicsConfig{}})
			page := written(t, Page{Runs: []Run{run}, Pareto: pareto.Analyze([]report.Input{{Name: "x.json", Report: run.Report}}, pareto.Options{})})
			for _, want := range tt.wants {
				if !strings.Contains(page, want) {
					t.Errorf("no %q on the page", want)
				}
			}
			for _, wrong := range []string{"NaN", "+Inf", "%!"} {
				text := ""
				elements(t, page, func(tag html.Token, s string) {
					if tag.Data != "script" {
						text += s
					}
				})
				if strings.Contains(text, wrong) {
					t.Errorf("%q on the page", wrong)
				}
			}
		})
	}
	page := written(t, Page{})
	if !strings.Contains(page, "no run") {
		t.Error("a page of no run does not say so")
	}
}

// The script's rows hold the requests exactly. decode does what waterfall.js does.
func TestRows(t *testing.T) {
	run := full(t)
	run.Levels[1].Requests[3].ID = math.MaxUint64 // which JavaScript cannot count to
	run.Levels[1].Requests[5].TTFTNS += 17        // of a report from another time than the start
	run.Levels[1].Requests[7].Server = [view.NumServerParts]int64{3, 0, 1 << 40}
	lost := &view.Request{QueueNS: -1, ConnectNS: -1, StartNS: -1, FirstNS: -1, LastTokenNS: -1, EndNS: -1, TTFTNS: -1, E2ELNS: -1, Lane: -1, InputTokens: -1, CachedTokens: -1, OutputTokens: -1, Server: [view.NumServerParts]int64{-1, -1, -1}, RequestTexts: &view.RequestTexts{}}
	run.Levels[2].Requests = append(run.Levels[2].Requests, lost)
	for l := range run.Levels {
		v := &run.Levels[l]
		b, err := json.Marshal(rowsOf(v))
		if err != nil {
			t.Fatal(err)
		}
		got := decode(t, b)
		for i := range v.Requests {
			want := *v.Requests[i]
			texts := *want.RequestTexts
			texts.ErrorClass = classOf(v.Requests[i])
			want.RequestTexts = &texts
			want.Slot, want.Rank, want.Turn, want.StallsLeftOut = 0, 0, 0, 0
			if begin := want.BeginNS(); want.QueueNS == view.Absent && begin != view.Absent {
				want.QueueNS = begin // the rows know when a request begins, not why
			}
			if d := cmp.Diff(want, got[i]); d != "" {
				t.Fatalf("level %d, request %d (-want +got):\n%s", l, i, d)
			}
		}
	}
}

func decode(t *testing.T, b []byte) []view.Request {
	t.Helper()
	var m struct {
		N, Stalls int
		Strings   []string
		IDText    []string `json:"id_text"`
		Columns   map[string]any
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	column := func(name string, n int) []*int64 {
		all := make([]*int64, n)
		switch c := m.Columns[name].(type) {
		case string:
			b, err := base64.StdEncoding.DecodeString(c)
			if err != nil {
				t.Fatal(err)
			}
			for i := range all {
				u, size := binary.Uvarint(b)
				b = b[size:]
				v := int64(u >> 1)
				if u&1 == 1 {
					v = -v
				}
				if all[i] = &v; u == 1 {
					all[i] = nil
				}
			}
			if len(b) > 0 {
				t.Fatalf("column %s has %d bytes too many", name, len(b))
			}
		case float64:
			v := int64(c)
			for i := range all {
				all[i] = &v
			}
		}
		return all
	}
	begin, timed, all := column("begin", m.N), column("timed", m.N), make([]view.Request, m.N)
	at, id := int64(0), uint64(0)
	begins := make([]int64, m.N)
	for i := range all {
		at += *begin[i]
		begins[i] = at
		q := &all[i]
		after := func(name string) int64 {
			if v := column(name, m.N)[i]; v != nil {
				return at + *v
			}
			return view.Absent
		}
		if q.QueueNS = at; *timed[i] == 0 {
			q.QueueNS = view.Absent
		}
		if m.IDText != nil {
			q.ID, _ = strconv.ParseUint(m.IDText[i], 10, 64)
		} else {
			id += uint64(*column("id", m.N)[i])
			q.ID = id
		}
		q.ConnectNS, q.StartNS, q.FirstNS, q.LastTokenNS, q.EndNS = after("connect"), after("start"), after("first"), after("last"), after("end")
		measure := func(name string, to int64) int64 {
			v := column(name, m.N)[i]
			switch {
			case v == nil:
				return view.Absent
			case q.StartNS == view.Absent || to == view.Absent:
				return *v
			}
			return *v + to - q.StartNS
		}
		q.TTFTNS, q.E2ELNS = measure("ttft", q.FirstNS), measure("e2el", q.EndNS)
		for k, name := range []string{"queue", "prefill", "first_decode"} {
			if q.Server[k] = view.Absent; column(name, m.N)[i] != nil {
				q.Server[k] = *column(name, m.N)[i]
			}
		}
		number := func(name string) int64 { return *column(name, m.N)[i] }
		q.Lane, q.InputTokens, q.CachedTokens, q.OutputTokens = int(number("lane")), number("input"), number("cached"), number("output")
		text := func(name string) string { return m.Strings[number(name)] }
		q.RequestTexts = &view.RequestTexts{Status: text("status"), Excluded: text("excluded"), ErrorClass: text("class"), Error: text("error"), Model: text("model")}
	}
	row := int64(0)
	stallRow, stallAt, stallNS, position := column("stall_row", m.Stalls), column("stall_at", m.Stalls), column("stall_ns", m.Stalls), column("stall_position", m.Stalls)
	for k := range m.Stalls {
		row += *stallRow[k]
		all[row].Stalls = append(all[row].Stalls, view.Stall{AtNS: begins[row] + *stallAt[k], LengthNS: *stallNS[k], Position: int(*position[k])})
	}
	return all
}

// One failed level makes a card fail; a card is n/a only if all levels are.
func TestTogether(t *testing.T) {
	at := func(where string, s status) levelVerdict { return levelVerdict{where, s, "text of " + where} }
	for _, tt := range []struct {
		levels []levelVerdict
		want   verdict
	}{
		{nil, verdict{Status: unknown, Text: "nothing was measured"}},
		{[]levelVerdict{at("a", fails)}, verdict{Status: fails, Text: "text of a"}},
		{
			[]levelVerdict{at("a", unknown), at("b", passes), at("c", fails)},
			verdict{Status: fails, Text: "not at 1 level of 3; c: text of c", Levels: []string{"n/a a: text of a", "✓ b: text of b", "✗ c: text of c"}},
		},
		{[]levelVerdict{at("a", passes), at("b", unknown)}, verdict{Status: passes, Text: "at 1 level of 2, n/a at the others", Levels: []string{"✓ a: text of a", "n/a b: text of b"}}},
		{[]levelVerdict{at("a", passes), at("b", passes)}, verdict{Status: passes, Text: "at both levels", Levels: []string{"✓ a: text of a", "✓ b: text of b"}}},
		{[]levelVerdict{{"a", unknown, "same"}, {"b", unknown, "same"}}, verdict{Status: unknown, Text: "same"}},
		{[]levelVerdict{at("a", unknown), at("b", unknown)}, verdict{Status: unknown, Text: "a: text of a", Levels: []string{"n/a a: text of a", "n/a b: text of b"}}},
	} {
		if d := cmp.Diff(tt.want, together(tt.levels)); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.levels, d)
		}
	}
}

// The files of others are as the package has them, and its README names their hashes.
func TestThirdParty(t *testing.T) {
	readme, err := os.ReadFile("third_party/uplot/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"uPlot.iife.min.js", "uPlot.min.css"} {
		sum := sha256.Sum256([]byte(file("third_party/uplot/" + name)))
		if !strings.Contains(string(readme), name+" | dist/"+name+" | `"+hex.EncodeToString(sum[:])) {
			t.Errorf("README.md has not the hash %x of %s", sum, name)
		}
	}
	version := strings.TrimPrefix(strings.SplitN(string(readme), "\n", 2)[0], "# uPlot ")
	if !strings.Contains(file("third_party/uplot/uPlot.iife.min.js")[:200], "(v"+version+")") || !strings.Contains(file("page.tmpl"), "uPlot "+version+",") {
		t.Errorf("the script or the page has not the version %q of README.md", version)
	}
}

// A script or style sheet that ended its element would be cut off there.
func TestAssetsEndNoElement(t *testing.T) {
	a := embedded()
	var all []string
	for _, s := range a.Scripts {
		all = append(all, string(s))
	}
	for _, s := range a.Styles {
		all = append(all, string(s))
	}
	for _, s := range all {
		if slices.ContainsFunc([]string{"</script", "</style", "<!--", "\r"}, func(x string) bool { return strings.Contains(strings.ToLower(s), x) }) {
			t.Errorf("%.60q… ends its element", s)
		}
	}
}

// Runs that have the same to say of their sweep say it once.
func TestSweepNotes(t *testing.T) {
	t.Parallel()
	one := func(name string) Run { return collected(t, name, memrun.New("openai", requests(1)), analyze.Config{}) }
	two := collected(t, "d.json", memrun.New("openai", requests(1), requests(2)), analyze.Config{})
	const none = "the highest load that meets an objective: n/a (no objective was given; --slo gives one)"
	for _, tt := range []struct {
		runs []Run
		want []string
	}{
		{[]Run{one("a.json")}, []string{"a sweep needs several load levels, and this run has one"}},
		{[]Run{one("a.json"), one("b.json"), one("c.json")}, []string{"a sweep needs several load levels, and each run has one"}},
		{[]Run{one("a.json"), two, one("c.json")}, []string{"a, c: a sweep needs several load levels, and this run has one", "d: " + none}},
	} {
		d := document{Several: len(tt.runs) > 1}
		for i := range tt.runs {
			tt.runs[i].short = strings.TrimSuffix(tt.runs[i].Name, ".json")
		}
		d.sweepNote(tt.runs)
		if diff := cmp.Diff(tt.want, d.SweepNotes); diff != "" {
			t.Errorf("%d runs (-want +got):\n%s", len(tt.runs), diff)
		}
	}
}

// The levels beyond the detailed ones have a row in the sweep with the same texts, and nothing else.
func TestManyLevels(t *testing.T) {
	t.Parallel()
	var levels [][]export.Request
	for range mostDetailed + 2 {
		levels = append(levels, requests(1))
	}
	runs := []Run{collected(t, "a.json", memrun.New("openai", levels...), analyze.Config{})}
	d := &document{LevelNames: nameRuns(runs)}
	if err := d.run(&runs[0], 0, newDefinitions([]*analyze.Report{runs[0].Report})); err != nil {
		t.Fatal(err)
	}
	rows := d.Sweep[0].Rows
	if len(rows) != len(levels) || len(d.Levels) != mostDetailed || len(d.LevelNames) != mostDetailed || len(d.FewerNotes) != 1 {
		t.Fatalf("%d rows, %d levels with %d names, notes %q", len(rows), len(d.Levels), len(d.LevelNames), d.FewerNotes)
	}
	first, last := rows[0].Cells, rows[len(rows)-1].Cells
	for i, c := range d.Sweep[0].Head {
		switch a, b := first[i], last[i]; {
		case a == nil || b == nil:
			if a != b {
				t.Errorf("%s: %v, want %v", c.Name, b, a)
			}
		case b.Text != a.Text || a.Path == "" || b.Path != "":
			t.Errorf("%s: %q at %q, want %q without a path", c.Name, b.Text, b.Path, a.Text)
		}
	}
}

// The page says which series over time it leaves out, and how often a request stalled.
func TestSaysWhatIsLeftOut(t *testing.T) {
	q := memrun.OpenAI()
	q.StartNS = 1_700_000_000_000_000_000
	at := q.StartNS
	for i := range 600 {
		at += ms
		if i%20 == 19 { // 30 stalls
			at += 1000 * ms
		}
		x := memrun.OpenAI(memrun.Delta("a")).Responses[0]
		x.RecvNS = at
		q.Responses = append(q.Responses, x)
	}
	r := memrun.New("openai", []export.Request{q})
	scrape := export.Scrape{Source: "http://a/metrics", StartNS: q.StartNS, EndNS: q.StartNS}
	for i := range view.MostSeries + 1200 {
		labels := []export.Label{{Name: "engine", Value: strconv.Itoa(i)}}
		scrape.Samples = append(scrape.Samples,
			export.Sample{Series: &export.Series{Name: "unknown", Type: "gauge", Labels: labels}},
			export.Sample{Series: &export.Series{Name: "vllm:num_requests_running", Type: "gauge", Labels: labels}})
	}
	r.Telemetry = []export.Scrape{scrape}
	for i := range 5000 {
		next := export.Scrape{Source: scrape.Source, StartNS: q.StartNS + uint64(i+1)*ms, EndNS: q.StartNS + uint64(i+1)*ms, Samples: slices.Clone(scrape.Samples[1:2])}
		next.Samples[0].Value = float64(i % 7)
		r.Telemetry = append(r.Telemetry, next)
	}
	run := collected(t, "a.json", r, analyze.Config{})
	for _, tt := range []struct {
		runs   []Run
		prefix string
	}{{[]Run{run}, ""}, {[]Run{run, collected(t, "b.json", memrun.New("openai", requests(3)), analyze.Config{})}, "a.json: "}} {
		page := written(t, Page{Runs: tt.runs})
		for _, want := range []string{
			tt.prefix + "running requests: 1,200 more series of http://a/metrics are not shown, because the plots have the first 200 of a source.",
			tt.prefix + "Of values that change often, the lowest and the highest of each stretch of time are drawn.",
			`"stalls_left_out":10`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
	if page := written(t, Page{Runs: []Run{collected(t, "b.json", memrun.New("openai", requests(3)), analyze.Config{})}}); strings.Contains(page, "not shown") || strings.Contains(page, "change often") {
		t.Error("a page with everything says that it lacks something")
	}
}

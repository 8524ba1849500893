package observe

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A counter is a clock that advances by 1 ns with each reading.
type counter struct{ n atomic.Uint64 }

func (c *counter) NowNS() uint64 { return c.n.Add(1) }

// watch runs a collector until it has n scrapes, and stops it.
func watch(t *testing.T, cfg MetricsConfig, n int) ([]*export.Scrape, []export.TelemetrySource) {
	t.Helper()
	cfg.Clock = &counter{}
	if cfg.Interval == 0 {
		cfg.Interval = 5 * time.Millisecond
	}
	c, err := NewMetrics(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	var all []*export.Scrape
	for deadline := time.Now().Add(10 * time.Second); len(all) < n && time.Now().Before(deadline); {
		all = append(all, c.Take()...)
		time.Sleep(time.Millisecond)
	}
	sources := c.Stop()
	return append(all, c.Take()...), sources
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/metrics"
}

func TestMetrics(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		fmt.Fprintf(w, "# TYPE c counter\nc{a=\"1\"} %d\n", n)
		if n > 1 { // a label set that appears later
			fmt.Fprintf(w, "c{a=\"2\"} 0.5\n")
		}
	})
	all, sources := watch(t, MetricsConfig{URLs: []string{url}}, 3)
	for i, s := range all {
		if s.Source != url || s.StartNS == 0 || s.EndNS <= s.StartNS || s.Error != "" || len(s.Samples) != min(i+1, 2) {
			t.Fatalf("scrape %d: %+v", i, s)
		}
		if x := s.Samples[0]; x.Series != all[0].Samples[0].Series || x.Series.String() != `c{a="1"}` || x.Series.Type != "counter" || x.Value != float64(i+1) {
			t.Errorf("scrape %d: %v = %v", i, x.Series, x.Value)
		}
	}
	if s := sources[0]; len(all) < 3 || s.Scrapes != len(all) || s.Series != 2 || s.Failed != 0 || s.Error != "" || s.Kind != export.TelemetryPrometheus || s.Host != "127.0.0.1" {
		t.Errorf("%d scrapes, %+v", len(all), s)
	}
}

// TestMetricsFaults checks that a faulty endpoint gives scrapes with an error and without
// samples.
func TestMetricsFaults(t *testing.T) {
	closed := nettest.Listen(t)
	_ = closed.Close()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	flood := strings.Repeat("m{a=\""+strings.Repeat("0123456789", 100)+"\"} 1\n", 1000) // 1 MB; TestMetricsFloodBound has short lines
	for _, tt := range []struct {
		name string
		url  string
		h    http.HandlerFunc
		want string
	}{
		{name: "refused", url: "http://" + closed.Addr().String() + "/metrics", want: "connection refused"},
		{name: "404", h: http.NotFound, want: "HTTP status 404"},
		{name: "HTML", h: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!DOCTYPE html>\n<p>") }, want: "no metrics in a text that begins with \"<!DOCTYPE html>\""},
		{name: "redirect", h: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, want: "HTTP status 302"},
		{name: "hangs before the answer", h: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, want: "no whole answer within 50ms"},
		{name: "hangs in the answer", h: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "a 1\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, want: "no whole answer within 50ms"},
		{name: "closes in the answer", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "a 1\n")
		}, want: "unexpected EOF"},
		{name: "one line without end", h: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		}, want: "a line of more than"},
		{name: "flood", h: func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				if _, err := io.WriteString(w, flood); err != nil {
					return
				}
			}
		}, want: "more than 16777216 bytes"},
		{name: "compressed flood", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
			for range 18 {
				if _, err := io.WriteString(z, flood); err != nil {
					return
				}
			}
			_ = z.Close()
		}, want: "more than 16777216 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := tt.url
			if url == "" {
				url = serve(t, tt.h)
			}
			timeout := 10 * time.Second
			if strings.Contains(tt.want, "within 50ms") {
				timeout = 50 * time.Millisecond
			}
			all, sources := watch(t, MetricsConfig{URLs: []string{url}, Timeout: timeout, Interval: time.Hour}, 1)
			if len(all) == 0 || !strings.Contains(all[0].Error, tt.want) || all[0].Samples != nil {
				t.Fatalf("%+v, want an error with %q", all, tt.want)
			}
			if s := sources[0]; s.Failed == 0 || s.Failed != s.Scrapes || s.Error != all[0].Error {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestMetricsStopHung checks that Stop returns although an endpoint hangs.
func TestMetricsStopHung(t *testing.T) {
	hang := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })
	c, err := NewMetrics(MetricsConfig{URLs: []string{url}, Timeout: time.Hour, Clock: &counter{}})
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	c.ScrapeNow()
	c.ScrapeNow() // does not block
	if s := c.Stop()[0]; s.Scrapes != 0 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// TestMetricsWait checks that the requested scrapes have ended when Wait returns, and that it does not wait again
// for an endpoint that hangs or fails.
func TestMetricsWait(t *testing.T) {
	var asked atomic.Int64
	answers := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "asked %d\n", asked.Add(1)) })
	hang := make(chan struct{})
	hangs := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })
	start := func(url string) *Metrics {
		c, err := NewMetrics(MetricsConfig{URLs: []string{url}, Interval: time.Hour, Timeout: time.Hour, Clock: &counter{}})
		if err != nil {
			t.Fatal(err)
		}
		c.Start()
		return c
	}
	c := start(answers)
	for attempt := 1; ; attempt++ { // on a busy machine an answer may take longer than Wait waits
		before := asked.Load()
		c.ScrapeNow()
		c.Wait()
		c.mu.Lock()
		ended := c.sources[0].answered == c.asked
		c.mu.Unlock()
		if ended && asked.Load() > before && len(c.Take()) > 0 {
			break
		}
		if attempt == 50 {
			t.Fatalf("%d answers, the last scrape has not ended", asked.Load())
		}
	}
	c.Stop()
	for _, url := range []string{hangs, "http://127.0.0.1:1/metrics"} {
		c := start(url)
		c.ScrapeNow()
		c.Wait()
		c.ScrapeNow()
		if late := c.late(); len(late) > 0 && url == hangs {
			t.Errorf("%s: Wait would wait again", url)
		}
		c.Wait() // a connection that is refused fails at once
		if len(c.late()) > 0 {
			t.Errorf("%s: Wait waits for a source that fails", url)
		}
		c.Stop()
	}
}

// changing returns an endpoint that answers each time with n new series. Their one label is
// the ordinal of the series, followed by pad.
func changing(n int, pad string) http.HandlerFunc {
	next := 0
	return func(w http.ResponseWriter, _ *http.Request) {
		var b strings.Builder
		for range n {
			next++
			fmt.Fprintf(&b, "m{id=\"%06d%s\"} 1\n", next, pad)
		}
		_, _ = io.WriteString(w, b.String())
	}
}

// ask makes a collector of endpoints, which it does not start, and scrapes each endpoint n
// times. It returns the collector and the scrapes.
func ask(t *testing.T, n int, handlers ...http.HandlerFunc) (*Metrics, []*export.Scrape) {
	t.Helper()
	var urls []string
	for _, h := range handlers {
		urls = append(urls, serve(t, h))
	}
	c, err := NewMetrics(MetricsConfig{URLs: urls, Timeout: time.Minute, Clock: &counter{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.sources {
		t.Cleanup(s.close)
		for range n {
			c.scrapeOnce(t.Context(), s)
		}
		s.info.Gone += s.gone()
	}
	return c, c.Take()
}

// TestMetricsSeriesBound checks that a source with new label sets at each scrape keeps the
// first series up to each bound, and that each scrape counts the samples left out.
func TestMetricsSeriesBound(t *testing.T) {
	const n = 12_000
	long := strings.Repeat("x", 4000)
	perLong := len(`m{id="000000"}`) + len(long)
	for _, tt := range []struct {
		name    string
		h       http.HandlerFunc
		kept    []int // samples of each scrape
		answers int   // lines of each answer
	}{
		{"number", changing(n, ""), []int{n, maxSeries - n, 0, 0}, n},
		{"text", changing(800, long), []int{800, maxSeriesText/perLong - 800, 0, 0}, 800},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, all := ask(t, len(tt.kept), tt.h)
			total := 0
			for i, x := range all {
				if total += len(x.Samples); len(x.Samples) != tt.kept[i] || x.LeftOut != tt.answers-tt.kept[i] || x.Error != "" {
					t.Errorf("scrape %d: %d samples, %d left out, %s; want %d of %d", i, len(x.Samples), x.LeftOut, x.Error, tt.kept[i], tt.answers)
				}
			}
			s := c.sources[0].info
			if len(all) != len(tt.kept) || s.Scrapes != len(tt.kept) || s.Series != total || s.LeftOut != len(tt.kept)*tt.answers-total || s.Emptied != 2 || s.Failed != 0 || s.Gone != total {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestMetricsMemoryBound checks the bound on the series of all sources together, and that
// failed scrapes use no memory.
func TestMetricsMemoryBound(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		changing(2, "")(w, r)
		_, _ = io.WriteString(w, strings.Repeat("x", 70_000)) // a malformed line, and too long
	}
	c, all := ask(t, 3, h)
	if s := c.sources[0]; len(all) != 3 || s.info.Failed != 3 || s.info.Series != 0 || len(s.series) != 0 || s.text != 0 || c.memory.Load() != 0 {
		t.Errorf("%+v, %d series, %d bytes of memory", s.info, len(s.series), c.memory.Load())
	}
	c, _ = ask(t, 1, changing(3, ""))
	each := c.memory.Load() / 3
	if want := int64(seriesBytes + len("m") + labelBytes + len("id") + 6); each != want {
		t.Fatalf("a series takes %d bytes, want %d", each, want)
	}
	c.memory.Store(maxMemory - each) // of the series of other sources
	if c.scrapeOnce(t.Context(), c.sources[0]); c.sources[0].info.Series != 4 || c.sources[0].info.LeftOut != 2 || c.memory.Load() != maxMemory {
		t.Errorf("%+v, %d bytes of memory", c.sources[0].info, c.memory.Load())
	}
}

// TestMetricsGone checks which series count as gone. New series that stay, a series that is
// missing for a while, and a restart of the server do not count.
func TestMetricsGone(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []string // series; "!": a failure; "@N": the server reports the start time N
		want    int
	}{
		{"one answer", []string{"a b"}, 0},
		{"the same", []string{"a b", "a b", "a b"}, 0},
		{"come and stay", []string{"a", "a b", "a b c d"}, 0},
		{"missing for a while", []string{"a b", "a", "a b"}, 0},
		{"one goes", []string{"a b", "a b", "a"}, 1},
		{"new ones each time", []string{"a b", "a c", "a d"}, 2},
		{"started again after a failure", []string{"a b c", "!", "a", "a b"}, 0},
		{"new ones before, and after", []string{"a", "b", "!", "c", "d"}, 2},
		{"new ones, and a failure at the end", []string{"a", "b", "!"}, 1},
		{"reports a restart", []string{"@1 a b", "@2 a"}, 0},
		{"reports no restart", []string{"@1 a b", "@1 a"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			c, _ := ask(t, len(tt.answers), func(w http.ResponseWriter, _ *http.Request) {
				answer := tt.answers[n]
				if n++; answer == "!" {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				for _, f := range strings.Fields(answer) {
					if at, ok := strings.CutPrefix(f, "@"); ok {
						fmt.Fprintf(w, "process_start_time_seconds %s\n", at)
					} else if f != "!" {
						fmt.Fprintf(w, "m{l=%q} 1\n", f)
					}
				}
			})
			if got := c.sources[0].info.Gone; got != tt.want {
				t.Errorf("%d gone, want %d", got, tt.want)
			}
		})
	}
}

// TestMetricsLines checks that malformed lines are counted, and that the first of two
// values of a series is kept.
func TestMetricsLines(t *testing.T) {
	c, all := ask(t, 2, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a 1\n\n# HELP b is\nb\na 2\nb{c} 1\nb{c=\"d\"} 3\n")
	})
	if s := c.sources[0].info; s.BadLines != 4 || s.FirstBadLine != 4 || s.Repeated != 2 || s.Scrapes != 2 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	for _, x := range all {
		if len(x.Samples) != 2 || x.Samples[0].Value != 1 || x.Samples[1].Value != 3 {
			t.Errorf("%+v", x.Samples)
		}
	}
}

// TestMetricsDrops checks that a scrape is dropped when too many samples wait for Take.
func TestMetricsDrops(t *testing.T) {
	c := &Metrics{cfg: MetricsConfig{Timeout: time.Second, Clock: &counter{}}, samples: maxWaiting}
	s := &source{scrape: func(_ context.Context, _ *source, into *export.Scrape) error {
		into.Samples = make([]export.Sample, 1)
		return nil
	}}
	if !c.scrapeOnce(t.Context(), s) || s.info.Dropped != 1 || s.info.Scrapes != 0 || len(c.Take()) != 0 {
		t.Errorf("%+v", s.info)
	}
	if !c.scrapeOnce(t.Context(), s) || s.info.Scrapes != 1 || len(c.Take()) != 1 {
		t.Errorf("%+v", s.info)
	}
}

func TestMetricsBadURL(t *testing.T) {
	for _, url := range []string{"", "gpu:9400", "ftp://gpu/metrics", "http:///metrics", "http://user:secretpassword@%zz/"} {
		if _, err := NewMetrics(MetricsConfig{URLs: []string{url}}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestMetricsCredentials checks that credentials are sent but not recorded.
func TestMetricsCredentials(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secretpassword" || r.URL.RawQuery != "token=secrettoken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "a 1\n")
	})
	url = strings.Replace(url, "http://", "http://me:secretpassword@", 1) + "?token=secrettoken"
	all, sources := watch(t, MetricsConfig{URLs: []string{url, url}}, 4)
	for _, s := range all {
		if s.Error != "" || strings.Contains(s.Source, "secret") {
			t.Fatalf("%+v", s)
		}
	}
	if len(sources) != 2 || sources[1].Source != sources[0].Source+"#2" || strings.Contains(fmt.Sprint(sources), "secret") {
		t.Errorf("%+v", sources)
	}
	// Errors of an unreachable server do not hold them either.
	all, _ = watch(t, MetricsConfig{URLs: []string{"http://me:secretpassword@127.0.0.1:1/metrics?token=secrettoken"}, Interval: time.Hour}, 1)
	if len(all) == 0 || all[0].Error == "" || strings.Contains(fmt.Sprintf("%+v", *all[0]), "secret") {
		t.Errorf("%+v", all)
	}
}

// TestMetricsEcho checks that the user name, the password and the query of a URL are not
// recorded when the endpoint repeats them.
func TestMetricsEcho(t *testing.T) {
	const user, password, token = "alice-name", "open-sesame", "tok/en-12345"
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name, pass, _ := r.BasicAuth()
		fmt.Fprintf(w, "# TYPE %s counter\n", pass)
		for i, text := range []string{r.Header.Get("Authorization"), r.URL.String(), r.URL.Query().Get("token"), name + ":" + pass} {
			fmt.Fprintf(w, "m%d{label=%q} 1\n", i, text)
		}
	})
	u, err := url.Parse(address + "?token=" + url.QueryEscape(token))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	all, sources := watch(t, MetricsConfig{URLs: []string{u.String()}}, 1)
	if len(all[0].Samples) != 4 || all[0].Error != "" {
		t.Fatalf("%+v", all[0])
	}
	text := fmt.Sprintf("%+v", sources)
	for _, x := range all[0].Samples {
		text += x.Series.String() + " " + x.Series.Type + "\n"
	}
	for _, secret := range []string{password, token, url.QueryEscape(token), base64.StdEncoding.EncodeToString([]byte(user + ":" + password))} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in %s", secret, text)
		}
	}
	if !strings.Contains(text, "[redacted]") {
		t.Errorf("nothing was repeated: %s", text)
	}
}

// fakeSMI writes a program that runs the script, and returns its path.
func fakeSMI(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // G306: a program
		t.Fatal(err)
	}
	return path
}

func TestNvidiaSMI(t *testing.T) {
	all, sources := watch(t, MetricsConfig{NvidiaSMI: fakeSMI(t, `
[ "$1" = --query-gpu=uuid,index,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,clocks.sm ] || exit 9
[ "$2" = --format=csv,noheader,nounits ] || exit 9
echo 'GPU-a, 0, 97, 1024, 81559, 412.50, 61, 1980'
echo 'GPU-b, 1, 0, 4, 81559, [N/A], 33, 345'
`)}, 1)
	if len(all) == 0 || all[0].Error != "" || len(all[0].Samples) != 11 {
		t.Fatalf("%+v", all)
	}
	if x := all[0].Samples[3]; x.Series.String() != `nvidia_smi_power_draw{gpu_uuid="GPU-a",gpu="0"}` || x.Value != 412.5 {
		t.Errorf("%v = %v", x.Series, x.Value)
	}
	if s := sources[0]; s.Source != "nvidia-smi" || s.Kind != export.TelemetryNvidiaSMI || s.Series != 11 {
		t.Errorf("%+v", s)
	}
}

func TestNvidiaSMIFaults(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"no driver", "echo 'NVIDIA-SMI has failed because it could not talk to the driver' ; exit 9", "exit status 9: NVIDIA-SMI has failed"},
		{"another table", "echo 'a, b'", "did not print the requested table"},
		{"nothing", "exit 0", "lists no GPU"},
		{"flood", "exec yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "more than 1048576 bytes"},
		{"hangs", "exec sleep 100", "no whole answer within"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _ := watch(t, MetricsConfig{NvidiaSMI: fakeSMI(t, tt.script), Timeout: 2 * time.Second, Interval: time.Hour}, 1)
			if len(all) == 0 || !strings.Contains(all[0].Error, tt.want) {
				t.Errorf("%+v, want %q", all, tt.want)
			}
		})
	}
	all, _ := watch(t, MetricsConfig{NvidiaSMI: "/nowhere/nvidia-smi", Interval: time.Hour}, 1)
	if len(all) == 0 || !strings.Contains(all[0].Error, "no such file") {
		t.Errorf("%+v", all)
	}
}

// TestMetricsOneAtATime checks that an endpoint that hangs gets one request, and one
// goroutine of the collector, however often ScrapeNow is called.
func TestMetricsOneAtATime(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	})
	before := runtime.NumGoroutine()
	c, err := NewMetrics(MetricsConfig{URLs: []string{url}, Interval: time.Microsecond, Timeout: time.Hour, Clock: &counter{}})
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	for deadline := time.Now().Add(time.Minute); asked.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for range 100_000 {
		c.ScrapeNow()
	}
	// The source has one goroutine; net/http has some for each side of the connection.
	if grown := runtime.NumGoroutine() - before; asked.Load() != 1 || grown > 10 {
		t.Errorf("%d requests, %d more goroutines", asked.Load(), grown)
	}
	c.Stop()
}

// TestMetricsLateCount checks that the last scrape has what a server counts a little after it
// has answered.
func TestMetricsLateCount(t *testing.T) {
	var tokens atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "tokens_total %d\n", tokens.Load()) })
	c, err := NewMetrics(MetricsConfig{URLs: []string{url}, Interval: time.Hour, Clock: &counter{}})
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	time.AfterFunc(settle/5, func() { tokens.Store(40) })
	c.Stop()
	all := c.Take()
	if last := all[len(all)-1].Samples; len(last) != 1 || last[0].Value != 40 {
		t.Errorf("the last scrape has %+v, want 40", last)
	}
}

// TestMetricsFloodBound checks that the collector reads no more than the bound of a huge
// answer, and keeps only an error without samples.
func TestMetricsFloodBound(t *testing.T) {
	const bound, inBuffers = 16 << 20, 16 << 20 // of kernels and net/http on both sides
	line := []byte(strings.Repeat("m{a=\"0123456789\"} 1\n", 2000))
	took := make(chan int64, 100)
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		total := int64(0)
		for range (100 << 20) / len(line) { // 100 MB
			n, err := w.Write(line)
			if total += int64(n); err != nil {
				break
			}
		}
		took <- total
	})
	all, sources := watch(t, MetricsConfig{URLs: []string{url}, Interval: time.Hour, Timeout: time.Minute}, 1)
	for _, s := range all {
		if s.Samples != nil || !strings.Contains(s.Error, "more than 16777216 bytes") {
			t.Errorf("%d samples, %q", len(s.Samples), s.Error)
		}
	}
	for range sources[0].Scrapes {
		if n := <-took; n > bound+inBuffers {
			t.Errorf("%d bytes of an answer were sent; at most %d can be read", n, bound)
		}
	}
}

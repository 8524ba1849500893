package telemetry

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/pkg/export"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A counter is a clock that ticks when it is looked at.
type counter struct{ n atomic.Uint64 }

func (c *counter) NowNS() uint64 { return c.n.Add(1) }

// watch runs a collector until it has n scrapes, and stops it.
func watch(t *testing.T, cfg Config, n int) ([]*export.Scrape, []export.TelemetrySource) {
	t.Helper()
	cfg.Clock = &counter{}
	if cfg.Interval == 0 {
		cfg.Interval = 5 * time.Millisecond
	}
	c, err := New(cfg)
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

func TestCollector(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		fmt.Fprintf(w, "# TYPE c counter\nc{a=\"1\"} %d\n", n)
		if n > 1 { // a label set that is there later on
			fmt.Fprintf(w, "c{a=\"2\"} 0.5\n")
		}
	})
	all, sources := watch(t, Config{URLs: []string{url}}, 3)
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

// What is wrong with an endpoint is a scrape with an error, and no more.
func TestCollectorFaults(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	flood := strings.Repeat("m{a=\"0123456789\"} 1\n", 50_000) // 1 MB
	for _, tt := range []struct {
		name string
		url  string
		h    http.HandlerFunc
		want string
	}{
		{name: "refused", url: "http://" + closed.Addr().String() + "/metrics", want: "connection refused"},
		{name: "404", h: http.NotFound, want: "HTTP status 404"},
		{name: "HTML", h: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!DOCTYPE html>\n<p>") }, want: "no metrics in what begins with \"<!DOCTYPE html>\""},
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
			z := gzip.NewWriter(w)
			for range 40 {
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
			all, sources := watch(t, Config{URLs: []string{url}, Timeout: timeout, Interval: time.Hour}, 1)
			if len(all) == 0 || !strings.Contains(all[0].Error, tt.want) || all[0].Samples != nil {
				t.Fatalf("%+v, want an error with %q", all, tt.want)
			}
			if s := sources[0]; s.Failed == 0 || s.Failed != s.Scrapes || s.Error != all[0].Error {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An endpoint that hangs does not keep a run from its end.
func TestCollectorStopHung(t *testing.T) {
	hang := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })
	c, err := New(Config{URLs: []string{url}, Timeout: time.Hour, Clock: &counter{}})
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	c.Ask()
	c.Ask() // waits for nothing
	if s := c.Stop()[0]; s.Scrapes != 0 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// Label sets that are new each time fill neither memory nor disk.
func TestCollectorSeriesBound(t *testing.T) {
	n := 0
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		var b strings.Builder
		for range maxSamples + 10 {
			n++
			fmt.Fprintf(&b, "m{id=\"%d\"} 1\n", n)
		}
		_, _ = io.WriteString(w, b.String())
	})
	c := &Collector{}
	e, err := c.endpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	e.series = map[string]*export.Series{}
	for range 3 {
		var x export.Scrape
		if err := e.scrape(t.Context(), e, &x); err != nil || len(x.Samples) > maxSamples {
			t.Fatalf("%d samples, %v", len(x.Samples), err)
		}
	}
	e.close()
	if e.info.Series != maxSeries || e.info.LeftOut != 3*(maxSamples+10)-maxSeries {
		t.Errorf("%+v", e.info)
	}
}

// What nobody takes is dropped.
func TestCollectorDrops(t *testing.T) {
	c := &Collector{cfg: Config{Timeout: time.Second, Clock: &counter{}}, samples: waitingSamples}
	s := &source{scrape: func(_ context.Context, _ *source, into *export.Scrape) error {
		into.Samples = make([]export.Sample, 1)
		return nil
	}}
	if !c.once(t.Context(), s) || s.info.Dropped != 1 || s.info.Scrapes != 0 || len(c.Take()) != 0 {
		t.Errorf("%+v", s.info)
	}
	if !c.once(t.Context(), s) || s.info.Scrapes != 1 || len(c.Take()) != 1 {
		t.Errorf("%+v", s.info)
	}
}

func TestNewBadURL(t *testing.T) {
	for _, url := range []string{"", "gpu:9400", "ftp://gpu/metrics", "http:///metrics", "http://user:secretpassword@%zz/"} {
		if _, err := New(Config{URLs: []string{url}}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// Credentials are sent, and not shown.
func TestCollectorCredentials(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secretpassword" || r.URL.RawQuery != "token=secrettoken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "a 1\n")
	})
	url = strings.Replace(url, "http://", "http://me:secretpassword@", 1) + "?token=secrettoken"
	all, sources := watch(t, Config{URLs: []string{url, url}}, 4)
	for _, s := range all {
		if s.Error != "" || strings.Contains(s.Source, "secret") {
			t.Fatalf("%+v", s)
		}
	}
	if len(sources) != 2 || sources[1].Source != sources[0].Source+"#2" || strings.Contains(fmt.Sprint(sources), "secret") {
		t.Errorf("%+v", sources)
	}
	// Nor in the errors of a server that is not there.
	all, _ = watch(t, Config{URLs: []string{"http://me:secretpassword@127.0.0.1:1/metrics?token=secrettoken"}, Interval: time.Hour}, 1)
	if len(all) == 0 || all[0].Error == "" || strings.Contains(fmt.Sprintf("%+v", *all[0]), "secret") {
		t.Errorf("%+v", all)
	}
}

// fakeSMI is a program that does what the script says.
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
	all, sources := watch(t, Config{NvidiaSMI: fakeSMI(t, `
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
		{"another table", "echo 'a, b'", "printed no such table"},
		{"nothing", "exit 0", "names no GPU"},
		{"flood", "exec yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "more than 1048576 bytes"},
		{"hangs", "exec sleep 100", "no whole answer within"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _ := watch(t, Config{NvidiaSMI: fakeSMI(t, tt.script), Timeout: 2 * time.Second, Interval: time.Hour}, 1)
			if len(all) == 0 || !strings.Contains(all[0].Error, tt.want) {
				t.Errorf("%+v, want %q", all, tt.want)
			}
		})
	}
	all, _ := watch(t, Config{NvidiaSMI: "/nowhere/nvidia-smi", Interval: time.Hour}, 1)
	if len(all) == 0 || !strings.Contains(all[0].Error, "no such file") {
		t.Errorf("%+v", all)
	}
}

// Long label sets that are new each time are bounded by their text.
func TestCollectorSeriesTextBound(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	const perScrape, scrapes, room = 20, 3, 30 * 60_000
	n := 0
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for range perScrape {
			n++
			fmt.Fprintf(w, "m{id=\"%d%s\"} 1\n", n, long)
		}
	})
	e, err := (&Collector{}).endpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	e.series = map[string]*export.Series{}
	e.text = maxSeriesText - room // of others
	for range scrapes {
		var x export.Scrape
		if err := e.scrape(t.Context(), e, &x); err != nil {
			t.Fatal(err)
		}
	}
	e.close()
	if e.text > maxSeriesText || e.text < maxSeriesText-2*len(long) || e.info.Series != 29 || e.info.LeftOut != scrapes*perScrape-29 {
		t.Errorf("%d bytes of text, %+v", e.text, e.info)
	}
}

// However often it is asked, an endpoint that hangs has one question, and the
// collector one goroutine for it.
func TestCollectorOneAtATime(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	})
	before := runtime.NumGoroutine()
	c, err := New(Config{URLs: []string{url}, Interval: time.Microsecond, Timeout: time.Hour, Clock: &counter{}})
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	for deadline := time.Now().Add(time.Minute); asked.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for range 100_000 {
		c.Ask()
	}
	// Its own; net/http's, of one connection, on both sides.
	if grown := runtime.NumGoroutine() - before; asked.Load() != 1 || grown > 10 {
		t.Errorf("%d questions, %d goroutines more", asked.Load(), grown)
	}
	c.Stop()
}

// Of a flood no more is read than the bound, and what waits to be taken is an error
// without samples.
func TestCollectorFloodBound(t *testing.T) {
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
	all, sources := watch(t, Config{URLs: []string{url}, Interval: time.Millisecond, Timeout: time.Minute}, 2)
	for _, s := range all {
		if s.Samples != nil || !strings.Contains(s.Error, "more than 16777216 bytes") {
			t.Errorf("%d samples, %q", len(s.Samples), s.Error)
		}
	}
	for range sources[0].Scrapes {
		if n := <-took; n > bound+inBuffers {
			t.Errorf("%d bytes of an answer were taken, of at most %d", n, bound)
		}
	}
}

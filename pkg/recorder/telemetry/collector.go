package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/promtext"
)

// A Clock gives the time of the run in Unix nanoseconds.
type Clock interface{ NowNS() uint64 }

// Config says what to watch.
type Config struct {
	// URLs are metrics endpoints: http or https, with a path. User information
	// is sent as basic authentication and never shown.
	URLs []string
	// NvidiaSMI is the program to run besides; "" for none.
	NvidiaSMI string
	// Interval is how often each is asked; 0 means a second.
	Interval time.Duration
	// Timeout bounds an answer; 0 means 5 s.
	Timeout time.Duration
	// TLS is for https; nil is the usual.
	TLS   func(host string) *tls.Config
	Clock Clock
}

// Bounds of what is kept.
const (
	// maxSamples bounds the samples of a scrape, and those that wait to be
	// taken are at most waitingSamples.
	maxSamples     = 50_000
	waitingSamples = 1 << 21
	// maxSeries bounds the series of a source over the run: label sets may
	// change at every scrape.
	maxSeries = 100_000
	// maxSeriesText bounds their names and labels together, in bytes: a line may
	// have 64 KiB.
	maxSeriesText = 64 << 20
	// lastWait is how long Stop waits for answers.
	lastWait = time.Second
	// slowest is the longest interval of a source that fails, in intervals.
	slowest = 32
)

// A Collector watches. It is made by New; its methods are for one goroutine.
type Collector struct {
	cfg     Config
	sources []*source
	running sync.WaitGroup
	cancel  context.CancelFunc
	last    chan struct{} // closed by Stop: one more time, and no more

	mu      sync.Mutex
	waiting []*export.Scrape
	samples int // of those
}

// A source is asked by one goroutine.
type source struct {
	info   export.TelemetrySource
	scrape func(ctx context.Context, s *source, into *export.Scrape) error
	wake   chan struct{} // of capacity 1: ask now
	close  func()

	series map[string]*export.Series // by head
	text   int                       // bytes of the heads
}

// New returns a Collector of what cfg says. Nothing is asked before Start. The
// error is about a URL, which it does not repeat.
func New(cfg Config) (*Collector, error) {
	if cfg.Interval <= 0 {
		cfg.Interval = time.Second
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	c := &Collector{cfg: cfg, last: make(chan struct{})}
	for _, text := range cfg.URLs {
		s, err := c.endpoint(text)
		if err != nil {
			return nil, err
		}
		c.sources = append(c.sources, s)
	}
	if cfg.NvidiaSMI != "" {
		c.sources = append(c.sources, c.nvidiaSMI(cfg.NvidiaSMI))
	}
	for _, s := range c.sources {
		s.wake = make(chan struct{}, 1)
		s.series = map[string]*export.Series{}
		s.info.IntervalNS = cfg.Interval.Nanoseconds()
	}
	return c, nil
}

// name returns a name for a source that no other has.
func (c *Collector) name(want string) string {
	name := want
	for i := 2; slices.ContainsFunc(c.sources, func(s *source) bool { return s.info.Source == name }); i++ {
		name = fmt.Sprintf("%s#%d", want, i)
	}
	return name
}

// endpoint is the source at a URL.
func (c *Collector) endpoint(text string) (*source, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("a metrics URL has to be http://HOST[:PORT]/PATH, or https://")
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	t := &http.Transport{
		DialContext:     (&net.Dialer{Timeout: c.cfg.Timeout}).DialContext,
		MaxConnsPerHost: 1, IdleConnTimeout: time.Minute,
	}
	if c.cfg.TLS != nil && u.Scheme == "https" {
		t.TLSClientConfig = c.cfg.TLS(u.Hostname())
	}
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &source{
		info:   export.TelemetrySource{Source: c.name(shown.String()), Kind: export.TelemetryPrometheus, Host: u.Hostname()},
		scrape: func(ctx context.Context, s *source, into *export.Scrape) error { return s.get(ctx, client, u, into) },
		close:  t.CloseIdleConnections,
	}, nil
}

// Start begins to ask, all sources at once.
func (c *Collector) Start() {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	for _, s := range c.sources {
		c.running.Go(func() { c.watch(ctx, s) })
	}
}

// Ask asks all sources now, without waiting for the answers: at the edges of a
// measurement. A source that has not answered the last time is left alone.
func (c *Collector) Ask() {
	for _, s := range c.sources {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Take returns the scrapes since the last call. It does not wait.
func (c *Collector) Take() []*export.Scrape {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.waiting
	c.waiting, c.samples = nil, 0
	return all
}

// Stop asks all sources once more, for a second at most, and ends. It returns
// what became of them. Without Start it does nothing.
func (c *Collector) Stop() []export.TelemetrySource {
	if c.cancel == nil {
		return nil
	}
	close(c.last)
	limit := time.AfterFunc(lastWait, c.cancel)
	c.running.Wait()
	limit.Stop()
	c.cancel()
	var all []export.TelemetrySource
	for _, s := range c.sources {
		if s.close != nil {
			s.close()
		}
		all = append(all, s.info)
	}
	return all
}

// watch asks s until the end.
func (c *Collector) watch(ctx context.Context, s *source) {
	failures := 0
	for {
		ok := c.once(ctx, s)
		wait := c.cfg.Interval
		if ok {
			failures = 0
		} else {
			wait *= time.Duration(min(slowest, 1<<min(failures, 5)))
			failures++
		}
		timer := time.NewTimer(wait)
		wake := s.wake
		if failures > 1 {
			wake = nil // it is not worth it
		}
		select {
		case <-timer.C:
		case <-wake:
		case <-ctx.Done():
		case <-c.last:
			timer.Stop()
			if ctx.Err() == nil && failures <= 1 {
				c.once(ctx, s)
			}
			return
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// once asks s and keeps the answer.
func (c *Collector) once(ctx context.Context, s *source) (ok bool) {
	asking, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	x := &export.Scrape{Source: s.info.Source, StartNS: c.cfg.Clock.NowNS()}
	err := s.scrape(asking, s, x)
	x.EndNS = c.cfg.Clock.NowNS()
	if err != nil {
		if ctx.Err() != nil {
			return false // the end of the run cut it short
		}
		x.Samples, x.Error = nil, reason(err, c.cfg.Timeout)
		if s.info.Error == "" {
			s.info.Error = x.Error
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.samples+len(x.Samples) > waitingSamples {
		s.info.Dropped++
		return err == nil
	}
	s.info.Scrapes++
	if err != nil {
		s.info.Failed++
	}
	c.waiting = append(c.waiting, x)
	c.samples += len(x.Samples) + 1
	return err == nil
}

// maxReason bounds the text of an error.
const maxReason = 200

// reason is err without a URL, which may hold a password.
func reason(err error, timeout time.Duration) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no whole answer within %v", timeout)
	}
	return text[:min(len(text), maxReason)]
}

// get asks an endpoint.
func (s *source) get(ctx context.Context, client *http.Client, u *url.URL, into *export.Scrape) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4;q=1,*/*;q=0.1")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	_, err = promtext.Read(resp.Body, promtext.Limits{}, func(x promtext.Sample) error { return s.add(into, x) })
	return err
}

// add takes a sample.
func (s *source) add(into *export.Scrape, x promtext.Sample) error {
	series := s.series[string(x.Head)]
	if series == nil && len(s.series) < maxSeries && s.text+len(x.Head) <= maxSeriesText && len(into.Samples) < maxSamples {
		name, labels, err := x.Labels()
		if err != nil {
			return err
		}
		series = &export.Series{Source: s.info.Source, Name: name, Type: x.Type}
		for _, l := range labels {
			series.Labels = append(series.Labels, export.Label(l))
		}
		s.series[string(x.Head)] = series
		s.text += len(x.Head)
		s.info.Series++
	}
	if series == nil || len(into.Samples) >= maxSamples {
		s.info.LeftOut++
		return nil
	}
	into.Samples = append(into.Samples, export.Sample{Series: series, Value: x.Value})
	return nil
}

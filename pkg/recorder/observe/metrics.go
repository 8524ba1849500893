package observe

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
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// A Clock gives the time of the run in Unix nanoseconds.
type Clock interface{ NowNS() uint64 }

// MetricsConfig configures Metrics.
type MetricsConfig struct {
	// URLs are metrics endpoints: http or https, usually with a path. User information
	// is sent as basic authentication and never shown.
	URLs []string
	// NvidiaSMI is the path of nvidia-smi; "" does not run it.
	NvidiaSMI string
	// Interval is the time between two scrapes of a source; 0 means a second.
	Interval time.Duration
	// Timeout bounds a scrape; 0 means 5 s.
	Timeout time.Duration
	// TLS returns the configuration for https; nil means the defaults of crypto/tls.
	TLS   func(host string) *tls.Config
	Clock Clock
}

// Bounds of Metrics.
const (
	// maxWaiting bounds the samples that wait for Take.
	maxWaiting = 1 << 21
	// maxSeries bounds the series of a source over the run, because label sets may
	// change at every scrape. The first ones are kept. Inference servers and exporters
	// have some hundreds to a few thousand.
	maxSeries = 20_000
	// maxSeriesText bounds the names and labels of a source's series together, in bytes.
	// A series usually has some 100, but a line may have 64 KiB.
	maxSeriesText = 4 << 20
	// maxMemory bounds the memory of the series of all sources. A reader of the file
	// keeps them all in memory, at most 64 MiB.
	maxMemory = 48 << 20
	// lastWait is how long Stop waits for the last scrapes.
	lastWait = time.Second
	// settle is how long after Stop the last scrape begins: llama.cpp and Triton count a
	// request some milliseconds after they have answered it.
	settle = 50 * time.Millisecond
	// maxWait is how long Wait waits.
	maxWait = 100 * time.Millisecond
	// maxBackoff bounds the time between scrapes of a failing source, in intervals.
	maxBackoff = 32
)

// Metrics scrapes sources of metrics. Use NewMetrics; its methods are for one goroutine.
type Metrics struct {
	cfg     MetricsConfig
	sources []*source
	running sync.WaitGroup
	cancel  context.CancelFunc
	last    chan struct{} // closed by Stop: each source is scraped once more
	ended   chan struct{} // of capacity 1: a scrape has ended

	memory atomic.Int64 // bytes of all series, see maxMemory

	mu      sync.Mutex
	waiting []*export.Scrape
	samples int // samples of waiting, and one for each scrape
	asked   int // calls of ScrapeNow
}

// A source is scraped by its own goroutine.
type source struct {
	info    export.TelemetrySource
	secrets redact.Secrets // sent to the source, which may repeat them
	scrape  func(ctx context.Context, s *source, into *export.Scrape) error
	wake    chan struct{} // of capacity 1: scrape now
	close   func()

	// Metrics.mu guards these two. answered is the number of calls of ScrapeNow before the last scrape that has
	// ended. slow: Wait does not wait for the source, which fails or was late the last time.
	answered int
	slow     bool

	memory *atomic.Int64       // Metrics.memory
	series map[string]*tracked // by Sample.Head
	text   int                 // bytes of all heads, see maxSeriesText
	fresh  []string            // heads of the series that are new in this scrape

	scrapes   int     // ordinal of the present scrape, from 1
	whole     int     // ordinal of the last complete answer
	since     int     // ordinal of the first complete answer since the last known restart
	startedAt float64 // start time that the source reports; 0: none
	restarted bool    // the source restarted before this scrape
}

// A tracked is a series of a source.
type tracked struct {
	export.Series
	scrape int   // ordinal of the last scrape with the series
	bytes  int64 // approximate memory
}

// NewMetrics returns Metrics. They scrape nothing before Start. The error is about a URL,
// which it does not repeat.
func NewMetrics(cfg MetricsConfig) (*Metrics, error) {
	if cfg.Interval <= 0 {
		cfg.Interval = time.Second
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	c := &Metrics{cfg: cfg, last: make(chan struct{}), ended: make(chan struct{}, 1)}
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
		s.series, s.memory = map[string]*tracked{}, &c.memory
		s.info.IntervalNS = cfg.Interval.Nanoseconds()
	}
	return c, nil
}

// name returns a unique name for a source.
func (c *Metrics) name(want string) string {
	name := want
	for i := 2; slices.ContainsFunc(c.sources, func(s *source) bool { return s.info.Source == name }); i++ {
		name = fmt.Sprintf("%s#%d", want, i)
	}
	return name
}

// endpoint returns the source at a URL.
func (c *Metrics) endpoint(text string) (*source, error) {
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
	var secrets redact.Secrets
	secrets.AddQuery(u.RawQuery)
	if auth := backend.BasicAuthorization(u.User); auth != "" {
		secrets.AddHeader("Authorization", auth)
	}
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &source{
		info:    export.TelemetrySource{Source: c.name(shown.String()), Kind: export.TelemetryPrometheus, Host: u.Hostname()},
		secrets: secrets,
		scrape:  func(ctx context.Context, s *source, into *export.Scrape) error { return s.get(ctx, client, u, into) },
		close:   t.CloseIdleConnections,
	}, nil
}

// Start starts scraping all sources.
func (c *Metrics) Start() {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	for _, s := range c.sources {
		c.running.Go(func() { c.watch(ctx, s) })
	}
}

// ScrapeNow requests a scrape of all sources and does not wait for it. The recorder calls
// it at the edges of a measurement. Sources that failed twice or more in a row are left
// out. A source whose scrape is under way is scraped again afterwards.
func (c *Metrics) ScrapeNow() {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	for _, s := range c.sources {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Wait waits until the scrapes that ScrapeNow requested have ended, and at most for a tenth of a second. It does
// not wait again for a source that took longer until a scrape of it has ended.
func (c *Metrics) Wait() {
	limit := time.NewTimer(maxWait)
	defer limit.Stop()
	for {
		late := c.late()
		if len(late) == 0 {
			return
		}
		select {
		case <-c.ended:
		case <-limit.C:
			c.mu.Lock()
			for _, s := range late {
				s.slow = true
			}
			c.mu.Unlock()
			return
		}
	}
}

// late returns the sources that Wait waits for.
func (c *Metrics) late() (all []*source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sources {
		if s.answered < c.asked && !s.slow {
			all = append(all, s)
		}
	}
	return all
}

// scraped notes that a scrape of s has ended that began after so many calls of ScrapeNow.
func (c *Metrics) scraped(s *source, asked int, fails bool) {
	c.mu.Lock()
	s.answered, s.slow = asked, fails
	c.mu.Unlock()
	select {
	case c.ended <- struct{}{}:
	default:
	}
}

// Take returns the scrapes since the last call. It does not wait.
func (c *Metrics) Take() []*export.Scrape {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.waiting
	c.waiting, c.samples = nil, 0
	return all
}

// Stop scrapes the sources once more after 50 ms, for a second at most in all, and ends the collection. It
// leaves out sources that failed twice or more in a row. It returns a summary of each
// source; nil without Start.
func (c *Metrics) Stop() []export.TelemetrySource {
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
		s.info.Gone += s.gone()
		all = append(all, s.info)
	}
	return all
}

// watch scrapes s at each interval and when ScrapeNow wakes it. The interval grows while
// the source fails.
func (c *Metrics) watch(ctx context.Context, s *source) {
	failures := 0
	for {
		c.mu.Lock()
		asked := c.asked
		c.mu.Unlock()
		ok := c.scrapeOnce(ctx, s)
		wait := c.cfg.Interval
		if ok {
			failures = 0
		} else {
			wait *= time.Duration(min(maxBackoff, 1<<min(failures, 5)))
			failures++
		}
		c.scraped(s, asked, failures > 1)
		timer := time.NewTimer(wait)
		wake := s.wake
		if failures > 1 {
			wake = nil // an extra scrape would fail, too
		}
		select {
		case <-timer.C:
		case <-wake:
		case <-ctx.Done():
		case <-c.last:
			timer.Stop()
			if failures > 1 {
				return
			}
			select {
			case <-time.After(settle):
				c.scrapeOnce(ctx, s)
			case <-ctx.Done():
			}
			return
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// scrapeOnce scrapes s and keeps the result. ok is false if the source gave no samples.
func (c *Metrics) scrapeOnce(ctx context.Context, s *source) (ok bool) {
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	s.scrapes++
	s.fresh, s.restarted = s.fresh[:0], false
	x := &export.Scrape{Source: s.info.Source, StartNS: c.cfg.Clock.NowNS()}
	err := s.scrape(limited, s, x)
	x.EndNS = c.cfg.Clock.NowNS()
	if err != nil {
		s.forgetFresh()
		if ctx.Err() != nil {
			return false // the end of the run cut it short
		}
		x.Samples, x.LeftOut, x.Error = nil, 0, s.reason(err, c.cfg.Timeout)
		if s.info.Error == "" {
			s.info.Error = x.Error
		}
	}
	if !c.keep(x) {
		s.forgetFresh()
		s.info.Dropped++
		return err == nil
	}
	s.info.Scrapes++
	if err != nil {
		s.info.Failed++
		return false
	}
	s.info.Series += len(s.fresh)
	s.info.LeftOut += x.LeftOut
	s.countGone()
	if x.LeftOut > 0 && len(x.Samples) == 0 {
		s.info.Emptied++
		return false
	}
	return true
}

// keep adds a scrape to the scrapes that wait for Take, if there is room.
func (c *Metrics) keep(x *export.Scrape) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.samples+len(x.Samples) > maxWaiting {
		return false
	}
	c.waiting = append(c.waiting, x)
	c.samples += len(x.Samples) + 1
	return true
}

// forgetFresh removes the series that are new in a scrape that is not kept.
func (s *source) forgetFresh() {
	for _, head := range s.fresh {
		s.text -= len(head)
		s.memory.Add(-s.series[head].bytes)
		delete(s.series, head)
	}
	s.fresh = s.fresh[:0]
}

// countGone records a complete answer. A source that reports a restart, or whose previous
// scrape is missing, may have restarted. Then countGone adds the series that are gone to the
// summary and starts a new count.
func (s *source) countGone() {
	if s.restarted || s.whole != s.scrapes-1 {
		s.info.Gone += s.gone()
		s.since = s.scrapes
	}
	s.whole = s.scrapes
}

// gone counts the series that the source gave since its last known restart, but not in
// its last complete answer.
func (s *source) gone() (n int) {
	for _, x := range s.series {
		if x.scrape >= s.since && x.scrape < s.whole {
			n++
		}
	}
	return n
}

// maxReason bounds the text of an error, in bytes.
const maxReason = 200

// reason returns the text of err without secrets and without a URL, which may hold a
// password.
func (s *source) reason(err error, timeout time.Duration) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	text := s.secrets.Text(err.Error()) // before the cut, which could leave a part of a secret
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no whole answer within %v", timeout)
	}
	return text[:min(len(text), maxReason)]
}

// get scrapes a metrics endpoint.
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
	bad, err := ReadText(resp.Body, TextLimits{}, func(x Sample) error { return s.add(into, x) })
	if err != nil {
		return err
	}
	if s.info.BadLines == 0 {
		s.info.FirstBadLine = bad.First
	}
	s.info.BadLines += bad.Lines
	return nil
}

// add adds a sample to a scrape.
func (s *source) add(into *export.Scrape, x Sample) error {
	w := s.series[string(x.Head)]
	switch {
	case w == nil:
		var err error
		if w, err = s.track(x); err != nil {
			return err
		}
		if w == nil {
			into.LeftOut++
			return nil
		}
	case w.scrape == s.scrapes:
		s.info.Repeated++
		return nil
	}
	w.scrape = s.scrapes
	if w.Name == export.ProcessStartMetric {
		s.restarted = s.restarted || s.startedAt != 0 && x.Value != s.startedAt
		s.startedAt = x.Value
	}
	into.Samples = append(into.Samples, export.Sample{Series: &w.Series, Value: x.Value})
	return nil
}

// The approximate memory of a series and of a label without their texts.
const (
	seriesBytes = 160
	labelBytes  = 32
)

// track adds a series; it returns nil if there is no room for it.
func (s *source) track(x Sample) (*tracked, error) {
	name, labels, err := x.Labels()
	if err != nil {
		return nil, err
	}
	if len(s.series) >= maxSeries || s.text+len(x.Head) > maxSeriesText {
		return nil, nil
	}
	name = s.secrets.Text(name)
	w := &tracked{Series: export.Series{Source: s.info.Source, Name: name, Type: s.secrets.Text(x.Type)}}
	w.bytes = int64(seriesBytes + len(name) + len(x.Type))
	for _, l := range labels {
		l.Name, l.Value = s.secrets.Text(l.Name), s.secrets.Text(l.Value)
		w.Labels = append(w.Labels, export.Label(l))
		w.bytes += int64(labelBytes + len(l.Name) + len(l.Value))
	}
	if s.memory.Add(w.bytes) > maxMemory {
		s.memory.Add(-w.bytes)
		return nil, nil
	}
	head := string(x.Head)
	s.series[head] = w
	s.fresh = append(s.fresh, head)
	s.text += len(head)
	return w, nil
}

package main

import (
	"crypto/tls"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/fanout"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/serverstat"
	"github.com/pa-tools/pa/pkg/recorder/telemetry"
)

// metricsFlags say which figures of servers and GPUs are kept beside the requests.
func metricsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "collect-metrics", Category: catMetrics, Usage: "keep what the metrics endpoint of the server says meanwhile: port 8002 of a Triton server, /metrics of others"},
		&cli.StringSliceFlag{Name: "metrics-url", Category: catMetrics, Usage: "ask `URL` instead: http://gpu1:9400/metrics of a DCGM exporter, say (repeatable)"},
		&cli.IntFlag{Name: "metrics-interval", Category: catMetrics, Usage: "ask every `MS`", Value: 1000},
		&cli.StringFlag{Name: "nvidia-smi", Category: catMetrics, Usage: "with --collect-metrics: run this `PROGRAM` too, every --metrics-interval, for GPUs without an exporter"},
	}
}

// metricsSettings are those of telemetry.
type metricsSettings struct {
	Collect bool `json:"collect"`
	// URLs are without user information and query; absent: those of the servers.
	URLs      []string `json:"urls,omitempty"`
	Interval  string   `json:"interval"`
	NvidiaSMI string   `json:"nvidia_smi,omitempty"`

	urls     []string
	interval time.Duration
}

// metrics reads the flags of metricsFlags.
func (p *settingsParser) metrics(s *settings) {
	if !p.c.Bool("collect-metrics") {
		for _, name := range []string{"metrics-url", "metrics-interval", "nvidia-smi"} {
			if p.c.IsSet(name) {
				p.errorf("--%s needs --collect-metrics", name)
			}
		}
		return
	}
	m := &metricsSettings{Collect: true, NvidiaSMI: p.c.String("nvidia-smi"), interval: time.Duration(p.c.Int("metrics-interval")) * time.Millisecond}
	m.Interval = m.interval.String()
	if m.interval <= 0 {
		p.errorf("--metrics-interval %d: must be at least 1 ms", p.c.Int("metrics-interval"))
	}
	for _, text := range p.c.StringSlice("metrics-url") {
		u, ok := metricsURL(text)
		if !ok {
			p.errorf("--metrics-url %s: expected http://host:port/metrics", redact.URL(text))
			continue
		}
		m.urls = append(m.urls, u)
		m.URLs = append(m.URLs, redact.URL(u))
	}
	s.Metrics = m
}

// metricsURL completes what is given for a metrics endpoint: host:port is
// http://host:port/metrics.
func metricsURL(text string) (string, bool) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	return u.String(), true
}

// tritonMetricsPort is where a Triton server has its metrics, unless told
// otherwise.
const tritonMetricsPort = "8002"

// defaultMetricsURL is where the server at the target has its metrics: Triton on
// a port of its own, over plain HTTP, the others under /metrics.
func (s *settings) defaultMetricsURL(target string) string {
	u := url.URL{Scheme: "http", Host: addressOf(target), Path: "/metrics"}
	switch {
	case s.simMetrics != "":
		return s.simMetrics
	case s.ServiceKind == kindTriton:
		u.Host = hostOf(target)
		if strings.Contains(u.Host, ":") {
			u.Host = "[" + u.Host + "]"
		}
		u.Host += ":" + tritonMetricsPort
	case strings.HasPrefix(strings.ToLower(target), "https://"):
		u.Scheme = "https"
	}
	return u.String()
}

// watchers returns what watches the servers at urls, of which b is the backend,
// while a run is on: each nil where there is nothing to watch.
func (s *settings) watchers(urls []string, b backend.Backend, clock *rxclock.Clock) (*telemetry.Collector, *serverstat.Collector, error) {
	watch, err := s.newTelemetry(urls, clock)
	if err != nil {
		return nil, nil, err
	}
	stats, err := s.newServerStats(b, clock)
	return watch, stats, err
}

// newTelemetry returns what watches the servers at urls while a run is on; nil
// when that was not asked for.
func (s *settings) newTelemetry(urls []string, clock *rxclock.Clock) (*telemetry.Collector, error) {
	if s.Metrics == nil {
		return nil, nil
	}
	all := s.Metrics.urls
	if len(all) == 0 {
		for _, u := range urls {
			all = append(all, s.defaultMetricsURL(u))
		}
	}
	return telemetry.New(telemetry.Config{
		URLs: all, NvidiaSMI: s.Metrics.NvidiaSMI, Interval: s.Metrics.interval, Clock: clock,
		TLS: func(host string) *tls.Config { return s.tlsFor(host) },
	})
}

// newServerStats returns what asks a Triton server for its statistics; nil for
// servers of other kinds, and for several, which no statistics are of.
func (s *settings) newServerStats(b backend.Backend, clock *rxclock.Clock) (*serverstat.Collector, error) {
	var more []serverstat.ModelRef
	if several, ok := b.(*fanout.Models); ok {
		b = several.Targets()[0].Backend
		for _, name := range s.moreModels() {
			more = append(more, serverstat.ModelRef{Name: name, Version: s.ModelVersion})
		}
	}
	k, ok := b.(*kserve.Backend)
	if !ok {
		return nil, nil
	}
	asker, err := k.Statistics()
	if err != nil {
		return nil, err
	}
	return serverstat.New(serverstat.Config{
		Asker: asker, Model: serverstat.ModelRef{Name: s.Model, Version: s.ModelVersion}, More: more, BLS: s.bls, Clock: clock,
	}), nil
}

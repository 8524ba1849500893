package main

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/redact"
)

// metricsFlags returns the flags for recording server and GPU metrics.
func metricsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "collect-metrics", Category: catMetrics, Usage: "record the metrics of the server during the run: port 8002 of a Triton server, /metrics of others"},
		&cli.StringSliceFlag{Name: "metrics-url", Category: catMetrics, Usage: "read the metrics at `URL` instead, such as http://gpu1:9400/metrics of a DCGM exporter (repeatable)"},
		&cli.IntFlag{Name: "metrics-interval", Category: catMetrics, Usage: "read the metrics every `MS`", Value: 1000},
		readsProgram(&cli.StringFlag{Name: "nvidia-smi", Category: catMetrics, Usage: "with --collect-metrics: also run `PROGRAM` every --metrics-interval, for GPUs without an exporter"}),
	}
}

// metricsSettings holds the settings of telemetry, as an export stores them.
type metricsSettings struct {
	Collect bool `json:"collect"`
	// Without URLs, the servers' own are asked.
	URLs      redactedURLs    `json:"urls,omitempty"`
	Interval  spelledDuration `json:"interval"`
	NvidiaSMI string          `json:"nvidia_smi,omitempty"`
}

// redactedURLs are URLs whose text and JSON have no user information and query.
type redactedURLs []string

// shown returns the URLs without user information and query.
func (all redactedURLs) shown() (urls []string) {
	for _, u := range all {
		urls = append(urls, redact.URL(u))
	}
	return urls
}

// String returns the URLs as they are shown.
func (all redactedURLs) String() string { return strings.Join(all.shown(), ", ") }

// MarshalJSON implements json.Marshaler.
func (all redactedURLs) MarshalJSON() ([]byte, error) { return json.Marshal(all.shown()) }

// spelledDuration is a duration whose JSON is text such as 1m30s.
type spelledDuration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d spelledDuration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// metrics reads the flags of metricsFlags.
func (p *parser) metrics(s *settings) {
	if !p.c.Bool("collect-metrics") {
		for _, flag := range p.given("metrics-url", "metrics-interval", "nvidia-smi") {
			p.errorf("--%s needs --collect-metrics", flag)
		}
		return
	}
	m := &metricsSettings{Collect: true, NvidiaSMI: p.c.String("nvidia-smi"), Interval: spelledDuration(time.Duration(p.c.Int("metrics-interval")) * time.Millisecond)}
	p.refuse(m.Interval <= 0, "--metrics-interval %d: must be at least 1 ms", p.c.Int("metrics-interval"))
	for _, text := range p.c.StringSlice("metrics-url") {
		u, ok := metricsURL(text)
		if !ok {
			p.errorf("--metrics-url %s: expected http://host:port/metrics", redact.URL(text))
			continue
		}
		m.URLs = append(m.URLs, u)
	}
	s.Metrics = m
}

// metricsURL completes the URL of a metrics endpoint: host:port becomes
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

// metricsURLs returns the URLs of --metrics-url; without them, the metrics of the servers at
// targets.
func (s *settings) metricsURLs(targets []string) []string {
	if len(s.Metrics.URLs) > 0 {
		return s.Metrics.URLs
	}
	var all []string
	for _, target := range targets {
		all = append(all, s.defaultMetricsURL(target))
	}
	return all
}

// defaultMetricsURL returns where the server at the target usually has its metrics: Triton
// on a port of its own, over plain HTTP, the others under /metrics.
func (s *settings) defaultMetricsURL(target string) string {
	u := url.URL{Scheme: "http", Host: addressOf(target), Path: "/metrics"}
	switch port := s.kind().metricsPort; {
	case s.simMetrics != "":
		return s.simMetrics
	case port != "":
		u.Host = hostOf(target)
		if strings.Contains(u.Host, ":") {
			u.Host = "[" + u.Host + "]"
		}
		u.Host += ":" + port
	case strings.HasPrefix(strings.ToLower(target), "https://"):
		u.Scheme = "https"
	}
	return u.String()
}

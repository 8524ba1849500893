package main

import (
	"crypto/tls"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/fanout"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/serverstat"
	"github.com/pa-tools/pa/pkg/recorder/telemetry"
)

// watchers returns the collectors of the servers' metrics and statistics during a run; b
// is the servers' backend. A collector with nothing to collect is nil.
func watchers(s *settings.Settings, urls []string, b backend.Backend, clock *rxclock.Clock) (*telemetry.Collector, *serverstat.Collector, error) {
	watch, err := newTelemetry(s, urls, clock)
	if err != nil {
		return nil, nil, err
	}
	stats, err := newServerStats(s, b, clock)
	return watch, stats, err
}

// newTelemetry returns the collector of the metrics of the servers at urls; nil without
// --collect-metrics.
func newTelemetry(s *settings.Settings, urls []string, clock *rxclock.Clock) (*telemetry.Collector, error) {
	if s.Metrics == nil {
		return nil, nil
	}
	return telemetry.New(telemetry.Config{
		URLs: s.MetricsURLs(urls), NvidiaSMI: s.Metrics.NvidiaSMI, Interval: s.Metrics.Period, Clock: clock,
		TLS: func(host string) *tls.Config { return s.TLSFor(host) },
	})
}

// newServerStats returns the collector of a Triton server's statistics; nil for other kinds
// of servers, and for several servers.
func newServerStats(s *settings.Settings, b backend.Backend, clock *rxclock.Clock) (*serverstat.Collector, error) {
	var more []serverstat.ModelRef
	if several, ok := b.(*fanout.Models); ok {
		b = several.Targets()[0].Backend
		for _, name := range s.MoreModels() {
			more = append(more, serverstat.ModelRef{Name: name, Version: s.ModelVersion})
		}
	}
	k, ok := b.(*kserve.Backend)
	if !ok {
		return nil, nil
	}
	client, err := k.Statistics()
	if err != nil {
		return nil, err
	}
	return serverstat.New(serverstat.Config{
		Client: client, Model: serverstat.ModelRef{Name: s.Model, Version: s.ModelVersion}, More: more, BLS: s.BLSModels, Clock: clock,
	}), nil
}

package report

import (
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// calibration calls row with the results of a calibration: for each service the load, and
// the errors of the tokens' times and of the requests' starts by the source of the time.
func calibration(c *export.Calibration, unit TimeUnit, row func(name, value string)) {
	for i := range c.Services {
		s := &c.Services[i]
		how := s.Service
		if s.Transport != "" {
			how += " by " + s.Transport
		}
		row("calibrated with", fmt.Sprintf("%s, %s of %v tokens/s", how, plural.Of(s.Streams, "stream"), s.TokensPerSecond))
		row("error of tokens", p99s(s.Recordings, unit, func(r *export.CalibratedRecording) *export.ClockError { return r.Receive }))
		row("error of starts", p99s(s.Recordings, unit, func(r *export.CalibratedRecording) *export.ClockError { return r.Start }))
	}
}

// p99s returns "p99 19.1 µs from the kernel, 367.8 µs from the program". The function of
// selects the error of a recording; p99s returns "" if no recording has that error.
func p99s(recordings []export.CalibratedRecording, unit TimeUnit, of func(*export.CalibratedRecording) *export.ClockError) string {
	var parts []string
	for i := range recordings {
		r := &recordings[i]
		who := r.Stamps
		switch who {
		case "kernel":
			who = "from the kernel"
		case "user":
			who = "from the program"
		}
		if e := of(r); e != nil {
			parts = append(parts, unit.Span(float64(e.P99NS))+" "+who)
		}
	}
	if parts == nil {
		return ""
	}
	return "p99 " + strings.Join(parts, ", ")
}

// calibrationErrors returns the times that calibration shows.
func calibrationErrors(c *export.Calibration) (ns []float64) {
	for i := range c.Services {
		for j := range c.Services[i].Recordings {
			r := &c.Services[i].Recordings[j]
			for _, e := range []*export.ClockError{r.Receive, r.Start} {
				if e != nil {
					ns = append(ns, float64(e.P99NS))
				}
			}
		}
	}
	return ns
}

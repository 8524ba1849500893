//go:build linux

package main

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

func TestStampIn(t *testing.T) {
	const ns = 1700000000123456789
	for _, tt := range []struct {
		name, event string
		want        uint64
		ok          bool
	}{
		{"chat chunk", `data: {"choices":[{"delta":{"content":" 1700000000123456789"}}]}`, ns, true},
		{"after other quotes", `{"id": "x", "text": " 1700000000123456789"}`, ns, true},
		{"several stamps: the first", `" 1700000000123456789" " 1700000000123456790"`, ns, true},
		{"cut", `{"content":" 170000000012345678`, 0, false},
		{"a letter among the digits", `{"content":" 17000000001234567x9"}`, 0, false},
		{"none", `data: [DONE]`, 0, false},
		{"empty", ``, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := stampIn([]byte(tt.event)); got != tt.want || ok != tt.ok {
				t.Errorf("stampIn = %d, %v, want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestErrorUS(t *testing.T) {
	if got := errorUS(5_000, 2_000); got != 3 {
		t.Errorf("errorUS later = %v, want 3", got)
	}
	if got := errorUS(2_000, 5_000); got != 3 {
		t.Errorf("errorUS earlier = %v, want 3", got)
	}
}

func TestCPUInStat(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1 (sim) S 0 1 1 0 -1 4194560 11 22 33 44 250 50 7 8 20 0 1 0 5 6 7":     3 * time.Second,
		"1 (a) b (c) S 0 1 1 0 -1 4194560 11 22 33 44 250 50 7 8 20 0 1 0 5 6 7": 3 * time.Second,
		"1 (sim) S 0 1 1 0 -1 4194560 11 22 33 44 250":                           0,
		"1 (sim) S 0 1 1 0 -1 4194560 11 22 33 44 x y":                           0,
		"": 0,
	} {
		if got := cpuInStat([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	before := processCPU(os.Getpid())
	for begin := time.Now(); processCPU(os.Getpid()) == before; {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("the CPU time of this process does not grow")
		}
	}
}

func TestMedianAndQuantile(t *testing.T) {
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median = %v, want 5", got)
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v, want NaN", got)
	}
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for p, want := range map[float64]float64{0: 0, 0.5: 5, 0.99: 9, 1: 10} {
		if got := quantile(x, p); got != want {
			t.Errorf("quantile %v = %v, want %v", p, got, want)
		}
	}
}

// Events that came in one read with the previous event are counted.
func TestReadCount(t *testing.T) {
	var c readCount
	c.add(&export.Request{Responses: []export.Response{
		{Read: 0, Source: export.SourceKernel},
		{Read: 1, Source: export.SourceKernel},
		{Read: 1, Source: export.SourceKernel},
		{Read: 2, Source: export.SourceUser},
	}})
	if c.events != 4 || c.shared != 1 {
		t.Errorf("%d events, %d shared; want 4, 1", c.events, c.shared)
	}
}

// A number of /proc is found by its whole key, with and without a unit.
func TestStatusNumber(t *testing.T) {
	status := []byte("Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t7\nxThreads:\t9\n")
	for key, want := range map[string]float64{"VmRSS:": 1234, "Threads:": 7, "VmSwap:": 0, "Name:": 0} {
		if got := statusNumber(status, key); got != want {
			t.Errorf("%s %v, want %v", key, got, want)
		}
	}
}

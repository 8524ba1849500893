//go:build linux

package main

import (
	"math"
	"strings"
	"testing"
)

func TestCheckLimits(t *testing.T) {
	two := []limit{{"analysis", "a", 2}, {"analysis", "b", 3}, {"columnar", "c", 4}}
	for _, tt := range []struct {
		name     string
		sections []string
		ratios   map[string]float64
		want     []string // in the error; none if it is nil
	}{
		{"below and at the limit", []string{"analysis"}, map[string]float64{"a": 1, "b": 3}, nil},
		{"above one", []string{"analysis"}, map[string]float64{"a": 2.5, "b": 3}, []string{"analysis: a is 2.50; the limit is 2.00"}},
		{"above all of two sections", []string{"analysis", "columnar"}, map[string]float64{"a": 5, "b": 5, "c": 5}, []string{"a is 5.00", "b is 5.00", "columnar: c is 5.00"}},
		{"above one of another section", []string{"columnar"}, map[string]float64{"a": 9, "c": 1}, nil},
		{"not measured", []string{"analysis"}, map[string]float64{"a": 1}, []string{"b was not measured"}},
		{"not a number", []string{"columnar"}, map[string]float64{"c": math.NaN()}, []string{"c is NaN"}},
		{"no limit in the sections", []string{"clock"}, nil, []string{"no section has a limit"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := checkLimits(two, tt.sections, tt.ratios)
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("checkLimits = %v, want an error: %v", err, tt.want != nil)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("checkLimits = %v, want %q in it", err, want)
				}
			}
		})
	}
}

// Each limit of the program is one that a section can pass, and is passed by a little more.
func TestLimits(t *testing.T) {
	for i, l := range limits {
		ratios := map[string]float64{}
		for _, x := range limits {
			ratios[x.ratio] = x.most
		}
		if len(ratios) != len(limits) {
			t.Fatal("two limits have the same ratio")
		}
		all := []string{"analysis", "definitions", "columnar", "shards"}
		if err := checkLimits(limits, all, ratios); err != nil {
			t.Fatalf("at the limits: %v", err)
		}
		ratios[l.ratio] = l.most * 1.01
		if err := checkLimits(limits, all, ratios); err == nil || !strings.Contains(err.Error(), l.ratio) {
			t.Errorf("limit %d: %s of %v passed: %v", i, l.ratio, ratios[l.ratio], err)
		}
	}
}

func TestMiddleRatio(t *testing.T) {
	a := []usage{{CPU: 2, PeakMB: 30}, {CPU: 40, PeakMB: 10}, {CPU: 9, PeakMB: 20}}
	b := []usage{{CPU: 1, PeakMB: 10}, {CPU: 10, PeakMB: 10}, {CPU: 3, PeakMB: 10}}
	if got := middleRatio(a, b, cpuOf); got != 3 {
		t.Errorf("ratio of CPU time = %v, want 3", got)
	}
	if got := middle(a, peakOf); got != 20 {
		t.Errorf("peak = %v, want 20", got)
	}
}

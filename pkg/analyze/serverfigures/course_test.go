package serverfigures

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// A gauge as it is and a counter by its growth, each with the report's name, unit and scale; a failed scrape
// and a histogram say nothing, and a counter that falls or is no number has no growth.
func TestCourses(t *testing.T) {
	gauge := &export.Series{Name: "DCGM_FI_DEV_FB_USED", Type: "gauge"}
	counter := &export.Series{Name: "nv_energy_consumption", Type: "counter"}
	named := &export.Series{Name: "nv_trt_llm_request_metrics", Labels: []export.Label{{Name: "request_type", Value: "waiting"}}}
	unknown := &export.Series{Name: "y", Type: "counter"}
	histogram := &export.Series{Name: "z_sum", Type: "histogram"}
	c := NewCourses(4)
	var got []string
	scrape := func(source string, at uint64, v float64) {
		s := export.Scrape{Source: source, StartNS: at, EndNS: at + 10}
		for _, x := range []*export.Series{gauge, counter, named, unknown, histogram} {
			s.Samples = append(s.Samples, export.Sample{Series: x, Value: v})
		}
		c.Add(&s, func(x *Course, at uint64, v float64) {
			got = append(got, fmt.Sprint(x.Source, " ", x.Series.Name, " ", x.Quantity, " at ", at, ": ", v, " = ", x.Scaled(v), " ", x.Unit))
		})
	}
	scrape("a", 0, 3)
	scrape("a", 2e9, 7)
	c.Add(&export.Scrape{Source: "a", Error: "no", Samples: []export.Sample{{Series: gauge}}}, func(*Course, uint64, float64) { t.Error("a value of a failed scrape") })
	scrape("a", 3e9, 1)
	want := []string{
		"a DCGM_FI_DEV_FB_USED GPU memory used at 5: 3 = 3.145728e+06 bytes",
		"a nv_trt_llm_request_metrics waiting requests at 5: 3 = 3 count",
		"a DCGM_FI_DEV_FB_USED GPU memory used at 2000000005: 7 = 7.340032e+06 bytes",
		"a nv_energy_consumption GPU energy at 5: 2 = 2 J/s",
		"a nv_trt_llm_request_metrics waiting requests at 2000000005: 7 = 7 count",
		"a y  at 5: 2 = 2 ",
		"a DCGM_FI_DEV_FB_USED GPU memory used at 3000000005: 1 = 1.048576e+06 bytes",
		"a nv_trt_llm_request_metrics waiting requests at 3000000005: 1 = 1 count",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got = nil
	scrape("a", 4e9, math.NaN())
	scrape("a", 5e9, 9)
	scrape("a", 6e9, math.Inf(1))
	for _, line := range got {
		if line[:3] == "a y" {
			t.Errorf("growth from or to what is no number: %s", line)
		}
	}

	few := NewCourses(1)
	n := 0
	for range 2 {
		few.Add(&export.Scrape{Source: "a", Samples: []export.Sample{{Series: gauge}, {Series: named}}}, func(*Course, uint64, float64) { n++ })
	}
	if n != 2 || len(few.LeftOut) != 1 || few.LeftOut[0] != (LeftOut{"a", "waiting requests", 1}) {
		t.Errorf("%d values, series left out: %v", n, few.LeftOut)
	}
}

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		held []held
		want []string // in the error; none if it is nil
	}{
		{"below and at the limit", []held{{"analysis", "a", 1, 2}, {"analysis", "b", 3, 3}}, nil},
		{"above one", []held{{"analysis", "a", 2.5, 2}, {"analysis", "b", 3, 3}}, []string{"analysis: a is 2.50; the limit is 2.00"}},
		{"above both", []held{{"analysis", "a", 5, 2}, {"columnar", "c", 5, 4}}, []string{"analysis: a is 5.00", "columnar: c is 5.00"}},
		{"not measured", []held{{"columnar", "c", math.NaN(), 4}}, []string{"c is NaN"}},
		{"no limit in the sections", nil, []string{"no section has a limit"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := (&suite{held: tt.held}).check()
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("check = %v, want an error: %v", err, tt.want != nil)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("check = %v, want %q in it", err, want)
				}
			}
		})
	}
}

// Candidates run in turn in another order each time; rows have medians, and ratios within a repetition.
func TestMeasure(t *testing.T) {
	var out bytes.Buffer
	s := &suite{reps: 3, out: &out, log: io.Discard}
	order := ""
	takes := func(name string, cpu ...float64) candidate {
		return candidate{name, func(context.Context) (figures, error) {
			order += name
			defer func() { cpu = cpu[1:] }()
			return figures{cpuS: cpu[0]}, nil
		}}
	}
	m, err := s.measure(t.Context(), takes("a", 2, 40, 9), takes("b", 1, 10, 3), candidate{name: "missing"})
	if err != nil || order != "abbaba" {
		t.Fatalf("order %s, %v", order, err)
	}
	columns := []column{middle(cpuS, 1), beside("÷ b", cpuS, "b"), middle(peakMB, 0)}
	s.table("Title", []string{"n", "client"}, columns, m.rows(columns, []string{"64"}, "a", "b", "missing"))
	want := `
Title

| n | client | CPU s | ÷ b | peak MB |
|---|---|---|---|---|
| 64 | a | 9.0 | 3.00 | n/a |
| 64 | b | 3.0 | 1.00 | n/a |
| 64 | missing | n/a | n/a | n/a |
`
	if out.String() != want {
		t.Errorf("table:%s\nwant:%s", &out, want)
	}
	refused := errors.New("refused")
	if _, err := s.measure(t.Context(), candidate{"c", func(context.Context) (figures, error) { return nil, refused }}); !errors.Is(err, refused) {
		t.Errorf("a candidate that fails: %v", err)
	}
}

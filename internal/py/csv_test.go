package py

import (
	"errors"
	"strings"
	"testing"
)

// The lines are what CPython's csv.writer writes.
func TestRow(t *testing.T) {
	for _, tt := range []struct {
		row  []string
		want string
	}{
		{nil, "\r\n"},
		{[]string{""}, "\"\"\r\n"},
		{[]string{"", ""}, ",\r\n"},
		{[]string{"Metric", "avg", "min"}, "Metric,avg,min\r\n"},
		{[]string{"Request Latency (ms)", "1,525.00"}, "Request Latency (ms),\"1,525.00\"\r\n"},
		{[]string{`a "b"`, "c"}, "\"a \"\"b\"\"\",c\r\n"},
		{[]string{"a\nb", "c\rd"}, "\"a\nb\",\"c\rd\"\r\n"},
		{[]string{" a", "b ", "\t", `\.`, "'"}, " a,b ,\t,\\.,'\r\n"},
	} {
		var b strings.Builder
		w := NewCSVWriter(&b)
		w.Row(tt.row...)
		if got := b.String(); got != tt.want || w.Err() != nil {
			t.Errorf("Row(%q) wrote %q, %v, want %q", tt.row, got, w.Err(), tt.want)
		}
	}
}

func TestRowsAfterAnError(t *testing.T) {
	f := &failing{err: errors.New("disk full")}
	w := NewCSVWriter(f)
	w.Row("a")
	w.Row("b")
	if !errors.Is(w.Err(), f.err) || f.calls != 1 {
		t.Errorf("Err() = %v after %d writes, want %v after 1", w.Err(), f.calls, f.err)
	}
}

type failing struct {
	err   error
	calls int
}

func (f *failing) Write([]byte) (int, error) {
	f.calls++
	return 0, f.err
}

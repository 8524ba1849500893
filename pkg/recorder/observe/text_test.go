package observe

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func read(r io.Reader, lim TextLimits) (got []string, bad BadLines, err error) {
	bad, err = ReadText(r, lim, func(s Sample) error {
		name, labels, err := s.Labels()
		if err != nil {
			return err
		}
		line := name
		for _, l := range labels {
			line += fmt.Sprintf(" %s=%q", l.Name, l.Value)
		}
		got = append(got, fmt.Sprintf("%s [%s] %v", line, s.Type, s.Value))
		return nil
	})
	return got, bad, err
}

func TestReadText(t *testing.T) {
	for _, tt := range []struct {
		name, text, want, err string
		bad                   BadLines
	}{
		{name: "empty"},
		{name: "a gauge", text: "# HELP g what it is\n# TYPE g gauge\ng 1.5\n", want: "g [gauge] 1.5"},
		{name: "no type", text: "g 1.5", want: "g [] 1.5"},
		{name: "labels", text: `nv_gpu_utilization{gpu_uuid="GPU-1",x="a\"b\\c\nd}"} 0.25`, want: `nv_gpu_utilization gpu_uuid="GPU-1" x="a\"b\\c\nd}" [] 0.25`},
		{name: "spaces and a comma at the end", text: `m{ a = "1" , b="2", } 3`, want: `m a="1" b="2" [] 3`},
		{name: "empty braces, no space after labels", text: "m{} 1\nn{a=\"1\"}2", want: "m [] 1|n a=\"1\" [] 2"},
		{
			name: "vLLM", text: "# TYPE vllm:e2e_request_latency_seconds histogram\nvllm:e2e_request_latency_seconds_bucket{le=\"+Inf\"} 3.0\nvllm:e2e_request_latency_seconds_sum 1e-3",
			want: `vllm:e2e_request_latency_seconds_bucket le="+Inf" [histogram] 3|vllm:e2e_request_latency_seconds_sum [histogram] 0.001`,
		},
		{name: "OpenMetrics", text: "# TYPE c counter\nc_total 5 1700000000.123 # {id=\"x\"} 1\n# EOF\n", want: "c_total [counter] 5"},
		{name: "timestamps", text: "g 1 1700000000123\n", want: "g [] 1"},
		{name: "odd numbers", text: "a NaN\nb +Inf\nc -Inf\nd 1e400\ne -0", want: "a [] NaN|b [] +Inf|c [] -Inf|d [] +Inf|e [] -0"},
		{name: "CRLF", text: "# TYPE g gauge\r\ng 1\r\n", want: "g [gauge] 1"},
		{name: "one bad line", text: "g 1\nbroken{a=\"1 2\n3 4\nh\ni 0x1p3\nj 1 2 3\nk 2", want: "g [] 1|k [] 2", bad: BadLines{5, 2}},
		{name: "HTML", text: "<!DOCTYPE html>\n<html>\n", err: `no metrics in a text that begins with "<!DOCTYPE html>"`, bad: BadLines{2, 1}},
		{name: "JSON", text: `{"status":"ok"}`, err: "no metrics", bad: BadLines{1, 1}},
		{name: "malformed labels", text: "m 1\n\nm{a} 1\n# HELP\nm{a=1} 2\nn 3", want: "m [] 1|n [] 3", bad: BadLines{2, 3}},
		{name: "a label without a value alone", text: `m{a} 1`, err: "no metrics in a text that begins with", bad: BadLines{1, 1}},
		{name: "a long line", text: "m{a=\"" + strings.Repeat("x", 200) + "\"} 1", err: "a line of more than 100 bytes"},
		{name: "a long text", text: strings.Repeat("m 1\n", 300), err: "more than 1000 bytes of metrics", want: strings.TrimSuffix(strings.Repeat("m [] 1|", 250), "|")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, bad, err := read(iotest.OneByteReader(strings.NewReader(tt.text)), TextLimits{Bytes: 1000, Line: 100})
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if s := strings.Join(got, "|"); s != tt.want || bad != tt.bad {
				t.Errorf("got  %s, %+v bad\nwant %s, %+v", s, bad, tt.want, tt.bad)
			}
		})
	}
}

func TestReadTextErrors(t *testing.T) {
	gone := errors.New("gone")
	if _, err := ReadText(iotest.ErrReader(gone), TextLimits{}, nil); !errors.Is(err, gone) {
		t.Errorf("of the reader: %v", err)
	}
	if _, err := ReadText(strings.NewReader("a 1\nb 2\n"), TextLimits{}, func(Sample) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("of the callback: %v", err)
	}
}

// FuzzReadText checks that the result does not depend on the sizes of the reads.
func FuzzReadText(f *testing.F) {
	f.Add("# TYPE g gauge\ng{a=\"b\\\"\"} 1.5 123 # {x=\"y\"} 2\n")
	f.Add("<html>\n{}{\na{ 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		testenv.BoundMemory(t, len(text), 1<<20, 100, func() { _, _, _ = read(strings.NewReader(text), TextLimits{}) })
		a, bad1, err1 := read(strings.NewReader(text), TextLimits{})
		b, bad2, err2 := read(iotest.OneByteReader(strings.NewReader(text)), TextLimits{})
		if strings.Join(a, "\n") != strings.Join(b, "\n") || bad1 != bad2 || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Errorf("%q, %+v, %v\n%q, %+v, %v", a, bad1, err1, b, bad2, err2)
		}
	})
}

func BenchmarkReadText(b *testing.B) {
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, "vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"%d\",model_name=\"m\"} %d.0\n", i, i*i)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadText(strings.NewReader(text.String()), TextLimits{}, func(Sample) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

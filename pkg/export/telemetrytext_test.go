package export

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

var (
	util  = &Series{Source: "http://gpu1:8002/metrics", Name: "nv_gpu_utilization", Type: "gauge", Labels: []Label{{Name: "gpu_uuid", Value: "GPU-1"}}}
	power = &Series{Source: "http://gpu1:8002/metrics", Name: "nv_gpu_power_usage", Labels: []Label{{Name: "b", Value: "2"}, {Name: "a", Value: `"<\` + "\n"}}}
	label = &Series{Source: "s", Name: "odd", Labels: []Label{{Name: "values", Value: "[1]"}}}
)

// The text is a promise: files hold it.
func TestAppend(t *testing.T) {
	var e ScrapeEncoder
	got := string(e.Append(nil, &Scrape{
		Source: "http://gpu1:8002/metrics", StartNS: 1700000000000000001, EndNS: math.MaxUint64,
		Samples: []Sample{{Series: util, Value: 0.5}, {Series: power, Value: 1e6}},
	}, '\n'))
	got += string(e.Append(nil, &Scrape{Source: "s", StartNS: 1, EndNS: 2, Error: "connection refused"}, '\n'))
	got += string(e.Append(nil, &Scrape{Source: "s", StartNS: 2, EndNS: 3, LeftOut: 1200}, '\n'))
	got += string(e.Append(nil, &Scrape{Source: "s", StartNS: 3, EndNS: 4, Samples: []Sample{
		{Series: power, Value: math.NaN()}, {Series: label, Value: math.Inf(1)}, {Series: util, Value: math.Inf(-1)}, {Series: power, Value: math.Copysign(0, -1)},
	}}, '\n'))
	want := `
{"series":0,"source":"http://gpu1:8002/metrics","name":"nv_gpu_utilization","type":"gauge","labels":{"gpu_uuid":"GPU-1"}}
{"series":1,"source":"http://gpu1:8002/metrics","name":"nv_gpu_power_usage","labels":{"b":"2","a":"\"\u003c\\\n"}}
{"source":"http://gpu1:8002/metrics","start_ns":1700000000000000001,"end_ns":18446744073709551615,"values":[[0,0.5,1000000]]}
{"source":"s","start_ns":1,"end_ns":2,"error":"connection refused"}
{"source":"s","start_ns":2,"end_ns":3,"left_out":1200}
{"series":2,"source":"s","name":"odd","labels":{"values":"[1]"}}
{"source":"s","start_ns":3,"end_ns":4,"values":[[1,"NaN","+Inf"],[0,"-Inf",-0]]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// decode returns the scrapes of some text, as text again.
func decode(text string) (scrapes []string, err error) {
	var d ScrapeDecoder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s, err := d.Object([]byte(line))
		if err != nil {
			return scrapes, err
		}
		if s != nil {
			b := fmt.Sprintf("%s %d %d %q", s.Source, s.StartNS, s.EndNS, s.Error)
			if s.LeftOut > 0 {
				b += fmt.Sprintf(" and %d", s.LeftOut)
			}
			for _, x := range s.Samples {
				b += fmt.Sprintf(" %s/%v[%s]=%v", x.Series.Source, x.Series, x.Series.Type, x.Value)
			}
			scrapes = append(scrapes, b)
		}
	}
	return scrapes, nil
}

func TestObject(t *testing.T) {
	const series = `{"series":0,"source":"s","name":"n","type":"gauge","labels":{"a":"1"}}` + "\n" + `{"series":1,"source":"s","name":"m"}` + "\n"
	for _, tt := range []struct{ name, text, want, err string }{
		{name: "two values", text: series + `{"source":"s","start_ns":1,"end_ns":2,"values":[[0,1.5,"NaN"]]}`, want: `s 1 2 "" s/n{a="1"}[gauge]=1.5 s/m[]=NaN`},
		{name: "two runs", text: series + `{"source":"s","start_ns":1,"end_ns":2,"values":[[1,1],[0,-1e-300]]}`, want: `s 1 2 "" s/m[]=1 s/n{a="1"}[gauge]=-1e-300`},
		{name: "failed", text: `{"source":"s","start_ns":1,"end_ns":2,"error":"gone"}`, want: `s 1 2 "gone"`},
		{name: "left out", text: series + `{"source":"s","start_ns":1,"end_ns":2,"left_out":7,"values":[[1,4]]}`, want: `s 1 2 "" and 7 s/m[]=4`},
		{name: "a negative number left out", text: `{"source":"s","left_out":-1}`, err: "left_out"},
		{name: "empty runs", text: `{"source":"s","start_ns":1,"end_ns":2,"values":[]}`, want: `s 1 2 ""`},
		{name: "a run without values", text: series + `{"source":"s","start_ns":1,"end_ns":2,"values":[[0]]}`, want: `s 1 2 ""`},
		{name: "members that are not known", text: `{"source":"s","start_ns":1,"end_ns":2,"new":[1]}`, want: `s 1 2 ""`},
		{name: "a label that is called values", text: `{"series":0,"source":"s","name":"n","labels":{"values":"[1]"}}` + "\n" + `{"source":"s","start_ns":1,"end_ns":2,"values":[[0,3]]}`, want: `s 1 2 "" s/n{values="[1]"}[]=3`},
		{name: "an error that looks like values", text: `{"source":"s","start_ns":1,"end_ns":2,"error":"\"values\":[1"}`, want: `s 1 2 "\"values\":[1"`},

		{name: "a series that is not known", text: series + `{"source":"s","start_ns":1,"end_ns":2,"values":[[1,1,1]]}`, err: "series 2 is not known"},
		{name: "a series out of order", text: `{"series":1,"source":"s","name":"n"}`, err: "series 1 follows 0 of them"},
		{name: "a negative series", text: `{"series":-1,"source":"s","name":"n"}`, err: "series -1 follows"},
		{name: "values that are no runs", text: series + `{"values":[1,2]}`, err: "array of arrays"},
		{name: "an empty run", text: series + `{"values":[[]]}`, err: "array of arrays"},
		{name: "a value that is none", text: series + `{"values":[[0,true]]}`, err: "array of arrays"},
		{name: "a value beyond 64 bits", text: series + `{"values":[[0,1e999]]}`, err: "does not fit in a 64-bit number"},
		{name: "labels of numbers", text: `{"series":0,"labels":{"a":1}}`, err: "expected an object of strings"},
		{name: "labels in an array", text: `{"series":0,"labels":["a"]}`, err: "expected an object of strings"},
		{name: "no object", text: `7`, err: "expected an object, found number"},
		{name: "a time that is negative", text: `{"source":"s","start_ns":-1}`, err: "start_ns"},
		{name: "not whole", text: `{"source":"s","start_ns":1,"end_ns":2,"values":[[0,1`, err: "values"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil || strings.Join(got, "\n") != tt.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, tt.want)
			}
		})
	}
}

// Series that a hostile text may name do not fill the memory, and series that are not
// kept cost no scrape: it says what it lacks.
func TestObjectBound(t *testing.T) {
	const kept = 1000 / (seriesBytes + len("n"))
	d := ScrapeDecoder{MaxBytes: 1000}
	text := `{"source":"s","start_ns":1,"end_ns":2,"left_out":3,"values":[[0`
	for n := range 10 {
		_, err := d.Object(fmt.Appendf(nil, `{"series":%d,"source":"s","name":"n"}`, n))
		if (err == nil) != (n < kept) {
			t.Errorf("series %d of %d: %v", n, kept, err)
		}
		text += fmt.Sprint(",", n)
	}
	s, err := d.Object([]byte(text + "]]}"))
	if err != nil || len(s.Samples) != kept || int(s.Samples[kept-1].Value) != kept-1 || s.LeftOut != 3+10-kept {
		t.Errorf("%+v, %v; want %d samples", s, err, kept)
	}
}

// A decoded line is encoded again to the same bytes, if this package wrote it.
func FuzzObject(f *testing.F) {
	var e ScrapeEncoder
	text := e.Append(nil, &Scrape{Source: "s", StartNS: 3, EndNS: 4, Samples: []Sample{{Series: power, Value: math.NaN()}, {Series: label, Value: 0.1}}}, '\n')
	f.Add(text)
	f.Add([]byte(`{"series":0,"source":"s","name":"n","type":"gauge","labels":{"a":"1"}}` + "\n" + `{"source":"s","values":[[0,1.5]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		again := func(text []byte) []byte {
			var d ScrapeDecoder
			var e ScrapeEncoder
			var out []byte
			for line := range bytes.Lines(text) {
				if s, err := d.Object(bytes.TrimSpace(line)); err == nil && s != nil {
					out = e.Append(out, s, '\n')
				}
			}
			return out
		}
		testenv.BoundMemory(t, len(text), 1<<20, 2000, func() { again(text) })
		ours := again(text)
		if got := again(ours); !bytes.Equal(got, ours) {
			t.Errorf("%s\nbecomes %s", ours, got)
		}
	})
}

func BenchmarkObject(b *testing.B) {
	var e ScrapeEncoder
	s := &Scrape{Source: "s", StartNS: 1700000000000000001, EndNS: 1700000000000000002}
	for i := range 1000 {
		s.Samples = append(s.Samples, Sample{Series: &Series{Name: fmt.Sprint(i)}, Value: float64(i*i) / 8})
	}
	all := bytes.Split(e.Append(nil, s, '\n'), []byte("\n"))
	var d ScrapeDecoder
	for _, line := range all[1 : len(all)-1] {
		if _, err := d.Object(line); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(all[len(all)-1])))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Object(all[len(all)-1]); err != nil {
			b.Fatal(err)
		}
	}
}

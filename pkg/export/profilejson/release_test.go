package profilejson

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
)

// asRelease writes a document in the layout of 2.minor.0.
func asRelease(t *testing.T, data []byte, minor int) (string, []error) {
	t.Helper()
	r, err := NewReader(t.Context(), "x.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := NewReleaseWriter(&b, minor, r.Run())
	if err := export.Copy(t.Context(), w, r); err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return b.String(), w.Warnings()
}

// The export of a release, written as that release: byte for byte.
func TestReleaseGolden(t *testing.T) {
	n := 0
	for _, minor := range []int{39, 44, 45, 46, 49, 52, 54, 59} {
		golden.Each(t, "perf_analyzer", fmt.Sprintf("2.%d.0/*/profile_export.json", minor), 1, func(name string, data []byte) {
			if !bytes.HasPrefix(data, []byte(`{"experiments"`)) || !bytes.HasSuffix(data, []byte("}")) {
				return // perf_analyzer broke off, or found the file there
			}
			n++
			got, warnings := asRelease(t, data, minor)
			if got != string(data) || len(warnings) > 0 {
				at := 0
				for at < min(len(got), len(data)) && got[at] == data[at] {
					at++
				}
				t.Errorf("%s: byte %d of %d is %.60q, want %.60q; %v", name, at, len(data), got[at:], data[at:], warnings)
			}
		})
	}
	if n < 60 {
		t.Errorf("%d files compared", n)
	}
}

// One run in the layouts of the releases: what each had, as its golden files do.
func TestReleaseLayouts(t *testing.T) {
	const text = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` +
		`{"timestamp":1,"request_inputs":{"t":"a","s":true,"i":[7,8],"f":1.5},"response_timestamps":[2,3],"response_outputs":[{"o":"xyz","n":4},{"o":"","n":0}],"more":1,"pa":{"id":0,"status":"ok","phase":"measured"}}` +
		`],"window_boundaries":[0,9],"pa":{"excluded_requests":[{"timestamp":5,"response_timestamps":[],"pa":{"id":1,"status":"timeout"}}]}}],"version":"x","service_kind":"triton","endpoint":"","pa":{"schema":"pa-export/1","tool":"t"}}`
	frame := func(request, rest string) string {
		return `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,` + request + `}],"window_boundaries":[0,9]}],` + rest + `}`
	}
	const service = `,"service_kind":"triton","endpoint":""`
	const inputs = `"request_inputs":{"t":"a","s":true,"i":[7,8],"f":1.5},`
	for _, tt := range []struct {
		minor    int
		want     string
		warnings int
	}{
		{38, frame(`"response_timestamps":[2,3]`, `"version":"2.38.0"`), 2},
		{44, frame(`"response_timestamps":[2,3],"response_outputs":[{"o":"\u0003\u0000\u0000\u0000xyz","n":""},{"o":"","n":""}]`, `"version":"2.44.0"`), 3},
		{45, frame(`"request_inputs":{"t":"a","s":true,"i":7,"f":null},"response_timestamps":[2,3],"response_outputs":[{"o":"xyz","n":""},{"o":"","n":""}]`, `"version":"2.45.0"`), 4},
		{46, frame(`"request_inputs":{"t":"a","s":true,"i":7,"f":null},"response_timestamps":[2,3],"response_outputs":[{"o":"xyz","n":""},{"o":"","n":""}]`, `"version":"2.46.0"`+service), 4},
		{49, frame(inputs+`"response_timestamps":[2,3],"response_outputs":[{"o":"xyz","n":4},{"o":"","n":0}]`, `"version":""`+service), 2},
		{53, frame(inputs+`"response_timestamps":[2,3],"response_outputs":[{"o":"\u0003\u0000\u0000\u0000xyz","n":4},{"o":"","n":0}]`, `"version":"2.53.0"`+service), 2},
		{60, frame(inputs+`"response_timestamps":[2,3],"response_outputs":[{"o":"xyz","n":4},{"o":"","n":0}]`, `"version":"2.60.0"`+service), 2},
	} {
		got, warnings := asRelease(t, []byte(text), tt.minor)
		if got != tt.want || len(warnings) != tt.warnings {
			t.Errorf("2.%d.0:\n%s, want\n%s; %d warnings, want %d: %v", tt.minor, got, tt.want, len(warnings), tt.warnings, warnings)
		}
	}
	// Lengths go away where the release had none, and come back.
	with, _ := asRelease(t, []byte(text), 53)
	if got, _ := asRelease(t, []byte(with), 60); !strings.Contains(got, `{"o":"xyz","n":4}`) {
		t.Errorf("without lengths: %s", got)
	}
	if got, _ := asRelease(t, []byte(strings.Replace(text, `"xyz"`, `"ab\u0003\u0000\u0000\u0000xyz"`, 1)), 53); !strings.Contains(got, `"\u0002\u0000\u0000\u0000ab\u0003\u0000\u0000\u0000xyz"`) {
		t.Errorf("the first of two strings: %s", got)
	}
}

// The first string of a tensor ends where the rest is strings with their lengths; a long text that almost is takes time by
// its length alone.
func TestFirstString(t *testing.T) {
	naive := func(data []byte) uint32 {
		for at := range data {
			if _, ok := export.StripLengthPrefix(data[at:]); ok {
				return uint32(at)
			}
		}
		return uint32(len(data))
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		data := make([]byte, random.IntN(40))
		for i := range data {
			if random.IntN(4) == 0 {
				data[i] = byte(random.IntN(12))
			}
		}
		if got, want := firstString(data), naive(data); got != want {
			t.Errorf("%q: the first string has %d bytes, want %d", data, got, want)
		}
	}
	zeros := append(make([]byte, 4<<20), 'x', 0, 'y')
	if got := firstString(zeros); got != uint32(len(zeros)) {
		t.Errorf("%d zeros and a text: the first string has %d bytes", 4<<20, got)
	}
}

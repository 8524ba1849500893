//go:build linux

package main

import (
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The stamps of two answers of three tokens: 20 ms apart, and 20 and 30 ms.
const (
	firstText  = `" 1700000000100000000 1700000000120000000 1700000000140000000"`
	secondText = `" 1700000000200000000 1700000000220000000 1700000000250000000"`
)

// The recorded times differ from the stamps by what each case says; the run began at …000.05.
func TestPeerFigures(t *testing.T) {
	for _, tt := range []struct {
		name string
		file string
		read func(string) (recorded, error)
		want figures
	}{
		{
			// Delays of 10, 10, 30 and of 10, 20, 10 µs, which count from the answers' least.
			name: "vLLM: the first chunk has the role",
			file: `{"duration":0.3,"start_times":[0.001,0.002],"ttfts":[0.049,0.148],
				"itls":[[0.00001,0.02,0.02002],[0.00001,0.02001,0.02999]],"errors":["",""],
				"generated_texts":[` + firstText + `,` + secondText + `],"steady_state":{"window":{}}}`,
			read: readVLLMText,
			want: figures{"p50 µs": 0, "p99 µs": 10, "p99.9 µs": 10, "max µs": 20, gapP99: 10, gapP999: 10, keptRate: 100 * 80 / (40.02 + 50)},
		},
		{
			name: "vLLM: the first chunk has the first token",
			file: `{"start_times":[0.001,0.002],"ttfts":[0.049,0.148],"itls":[[0.02,0.02],[0.02,0.03]],
				"generated_texts":[` + firstText + `,` + secondText + `]}`,
			read: readVLLMText,
			want: figures{"p50 µs": 0, "p99 µs": 0, "p99.9 µs": 0, "max µs": 0, gapP99: 0, gapP999: 0, keptRate: 100 * 80 / 90.0},
		},
		{
			name: "SGLang: gaps only, one JSON line of several",
			file: `{"backend":"x","ttfts":[7,8],"itls":[[0.02,0.021],[0.019,0.03]],"errors":["",""],
				"generated_texts":[` + firstText + `,` + secondText + `]}` + "\n{}\n",
			read: readSGLangText,
			want: figures{gapP99: 1000, gapP999: 1000, keptRate: 100 * 80 / 90.0},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := tt.read(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if err := rec.complete(2, 3); err != nil {
				t.Fatal(err)
			}
			if got := rec.lastSent(); got != 1700000000250000000 {
				t.Errorf("the last token was sent at %d", got)
			}
			got := rec.figures()
			if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(tt.want))) {
				t.Errorf("figures %v, want %v", got, tt.want)
			}
			for name, want := range tt.want {
				if math.Abs(got[name]-want) > 0.002 { // a nanosecond of each of two times
					t.Errorf("%s: %v, want %v", name, got[name], want)
				}
			}
		})
	}
}

// An answer whose saved start is wrong has errors, and gives the others none.
func TestFiguresOfWrongStart(t *testing.T) {
	rec := recorded{runClock, []tokenTimes{
		{sent: []int64{100e6, 120e6}, received: []int64{1e6, 21e6}},
		{sent: []int64{100e6, 120e6}, received: []int64{1e6 - 6e6, 21e6 - 6e6}},
		{sent: []int64{200e6, 220e6}, received: []int64{101e6 + 5e3, 121e6}},
	}}
	f := rec.figures()
	for name, want := range map[string]float64{"p50 µs": 0, "max µs": 6000, gapP99: 0} {
		if f[name] != want {
			t.Errorf("%s: %v, want %v", name, f[name], want)
		}
	}
}

// The times of pa-record are compared as they are: a delay that all tokens share counts.
func TestFiguresOfUnixTimes(t *testing.T) {
	rec := recorded{unixClock, []tokenTimes{{sent: []int64{0, 20e6}, received: []int64{5e3, 20e6 + 7e3}}}}
	f := rec.figures()
	for name, want := range map[string]float64{"p50 µs": 5, "max µs": 7, gapP99: 2} {
		if f[name] != want {
			t.Errorf("%s: %v, want %v", name, f[name], want)
		}
	}
}

func TestPeerFileErrors(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"empty", ``, "EOF"},
		{"not JSON", `Traceback`, "invalid character"},
		{"without details", `{"duration":1,"completed":2}`, "expected 2 recorded answers, found 0"},
		{"fewer texts", `{"start_times":[0,0],"ttfts":[1,1],"itls":[[1],[1]],"generated_texts":["x"]}`, "found 2, 2, 1 and 2"},
		{"no start times", `{"ttfts":[1],"itls":[[1]],"generated_texts":["x"]}`, "found 1, 1, 1 and 0"},
		{"a failed request", `{"start_times":[0],"ttfts":[0],"itls":[[]],"generated_texts":[""],"errors":["Bad Gateway"]}`, "request 0 failed: Bad Gateway"},
		{"words", `{"start_times":[0],"ttfts":[0],"itls":[[1]],"generated_texts":[" hello world"]}`, `request 0: text: "hello" is no time`},
		{"a short stamp", `{"start_times":[0],"ttfts":[0],"itls":[[1]],"generated_texts":[" 17000000001"]}`, `"17000000001" is no time`},
		{"no token", `{"start_times":[0],"ttfts":[0],"itls":[[]],"generated_texts":[""]}`, "request 0: no token"},
		{"fewer gaps than tokens", `{"start_times":[0],"ttfts":[0],"itls":[[1]],"generated_texts":[` + firstText + `]}`, "3 tokens and 1 times between chunks"},
		{"fewer tokens than asked for", `{"start_times":[0,0],"ttfts":[0,0],"itls":[[1,1],[]],"generated_texts":[` + firstText + `," 1700000000100000000"]}`, "answer 1: expected 3 tokens and times, found 1 and 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := readVLLMText(tt.file)
			if err == nil {
				err = rec.complete(2, 3)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	row := explain([]string{"64", "x", "n/a", "1.5"}, "gaps only")
	if want := []string{"64", "x", "n/a (gaps only)", "1.5"}; !slices.Equal(row, want) {
		t.Errorf("%q, want %q", row, want)
	}
}

func TestResidentPages(t *testing.T) {
	for text, want := range map[string]float64{"900 250 100 1 0 50 0\n": 250, "900": 0, "900 x": 0, "": 0} {
		if got := residentPages([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// The last set has what the process has touched before the last tick but one, which the last one follows.
func TestWatchPSS(t *testing.T) {
	if _, err := os.ReadFile("/proc/self/smaps_rollup"); err != nil {
		testenv.Lacks(t, "proportional sets: %v", err)
	}
	ticks, done, watched := make(chan time.Time), make(chan struct{}), make(chan []setSize)
	go func() { watched <- watchPSS(os.Getpid(), ticks, done) }()
	const mb = 64
	ticks <- time.Time{}
	held := make([]byte, mb*1e6)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	ticks <- time.Time{}
	ticks <- time.Time{}
	close(done)
	if sizes := <-watched; len(sizes) == 0 || sizes[len(sizes)-1].mb < mb {
		t.Errorf("sizes %v, want more than %d MB", sizes, mb)
	}
	runtime.KeepAlive(held)
}

func FuzzPeerFile(f *testing.F) {
	f.Add(`{"start_times":[0],"ttfts":[0],"itls":[[1,1]],"generated_texts":[`+firstText+`]}`, true)
	f.Add(`{"ttfts":[0],"itls":[[]],"generated_texts":["1"]}`, false)
	f.Add(`{}`, true)
	f.Fuzz(func(t *testing.T, file string, vllm bool) {
		read := readSGLangText
		if vllm {
			read = readVLLMText
		}
		rec, err := read(file)
		if err != nil {
			return
		}
		for i, a := range rec.answers {
			if len(a.sent) == 0 || len(a.sent) != len(a.received) {
				t.Errorf("answer %d: %d stamps, %d times", i, len(a.sent), len(a.received))
			}
		}
		rec.figures()
	})
}

func readVLLMText(text string) (recorded, error)   { return readVLLM(strings.NewReader(text)) }
func readSGLangText(text string) (recorded, error) { return readSGLang(strings.NewReader(text)) }

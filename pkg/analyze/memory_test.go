package analyze

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

const repeatedTokens = 100

// A repeated reads a streamed request again and again, with other times.
type repeated struct {
	memrun.Reader
	left    int
	request export.Request
	rng     *rand.Rand
}

func newRepeated(requests int) *repeated {
	kind, endpoint := "openai", "v1/chat/completions"
	r := &repeated{left: requests, rng: rand.New(rand.NewPCG(8, 9))}
	r.Header = export.Run{
		ServiceKind: &kind, Endpoint: &endpoint,
		Experiments: []export.Experiment{{Mode: export.ModeConcurrency, Value: "8"}},
	}
	r.request = openaiRequest(role)
	for i := range repeatedTokens {
		r.request.Responses = append(r.request.Responses, openaiRequest(delta(fmt.Sprintf(" word%d", i))).Responses...)
	}
	return r
}

func (r *repeated) Next() bool {
	r.left--
	r.request.StartNS = 1_700_000_000_000_000_000 + uint64(r.left)*1e6
	at := r.request.StartNS + 80e6
	for i := range r.request.Responses {
		at += 8e6 + uint64(r.rng.IntN(5e6))
		r.request.Responses[i].RecvNS = at
	}
	if r.left%10_000 == 0 { // gaps of more than 32 bits take more memory
		r.request.Responses[len(r.request.Responses)-1].RecvNS += 1 << 33
	}
	return r.left >= 0
}

func (r *repeated) Request() *export.Request { return &r.request }
func (r *repeated) Experiment() int          { return 0 }

// A run whose values do not fit in memory has the same figures, also where no file can take
// the values; then a warning says so.
func TestRunBeyondMemory(t *testing.T) {
	testenv.NoRace(t)
	memory := int64(300_000)
	if testenv.IsLong() {
		memory = ValueMemory(LeastMemoryLimit)
	}
	least := Config{MemoryLimit: LeastMemoryLimit, ValueMemory: memory}
	requests := int(memory/(2*repeatedTokens)) + 1000 // their gaps, of 3 bytes each, do not fit
	analyzed := func(cfg Config) *Report {
		t.Helper()
		rep, err := Run(t.Context(), newRepeated(requests), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if n := rep.Experiments[0].Metric(answer.ITL).N; n != requests*(repeatedTokens-1) {
			t.Fatalf("%d gaps", n)
		}
		return rep
	}
	want := analyzed(Config{MemoryLimit: 4e9})
	if len(want.Warnings) > 0 {
		t.Fatal(want.Warnings)
	}
	if got := analyzed(least); !reflect.DeepEqual(got.Experiments[0].Metrics, want.Experiments[0].Metrics) || len(got.Warnings) > 0 {
		t.Errorf("%+v, want %+v; %v", got.Experiments[0].Metrics, want.Experiments[0].Metrics, got.Warnings)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // of all systems
		t.Setenv(name, missing)
	}
	got := analyzed(least)
	if !reflect.DeepEqual(got.Experiments[0].Metrics, want.Experiments[0].Metrics) {
		t.Errorf("%+v, want %+v", got.Experiments[0].Metrics, want.Experiments[0].Metrics)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0].Error(), missing) || !strings.Contains(got.Warnings[0].Error(), "more memory than the limit") {
		t.Errorf("warnings %v", got.Warnings)
	}
}

package recordlog

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A result is all that a log holds.
type result struct {
	run      *export.Run
	requests []*export.Request
	level    []int
	scrapes  []string
	warnings []export.Warning
}

// randomRun returns a run with up to most requests in each of up to three levels, in the order in
// which they are written.
func randomRun(seed uint64, most int) *result {
	s := memrun.NewRandom(seed, 2)
	res := &result{run: &export.Run{}}
	if s.IntN(2) == 0 {
		res.run.Version, res.run.Endpoint = new(s.Text()), new(s.Text())
		res.run.Meta = &export.RunMeta{Schema: export.Schema, Tool: "t", StartNS: s.Uint(), Warnings: []string{"<é>"}}
	}
	for i := range s.IntN(4) {
		e := export.Experiment{Mode: s.Text(), Value: []string{"8", "7.50", "10.0", ""}[s.IntN(4)]}
		if s.IntN(2) == 0 {
			e.WindowBoundaries = []uint64{s.Uint(), s.Uint()}
			e.Meta = &export.ExperimentMeta{StartNS: s.Uint(), RequestCounts: export.RequestCounts{Measured: 3}}
			e.Extra = export.Fields{{Name: "x" + s.Text(), Value: s.Value()}}
		}
		res.run.Experiments = append(res.run.Experiments, e)
		for range s.IntN(most) {
			res.requests = append(res.requests, s.Request())
			res.level = append(res.level, i)
		}
	}
	return res
}

// inOrder is res with the requests in the order in which a Reader delivers them.
func (res *result) inOrder() *result {
	out := &result{run: res.run}
	for i := range res.run.Experiments {
		for _, excluded := range []bool{false, true} {
			for k, r := range res.requests {
				if res.level[k] == i && (r.Excluded() != export.NotExcluded) == excluded {
					out.requests, out.level = append(out.requests, r), append(out.level, i)
				}
			}
		}
	}
	return out
}

func (res *result) write(w export.Writer) error {
	k := 0
	for i := range res.run.Experiments {
		e := &res.run.Experiments[i]
		if err := w.BeginExperiment(e.Mode, e.Value); err != nil {
			return err
		}
		for ; k < len(res.requests) && res.level[k] == i; k++ {
			if err := w.WriteRequest(res.requests[k]); err != nil {
				return err
			}
		}
		if err := w.EndExperiment(e); err != nil {
			return err
		}
	}
	return w.Close(res.run)
}

func (res *result) encode(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(To(&out), nil)
	if err == nil {
		err = res.write(w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openBytes(t testing.TB, data []byte, lim export.Limits) (export.Reader, error) {
	t.Helper()
	return Format().Open(t.Context(), "x", bytes.NewReader(data), int64(len(data)), lim)
}

// readBytes reads a log. The result is nil if it cannot be opened.
func readBytes(t testing.TB, data []byte) (*result, error) {
	t.Helper()
	r, err := openBytes(t, data, export.Limits{})
	if err != nil {
		return nil, err
	}
	res := &result{run: r.Run()}
	err = r.Scrapes(t.Context(), func(s *export.Scrape) error {
		res.scrapes = append(res.scrapes, fmt.Sprint(s.StartNS, s.Error, len(s.Samples)))
		return nil
	})
	for r.Next() {
		res.requests = append(res.requests, r.Request().Clone())
		res.level = append(res.level, r.Experiment())
	}
	res.warnings = r.Warnings()
	return res, errors.Join(err, r.Err(), r.Close())
}

func requireEqual(t testing.TB, what string, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got, cmp.AllowUnexported(result{})))
	}
}

// Reading what was written gives what was given, and the same JSON as without the detour.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) / uint64(testenv.Stride(8)) {
		want := randomRun(seed, 6)
		data := want.encode(t)
		got, err := readBytes(t, data)
		if err != nil || len(got.warnings) > 0 {
			t.Fatalf("seed %d: %v, warnings %v", seed, err, got.warnings)
		}
		requireEqual(t, fmt.Sprint("seed ", seed), want.inOrder(), got)
		var direct, detour bytes.Buffer
		r, err := openBytes(t, data, export.Limits{})
		if err := errors.Join(err, want.write(profilejson.NewWriter(&direct)), export.Copy(t.Context(), profilejson.NewWriter(&detour), r)); err != nil {
			t.Fatal(err)
		}
		requireEqual(t, fmt.Sprint("seed ", seed, ": JSON"), direct.String(), detour.String())
	}
}

// one returns a run with the given requests in one level.
func one(requests ...*export.Request) *result {
	return &result{run: &export.Run{Experiments: []export.Experiment{{Mode: "m", Value: "1"}}}, requests: requests, level: make([]int, len(requests))}
}

func ok(r export.Request) *export.Request {
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	return &r
}

// Each member of a request is kept, and each value that is hard to keep.
func TestEveryMember(t *testing.T) {
	t.Parallel()
	var full export.Request
	testenv.Fill(t, &full, "Summary") // stands for responses that a Reader left out
	full.Status, full.Phase, full.StartSource = export.StatusFailed, export.PhaseCooldown, 200
	full.Responses[0].Source = export.SourceUser
	tokens, streamed := int64(-7), true
	full.Stated = &export.Stated{OutputTokens: &tokens, Streamed: &streamed, Silent: []int{0, 4}, Figures: map[string]float64{"a": 0.1}}
	event := func(s string) export.Response {
		return export.Response{Outputs: export.Fields{{Name: "response", Value: export.Text(s)}}}
	}
	for name, r := range map[string]*export.Request{
		"full":               &full,
		"nothing":            {},
		"largest times":      ok(export.Request{StartNS: 1<<64 - 1, SentNS: 1 << 63, IssuedNS: 1, Responses: []export.Response{{RecvNS: 1<<64 - 1, Outputs: export.Fields{}}, {Read: 1<<32 - 1}, {RecvNS: 1 << 63}}}),
		"empty, not absent":  ok(export.Request{Inputs: export.Fields{}, Responses: []export.Response{}, Extra: export.Fields{}, Stated: &export.Stated{}}),
		"outputs come, go":   ok(export.Request{Responses: []export.Response{{}, {Outputs: export.Fields{}}, event(""), {}, event("abcdefgh"), event("abcdefgh"), {Outputs: export.Fields{}}, event("x")}}),
		"names change":       ok(export.Request{Responses: []export.Response{event("abcdefgh"), {Outputs: export.Fields{{Name: "a", Value: export.JSON("[1,2,3,4]")}, {Name: "response", Value: export.Text("abcdefgh")}}}, {Outputs: export.Fields{{Name: "a", Value: export.Text("[1,2,3,4]")}, {Name: "b", Value: export.JSON("null")}}}}}),
		"events alike":       ok(export.Request{Responses: []export.Response{event(`data: {"content":"a"}`), event(`data: {"content":"aa"}`), event(`data: {"content":"a"}`), event(`data: {"content":"é"}`), event(`"}`), event("data: [DONE]")}}),
		"not UTF-8":          ok(export.Request{SessionID: "\xff", Inputs: export.Fields{{Name: "\xff", Value: export.Text("a\xffb")}, {Name: "", Value: export.JSON("1.50e+00")}}}),
		"other models, long": ok(export.Request{Model: strings.Repeat("m", 300), Message: strings.Repeat("e", 300)}),
		"negative":           ok(export.Request{Turn: -1, Code: -1 << 63, DNS: -5, Responses: []export.Response{{RecvNS: 5}, {RecvNS: 3, Read: 7}, {RecvNS: 4, Read: 2}}}),
	} {
		got, err := readBytes(t, one(r).encode(t))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		requireEqual(t, name, []*export.Request{r}, got.requests)
	}
}

// A log of version 1 is read: its requests have no agents.
func TestFirstVersion(t *testing.T) {
	t.Parallel()
	r := ok(export.Request{SessionID: "s", Turn: 3, HasMeta: true})
	data := one(r).encode(t)
	data[len(magic)] = 1
	new(Prefix).Add(data, nil) // the checksums cover the version
	got, err := readBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	requireEqual(t, "version 1", []*export.Request{r}, got.requests)
}

// The bytes are as the package comment says.
func TestLayout(t *testing.T) {
	start := uint64(1000)
	w := one(&export.Request{
		ID: 300, StartNS: start, SentNS: start + 3, StartSource: export.SourceKernel, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured,
		SequenceID: 7, Turn: -1, SessionID: "s", Inputs: export.Fields{{Name: "p", Value: export.JSON("{}")}},
		Responses: []export.Response{
			{RecvNS: start + 5, Source: export.SourceKernel, Outputs: export.Fields{{Name: "r", Value: export.Text("data: a!")}}},
			{RecvNS: start + 4, Read: 5, Final: true, Outputs: export.Fields{{Name: "r", Value: export.Text("data: bc!")}}},
		},
	})
	data := w.encode(t)
	at := bytes.Index(data, []byte{byte(KindRequest)})
	size, payload, _, err := frameSize(data[at:])
	if err != nil {
		t.Fatal(err)
	}
	const flags = 1<<0 | 1<<5 | 1<<6 | 1<<11 // HasMeta, Inputs, Responses, SentNS
	want := slices.Concat(
		[]byte{1, 2, byte(flags&0x7f | 0x80), byte(flags >> 7), 0xAC, 2, 0xE8, 7, 1}, // to StartSource
		[]byte{6, 0, 0, 0, 7, 1, 0, 0, 0, 0, 0},                                      // SentNS to UnrecordedEvents
		[]byte("\x01s\x00\x00\x00"),
		[]byte("\x01\x01p\x00\x02{}"), []byte{2},
		[]byte{1<<0 | 1<<4 | 1<<6, 10, 1, 1, 'r', 1, 16}, []byte("data: a!"),
		[]byte{1<<2 | 1<<4 | 1<<5, 1, 5, 2<<1 | 1, 6, 1}, []byte("bc"),
	)
	if got := data[at+payload : at+int(size)-sumBytes]; !bytes.Equal(got, want) {
		t.Errorf("payload\n%q, want\n%q", got, want)
	}
	if string(data[:8]) != "pajrnl\n\x02" || data[8] != 0xF5 {
		t.Errorf("the log begins with %q", data[:9])
	}
}

// What outputs have in common is left out up to a bound, and kept beyond it.
func TestSharedBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	r := ok(export.Request{})
	for i := range 40 {
		r.Responses = append(r.Responses, export.Response{Outputs: export.Fields{{Name: "a", Value: export.Text(long + fmt.Sprint(i%10) + "tail")}}})
	}
	data := one(r).encode(t)
	if n := len(data); n < 9<<20 || n > 11<<20 {
		t.Errorf("%d bytes for 40 MiB, of which 32 may be left out", n)
	}
	got, err := readBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	requireEqual(t, "outputs", []*export.Request{r}, got.requests)
}

// discard is a Sink that swaps two buffers.
type discard struct{ spare []byte }

func (d *discard) Take(b []byte) ([]byte, error) {
	empty := d.spare[:0]
	d.spare = b
	return empty, nil
}

// Neither writing nor reading of further requests allocates memory.
func TestAllocations(t *testing.T) {
	testenv.NoRace(t)
	w, err := NewWriter(&discard{}, nil)
	if err == nil {
		err = w.BeginExperiment("concurrency", "1")
	}
	if err != nil {
		t.Fatal(err)
	}
	r := memrun.Typical(100)
	write := func() {
		if err := w.WriteRequest(r); err != nil {
			t.Error(err)
		}
	}
	for range 200 {
		write() // until both buffers have their size
	}
	if n := testing.AllocsPerRun(500, write); n > 0 {
		t.Errorf("%v allocations for each request that is written", n)
	}
	many := make([]*export.Request, 1000)
	for i := range many {
		many[i] = r
	}
	src, err := openBytes(t, one(many...).encode(t), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	src.Next()
	if n := testing.AllocsPerRun(900, func() { src.Next() }); n > 0.1 || src.Request() == nil {
		t.Errorf("%v allocations for each request that is read, %v", n, src.Err())
	}
}

func BenchmarkWriteRequest(b *testing.B) {
	r := memrun.Typical(100)
	w, err := NewWriter(&discard{}, nil)
	if err == nil {
		err = w.BeginExperiment("concurrency", "1")
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.WriteRequest(r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReader reads 2000 requests of 100 events.
func BenchmarkReader(b *testing.B) {
	many := make([]*export.Request, 2000)
	for i := range many {
		many[i] = memrun.Typical(100)
	}
	data := one(many...).encode(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := openBytes(b, data, export.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for r.Next() {
			n++
		}
		if n != len(many) || r.Err() != nil {
			b.Fatal(n, r.Err())
		}
	}
	b.ReportMetric(float64(b.N*len(many))/b.Elapsed().Seconds(), "requests/s")
}

package formats

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
)

// FuzzReaders reads files of the columnar formats: damage never panics and always ends.
// The test is not in package columnar, whose tests link all of Arrow: the fuzzer passes
// the counters of all code on after every step.
func FuzzReaders(f *testing.F) {
	all := columnar.Formats()
	for i, create := range []Create{
		func(w io.Writer, d export.Deriver) (export.Writer, error) { return columnar.NewParquetWriter(w, d) },
		func(w io.Writer, d export.Deriver) (export.Writer, error) { return columnar.NewArrowWriter(w, d) },
	} {
		f.Add(uint8(i), twoRequests(f, create, oneEvent{}))
		f.Add(uint8(i)|brief, twoRequests(f, create, oneEvent{}))
		f.Add(uint8(i), twoRequests(f, create, claimedEvents{}))
	}
	// A low limit bounds the memory that an execution asks for.
	lim := export.Limits{MaxValueBytes: 64 << 10}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		// Compressed pages and runs of one value may be far larger than the file, up to the limits.
		testenv.BoundMemory(t, len(data), 64<<20, 1000, func() { readColumns(t, all[int(kind&^brief)%len(all)], kind&brief != 0, data, lim) })
	})
}

// readColumns reads a file of a columnar format.
func readColumns(t *testing.T, format export.Format, withoutResponses bool, data []byte, lim export.Limits) {
	t.Helper()
	r, err := format.Open(context.Background(), "x", bytes.NewReader(data), int64(len(data)), lim)
	if err == nil {
		need := export.Need{}
		if withoutResponses {
			need.Derived = export.DerivedBrief
		}
		for rows := export.Read(r, need); rows.Next(); {
			if d := rows.Row().Derived; d != nil && r.Request().Summary != nil {
				if n := d.ITLEvents.V; n > 1 {
					_ = d.ITL[0][n-2]
				}
			} else if d != nil {
				for _, e := range d.Events {
					_ = r.Request().Responses[e.Response]
				}
			}
			if r.Request() == nil || r.Experiment() >= len(r.Run().Experiments) {
				t.Fatalf("a request of experiment %d of %d", r.Experiment(), len(r.Run().Experiments))
			}
		}
		err = errors.Join(r.Err(), r.Close())
	}
	if err != nil && err.Error() == "" {
		t.Error("an error without a text")
	}
}

// brief is a bit of the fuzzer's kind of file: the reader leaves out responses.
const brief = 0x80

// A oneEvent derives the same of each request, which has two responses.
type oneEvent struct{}

func (oneEvent) Derive(*export.Request) *export.Derived {
	return &export.Derived{
		Events: []export.TokenEvent{{Response: 1, Choice: 2}, {Response: 1, Choice: 2}}, ITL: [][]int64{{0}},
		TTFT: export.IntOf(20), E2EL: export.IntOf(20), ITLEvents: export.IntOf(2),
		Responses:    &export.ResponseSummary{N: 2, Kernel: 1, First: 10, Last: 20},
		OutputTokens: export.IntOf(1), TokenSource: "usage",
	}
}

func (oneEvent) Derivation() export.Derivation { return export.Derivation{Definitions: 1} }
func (oneEvent) Fork() export.Deriver          { return oneEvent{} }

// claimedEvents derives more token events of a response than there are gaps.
type claimedEvents struct{ oneEvent }

func (claimedEvents) Fork() export.Deriver { return claimedEvents{} }

func (claimedEvents) Derive(r *export.Request) *export.Derived {
	d, streamed := oneEvent{}.Derive(r), true
	d.Streamed, d.Events = &streamed, slices.Repeat(d.Events, 1000)
	return d
}

// twoRequests returns a file of two requests. Of a longer one the fuzzer tries less.
func twoRequests(f *testing.F, create Create, deriver export.Deriver) []byte {
	f.Helper()
	var out bytes.Buffer
	w, err := create(&out, deriver)
	if err != nil {
		f.Fatal(err)
	}
	err = w.BeginExperiment("concurrency", "1")
	for i := range uint64(2) {
		err = errors.Join(err, w.WriteRequest(&export.Request{
			ID: i, StartNS: i * 1000, Status: export.StatusOK, Phase: export.PhaseMeasured, HasMeta: true,
			Inputs: export.Fields{{Name: "payload", Value: export.Text("prompt")}},
			Responses: []export.Response{
				{RecvNS: i*1000 + 1, Outputs: export.Fields{{Name: "response", Value: export.Text("data: é\n\n")}}},
				{RecvNS: i*1000 + 2, Read: 1, Final: true, Outputs: export.Fields{}},
			},
		}))
	}
	if err := errors.Join(err, w.EndExperiment(&export.Experiment{}), w.Close(nil)); err != nil {
		f.Fatal(err)
	}
	return out.Bytes()
}

// FuzzReportSchema looks for the schema of a report at the start of a file: damage never panics.
func FuzzReportSchema(f *testing.F) {
	for _, s := range []string{`{"schema":"pa-report/1"`, `[{"schema":"pa-report/1"}]`, "\ufeff {\"a\":[{}],\"schema\":\"pa-diff/1\"", `{"schema":1}`, `{"schema":"x"}`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if schema := reportSchema(head); schema != "" && !export.ReportSchema(schema) {
			t.Errorf("%q: schema %q", head, schema)
		}
	})
}

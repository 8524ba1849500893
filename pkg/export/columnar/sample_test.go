package columnar

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// An eventDeriver derives a token event for each response. All requests have itl_events.
type eventDeriver struct{ d export.Derived }

func (e *eventDeriver) Derivation() export.Derivation { return export.Derivation{Definitions: 1} }
func (e *eventDeriver) Fork() export.Deriver          { return &eventDeriver{} }

func (e *eventDeriver) Derive(r *export.Request) *export.Derived {
	n := len(r.Responses)
	d := export.Derived{Responses: &export.ResponseSummary{N: n}, ITLEvents: export.IntOf(int64(n))}
	var gaps []int64
	for i := range r.Responses {
		at := int64(r.Responses[i].RecvNS - r.StartNS)
		if i == 0 {
			d.TTFT, d.Responses.First = export.IntOf(at), at
		} else {
			gaps = append(gaps, at-d.Responses.Last)
		}
		d.Responses.Last = at
		d.E2EL = export.IntOf(at)
		d.Events = append(d.Events, export.TokenEvent{Response: int32(i)})
	}
	if len(gaps) > 0 {
		d.ITL = [][]int64{gaps}
	}
	e.d = d
	return &e.d
}

// sampledRun returns a run with texts of all lengths. Some are longer than the start of a page.
func sampledRun(seed uint64, n int) *result {
	rng := rand.New(rand.NewPCG(seed, 0))
	text := func(most int) export.Value {
		b := make([]byte, rng.IntN(most))
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return export.Text(string(b))
	}
	run := requests(n)
	now := uint64(1_700_000_000_000_000_000)
	for i, r := range run.requests {
		*r = export.Request{ID: uint64(i), StartNS: now, HasMeta: true, Inputs: export.Fields{{Name: "payload", Value: text(300)}}}
		for range rng.IntN(60) {
			now += uint64(rng.IntN(1e9))
			most := 100
			if rng.IntN(500) == 0 {
				most = 300_000
			}
			p := export.Response{RecvNS: now, Source: export.SourceKernel, Outputs: export.Fields{{Name: "response", Value: text(most)}}}
			if rng.IntN(20) == 0 {
				p.Outputs = append(p.Outputs, export.Field{Name: "more", Value: export.Text(strings.Repeat("x", rng.IntN(9)))})
			}
			r.Responses = append(r.Responses, p)
		}
	}
	return run
}

// A checkedBatch keeps what it is to check.
type checkedBatch struct {
	keptBatch
	checked []checked
}

type checked struct {
	Request *export.Request
	Derived export.Derived
	Outputs bool
}

func (b *checkedBatch) Reset() { b.keptBatch.Reset(); b.checked = nil }

func (b *checkedBatch) Add(row *export.Row) {
	b.keptBatch.Add(row)
	if row.Check.Request != nil {
		b.checked = append(b.checked, checkedOf(row))
	}
}

func checkedOf(row *export.Row) checked {
	return checked{row.Check.Request.Clone(), normal(clone(row.Check.Derived)), row.Check.Outputs}
}

// withoutOutputs returns c as a sample has it where only times are checked.
func (c checked) withoutOutputs() checked {
	q := *c.Request
	q.Inputs, q.Extra, q.NoOutputs = nil, nil, true
	q.Responses = slices.Clone(q.Responses)
	for i := range q.Responses {
		q.Responses[i].Outputs, q.Responses[i].Read, q.Responses[i].Final = nil, 0, false
	}
	c.Request, c.Outputs = &q, false
	return c
}

// clone returns a copy of d.
func clone(d *export.Derived) export.Derived {
	c := *d
	c.Events = slices.Clone(d.Events)
	c.ITL = nil
	for _, gaps := range d.ITL {
		c.ITL = append(c.ITL, slices.Clone(gaps))
	}
	if d.Responses != nil {
		s := *d.Responses
		c.Responses = &s
	}
	return c
}

// partsOf returns the number of the row group of each of n rows, or of the batch of most rows.
func partsOf(r *Reader, n, most int) []int {
	var part []int
	if s, ok := r.src.(*parquetSource); ok {
		for i := range s.groups {
			part = append(part, slices.Repeat([]int{i}, int(s.groups[i].rows))...)
		}
		return part
	}
	for i := range n {
		part = append(part, i/most)
	}
	return part
}

// The rows of a sample are the rows of the file, whole; each row group has some, and each batch of an Arrow
// file. Reading can begin again.
func TestSample(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, most := 60+rng.IntN(60), 1+rng.IntN(50)
		for k, f := range testFormats[:2] {
			var data bytes.Buffer
			var w export.Writer
			var err error
			if k == 0 {
				w, err = NewParquetWriter(&data, &eventDeriver{})
			} else {
				w, err = NewArrowWriter(&data, &eventDeriver{})
			}
			if err != nil {
				t.Fatal(err)
			}
			limitRows(w, most)
			if err := sampledRun(seed, n).write(w, nil); err != nil {
				t.Fatal(err)
			}
			file := f.open(t, data.Bytes())
			whole := export.Read(file, export.Need{Check: export.CheckAll})
			var all []checked
			for whole.Next() {
				all = append(all, checkedOf(whole.Row()))
			}
			part := partsOf(file.(*Reader), n, most) // of each row
			r := f.open(t, data.Bytes())
			for round := range 3 {
				need := export.Need{Derived: export.DerivedBrief, Check: export.CheckSample}
				if round > 0 {
					need.Batch = func() export.Batch { return &checkedBatch{} }
				}
				var got []checked
				rows := 0
				for x := export.Read(r, need); x.Next(); {
					if round > 0 {
						b := x.Batch().(*checkedBatch)
						got, rows = append(got, b.checked...), rows+len(b.requests)
						continue
					}
					rows++
					if row := x.Row(); row.Check.Request != nil {
						got = append(got, checkedOf(row))
					}
				}
				if r.Err() != nil || rows != n || len(r.Warnings()) > 0 {
					t.Fatalf("seed %d, %s: %d of %d rows, %v, %v", seed, f.name, rows, n, r.Err(), r.Warnings())
				}
				groups, outputs := map[int]bool{}, 0
				for _, c := range got {
					groups[part[c.Request.ID]] = true
					want := all[c.Request.ID]
					if c.Outputs {
						outputs++
					} else {
						want = want.withoutOutputs()
					}
					if !reflect.DeepEqual(want, c) { // cmp takes seconds for long texts
						t.Fatalf("seed %d, %s, round %d, request %d: %.2000s", seed, f.name, round, c.Request.ID, cmp.Diff(want, c))
					}
				}
				if want := part[n-1] + 1; len(groups) != want || outputs == 0 || len(got) > want+3 && k == 0 && want > 2 {
					t.Errorf("seed %d, %s: rows of %d parts of %d, %d with outputs, %d in all", seed, f.name, len(groups), want, outputs, len(got))
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

package columnar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A givenDerived gives the Derived of requests in their order.
type givenDerived struct {
	all  []*export.Derived
	next int
}

func (g *givenDerived) Derive(*export.Request) *export.Derived {
	g.next++
	return g.all[g.next-1]
}

func (g *givenDerived) Fork() export.Deriver { panic("the values are in the order of the file") }

func (g *givenDerived) Derivation() export.Derivation {
	return export.Derivation{Definitions: 7, TokenSource: "auto", Model: "m"}
}

// derived returns a Derived of a request with n responses.
func (s random) derived(n int) *export.Derived {
	count := func() export.Int {
		if s.IntN(3) == 0 {
			return export.Int{}
		}
		return export.IntOf(int64(s.Int()))
	}
	d := &export.Derived{
		Failure: s.Text(), Class: s.Text(), Assumed: s.IntN(2) == 0, Unreadable: s.IntN(3), Excluded: "late",
		TTFT: count(), E2EL: count(), InputTokens: count(), OutputTokens: count(), ReasoningTokens: count(), CachedTokens: count(),
		TokenSource: []string{"", "usage", "responses", "tokenizer"}[s.IntN(4)], InputCounted: s.IntN(2) == 0,
		TimedTokens: count(), HiddenTokens: count(),
	}
	for i := range export.ServerNumbers {
		*export.ServerNumbers[i].Of(&d.Server) = count()
	}
	d.Server.PrefillWorker, d.Server.DecodeWorker = s.Text(), s.Text()
	if s.IntN(3) > 0 {
		yes := s.IntN(2) == 0
		d.Streamed = &yes
	}
	if d.TTFAT, d.ITLEvents = count(), count(); n == 0 {
		d.Responses = &export.ResponseSummary{}
	} else if d.E2EL.OK {
		kernel := s.IntN(n + 1)
		d.Responses = &export.ResponseSummary{N: n, Kernel: kernel, User: s.IntN(n - kernel + 1), First: int64(s.Int()), Last: d.E2EL.V}
	}
	several := s.IntN(3) == 0 // choices in one response
	for at := range n {
		e := export.TokenEvent{Response: int32(at), Choice: int64(s.Int()), Reasoning: s.IntN(4) == 0}
		for range s.IntN(4) {
			d.Events = append(d.Events, e)
			if several {
				e.Choice, e.Reasoning = int64(s.IntN(3)), s.IntN(2) == 0
			}
		}
	}
	if s.IntN(3) == 0 { // usual: a token for each event
		d.OutputTokens = export.IntOf(int64(len(d.Events)))
	}
	if s.IntN(3) == 0 {
		d.EventTokens = true
		for i := range d.Events {
			d.Events[i].Tokens = int32(s.IntN(9))
		}
	}
	for range s.IntN(3) {
		gaps := []int64{}
		for range s.IntN(3) {
			gaps = append(gaps, int64(s.Int()))
		}
		d.ITL = append(d.ITL, gaps)
	}
	if d.Streamed != nil && *d.Streamed { // the events of a streamed answer have gaps
		d.ITL = append(d.ITL, make([]int64, len(d.Events)))
	}
	return d
}

// Readers return the derived columns with the requests, and also without the answers.
func TestDerived(t *testing.T) {
	for name, create := range map[string]func(io.Writer, export.Deriver) (export.Writer, error){
		"parquet": func(w io.Writer, d export.Deriver) (export.Writer, error) { return NewParquetWriter(w, d) },
		"arrow":   func(w io.Writer, d export.Deriver) (export.Writer, error) { return NewArrowWriter(w, d) },
	} {
		f := testFormats[slices.IndexFunc(testFormats, func(f testFormat) bool { return f.name == name })]
		for seed := range 40 / uint64(testenv.Stride(4)) {
			s := newRandom(seed, 5)
			given := &givenDerived{}
			want := requests(40)
			for i, r := range want.requests {
				*r = *s.Request()
				r.ID, r.Status, r.Phase = uint64(i), export.StatusOK, export.PhaseMeasured
				given.all = append(given.all, s.derived(len(r.Responses)))
			}
			var data bytes.Buffer
			w, err := create(&data, given)
			if err == nil {
				err = want.write(w, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, times := range []bool{false, true} {
				file := f.open(t, data.Bytes())
				if how := export.StoredIn(file); how == nil || how.Derivation != given.Derivation() || !how.Outputs {
					t.Fatalf("derived as %v", how)
				}
				need := export.Need{}
				if times {
					need.Derived = export.DerivedInstead
				}
				r := export.Read(file, need)
				i := 0
				for ; r.Next(); i++ {
					got := *r.Row().Derived
					x := *given.all[i]
					x.Excluded = ""
					if times {
						x.TTFAT, x.ITLEvents, x.Responses = export.Int{}, export.Int{}, nil
					}
					if d := difference(normal(x), normal(got)); d != "" {
						t.Fatalf("%s, seed %d, request %d (-want +got):\n%s", name, seed, i, d)
					}
					if q := r.Request(); times && (q.Inputs != nil || len(q.Responses) != len(want.requests[i].Responses)) {
						t.Fatalf("%s, seed %d, request %d: inputs %v, %d responses", name, seed, i, q.Inputs, len(q.Responses))
					}
				}
				if err := errors.Join(r.Err(), r.Close()); err != nil || i != 40 {
					t.Fatalf("%d requests, %v", i, err)
				}
			}
		}
	}
}

// A row of a request that contradicts itself has no derived values where its responses are
// left out, and the responses of a row group are left out only if each request allows it.
func TestBriefRows(t *testing.T) {
	good := func() *export.Derived {
		return &export.Derived{
			TTFT: export.IntOf(5), E2EL: export.IntOf(9), ITL: [][]int64{{4}}, ITLEvents: export.IntOf(2),
			Responses: &export.ResponseSummary{N: 2, Kernel: 1, First: 5, Last: 9},
		}
	}
	for name, v := range map[string]struct {
		change       func(d *export.Derived)
		brief, valid bool
	}{
		"all there":        {func(*export.Derived) {}, true, true},
		"no event":         {func(d *export.Derived) { d.ITL, d.ITLEvents, d.TTFT = nil, export.IntOf(0), export.Int{} }, true, true},
		"responses needed": {func(d *export.Derived) { d.ITLEvents = export.Int{} }, false, false},
		"gap missing":      {func(d *export.Derived) { d.ITL = nil }, true, false},
		"gap too many":     {func(d *export.Derived) { d.ITLEvents = export.IntOf(1) }, true, false},
		"two choices":      {func(d *export.Derived) { d.ITL = [][]int64{{4}, {4}} }, true, false},
		"below 0":          {func(d *export.Derived) { d.ITL, d.ITLEvents = nil, export.IntOf(-1) }, true, false},
		"no first token":   {func(d *export.Derived) { d.TTFT = export.Int{} }, true, false},
		"no end":           {func(d *export.Derived) { d.E2EL = export.Int{} }, true, false},
		"no summary":       {func(d *export.Derived) { d.Responses = nil }, true, false},
		"stamps too many":  {func(d *export.Derived) { d.Responses.User = 2 }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			given := &givenDerived{all: []*export.Derived{good(), good()}}
			v.change(given.all[1])
			want := requests(2)
			for i, r := range want.requests {
				*r = export.Request{ID: uint64(i), StartNS: 100, HasMeta: true, Responses: []export.Response{{RecvNS: 105}, {RecvNS: 109}}}
			}
			var data bytes.Buffer
			w, err := NewParquetWriter(&data, given)
			if err == nil {
				err = want.write(w, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := export.Read(testFormats[0].open(t, data.Bytes()), export.Need{Derived: export.DerivedBrief})
			for i := range 2 {
				if !r.Next() {
					t.Fatal(r.Err())
				}
				q, d := r.Request(), r.Row().Derived
				if brief := len(q.Responses) == 0; brief != v.brief {
					t.Errorf("request %d: %d responses", i, len(q.Responses))
				}
				if v.brief && (d != nil) != (i == 0 || v.valid) {
					t.Errorf("request %d: derived %v", i, d)
				}
				if last, ok := q.LatestResponseNS(); (i == 0 || v.valid) && (!ok || last != 109) {
					t.Errorf("request %d: ends at %d", i, last)
				}
			}
			if n := len(r.Warnings()); (n > 0) != (v.brief && !v.valid) {
				t.Errorf("warnings %v", r.Warnings())
			}
			if err := errors.Join(r.Err(), r.Close()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// normal makes empty lists nil.
func normal(d export.Derived) export.Derived {
	if len(d.Events) == 0 {
		d.Events = nil
	}
	if len(d.ITL) == 0 {
		d.ITL = nil
	}
	for i := range d.ITL {
		if len(d.ITL[i]) == 0 {
			d.ITL[i] = nil
		}
	}
	return d
}

// A file without derived columns has no Derived.
func TestNotDerived(t *testing.T) {
	for _, f := range testFormats {
		r := export.Read(f.open(t, requests(2).encode(t, f)), export.Need{})
		if how := export.StoredIn(r.Reader); how != nil || !r.Next() || r.Row().Derived != nil {
			t.Errorf("%s: derived as %v", f.name, how)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A number in column token_events makes up no events that the gaps in column itl_ns do not show: the row then has
// no derived values, with a warning that has the number, and reading it takes no memory for them.
func TestClaimedEvents(t *testing.T) {
	const claimed = 5
	no, yes := false, true
	for name, v := range map[string]struct {
		streamed *bool
		events   int // of the first response
		claim    uint32
		gaps     int
		warning  string
	}{
		"as many as gaps":       {&yes, claimed, 0, claimed, ""},
		"fewer than gaps":       {&yes, 2, 0, 9, ""},
		"more than gaps":        {&yes, claimed, 0, 3, "row 1: column token_events: response 0 has 5 token events, but column itl_ns has 3 more gaps for them"},
		"no gaps":               {&yes, 2, 0, 0, "row 1: column token_events: response 0 has 2 token events, but column itl_ns has 0 more gaps for them"},
		"not streamed":          {&no, maxUnseen + 1, 0, 0, ""},
		"not known to stream":   {nil, maxUnseen + 1, 0, 0, ""},
		"too many not streamed": {&no, maxUnseen + 2, 0, 0, "response 0 has 1026 token events"},
		"millions":              {&yes, claimed, 16_000_000, claimed, "response 0 has 16000000 token events, but column itl_ns has 5 more gaps"},
		"millions, unstreamed":  {nil, claimed, 16_000_000, claimed, "response 0 has 16000000 token events"},
		"below 0":               {&yes, claimed, 1<<32 - 7, claimed, "response 0 has -7 token events"},
	} {
		t.Run(name, func(t *testing.T) {
			given := &givenDerived{}
			want := requests(2)
			for i, r := range want.requests {
				*r = export.Request{ID: uint64(i), StartNS: 100, HasMeta: true, Responses: []export.Response{{RecvNS: 105}, {RecvNS: 109}}}
				d := &export.Derived{Streamed: v.streamed, ITL: [][]int64{make([]int64, v.gaps)}}
				if i == 1 {
					d.Events = make([]export.TokenEvent, v.events)
				}
				given.all = append(given.all, d)
			}
			for _, f := range testFormats[:2] {
				var data bytes.Buffer
				var w export.Writer
				var err error
				if given.next = 0; f.name == "arrow" {
					w, err = NewArrowWriter(&data, given)
				} else {
					w, err = NewParquetWriter(&data, given)
				}
				if err == nil {
					err = want.write(w, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				file := data.Bytes()
				if v.claim != 0 {
					if f.name != "arrow" { // its pages are encoded
						continue
					}
					number := binary.LittleEndian.AppendUint32(nil, claimed)
					// The list of token_events: 0 and 0 of the first request, claimed and 0 of the second.
					list := slices.Concat(make([]byte, 8), number, make([]byte, 4))
					if n := bytes.Count(file, list); n != 1 {
						t.Fatalf("%d places look like the list of token events", n)
					}
					at := bytes.Index(file, list) + 8
					binary.LittleEndian.PutUint32(file[at:], v.claim)
				}
				for _, use := range []export.DerivedUse{export.DerivedBeside, export.DerivedInstead} {
					testenv.BoundMemory(t, len(file), 4<<20, 100, func() {
						r := export.Read(f.open(t, file), export.Need{Derived: use})
						for i := range 2 {
							if !r.Next() {
								t.Fatal(r.Err())
							}
							if d := r.Row().Derived; (d != nil) != (i == 0 || v.warning == "") {
								t.Errorf("%s: request %d: derived %v", f.name, i, d)
							}
						}
						got := ""
						for _, w := range r.Warnings() {
							got += w.String()
						}
						if (got != "") != (v.warning != "") || !strings.Contains(got, v.warning) {
							t.Errorf("%s: warnings %q, want %q", f.name, got, v.warning)
						}
						if err := errors.Join(r.Err(), r.Close()); err != nil {
							t.Error(err)
						}
					})
				}
			}
		})
	}
}

// The first event of a request has any number of tokens, and the others together as many as
// [export.MostEventTokens] allows. With more, the row has no derived values.
func TestEventTokens(t *testing.T) {
	most := int32(export.MostEventTokens(3))
	for name, v := range map[string]struct {
		tokens  [3]int32
		warning string
	}{
		"hidden before":          {[3]int32{1 << 24, 1, 1}, ""},
		"as many as allowed":     {[3]int32{20_000, most - 1, 1}, ""},
		"more than allowed":      {[3]int32{1, most, 1}, "column event_tokens: an event of 1 tokens, which are too many for a request with 3 events"},
		"first event below zero": {[3]int32{-1, 1, 1}, "column event_tokens: an event of -1 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			want := requests(1)
			*want.requests[0] = export.Request{StartNS: 100, HasMeta: true, Responses: []export.Response{{RecvNS: 105}, {RecvNS: 109}, {RecvNS: 110}}}
			d := &export.Derived{Streamed: new(true), ITL: [][]int64{{4, 1}}, EventTokens: true}
			for i, n := range v.tokens {
				d.Events = append(d.Events, export.TokenEvent{Response: int32(i), Tokens: n})
			}
			var data bytes.Buffer
			w, err := NewParquetWriter(&data, &givenDerived{all: []*export.Derived{d}})
			if err == nil {
				err = want.write(w, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := export.Read(testFormats[0].open(t, data.Bytes()), export.Need{})
			if !r.Next() {
				t.Fatal(r.Err())
			}
			warnings := r.Warnings()
			switch got := r.Row().Derived; {
			case v.warning == "":
				if got == nil || !got.EventTokens || !slices.Equal(got.Events, d.Events) || len(warnings) > 0 {
					t.Errorf("derived %+v, warnings %v", got, warnings)
				}
			case got != nil, len(warnings) != 1, !strings.Contains(warnings[0].String(), v.warning):
				t.Errorf("derived %+v, warnings %v", got, warnings)
			}
			if err := errors.Join(r.Err(), r.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

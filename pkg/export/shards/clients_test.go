package shards_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// second is where the levels of clients in tests begin.
const second = uint64(1e9)

// client returns a whole run: levels of these loads one after the other, each of a second with two requests.
func client(host, mode string, beginNS uint64, loads ...string) *memrun.Reader {
	r := &memrun.Reader{Header: export.Run{Meta: &export.RunMeta{Schema: export.Schema, Tool: "pa-record 1", Model: "m", Host: &export.HostMeta{Name: host}}}}
	for i, load := range loads {
		at := beginNS + uint64(i)*second
		r.Header.Experiments = append(r.Header.Experiments, export.Experiment{Mode: mode, Value: load, Meta: &export.ExperimentMeta{
			StartNS: at, EndNS: at + second, RequestCounts: export.RequestCounts{Measured: 2},
		}})
		var all []export.Request
		for k := range uint64(2) {
			all = append(all, export.Request{
				ID: 2*uint64(i) + k, StartNS: at + k*second/2, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured, SessionID: "s",
				Responses: []export.Response{{RecvNS: at + k*second/2 + 1000}},
			})
		}
		r.Requests = append(r.Requests, all)
	}
	return r
}

// Loads of clients add up, and their ids stay apart.
func TestMergeClients(t *testing.T) {
	for _, tt := range []struct {
		name  string
		a, b  *memrun.Reader
		bound int64
		want  string // value and name of each level
		warns string // of a level
		clock int64
	}{
		{"levels of the same loads", client("a", "concurrency", second, "8", "16"), client("b", "concurrency", second+5, "8", "16"), 1000, "16: 2 × concurrency 8; 32: 2 × concurrency 16", "", 1000},
		{"one machine", client("a", "request_rate", second, "2.5"), client("a", "request_rate", second+5, "2.5"), -1, "5: 2 × request rate 2.5", "", 0},
		{"one level each", client("a", "concurrency", second, "8"), client("b", "concurrency", second+5, "4"), 7, "12: concurrency 8 + concurrency 4", "", 7},
		{"half of the time", client("a", "concurrency", second, "8"), client("b", "concurrency", 3*second/2, "8"), 7, "16: 2 × concurrency 8", "both clients sent together for 500ms of 1.5s", 7},
		{"a load that is no number", client("a", "", second, ""), client("b", "", second+5, ""), 7, ": 2 × a load that is not known", "", 7},
	} {
		m, err := shards.MergeClients(t.Context(), inMemory([]*memrun.Reader{tt.a, tt.b}), shards.ClientConfig{BoundNS: tt.bound})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var levels []string
		for i := range m.Run().Experiments {
			e := &m.Run().Experiments[i]
			levels = append(levels, e.Value+": "+e.Meta.Load)
			if warned := strings.Join(e.Meta.Warnings, "\n"); tt.warns == "" && warned != "" || !strings.Contains(warned, tt.warns) {
				t.Errorf("%s: warnings %q, want %q", tt.name, warned, tt.warns)
			}
			if e.Meta.Measured != 4 {
				t.Errorf("%s: %d requests measured, want 4", tt.name, e.Meta.Measured)
			}
		}
		if got := strings.Join(levels, "; "); got != tt.want {
			t.Errorf("%s: levels %q, want %q", tt.name, got, tt.want)
		}
		if b := m.Run().Meta.Merged.ClockBoundNS; b == nil || *b != tt.clock {
			t.Errorf("%s: bound of the clocks %v, want %d", tt.name, b, tt.clock)
		}
		var ids []string
		for m.Next() {
			q := m.Request()
			ids = append(ids, strconv.FormatUint(q.ID, 10))
			if int(q.ID%2) != q.Rank || q.SessionID != strconv.Itoa(q.Rank)+"/s" {
				t.Errorf("%s: request %d of rank %d, session %s", tt.name, q.ID, q.Rank, q.SessionID)
			}
		}
		if m.Err() != nil || len(ids) != 4*len(levels) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
			t.Errorf("%s: requests %v, %v", tt.name, ids, m.Err())
		}
	}
}

// The rate of the run counts the requests of all clients.
func TestMergeClientsRates(t *testing.T) {
	m, err := shards.MergeClients(t.Context(), inMemory([]*memrun.Reader{client("a", "concurrency", second, "8"), client("b", "concurrency", second+5, "8")}), shards.ClientConfig{BoundNS: 1000})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := analyze.Run(t.Context(), m, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// 4 requests in half a second, 1000 ns for the last answer, and 5 ns for the later client.
	if e := &rep.Experiments[0]; e.OK != 4 || e.DurationNS != int64(second/2)+1005 || e.Throughput.Requests.PerSecond != 4/(float64(second/2+1005)/1e9) {
		t.Errorf("%d requests in %d ns: %v", e.OK, e.DurationNS, e.Throughput.Requests)
	}
}

// A rereadable is a Reader that can be read twice.
type rereadable struct{ *memrun.Reader }

func (r rereadable) Reopen(context.Context) (export.Reader, bool, error) {
	return &memrun.Reader{Header: r.Header, Requests: r.Requests}, true, nil
}

// A client without requests in a level, and without times of the level, is refused for this reason.
func TestMergeClientsNoRequests(t *testing.T) {
	a, b := client("a", "concurrency", second, "8"), client("a", "concurrency", second, "8")
	b.Header.Experiments[0].Meta, b.Requests[0] = nil, nil
	all := []shards.Shard{{Name: "a", Reader: a}, {Name: "b", Reader: rereadable{b}}}
	_, err := shards.MergeClients(t.Context(), all, shards.ClientConfig{})
	if want := "b has no request of concurrency 8"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A header of an import without a format is no panic.
func TestMergeClientsUnnamedImport(t *testing.T) {
	a, b := client("a", "concurrency", second, "8"), client("a", "concurrency", second+5, "8")
	a.Header.Meta.Import = &export.Import{}
	if _, err := shards.MergeClients(t.Context(), inMemory([]*memrun.Reader{a, b}), shards.ClientConfig{}); err != nil {
		t.Error(err)
	}
}

// Files that are not one run are refused, with the reason.
func TestMergeClientsRefused(t *testing.T) {
	alone := func(loads ...string) *memrun.Reader { return client("a", "concurrency", second, loads...) }
	changed := func(change func(m *export.RunMeta)) *memrun.Reader {
		r := client("b", "concurrency", second, "8")
		change(r.Header.Meta)
		return r
	}
	lacking := func(p export.Part) *memrun.Reader {
		return changed(func(m *export.RunMeta) {
			m.Import = &export.Import{Format: "x", Lacks: []export.Lack{{Part: p, Why: "because"}}}
		})
	}
	for _, tt := range []struct {
		name, want string
		b          *memrun.Reader
		bound      int64
	}{
		{"no bound", "do not say how far the clocks", client("b", "concurrency", second, "8"), -1},
		{"one after the other", "did not send concurrency 8 at the same time", client("b", "concurrency", 5*second, "8"), 10},
		{"other levels", "level 2 is concurrency 16 in shard0 and concurrency 4 in shard1", client("b", "concurrency", second, "8", "4"), 10},
		{"fewer levels", "2 levels and shard1 1 level", client("b", "concurrency", second, "8"), 10},
		{"another model", "different models", changed(func(m *export.RunMeta) { m.Model = "n" }), 10},
		{"another tool", "different kinds of file", changed(func(m *export.RunMeta) { m.Import = &export.Import{Format: "x"} }), 10},
		{"no starts", "no times on a common clock: because", lacking(export.PartStarts), 10},
		{"no epoch", "no times on a common clock: because", lacking(export.PartEpoch), 10},
		{"a shard", "is a part of a run", changed(func(m *export.RunMeta) { m.Shard = &export.ShardMeta{WorldSize: 1, Run: "r"} }), 10},
		{"merged before", "was merged before", changed(func(m *export.RunMeta) { m.Merged = &export.MergedMeta{} }), 10},
	} {
		a := alone("8")
		if strings.HasSuffix(tt.name, "levels") {
			a = alone("8", "16")
		}
		_, err := shards.MergeClients(t.Context(), inMemory([]*memrun.Reader{a, tt.b}), shards.ClientConfig{BoundNS: tt.bound})
		if e := new(shards.ClientError); !errors.As(err, &e) || !strings.Contains(e.Text, tt.want) || e.NeedsBound != (tt.bound < 0) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	// The same file twice is a copy.
	m, err := shards.MergeClients(t.Context(), inMemory([]*memrun.Reader{alone("8"), alone("8")}), shards.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for m.Next() {
	}
	if m.Err() == nil || !strings.Contains(m.Err().Error(), "start at the same times") {
		t.Errorf("a copy: %v", m.Err())
	}
	// An id that leaves no room.
	b := client("b", "concurrency", second+5, "8")
	b.Requests[0][0].ID = 1 << 63
	if m, err = shards.MergeClients(t.Context(), inMemory([]*memrun.Reader{alone("8"), b}), shards.ClientConfig{BoundNS: 1}); err != nil {
		t.Fatal(err)
	}
	for m.Next() {
	}
	if m.Err() == nil || !strings.Contains(m.Err().Error(), "leaves no room") {
		t.Errorf("a large id: %v", m.Err())
	}
}

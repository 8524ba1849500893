package check

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// A request stands once in a file of pa-record, and its rank is one of the file's.
func TestValidateRanks(t *testing.T) {
	request := func(id uint64, rank int) export.Request {
		q := memrun.At(1000+id, 2000)
		q.ID, q.Rank, q.HasMeta, q.Status = id, rank, true, export.StatusOK
		return q
	}
	merged := &export.MergedMeta{WorldSize: 3, Shards: []export.MergedShard{{Rank: 0}, {Rank: 2}}}
	const twice = "request 2 is in the file twice; the file was changed after the recording, or merged from copies"
	for _, tt := range []struct {
		name string
		meta *export.RunMeta
		r    []export.Request
		want []string
	}{
		{"once", &export.RunMeta{}, []export.Request{request(1, 0), request(2, 0)}, nil},
		{"twice", &export.RunMeta{}, []export.Request{request(1, 0), request(2, 0), request(2, 0)}, []string{twice}},
		{"twice in a merged run, from two ranks", &export.RunMeta{Merged: merged}, []export.Request{request(2, 0), request(2, 2)}, []string{twice}},
		{"a rank that was not merged", &export.RunMeta{Merged: merged}, []export.Request{request(1, 2), request(2, 1)}, []string{"rank 1 sent the request, but the run was merged from shards of other ranks"}},
		{"an impossible place", &export.RunMeta{Shard: &export.ShardMeta{Rank: 3, WorldSize: 2, Run: "r"}}, []export.Request{request(1, 3)}, []string{"pa.shard: rank 3 is not from 0 to 1, although world_size is 2; the file is damaged or not from pa-record"}},
		{"an impossible clock", &export.RunMeta{Shard: &export.ShardMeta{Rank: 1, WorldSize: 2, Run: "r", OffsetBefore: &export.ClockOffset{BoundNS: -1}}}, []export.Request{request(1, 1)}, []string{"pa.shard: bound_ns -1 is not from 0 to 73 years; the file is damaged or not from pa-record"}},
		{"a shard", &export.RunMeta{Shard: &export.ShardMeta{Rank: 1, WorldSize: 4, Run: "r"}}, []export.Request{request(1, 1), request(2, 0)}, nil},
		{"a shard with a request of another", &export.RunMeta{Shard: &export.ShardMeta{Rank: 1, WorldSize: 4, Run: "r"}}, []export.Request{request(3, 2)}, []string{"the file: request 3 says that rank 2 sent it, but pa.shard says that the file is of rank 1; the file was changed: give the file that rank 1 wrote"}},
		{"a result file of another tool", &export.RunMeta{Import: &export.Import{}}, []export.Request{request(2, 0), request(2, 0)}, nil},
		{"not of pa-record", nil, []export.Request{request(2, 0), request(2, 0)}, nil},
	} {
		r := memrun.New("openai", tt.r)
		r.Header.Meta = tt.meta
		if tt.meta != nil {
			r.Header.Experiments[0].Meta = nil
		}
		if got := violations(t, r, ValidateConfig{}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	// The requests of a shard are compared with the requests of the shards before.
	cfg := ValidateConfig{Requests: new(shards.Requests)}
	for rank, want := range [][]string{nil, {"0.json and 1.json hold the same requests, although they are of ranks 0 and 1: request 2 is in both; one of them is a copy: give the file that each rank wrote"}} {
		r := memrun.New("openai", []export.Request{request(2, 0)})
		r.Header.Meta = &export.RunMeta{Shard: &export.ShardMeta{Rank: rank, WorldSize: 4, Run: "r"}}
		cfg.File = cfg.Requests.File([]string{"0.json", "1.json"}[rank], rank)
		if got := violations(t, r, cfg); !slices.Equal(got, want) {
			t.Errorf("shard %d: got %q, want %q", rank, got, want)
		}
	}
}

// violations returns the texts of the violations of a run.
func violations(t *testing.T, r *memrun.Reader, cfg ValidateConfig) (all []string) {
	t.Helper()
	if _, err := Validate(t.Context(), r, cfg, func(v Violation) { all = append(all, v.Msg) }); err != nil {
		t.Fatal(err)
	}
	return all
}

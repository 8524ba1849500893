package export

import "context"

// MergedMeta says that a run was put together from the shards of several ranks. All times of
// such a run are on the clock of rank 0.
type MergedMeta struct {
	// Run, PlanSHA256, WorldSize, DividedBy and Launcher are as in all shards: see
	// [ShardMeta].
	Run        string `json:"run"`
	PlanSHA256 string `json:"plan_sha256"`
	WorldSize  int    `json:"world_size"`
	DividedBy  string `json:"divided_by"`
	Launcher   string `json:"launcher,omitempty"`
	// Shards are the shards that were there, by rank. Other ranks are missing.
	Shards []MergedShard `json:"shards"`
	// ClockBoundNS bounds the errors of all OffsetNS; nil if one of them is not known.
	ClockBoundNS *int64 `json:"clock_bound_ns,omitempty"`
	// LeftOut names the facts of the shards that a merged run cannot state, with the
	// reasons.
	LeftOut []string `json:"left_out,omitempty"`
}

// MergedShard is one of the shards of a merged run.
type MergedShard struct {
	Rank int    `json:"rank"`
	Host string `json:"host,omitempty"` // name of the machine
	// OffsetNS was added to all times of the shard.
	OffsetNS int64 `json:"offset_ns,omitempty"`
	// BoundNS bounds the error of OffsetNS; nil if the clocks were not compared.
	BoundNS *int64 `json:"bound_ns,omitempty"`
}

// A MultiReader is a Reader of several files that hold one run.
type MultiReader interface {
	Reader
	// ByFile makes the Reader give the requests file by file, and not in the order of the
	// contract. It then decodes one file at a time, which takes less memory. Call it
	// before the first Next.
	ByFile()
	// Reopen returns a second Reader of the same files, from the beginning. ok is false if
	// one of the files cannot be read twice. Close it before the first Reader.
	Reopen(ctx context.Context) (again Reader, ok bool, err error)
}

// A SharingReader is a Reader that decodes ahead of its caller.
type SharingReader interface {
	Reader
	// ShareWith tells the Reader that a program reads n files at the same time, so that it
	// keeps to a part of the processors and of the memory. Call it before the first Next.
	ShareWith(n int)
}

package export

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

package export

// ShardMeta is the place of a file among the shards of one run: the files that several
// processes (ranks) recorded together, each with its share of the requests.
type ShardMeta struct {
	Rank      int `json:"rank"`       // from 0
	WorldSize int `json:"world_size"` // number of ranks, and of shards of a complete run
	// Run is the same in all shards of a run and, for all practical purposes, in no
	// others.
	Run string `json:"run"`
	// PlanSHA256 is the hash, in hex, of everything that all ranks must agree on: the
	// configuration, levels, seed, schedule and input data. Shards of one run have the
	// same hash.
	PlanSHA256 string `json:"plan_sha256"`
	// DividedBy is the unit in which ranks share the work: [DividedByRequest] or
	// [DividedByConversation].
	DividedBy string `json:"divided_by"`
	// Launcher names the source of rank and size, such as "slurm" or "flags".
	Launcher string `json:"launcher,omitempty"`
	// OffsetBefore and OffsetAfter compare this rank's clock with the clock of rank 0,
	// before the first level and after the last one; nil if that was not measured, and
	// for rank 0.
	OffsetBefore *ClockOffset `json:"offset_before,omitempty"`
	OffsetAfter  *ClockOffset `json:"offset_after,omitempty"`
}

// Units in which ranks share the work.
const (
	// DividedByRequest: request i of a level belongs to rank i mod WorldSize. In a closed
	// loop with fewer slots than ranks it belongs to rank i mod slots, and the other ranks
	// idle in this level.
	DividedByRequest      = "request"
	DividedByConversation = "conversation" // whole conversations, by the hash of their session
	// DividedByClient: each client sent a load of its own, and the loads add up. Only a merged run has it.
	DividedByClient = "client"
)

// ClockOffset is a comparison of this rank's clock with the clock of rank 0, from the
// exchange of four timestamps with the shortest round trip.
type ClockOffset struct {
	// OffsetNS is the clock of rank 0 minus this rank's clock: a time of this shard plus
	// OffsetNS is the time on rank 0's clock.
	OffsetNS int64 `json:"offset_ns"`
	// BoundNS bounds the error of OffsetNS: half of the shortest round trip.
	BoundNS   int64  `json:"bound_ns"`
	AtNS      uint64 `json:"at_ns"`     // of the exchange, on this rank's clock
	Exchanges int    `json:"exchanges"` // only the one with the shortest round trip counts
}

// LevelShare is the part of a level's load that a rank sent. The experiment's Mode and
// Value describe the whole level.
type LevelShare struct {
	// Value is this rank's part of the experiment's value, as a number text: its slots
	// ("4" of "16"), or its requests per second. "0" is a rank that idles in this level.
	Value string `json:"value"`
	// Requests is the number of measured requests that this rank had to send; nil for a
	// level that is not bounded by a count.
	Requests *int `json:"requests,omitempty"`
	// BeginNS is the instant at which all ranks began the level, on rank 0's clock.
	BeginNS uint64 `json:"begin_ns,omitempty"`
}

// RepeatMeta is a run's place in a series of runs of one command line (pa-record
// --repeat, or several servers with labels).
type RepeatMeta struct {
	// Label is the label of the server that the run was recorded against; "" if the
	// servers of the command line have no labels. Each label has runs 1 to Of.
	Label string `json:"label,omitempty"`
	Index int    `json:"index"` // of this run, from 1
	Of    int    `json:"of"`    // number of runs of the series, with labels of each label
	// Group is the same in all runs of the series and, for all practical
	// purposes, in no others.
	Group string `json:"group"`
	// Order is the order in which the levels were measured; nil if they were measured
	// in the order of the list that was asked for. Order[i] is the index in that list
	// of the level that was measured as number i. A file holds its experiments in the
	// order of the list. A journal holds them in the order of measurement, and its
	// readers sort them.
	Order []int `json:"order,omitempty"`
}

// MergedMeta says that a run was put together from the shards of several ranks, or from the files of several clients, which then
// stand as ranks. All times of such a run are on the clock of rank 0.
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

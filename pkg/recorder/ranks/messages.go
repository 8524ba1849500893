package ranks

// Messages of the handshake, in this order.
type (
	hello struct {
		Version string `json:"version"`
		Nonce   string `json:"nonce"`
		// Strangers explains to a rank why it has to connect so often.
		Strangers Strangers `json:"strangers,omitzero"`
	}
	join struct {
		Version string `json:"version"`
		Rank    int    `json:"rank"`
		Size    int    `json:"size"`
		Nonce   string `json:"nonce"`
		MAC     string `json:"mac"`
	}
	welcome struct {
		Session string `json:"session,omitempty"`
		MAC     string `json:"mac,omitempty"`
		Refused string `json:"refused,omitempty"` // why; the other fields are then empty
	}
)

// Kinds of message after the handshake.
const (
	kindBeat     = "beat"     // both: the sender is alive
	kindReady    = "ready"    // rank: it waits in Meet
	kindMeasure  = "measure"  // server: compare your clock
	kindTime     = "time"     // rank: T0; server: T0, T1 and T2
	kindMeasured = "measured" // rank: its clock is compared
	kindGo       = "go"       // server: all may go on
	kindEnd      = "end"      // both: the run ends, because of Rank and Reason
	kindLost     = "lost"     // server: Rank is gone
	kindFinish   = "finish"   // rank: it has finished a run
	kindBye      = "bye"      // rank: it leaves
)

// A message follows the handshake.
type message struct {
	Kind   string `json:"kind"`
	Seq    int    `json:"seq,omitempty"` // number of the meeting, from 1
	Plan   string `json:"plan,omitempty"`
	Parts  string `json:"parts,omitempty"` // see partsText
	NextID uint64 `json:"next_id,omitempty"`
	T0     uint64 `json:"t0,omitempty"`
	T1     uint64 `json:"t1,omitempty"`
	T2     uint64 `json:"t2,omitempty"`
	// BoundNS is half of the shortest round trip of the rank.
	BoundNS int64  `json:"bound_ns,omitempty"`
	AtNS    uint64 `json:"at_ns,omitempty"` // on the clock of rank 0
	Rank    int    `json:"rank,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Strangers, in a beat, is the count of rank 0 so far.
	Strangers Strangers `json:"strangers,omitzero"`
}

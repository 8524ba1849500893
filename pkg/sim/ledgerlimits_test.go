package sim

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

func TestLedgerLimits(t *testing.T) {
	size := func(n int) int64 { return int64(n) * (entryOverheadBytes + writeOverheadBytes + 1000) }
	rows := []struct {
		name   string
		ledger *ledger
		want   []uint64 // of 5 requests with a write of 1000 bytes each
	}{
		{"no limit reached", &ledger{ledgerOptions: ledgerOptions{Limit: 5, MaxBytes: size(5)}}, []uint64{0, 1, 2, 3, 4}},
		{"newest", &ledger{ledgerOptions: ledgerOptions{Limit: 2, MaxBytes: size(5)}}, []uint64{3, 4}},
		{"first", &ledger{ledgerOptions: ledgerOptions{Limit: 2, MaxBytes: size(5), KeepFirst: true}}, []uint64{0, 1}},
		{"newest by size", &ledger{ledgerOptions: ledgerOptions{Limit: 5, MaxBytes: size(3)}}, []uint64{2, 3, 4}},
		{"first by size", &ledger{ledgerOptions: ledgerOptions{Limit: 5, MaxBytes: size(3), KeepFirst: true}}, []uint64{0, 1, 2}},
		{"first by size, reached within a request", &ledger{ledgerOptions: ledgerOptions{Limit: 5, MaxBytes: size(3) - 1, KeepFirst: true}}, []uint64{0, 1, 2}},
		{"hash only takes less room", &ledger{ledgerOptions: ledgerOptions{Limit: 5, MaxBytes: size(3), HashOnly: true}}, []uint64{0, 1, 2, 3, 4}},
		{"off", &ledger{ledgerOptions: ledgerOptions{Limit: -1, MaxBytes: size(5)}}, nil},
		{"none fits", &ledger{ledgerOptions: ledgerOptions{Limit: 5, MaxBytes: 1}}, nil},
	}
	for _, row := range rows {
		l := row.ledger
		for i := range uint64(5) {
			r := l.Begin(i, OpenAIChat, "")
			r.Started()
			r.Sending(plan.Chunk{Data: make([]byte, 1000), Events: 1})
			r.End(EndOK, 200, "")
		}
		if got := indices(l.Entries()); !slices.Equal(got, row.want) {
			t.Errorf("%s: kept %d, want %d", row.name, got, row.want)
		}
		dropped := uint64(5 - len(row.want))
		if row.ledger.Limit < 0 {
			dropped = 0 // a ledger that keeps nothing drops nothing
		}
		if l.dropped != dropped {
			t.Errorf("%s: %d dropped, want %d", row.name, l.dropped, dropped)
		}
	}
}

// Requests in flight are never dropped, however old.
func TestLedgerKeepsRunning(t *testing.T) {
	l := &ledger{ledgerOptions: ledgerOptions{Limit: 2, MaxBytes: 1 << 20}}
	running := l.Begin(0, OpenAIChat, "")
	for i := range uint64(5) {
		l.Begin(i+1, OpenAIChat, "").End(EndOK, 200, "")
	}
	if got, want := indices(l.Entries()), []uint64{0, 5}; !slices.Equal(got, want) {
		t.Errorf("kept %d, want %d", got, want)
	}
	running.End(EndFault, 0, "")
	running.End(EndOK, 0, "") // the first counts
	if e := l.Entries()[0]; e.End != EndFault {
		t.Errorf("the end is %q, want %q", e.End, EndFault)
	}
}

func TestLedgerUnsent(t *testing.T) {
	l := &ledger{ledgerOptions: ledgerOptions{Limit: 1, MaxBytes: 1 << 20}}
	r := l.Begin(0, OpenAIChat, "")
	r.Sending(plan.Chunk{Data: []byte("a")})
	r.Sending(plan.Chunk{Data: []byte("b")})
	r.Unsent()
	if e := l.Entries()[0]; string(e.Sent()) != "a" {
		t.Errorf("sent %q, want %q", e.Sent(), "a")
	}
}

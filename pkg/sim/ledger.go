package sim

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// ledgerOptions bounds the memory of a ledger.
type ledgerOptions struct {
	Limit     int   // number of entries; negative keeps none
	MaxBytes  int64 // approximate memory of entries that have ended
	KeepFirst bool  // at a limit, keep the first entries instead of the newest
	HashOnly  bool  // keep length and SHA-256 of the sent bytes, not the bytes
	TimesOnly bool  // keep neither the bytes nor their hash
}

// A ledger records the bytes that the server really sent, and when: one [Entry] per request, one [Write] per
// hand-over of bytes to the kernel. The server opens a ledgerRecord when a request arrives and reports each
// write to it:
//
//	r := l.Begin(index, OpenAIChat, remote)
//	r.Started()
//	i := r.Sending(chunk)
//	… write chunk.Data …
//	r.Handed(i, beganNS, chunk.Data, false)
//	r.End(EndOK, 200, "")
//
// Instants are Unix nanoseconds of CLOCK_REALTIME. It holds entries up to its limits. Unless KeepFirst is set, it also keeps every
// request that is still running. Its methods may be called concurrently.
type ledger struct {
	ledgerOptions

	mu      sync.Mutex
	records []*ledgerRecord // in the order of arrival
	bytes   int64           // memory of the ended records
	dropped uint64
}

// Begin opens the entry of a request that has just arrived.
func (l *ledger) Begin(index uint64, p Protocol, remote string) *ledgerRecord {
	now := time.Now()
	r := &ledgerRecord{l: l, Start: now, entry: Entry{
		Index: index, Protocol: p, Remote: remote, ReceivedNS: uint64(now.UnixNano()), Fault: plan.FaultNone.String(),
	}, bytes: entryOverheadBytes}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Limit < 0:
		r.l = nil
		return r
	case l.KeepFirst && (len(l.records) >= l.Limit || l.bytes >= l.MaxBytes):
		l.dropped++
		r.l = nil
		return r
	}
	l.records = append(l.records, r)
	l.evict()
	return r
}

// evict drops the oldest ended entries beyond the limits. The caller holds l.mu.
func (l *ledger) evict() {
	if l.KeepFirst {
		return
	}
	for i := 0; i < len(l.records) && (len(l.records) > l.Limit || l.bytes > l.MaxBytes); {
		r := l.records[i]
		r.mu.Lock()
		ended, size := r.entry.End != EndRunning, r.bytes
		r.mu.Unlock()
		switch {
		case !ended:
			i++
			continue
		case i == 0: // nearly always, and cheap
			l.records[0] = nil
			l.records = l.records[1:]
		default:
			l.records = slices.Delete(l.records, i, i+1)
		}
		l.bytes -= size
		l.dropped++
	}
}

// Entries returns copies of the entries, ordered by index. They share the bytes of
// Write.Data with the ledger, which never changes them.
func (l *ledger) Entries() []Entry {
	l.mu.Lock()
	records := slices.Clone(l.records)
	l.mu.Unlock()
	entries := make([]Entry, 0, len(records))
	for _, r := range records {
		r.mu.Lock()
		e := r.entry
		e.Writes = append(make([]Write, 0, len(e.Writes)), e.Writes...) // [] in JSON, not null
		r.mu.Unlock()
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Index, b.Index) })
	return entries
}

// WriteSince writes the entries from index since on as JSON lines.
func (l *ledger) WriteSince(w io.Writer, since uint64) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, e := range l.Entries() {
		if e.Index < since {
			continue
		}
		if err := enc.Encode(&e); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

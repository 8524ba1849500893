package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// entryOverheadBytes and writeOverheadBytes are the approximate memory of a record
// without its data.
const (
	entryOverheadBytes = 400
	writeOverheadBytes = 100
)

// A ledgerRecord is an entry under construction, or a finished one. Only the goroutine that
// serves the request may use it; the ledger's readers lock it.
type ledgerRecord struct {
	l *ledger // nil: the entry is not kept

	// Start is the origin of the due times: the arrival, then the start of the work.
	Start time.Time
	// Counter counts the request when it ends. Nil counts nothing.
	Counter requestCounter
	// Batch is the batch size of a request to a Triton model; 0 means no batch.
	Batch int
	// Finish is the finish reason of an answer of the OpenAI API.
	Finish string
	// FirstTokenNS and LastTokenNS are when the OpenAI API sent the first and the
	// last tokens so far; 0 before that.
	FirstTokenNS, LastTokenNS uint64

	mu    sync.Mutex
	entry Entry
	bytes int64  // memory of the record
	data  []byte // bytes of the last writes, and room for more
}

// A requestCounter counts requests as they end. The record locks it before it reads the
// time of the end, and unlocks it after Ended. A holder of the lock therefore sees every
// request that ended before.
type requestCounter interface {
	sync.Locker
	// Ended counts r, which is locked.
	Ended(r *ledgerRecord)
}

// Entry returns the entry itself. Only the goroutine that serves the request may read
// it.
func (r *ledgerRecord) Entry() *Entry { return &r.entry }

// Update changes the entry under its lock.
func (r *ledgerRecord) Update(f func(*Entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.entry)
}

// Started marks the start of the work on the request.
func (r *ledgerRecord) Started() {
	r.Start = time.Now()
	r.Update(func(e *Entry) { e.StartedNS = uint64(r.Start.UnixNano()) })
}

// Expect allocates room for n writes, at most 4,096.
func (r *ledgerRecord) Expect(n int) {
	const most = 4096
	if r.l == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entry.Writes = slices.Grow(r.entry.Writes, min(n, most))
}

// Sending records a write just before it happens, so that no client can know of bytes
// that the ledger lacks. It returns the index of the write in the entry. The caller
// then calls Handed, or Unsent if the write failed.
func (r *ledgerRecord) Sending(c plan.Chunk) (index int) {
	if r.l == nil {
		return 0
	}
	w := Write{DueNS: uint64(r.Start.Add(c.At).UnixNano()), Bytes: len(c.Data), Events: c.Events, Tokens: c.Tokens}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += writeOverheadBytes
	r.setContent(&w, c.Data)
	w.SentNS = uint64(time.Now().UnixNano())
	r.entry.Writes = append(r.entry.Writes, w)
	return len(r.entry.Writes) - 1
}

// setContent stores the bytes of a write, or their hash. The caller holds r.mu.
func (r *ledgerRecord) setContent(w *Write, b []byte) {
	switch {
	case r.l.TimesOnly:
	case r.l.HashOnly:
		sum := sha256.Sum256(b)
		w.SHA256 = hex.EncodeToString(sum[:])
	default:
		w.Data = r.keep(b)
	}
}

// keep copies b behind the bytes of earlier writes: one allocation per write would cost
// more than the copy. The caller holds r.mu.
func (r *ledgerRecord) keep(b []byte) []byte {
	const least, most = 1 << 10, 32 << 10
	if cap(r.data)-len(r.data) < len(b) {
		r.data = make([]byte, 0, max(len(b), min(max(least, 2*cap(r.data)), most)))
	}
	r.bytes += int64(len(b))
	begin := len(r.data)
	r.data = append(r.data, b...)
	return r.data[begin:len(r.data):len(r.data)]
}

// Handed records when a write began. If stamped, the tokens in b show that time (see
// plan.Stamp), and the ledger stores them with it.
func (r *ledgerRecord) Handed(index int, ns uint64, b []byte, stamped bool) {
	if r.l == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &r.entry.Writes[index]
	w.SentNS = ns
	if stamped && !r.l.TimesOnly {
		b = slices.Clone(b)
		plan.FillStamps(b, ns)
		r.setContent(w, b) // not in place: readers of the entry share its bytes
	}
}

// Left records when the kernel sent a write.
func (r *ledgerRecord) Left(index int, ns uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if index < len(r.entry.Writes) {
		r.entry.Writes[index].KernelNS = ns
	}
}

// Unsent removes the last write, which failed.
func (r *ledgerRecord) Unsent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.entry.Writes); n > 0 {
		r.entry.Writes = r.entry.Writes[:n-1]
	}
}

// End closes the entry. Only the first call has an effect.
func (r *ledgerRecord) End(end End, code int, message string) {
	r.mu.Lock()
	if r.entry.End != EndRunning {
		r.mu.Unlock()
		return
	}
	r.entry.End, r.entry.Code, r.entry.Message = end, code, sanitize.Cut(message, maxMessageBytes)
	if r.Counter != nil {
		r.Counter.Lock()
	}
	r.entry.EndedNS = uint64(time.Now().UnixNano())
	if r.Counter != nil {
		r.Counter.Ended(r)
		r.Counter.Unlock()
	}
	size := r.bytes
	r.mu.Unlock()
	if r.l != nil {
		r.l.mu.Lock()
		r.l.bytes += size
		r.l.evict()
		r.l.mu.Unlock()
	}
}

// GaveUp reports whether the client went away or the server closed before the request
// ended.
func (r *ledgerRecord) GaveUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entry.End == EndClientGone || r.entry.End == EndServerClosed
}

// maxMessageBytes bounds an error text in the ledger.
const maxMessageBytes = 1 << 10

package sim

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Protocol is the API that a request came by.
type Protocol string

// The protocols.
const (
	OpenAIChat           Protocol = "openai_chat"            // POST /v1/chat/completions
	OpenAICompletions    Protocol = "openai_completions"     // POST /v1/completions
	OpenAIResponses      Protocol = "openai_responses"       // POST /v1/responses
	OpenAIEmbeddings     Protocol = "openai_embeddings"      // POST /v1/embeddings
	OpenAIRanking        Protocol = "openai_ranking"         // POST /v1/ranking, /rerank, /v1/rerank, /v2/rerank
	TritonGRPCInfer      Protocol = "triton_grpc_infer"      // ModelInfer
	TritonGRPCStream     Protocol = "triton_grpc_stream"     // a request of ModelStreamInfer
	TritonHTTPInfer      Protocol = "triton_http_infer"      // POST /v2/models/M/infer
	TritonGenerate       Protocol = "triton_generate"        // POST /v2/models/M/generate
	TritonGenerateStream Protocol = "triton_generate_stream" // POST /v2/models/M/generate_stream
)

// An End says how the server's work on a request ended.
type End string

// The ends.
const (
	EndRunning      End = ""              // not yet
	EndOK           End = "ok"            // all was sent; faults of framing end like this too
	EndError        End = "error"         // refused, or an error was sent: Code and Message
	EndFault        End = "fault"         // a fault cut it short
	EndClientGone   End = "client_gone"   // the client went away or cancelled
	EndServerClosed End = "server_closed" // the server was closed
)

// An Entry is the record of one request. All instants are Unix nanoseconds of
// CLOCK_REALTIME, 0 where the thing did not happen. The JSON form is one line
// of [Server.WriteLedger] and of GET /ledger.
type Entry struct {
	// Index counts the requests from 0 in the order of their arrival.
	Index    uint64   `json:"index"`
	Protocol Protocol `json:"protocol"`
	// ID is the id in the server's answer (OpenAI), or the request's own id as
	// received (Triton).
	ID string `json:"id"`
	// Model is the model's name as asked for.
	Model string `json:"model"`
	// Remote is the client's address.
	Remote string `json:"remote"`
	// ReceivedNS is when the request's header (HTTP) or message (gRPC) was read.
	ReceivedNS uint64 `json:"received_ns"`
	// ReceivedKernelNS is the kernel's stamp of the read that completed the
	// request: when its last segment arrived. 0 where that is not known, as over
	// gRPC for a call that shares its connection and has no name (see
	// StreamHeader).
	ReceivedKernelNS uint64 `json:"received_kernel_ns,omitempty"`
	// StartedNS is when work on it began: it was read whole and had a slot. The
	// due times of the tokens count from here.
	StartedNS uint64 `json:"started_ns"`
	// RequestBytes is the size of the request's body or message.
	RequestBytes int `json:"request_bytes"`
	// InputTokens and OutputTokens are the counts as in usage; OutputTokens is
	// what was planned, of all choices together.
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// SequenceID, SequenceStart and SequenceEnd are what a request to a model that
	// keeps state said of its place in a sequence.
	SequenceID    uint64 `json:"sequence_id,omitempty"`
	SequenceStart bool   `json:"sequence_start,omitempty"`
	SequenceEnd   bool   `json:"sequence_end,omitempty"`
	// Fault is the fault that was to strike; "none" usually.
	Fault string `json:"fault"`
	// Writes is what was sent, in order, without the HTTP header and without
	// the framing of HTTP chunks and gRPC messages. Data of a write that failed
	// is not there.
	Writes []Write `json:"writes"`
	// EndedNS is when the last was handed over, or the request was given up.
	EndedNS uint64 `json:"ended_ns"`
	End     End    `json:"end"`
	// Code is the HTTP status, or the gRPC code of an error; Message is the
	// error's text.
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// A Write is one hand-over of bytes to the kernel.
type Write struct {
	// SentNS was read from the clock right before the write: over HTTP below
	// all buffers, so that only TLS lies between it and the kernel; over gRPC
	// before the message was given to the library, which writes it in another
	// goroutine, some time after.
	SentNS uint64 `json:"sent_ns"`
	// KernelNS is when the kernel handed the last byte to the device; 0 where
	// that is not known. Over HTTP it is asked for with Config.KernelSends only,
	// and comes some writes later. Messages of Triton's gRPC streams have it, a
	// message late; not those of streams that share a connection and have no
	// name (see StreamHeader).
	KernelNS uint64 `json:"kernel_ns,omitempty"`
	// DueNS is when the plan wanted it.
	DueNS uint64 `json:"due_ns"`
	// Bytes is the number of bytes.
	Bytes int `json:"bytes"`
	// Events is the number of events (or messages) whose last byte is in this
	// write, SSE comments not counted; Tokens the number of their output tokens.
	Events int `json:"events"`
	Tokens int `json:"tokens"`
	// Data is the bytes, base64 in JSON; nil with Config.LedgerHashOnly and
	// Config.LedgerTimesOnly.
	Data []byte `json:"data,omitempty"`
	// SHA256 is the hash of the bytes in hexadecimal, with LedgerHashOnly only.
	SHA256 string `json:"sha256,omitempty"`
}

// EventTimesNS returns for each event (or message) that the client could see
// whole when its last byte was sent.
func (e *Entry) EventTimesNS() []uint64 {
	var times []uint64
	for _, w := range e.Writes {
		for range w.Events {
			times = append(times, w.SentNS)
		}
	}
	return times
}

// TokenTimesNS returns for each output token when its event's last byte was
// sent.
func (e *Entry) TokenTimesNS() []uint64 {
	var times []uint64
	for _, w := range e.Writes {
		for range w.Tokens {
			times = append(times, w.SentNS)
		}
	}
	return times
}

// Sent returns all bytes that were sent. Nil with Config.LedgerHashOnly and
// Config.LedgerTimesOnly.
func (e *Entry) Sent() []byte {
	var b []byte
	for _, w := range e.Writes {
		b = append(b, w.Data...)
	}
	return b
}

// entryOverheadBytes and writeOverheadBytes are what a record costs beside its
// data, about.
const (
	entryOverheadBytes = 400
	writeOverheadBytes = 100
)

// A ledger holds the entries within its limits.
type ledger struct {
	limit     int   // < 0: keeps nothing
	maxBytes  int64 // of ended entries
	keepFirst bool
	hashOnly  bool
	timesOnly bool

	mu      sync.Mutex
	records []*record // in the order of arrival
	bytes   int64     // of the ended ones
	dropped uint64
}

// A record is an entry under construction, or ended. It is used by the one
// goroutine that serves the request; readers lock it.
type record struct {
	l     *ledger
	start time.Time

	mu    sync.Mutex
	entry Entry
	tally tally  // counts the request when it ends; nil: nobody does
	batch int    // of a Triton model's request; 0 has none
	bytes int64  // what it costs in memory
	data  []byte // that of the last writes, and room for more

	// Of a request to the OpenAI API, and used by the goroutine that serves it:
	// when its first and its last tokens were sent, and why the answer ends.
	firstTokenNS, lastTokenNS uint64
	finish                    string
}

// A tally counts requests as they end. It is locked from before the time of the
// end is read until the request is counted: who locks it sees every request that
// ended before.
type tally interface {
	sync.Locker
	// ended counts r, whose mu is held.
	ended(r *record)
}

// begin opens the entry of a request.
func (l *ledger) begin(index uint64, p Protocol, remote string) *record {
	now := time.Now()
	r := &record{l: l, start: now, entry: Entry{
		Index: index, Protocol: p, Remote: remote, ReceivedNS: uint64(now.UnixNano()), Fault: FaultNone.String(),
	}, bytes: entryOverheadBytes}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.limit < 0:
		r.l = nil
		return r
	case l.keepFirst && (len(l.records) >= l.limit || l.bytes >= l.maxBytes):
		l.dropped++
		r.l = nil
		return r
	}
	l.records = append(l.records, r)
	l.evict()
	return r
}

// evict drops the oldest ended entries beyond the limits. l.mu is held.
func (l *ledger) evict() {
	if l.keepFirst {
		return
	}
	for i := 0; i < len(l.records) && (len(l.records) > l.limit || l.bytes > l.maxBytes); {
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

// update changes the entry's head.
func (r *record) update(f func(*Entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.entry)
}

// started marks the begin of the work on the request.
func (r *record) started() {
	r.start = time.Now()
	r.update(func(e *Entry) { e.StartedNS = uint64(r.start.UnixNano()) })
}

// expect makes room for so many writes.
func (r *record) expect(n int) {
	const most = 4096
	if r.l == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entry.Writes = slices.Grow(r.entry.Writes, min(n, most))
}

// sending records a write right before it is done, so that no client can know
// of bytes that the ledger does not. The caller says with handed what became of
// it, or takes it back with unsent when the write fails. It returns the write's
// number in the entry.
func (r *record) sending(w write) (number int) {
	if r.l == nil {
		return 0
	}
	rec := Write{DueNS: uint64(r.start.Add(w.at).UnixNano()), Bytes: len(w.data), Events: w.events, Tokens: w.tokens}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += writeOverheadBytes
	r.content(&rec, w.data)
	rec.SentNS = uint64(time.Now().UnixNano())
	r.entry.Writes = append(r.entry.Writes, rec)
	return len(r.entry.Writes) - 1
}

// content enters what is kept of the bytes of a write. r.mu is held.
func (r *record) content(rec *Write, b []byte) {
	switch {
	case r.l.timesOnly:
	case r.l.hashOnly:
		sum := sha256.Sum256(b)
		rec.SHA256 = hex.EncodeToString(sum[:])
	default:
		rec.Data = r.keep(b)
	}
}

// keep returns a copy of b that lies beside those before it: an allocation for
// each would cost more than the copy. r.mu is held.
func (r *record) keep(b []byte) []byte {
	const least, most = 1 << 10, 32 << 10
	if cap(r.data)-len(r.data) < len(b) {
		r.data = make([]byte, 0, max(len(b), min(max(least, 2*cap(r.data)), most)))
	}
	r.bytes += int64(len(b))
	begin := len(r.data)
	r.data = append(r.data, b...)
	return r.data[begin:len(r.data):len(r.data)]
}

// handed notes when a write began, and what it was if its tokens show that time
// (see Stamp).
func (r *record) handed(number int, ns uint64, b []byte, stamped bool) {
	if r.l == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &r.entry.Writes[number]
	w.SentNS = ns
	if stamped && !r.l.timesOnly {
		b = slices.Clone(b)
		fillStamps(b, ns)
		r.content(w, b) // not in place: whoever has read the entry shares it
	}
}

// left notes when the kernel let a write go.
func (r *record) left(number int, ns uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number < len(r.entry.Writes) {
		r.entry.Writes[number].KernelNS = ns
	}
}

func (r *record) unsent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.entry.Writes); n > 0 {
		r.entry.Writes = r.entry.Writes[:n-1]
	}
}

// end closes the entry; the first call counts.
func (r *record) end(end End, code int, message string) {
	r.mu.Lock()
	if r.entry.End != EndRunning {
		r.mu.Unlock()
		return
	}
	r.entry.End, r.entry.Code, r.entry.Message = end, code, clipMessage(message)
	if r.tally != nil {
		r.tally.Lock()
	}
	r.entry.EndedNS = uint64(time.Now().UnixNano())
	if r.tally != nil {
		r.tally.ended(r)
		r.tally.Unlock()
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

// gaveUp says whether the request was left unanswered, or not answered whole,
// for another reason than a fault.
func (r *record) gaveUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entry.End == EndClientGone || r.entry.End == EndServerClosed
}

// entries returns copies in the order of the indices. Data is shared: it never
// changes once written.
func (l *ledger) entries() []Entry {
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

// writeTo writes the entries from index since on as JSON lines.
func (l *ledger) writeTo(w io.Writer, since uint64) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, e := range l.entries() {
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

// clipMessage bounds an error text in the ledger.
func clipMessage(s string) string {
	const most = 1 << 10
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}

package kserve

import (
	"slices"

	"google.golang.org/grpc"

	"github.com/pa-tools/pa/internal/grpcconn"
	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A follower knows the stamps of the messages of a connection, as an [h2follow.Follower] does.
type follower interface {
	Message(stream uint32, k int) (st sockstamp.Stamp, ok bool)
	First(stream uint32, k int) (st sockstamp.Stamp, ok bool)
	Sent(stream uint32, k int) (start, sent sockstamp.Stamp, ok bool)
	SentInPart(stream uint32, k int) (start, sent sockstamp.Stamp, ok bool)
	Revised(ordinal uint64) []sockstamp.Stamp
	Complete(stream uint32)
	Forget(stream uint32)
}

var _ follower = (*h2follow.Follower)(nil)

// A streamStamps finds the stamps of the socket's reads and writes for the messages of
// one call. The zero value is ready for a call without messages.
//
// The library tells neither the number of a call's HTTP/2 stream nor which reads
// brought a message. A follower below it sees both. A slot with a connection of its
// own has one call at a time, on the newest stream. On a shared connection each call
// carries the name of its slot, and the slot's call is the newest of that name.
type streamStamps struct {
	name     string   // name of the slot; "" on a connection of its own
	follower follower // nil: none, or not looked up yet
	looked   bool
	stream   uint32
	received int // messages so far
	sent     int

	ordinal uint64 // ordinal of the read that completed the last message; 0: unknown

	// Ordinals of the reads that brought the responses of the current request; 0: unknown.
	first uint64   // read that brought the first byte
	ends  []uint64 // reads that completed the responses
}

// look looks for the stream of cs, once. The library forbids that before RecvMsg has returned or the
// call has failed.
func (t *streamStamps) look(cs grpc.ClientStream) {
	if t.looked {
		return
	}
	t.looked = true
	f, ok := grpcconn.FromContext(cs.Context())
	if !ok {
		return
	}
	stream := f.Newest()
	if t.name != "" {
		if stream, ok = f.Stream(t.name); !ok {
			return
		}
	}
	t.follower, t.stream = f, stream
}

// message returns the stamp of the message that cs has just received; ok is false if there
// is none. same reports that the read that completed the message also completed the
// previous one.
func (t *streamStamps) message(cs grpc.ClientStream) (st sockstamp.Stamp, same, ok bool) {
	t.look(cs)
	k := t.received
	t.received++
	if t.follower == nil {
		return sockstamp.Stamp{}, false, false
	}
	st, ok = t.follower.Message(t.stream, k)
	if !ok {
		t.ordinal = 0
		return sockstamp.Stamp{}, false, false
	}
	same = st.Ordinal == t.ordinal
	t.ordinal = st.Ordinal
	return st, same, true
}

// begin begins a request of the call.
func (t *streamStamps) begin() { t.first, t.ends = 0, t.ends[:0] }

// keep notes that the last message is a response of the request.
func (t *streamStamps) keep() { t.ends = append(t.ends, t.ordinal) }

// revise replaces the kernel's stamps of the responses of x, which are complete, where
// they may be too early.
func (t *streamStamps) revise(x *backend.Exchange, clock *rxclock.Clock) {
	r := &x.Request
	if t.follower == nil || len(t.ends) != len(r.Responses) {
		return // no stamps, or the answer was cut
	}
	known := slices.DeleteFunc(append([]uint64{t.first}, t.ends...), func(ordinal uint64) bool { return ordinal == 0 })
	if len(known) == 0 {
		return
	}
	revised := t.follower.Revised(slices.Min(known) - 1)
	for _, st := range revised {
		ns := clock.FromWall(st.NS)
		if st.Ordinal == t.first {
			r.FirstByteNS = ns
		}
		for i, end := range t.ends {
			if p := &r.Responses[i]; end == st.Ordinal && p.Source == export.SourceKernel {
				p.RecvNS, p.Source = ns, export.SourceUser
				x.Waited++
			}
		}
	}
}

// firstByte returns the time at which the first byte of the last message arrived; 0 if unknown. The
// last message must be the first message of a request.
func (t *streamStamps) firstByte(clock *rxclock.Clock) uint64 {
	if t.follower == nil {
		return 0
	}
	st, ok := t.follower.First(t.stream, t.received-1)
	if !ok {
		return 0
	}
	t.first = st.Ordinal
	return clock.FromWall(st.NS)
}

// complete tells the connection that the request needs no more revised stamps. Call it after revise.
func (t *streamStamps) complete() {
	if t.follower != nil {
		t.follower.Complete(t.stream)
	}
}

// forget frees the connection's stamps of a call that is over.
func (t *streamStamps) forget() {
	if t.follower != nil {
		t.follower.Forget(t.stream)
	}
}

// request sets in r when request number k of the call left. Call it when the first
// answer to the request is there.
func (t *streamStamps) request(r *export.Request, k int, clock *rxclock.Clock) {
	if t.follower == nil {
		return
	}
	start, sent, ok := t.follower.Sent(t.stream, k)
	if !ok {
		start, sent, ok = t.follower.SentInPart(t.stream, k)
	}
	if !ok {
		return
	}
	r.StartNS, r.StartSource = clock.FromWall(start.NS), export.StampSource(start.Source)
	r.SentNS = max(r.StartNS, clock.FromWall(sent.NS))
}

// hold keeps the kernel's stamps on until the backend is closed.
func (b *Backend) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.release == nil && !b.cfg.UserStamps {
		b.release = sockstamp.Hold()
	}
}

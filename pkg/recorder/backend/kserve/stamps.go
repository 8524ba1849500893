package kserve

import (
	"google.golang.org/grpc"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/grpcstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A trail is what is known of the socket's reads and writes behind the messages
// of one call. The zero value is that of a call without messages.
//
// The library neither tells the number of a call's HTTP/2 stream nor which
// reads brought a message. A follower below it sees both. On a connection of
// its own a slot has one call at a time: the newest stream is that call's. On a
// shared one the calls bear their slot's name, and the newest of that name is
// the slot's.
type trail struct {
	name     string             // of the slot; "": the connection is its own
	follower *h2follow.Follower // nil: none, or not looked for yet
	looked   bool
	stream   uint32
	received int // messages so far
	sent     int

	ordinal uint64 // of the read behind the last message; 0: not known
}

// message returns the stamp of the message that cs has just received, on the
// run's clock; ok is false where nobody followed it. same says that it came
// with the same read as the one before.
func (t *trail) message(cs grpc.ClientStream, clock *rxclock.Clock) (ns uint64, source export.StampSource, same, ok bool) {
	if !t.looked {
		t.looked = true
		// Not before the first message: the library forbids it.
		if f, ok := grpcstamp.FromContext(cs.Context()); ok {
			t.follower, t.stream = f, f.Newest()
			if t.name != "" {
				if t.stream, ok = f.Stream(t.name); !ok {
					t.follower = nil
				}
			}
		}
	}
	k := t.received
	t.received++
	if t.follower == nil {
		return 0, 0, false, false
	}
	st, ok := t.follower.Message(t.stream, k)
	if !ok {
		t.ordinal = 0
		return 0, 0, false, false
	}
	same = st.Ordinal == t.ordinal
	t.ordinal = st.Ordinal
	return clock.FromWall(st.NS), export.StampSource(st.Source), same, true
}

// firstByte returns when the first byte of the last message came, 0 where that
// is not known.
func (t *trail) firstByte(clock *rxclock.Clock) uint64 {
	if t.follower == nil {
		return 0
	}
	st, ok := t.follower.First(t.stream, t.received-1)
	if !ok {
		return 0
	}
	return clock.FromWall(st.NS)
}

// forget drops what the connection knows of a call that is over.
func (t *trail) forget() {
	if t.follower != nil {
		t.follower.Forget(t.stream)
	}
}

// request sets when request number k of the call left. To be called when its
// first answer is there.
func (t *trail) request(r *export.Request, k int, clock *rxclock.Clock) {
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

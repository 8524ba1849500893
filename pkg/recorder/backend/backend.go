package backend

import (
	"context"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Backend speaks one protocol to one server (or several, round robin).
type Backend interface {
	// Check verifies before the load that the server is there and ready and
	// knows the model, and learns what Prepare needs (model metadata). The
	// error is one line that names the URL and says what to check.
	Check(ctx context.Context) error
	// Model returns the name of the model that is asked for; it is known after
	// Check.
	Model() string
	// Prepare turns an entry into what will be sent, ready as bytes. It is
	// called after Check for every entry before the load, and again during the
	// load, beside Open, Send and Decode, for workloads that do not fit in
	// memory. There is one call at a time, but not always from the same
	// goroutine. The payload may be sent many times and concurrently, so Send
	// must not change it. PrepareBatch, where there is one, is called likewise.
	Prepare(e *workload.Entry) (Payload, error)
	// Open returns the sender of slot number slot. Slots are opened before the
	// load and, where a schedule needs more of them, during it, each once, and
	// several at a time; they are closed after the load. ctx ends when the run is
	// stopped: Open must return soon then.
	Open(ctx context.Context, slot int) (Sender, error)
	// Decode fills Outputs, Final and Error of x.Request.Responses and
	// x.Tokens from x.Raw, and may turn Status from ok into an error that only the decoded
	// bytes show. It is called once per exchange, one call at a time, while other
	// exchanges are under way.
	Decode(x *Exchange) error
	// Close releases what the backend holds, after all senders are closed.
	Close() error
}

// A Payload is a prepared request. Its dynamic type belongs to the backend.
type Payload interface {
	// Inputs is what the export shows under request_inputs. Shared by all
	// requests of the payload; not to be changed.
	Inputs() export.Fields
}

// A Sender sends one request at a time; each slot has its own.
type Sender interface {
	// Send performs one exchange: it sends p and reads the answer to its end
	// or until ctx is done. It fills in x.Request the times from IssuedNS on,
	// Responses (without outputs), Status, Code, Message and ServerID, and
	// x.Raw. A failure is data, so there is no error result. When ctx is done
	// Status is cancelled, or timeout if the request's own deadline
	// (context.DeadlineExceeded) was the cause.
	//
	// x.Request.ID is set by the caller and unique in the run.
	Send(ctx context.Context, p Payload, x *Exchange)
	// Close ends the sender's connection.
	Close() error
}

// An Exchange is a request with its answer's undecoded bytes.
type Exchange struct {
	Request export.Request
	// Raw[i] is what Request.Responses[i] came from: an event with its
	// framing, a gRPC message, a body.
	Raw [][]byte
	// Received, if not nil, is told by Send how many responses there are, each time
	// that there is one more. It may be called by any goroutine, one at a time, and
	// must not wait.
	Received func(responses int)
	// Sequence is the place of the request in a sequence; set by the caller.
	Sequence SequenceStep
	// HeldBack says that the request was due before and waited for others to end,
	// because so many may be in flight and no more. It is for the recorder.
	HeldBack bool
	// Sent is what Send was given, if Decode needs to know it.
	Sent Payload
	// Tokens is filled in by Decode. It is for showing and judging the run
	// while it goes on; what a token is, analysis decides.
	Tokens Tokens
}

// Tokens says which responses of an exchange add output. The zero value says
// none.
type Tokens struct {
	N           int // pieces of output
	First, Last int // indices of the responses with the first and last; nothing when N is 0
}

// Add counts a piece of output in response i; i does not decrease.
func (t *Tokens) Add(i int) {
	if t.N == 0 {
		t.First = i
	}
	t.N, t.Last = t.N+1, i
}

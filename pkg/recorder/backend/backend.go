package backend

import (
	"context"
	"sync/atomic"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Backend speaks one protocol to one server. [ByModel] and [RoundRobin] make one of several.
//
// recorder.Run calls Open from several goroutines at the same time, and each other method
// from one goroutine at a time. Prepare, Open, Decode and the methods
// of senders and conversations run concurrently during the load.
type Backend interface {
	// Check verifies before the load that the server is reachable, ready and knows
	// the model, and learns what Prepare needs (model metadata). Run calls it again
	// until it succeeds or recorder.Config.WaitReady is over. ctx has the timeout of
	// a request. The error is one line that names the URL and says what to check.
	Check(ctx context.Context) error
	// Model returns the name of the model that requests go to. Run calls it after
	// Check.
	Model() string
	// Prepare encodes an entry. Run calls it after Check for every entry before the
	// load, and again during the load, beside Open, Send and Decode, for workloads
	// that do not fit in memory. Calls come one at a time, but not always from the
	// same goroutine. The payload may be sent many times and concurrently, so Send
	// must not change it.
	Prepare(e *workload.Entry) (Payload, error)
	// Open returns the sender of slot number slot, all of whose times are times of
	// clock. Run opens slots before the load
	// and, where a schedule needs more of them, during it: each until it succeeds
	// once, several at the same time. It closes the senders after the last level.
	// ctx ends when the run is stopped; Open must return soon then.
	Open(ctx context.Context, slot int, clock *rxclock.Clock) (Sender, error)
	// Decode fills Outputs, Final and Error of x.Request.Responses and x.Tokens from
	// x.Raw. It may change Status from ok to an error that appears only in the decoded
	// bytes; an error that it returns makes a successful request a protocol error. Run
	// calls it once per exchange, also a failed one, from one goroutine, while other
	// exchanges are under way.
	Decode(x *Exchange) error
	// Close releases the resources of the backend. The caller of Run calls it after
	// Run; all senders are closed then.
	Close() error
}

// Payload is an encoded request. Its dynamic type belongs to the backend.
type Payload interface {
	// Inputs returns the fields that the export shows under request_inputs. All requests
	// of the payload share them and must not change them.
	Inputs() export.Fields
}

// Sender sends the requests of one slot, one at a time.
type Sender interface {
	// Send performs one exchange in the goroutine of its slot: it sends p and reads
	// the response to its end or until ctx is done. It fills in x.Request the times
	// from IssuedNS on, Status, Code, Message, RequestID and ServerID, and passes each response to
	// x.Respond or x.RespondOwned. A response has its time with the source and the number
	// of its read, and no outputs yet; responses with one number arrived together. A
	// failure is data, so there is no error result. When ctx is done Status is cancelled, or timeout if the request's own
	// deadline (context.DeadlineExceeded) was the cause.
	//
	// The caller sets x.Request.ID, which is unique in the run, and x.Request.FailedNS.
	Send(ctx context.Context, p Payload, x *Exchange)
	// Close ends the sender's connection. No Send is under way then.
	Close() error
}

// Exchange is a request with the undecoded bytes of its responses.
type Exchange struct {
	Request export.Request
	// Raw[i] holds the bytes of Request.Responses[i]: an event with its framing, a
	// gRPC message, a body. After Pack it is nil until Unpack.
	Raw [][]byte
	// Received, if not nil, takes the number of responses so far. Respond calls it for
	// each further response, from any goroutine, one call at a time. It must not wait.
	Received func(responses int)
	// Arrived, if not nil, counts the responses as they arrive. Respond adds 1 for each.
	Arrived *atomic.Uint64
	// Sequence is the place of the request in a sequence. The caller sets it.
	Sequence SequenceStep
	// Line is the agent of a session that sends the request; nil for a request of no session. The caller
	// sets it.
	Line *Line
	// HeldBack says that the request was due earlier and waited for others to end,
	// because the level bounds the requests in flight. The recorder uses it.
	HeldBack bool
	// Waited counts the responses whose bytes may have waited for a lost or overtaken
	// segment. The kernel's time would be too early, so they have the time of the read,
	// with export.SourceUser.
	Waited int
	// Compressed says that the answer was compressed, and not an error.
	Compressed bool
	// Sent is what Send keeps for Decode, usually its payload; nil if Decode needs
	// nothing.
	Sent Payload
	// Tokens is filled in by Decode, for the progress display and the client
	// statistics. Analysis counts tokens by its own definitions.
	Tokens Tokens

	packed  *packed  // nil: Raw holds the bytes from the start
	scratch *Scratch // of Unpack
}

// Tokens says which responses of an exchange add output. The zero value means none.
type Tokens struct {
	N           int // pieces of output
	First, Last int // indices of the responses with the first and last piece; undefined when N is 0
	// Several says that the pieces belong to several choices of the answer.
	Several bool
	// Whole says that the answer was one body, which is no stream whatever the request asked for.
	Whole bool
	// ServerTimes says that the answer states a time of export.ServerDetails before the first token.
	ServerTimes bool
}

// Add counts a piece of output in response i; i does not decrease.
func (t *Tokens) Add(i int) {
	if t.N == 0 {
		t.First = i
	}
	t.N, t.Last = t.N+1, i
}

package backend

import "github.com/pa-tools/pa/pkg/recorder/workload"

// The interfaces in this file are optional: the recorder asks for them by type
// assertion.

// Batcher is implemented by backends whose requests can hold several entries. The
// recorder calls PrepareBatch as concurrently as Backend.Prepare.
type Batcher interface {
	// PrepareBatch encodes the entries as one request.
	PrepareBatch(es []*workload.Entry) (Payload, error)
}

// Streamer is implemented by payloads that know whether they ask for a streamed
// response.
type Streamer interface {
	Streamed() bool
}

// Modeler is implemented by payloads that name their model; "" is unknown.
type Modeler interface {
	Model() string
}

// Warner is implemented by backends whose Check can succeed and still produce warnings
// for the user, before the load begins.
type Warner interface {
	// CheckWarnings returns the warnings of the last Check; nil if there are none.
	CheckWarnings() []Warning
}

// A Warning is something that Check found and that does not prevent the load.
type Warning struct {
	Text string // one line; names the URL
	// IfRefused says what to do when the server refuses the first requests; "" means
	// nothing.
	IfRefused string
}

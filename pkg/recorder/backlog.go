package recorder

import (
	"github.com/pa-tools/pa/pkg/export"
)

// backlogger is implemented by writers that keep requests in memory and write them
// later, so that no call waits for the disk.
type backlogger interface {
	// Backlog returns how many bytes wait to be written, and how many may wait. The
	// writer accepts more than room, because a run that ends needs it; the recorder
	// keeps the excess small.
	Backlog() (waiting, room int64)
}

// maxUndecodedBytes bounds the answers that wait to be decoded. Streams that run in step
// end together: a thousand of them with half a megabyte each must not stop the run.
const maxUndecodedBytes = 1 << 30

// limitBacklog bounds the memory of waiting requests before r joins them. It drops the
// outputs of r when three quarters of the writer's room are taken. It ends the run when
// all of the room is taken, or when maxUndecodedBytes of answers wait to be decoded.
func (l *levelRun) limitBacklog(r *export.Request) {
	if waiting := l.completed.Bytes(); waiting >= maxUndecodedBytes {
		l.abandon(&BacklogError{Waiting: waiting, Decode: true})
	}
	b, ok := l.cfg.Writer.(backlogger)
	if !ok {
		return
	}
	waiting, room := b.Backlog()
	if waiting > room/4*3 && dropOutputs(r) {
		l.dropped++
	}
	if waiting >= room {
		l.abandon(&BacklogError{Waiting: waiting})
	}
}

// dropOutputs removes the outputs of r and reports whether there were any.
func dropOutputs(r *export.Request) bool {
	for i := range r.Responses {
		if r.Responses[i].Outputs != nil {
			r.Responses[i].Outputs = nil
			r.OutputsDropped = true
		}
	}
	return r.OutputsDropped
}

package drive

import (
	"context"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// slotFeed supplies the requests of one slot: the next ones of the stage, or the
// requests of its sequences. It belongs to the slot's goroutine.
type slotFeed struct {
	*Stage
	seq *sequence // the live one; nil: none
}

// prepare returns the next request: number number of the stage, or the next one of the
// slot's sequence.
func (f *slotFeed) prepare(number int) (preparedRequest, bool) {
	if f.Sequences == nil {
		return f.Requests.take(number)
	}
	if f.seq == nil {
		f.seq = f.Sequences.begin()
	}
	return f.Sequences.request(f.seq)
}

// step returns the place in its sequence of the request that was prepared last. closing
// makes it the last one.
func (f *slotFeed) step(closing bool) backend.SequenceStep {
	if f.seq == nil {
		return backend.SequenceStep{}
	}
	return backend.SequenceStep{ID: f.seq.id, Start: f.seq.sent == 0, End: closing || f.seq.sent == f.seq.length-1}
}

// sent notes how the request ended. A failed request ends its sequence, because the
// server lacks it for the requests that would follow.
func (f *slotFeed) sent(x *backend.Exchange) {
	if f.seq == nil {
		return
	}
	f.seq.sent++
	ok := x.Request.Status == export.StatusOK
	if x.Sequence.End || !ok {
		f.Sequences.end(f.seq, !ok && !x.Sequence.End)
		f.seq = nil
	}
}

// close ends a sequence that is under way when the load is over by one more request, as
// perf_analyzer does. A sequence that has not begun needs none.
func (f *slotFeed) close(ctx context.Context, worker int, sender backend.Sender) {
	if f.seq == nil {
		return
	}
	if f.seq.sent == 0 || ctx.Err() != nil {
		f.Sequences.end(f.seq, false)
		f.seq = nil
		return
	}
	if p, ok := f.prepare(0); ok {
		x := f.exchange(ctx, worker, sender, dispatch{ticket: f.Admission.admitExtra(), preparedRequest: p, step: f.step(true)})
		f.sent(x)
		f.Completed.Put(x)
	}
}

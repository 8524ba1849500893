package journal

import (
	"context"
	"time"
)

// smallJournalBytes is the largest size of a small journal. Its exports are written in a
// fraction of a second on any machine that is not overloaded.
const smallJournalBytes = 2 << 20

// timeToWrite returns how long writing the exports may take after the context of the run
// ended. A small journal gets time for a slow machine; it rarely needs the time. A program
// that must end within a second of a signal has the rest of it.
func timeToWrite(journalBytes int64) time.Duration {
	if journalBytes <= smallJournalBytes {
		return 400 * time.Millisecond
	}
	return 250 * time.Millisecond
}

// outlive returns a context that ends d after ctx, with the same cause. A run that must
// end at once thus still writes its export if that takes less than d. If ctx has ended
// already, d counts from now. release frees the context.
func outlive(ctx context.Context, d time.Duration) (longer context.Context, release func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil && d <= 0 {
		cancel(context.Cause(ctx))
	}
	stop := context.AfterFunc(ctx, func() { // ends with longer
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

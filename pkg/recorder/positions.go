package recorder

import (
	"context"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// A Renewal says what Config.Renew did to the entries.
type Renewal struct {
	// Changed says that the entries are other ones than in the level before, so that the
	// requests have to be encoded again.
	Changed bool
	// MadeUp says that no earlier level sent any of the entries, so that the level begins
	// with the first one.
	MadeUp bool
	// Salt is the text on which the beginnings of the prompts depend; "" for none.
	Salt string
}

// A DataHash identifies the input data of a run; see [export.RunMeta].
type DataHash struct {
	DatasetSHA256, PromptsSHA256 string
}

// renew lets Config.Renew change the entries for a level, and encodes them unless the
// level is the first, whose entries prepareRequests encodes.
func (r *runState) renew(ctx context.Context, level int) error {
	r.renewal = Renewal{}
	if r.cfg.Renew == nil {
		return nil
	}
	var err error
	if r.renewal, err = r.cfg.Renew(ctx, level); err != nil || !r.renewal.Changed || r.requests == nil {
		return err
	}
	w, before := r.requests.Workload, r.requests
	before.Drop() // both sets together could take twice the memory
	if r.requests, err = drive.NewRequestSet(ctx, w); err != nil {
		r.requests = before
		return err
	}
	r.requests.TakeSessions(before)
	r.sequences.Renew(r.requests)
	return nil
}

// place sets where in the data a level begins. All ranks agree on it, because they agree on
// the ID of the level's first request.
func (r *runState) place(level load.Level) {
	if r.cfg.several() && r.talked {
		// The IDs of a level count the requests of its sessions.
		r.sessions += r.requests.SessionsIn(r.first, int(r.nextID-r.firstID)) - r.begun //nolint:gosec // a number of requests
	}
	r.begun = 0
	first := r.cfg.First + int(r.nextID-1) //nolint:gosec // a number of requests
	if r.talked = level.Traits().Conversations; r.talked {
		first = r.cfg.First + r.sessions
	}
	switch {
	case r.cfg.Restart || r.renewal.MadeUp:
		first = 0
	case level.Traits().Instants > 0: // its entries or sessions belong to its instants: a whole round of the data
		n := r.requests.Len()
		if r.talked {
			n = r.requests.Sessions()
		}
		first = (first + n - 1) / n * n
	}
	r.first, r.firstID = first, r.nextID
}

// repeats reports whether the sessions of a level begin again after the last one.
func (c *Config) repeats(level load.Level) bool {
	return c.Measure.Fixed() && level.Traits().Instants == 0
}

// stageFirst returns the position of the first request of a stage of the level, before
// which the level's other stages have sent this many.
func (r *runState) stageFirst(before int) int {
	if r.cfg.Restart {
		return r.first
	}
	return r.first + before
}

// passed counts the sessions that a stage has begun.
func (r *runState) passed(driver drive.Driver) {
	if d, ok := driver.(interface{ SessionsBegun() int }); ok {
		r.begun = d.SessionsBegun()
		r.sessions += r.begun
	}
}

// next returns the position in the data after the last request of the run.
func (r *runState) next() int {
	switch position, streams := r.sequences.Next(); {
	case streams > 0:
		return position
	case r.talked:
		return r.cfg.First + r.sessions
	}
	return r.cfg.First + int(r.nextID-1) //nolint:gosec // a number of requests
}

// prompts returns which part of the data the level has sent; nil for sequences, whose
// streams it does not follow.
func (l *levelRun) prompts() *export.LevelPrompts {
	r := l.runState
	if r.sequences != nil {
		return nil
	}
	p := &export.LevelPrompts{
		First: r.first, Requests: int(r.nextID - r.firstID), Of: r.requests.Len(), //nolint:gosec // a number of requests
		Restart: r.cfg.Restart, MadeUp: r.renewal.MadeUp && !r.cfg.Restart, CacheSalt: r.renewal.Salt,
	}
	if hash := r.requests.SHA256(); hash != r.cfg.Run.Meta.DatasetSHA256 {
		p.SHA256 = hash
	}
	if l.load.Traits().Conversations {
		p.Conversations, p.Of = r.begun, r.requests.Sessions()
	}
	return p
}

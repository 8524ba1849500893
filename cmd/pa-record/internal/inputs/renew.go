package inputs

import (
	"context"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// HasPrompts reports whether the entries are prompts, or bodies of requests that hold some, and
// come from files.
func (e *Data) HasPrompts() bool {
	if e.Meta == nil || e.madeUp {
		return false
	}
	first, err := e.At(0)
	return err == nil && (first.Prompt != nil || e.s.ServiceKind == settings.OpenAI)
}

// Renew changes the entries to those of a level of a run: made-up ones to others of the same
// lengths unless --prompts restart keeps them, and the beginnings that --cache-bust gives to
// others.
func (e *Data) Renew(ctx context.Context, set workload.Set) (recorder.Renewal, error) {
	before := e.set
	e.set = set
	made := set
	if e.s.Restart {
		made = workload.Set{}
	}
	renewal := recorder.Renewal{MadeUp: e.madeUp, Salt: e.s.LevelSalt(set)}
	if before == set || e.s.Restart && renewal.Salt == "" {
		return renewal, nil
	}
	renewal.Changed = e.tokens.use(made, renewal.Salt)
	if e.s.Restart {
		return renewal, nil
	}
	if e.builtin != nil {
		e.builtin.Use(set)
		renewal.Changed = true
	}
	if e.media != nil {
		renewal.Changed = true
		return renewal, e.media.Use(ctx, set)
	}
	return renewal, nil
}

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

// Renew replaces the entries for a level of a run. Made-up entries become other ones of the same
// lengths, unless --prompts restart keeps them. The beginnings of --cache-bust become other ones,
// too.
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

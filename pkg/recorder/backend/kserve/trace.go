package kserve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Trace is what Triton is to trace of the model while the load is on, in its own
// words; "" and nil leave a setting as it is. The server must have been started with a
// trace file. Settings are those of the model, not of the server, and go back to the
// server's when the backend is closed.
type Trace struct {
	Levels       []string // OFF, TIMESTAMPS, TENSORS
	Rate         string   // one of so many requests
	Count        string   // at most so many; −1: all
	LogFrequency string   // traces in a file; 0: one file
}

// settings are what is said, by Triton's names.
func (t *Trace) settings() map[string][]string {
	all := map[string][]string{}
	if len(t.Levels) > 0 {
		all["trace_level"] = t.Levels
	}
	for name, value := range map[string]string{"trace_rate": t.Rate, "trace_count": t.Count, "log_frequency": t.LogFrequency} {
		if value != "" {
			all[name] = []string{value}
		}
	}
	return all
}

// beginTrace tells the server what to trace, once.
func (b *Backend) beginTrace(ctx context.Context, c control) error {
	settings := b.cfg.Trace.settings()
	if len(settings) == 0 || b.traced {
		return nil
	}
	if err := c.trace(ctx, settings); err != nil {
		return fmt.Errorf("trace settings of model %q: %w; was the server started with a trace file (--trace-config)?", b.cfg.Model, err)
	}
	b.traced = true
	return nil
}

// endTrace takes the settings back.
func (b *Backend) endTrace() error {
	if !b.traced {
		return nil
	}
	b.traced = false
	settings := b.cfg.Trace.settings()
	for _, name := range slices.Collect(maps.Keys(settings)) {
		settings[name] = nil
	}
	err := b.afterwards(func(ctx context.Context, c control) error { return c.trace(ctx, settings) })
	if err != nil {
		return fmt.Errorf("%s: trace settings of model %q were not taken back: %w", b.target.host, b.cfg.Model, b.hide(err))
	}
	return nil
}

// afterwards tells the server something when the load is over, on a connection of its
// own.
func (b *Backend) afterwards(f func(ctx context.Context, c control) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.cfg.CheckTimeout)
	defer cancel()
	c, err := b.newControl()
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, c), c.close())
}

package kserve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Trace holds Triton's trace settings for the model while the load is on. "" and nil
// leave a setting unchanged. The server must have been started with a trace file.
// Close of the backend resets the model's settings to the server's.
type Trace struct {
	Levels       []string // OFF, TIMESTAMPS, TENSORS
	Rate         string   // traces one in Rate requests
	Count        string   // largest number of traces; −1: no limit
	LogFrequency string   // traces per file; 0: one file
}

// settings returns the settings that are set, by their names in Triton.
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

// beginTrace sends the trace settings to the server, once.
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

// endTrace resets the trace settings.
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

// afterwards calls f after the load, with a connection of its own to the server.
func (b *Backend) afterwards(f func(ctx context.Context, c control) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.cfg.CheckTimeout)
	defer cancel()
	c, err := b.newControl()
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, c), c.Close())
}

package profilejson

import (
	"context"
	"errors"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// Scrapes reads the telemetry. If the document breaks off in it, Scrapes reads the part
// before.
func (r *Reader) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	if r.samples < 0 || r.closed {
		return nil
	}
	// A position of its own: requests may be under way.
	c := jsonscan.NewCursor(r.Name, r.Src, r.Size, r.Limit, jsonscan.DefaultChunk)
	c.Check = ctx.Err
	c.Pos = r.samples + 1
	d := export.ScrapeDecoder{MaxBytes: r.Limit}
	for first := true; ; first = false {
		more, err := c.Elem(first)
		if err == nil && !more {
			return ctx.Err()
		}
		var v []byte
		at := c.Pos
		if err == nil {
			v, err = c.Value("a scrape")
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, jsonscan.ErrCut): // Err says so
			return nil
		case err != nil:
			r.warnSample(at, err.Error())
			return nil
		}
		s, err := d.Object(jsonscan.AppendCompact(nil, v))
		if err != nil {
			r.warnSample(at, err.Error())
			continue
		}
		if s == nil {
			continue
		}
		if err := do(s); err != nil {
			return err
		}
	}
}

func (r *Reader) warnSample(off int64, msg string) {
	r.warnings.add(warnSample, export.Warning{Name: r.Name, Offset: off, Where: "telemetry", Msg: msg})
}

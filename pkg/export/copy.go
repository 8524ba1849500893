package export

import (
	"context"
	"errors"
)

// Copy writes the readable part of src to dst and closes dst, but not src. Copy does not
// return an error that ends the reading of src early, except an [ErrContradiction]; the caller
// checks src.Err().
// [ExperimentMeta.Unreadable] stores the number of requests that could not be read.
//
// Copy returns the first error of dst, or the cause of ctx. It then stops dst, if dst is a
// [BatchWriter], and does not close it.
func Copy(ctx context.Context, dst Writer, src Reader) error {
	src.Run() // with all load levels
	return CopyPreview(ctx, dst, src)
}

// CopyPreview is Copy without a search for further load levels before the first request, if
// src reads in batches for dst. It returns ErrRunChanged if the run was
// not what it seemed: copy src to another dst then.
func CopyPreview(ctx context.Context, dst Writer, src Reader) (err error) {
	defer func() {
		if s, ok := dst.(BatchWriter); ok && err != nil {
			s.Stop()
		}
	}()
	rows, to := readFor(dst, src)
	run := src.Run()
	begun := 0               // number of begun experiments; the last one is open
	var counts RequestCounts // of the open experiment
	advance := func(to int) error {
		for begun <= to {
			if begun > 0 {
				e := counts.withUnreadable(&run.Experiments[begun-1], src, begun-1)
				if err := dst.EndExperiment(e); err != nil {
					return err
				}
				counts = RequestCounts{}
			}
			if begun < len(run.Experiments) {
				e := &run.Experiments[begun]
				if err := dst.BeginExperiment(e.Mode, e.Value); err != nil {
					return err
				}
			}
			begun++
		}
		return nil
	}
	if err := src.Scrapes(ctx, dst.WriteScrape); err != nil {
		return err
	}
	for rows.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := advance(rows.Experiment()); err != nil {
			return err
		}
		if to != nil {
			b := rows.Batch().(*countedBatch)
			counts.Plus(&b.counts)
			if err := to.WriteBatch(b.Batch); err != nil {
				return err
			}
			continue
		}
		r := rows.Request()
		counts.Add(r)
		if err := dst.WriteRequest(r); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := src.Err(); errors.Is(err, ErrContradiction) {
		return err
	} else if errors.Is(err, ErrRunChanged) {
		return ErrRunChanged
	}
	if err := advance(len(run.Experiments)); err != nil {
		return err
	}
	return dst.Close(run)
}

// readFor begins to read src for dst, which computes derived values itself. It returns dst if src
// fills the batches of dst, else nil. A Writer that fills batches itself writes them better.
func readFor(dst Writer, src Reader) (rows *Rows, to BatchWriter) {
	need := Need{Derived: DerivedUnused}
	if to, ok := dst.(BatchWriter); ok {
		in := need
		in.Batch = func() Batch { return &countedBatch{Batch: to.NewBatch()} }
		if rows = Read(src, in); rows.own == nil {
			return rows, to
		}
	}
	return Read(src, need), nil
}

// A countedBatch counts the requests of a Batch.
type countedBatch struct {
	Batch
	counts RequestCounts
}

// Reset implements Batch.
func (b *countedBatch) Reset() {
	b.Batch.Reset()
	b.counts = RequestCounts{}
}

// Add implements Batch.
func (b *countedBatch) Add(row *Row) {
	b.counts.Add(row.Request)
	b.Batch.Add(row)
}

// withUnreadable returns e, experiment number index of src, with the number of requests
// that src could not read.
func (c *RequestCounts) withUnreadable(e *Experiment, src Reader, index int) *Experiment {
	counted, excluded := src.Skipped(index)
	if counted+excluded == 0 {
		return e
	}
	m := &ExperimentMeta{RequestCounts: *c}
	if e.Meta != nil {
		*m = *e.Meta
	}
	m.Unreadable += counted + excluded
	changed := *e
	changed.Meta = m
	return &changed
}

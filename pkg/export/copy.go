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
// [Stopper], and does not close it.
func Copy(ctx context.Context, dst Writer, src Reader) error {
	src.Run() // with all load levels
	return CopyPreview(ctx, dst, src)
}

// CopyPreview is Copy without a search for further load levels before the first request, if
// src is a [Previewer] and reads in batches for dst. It returns ErrRunChanged if the run was
// not what it seemed: copy src to another dst then.
func CopyPreview(ctx context.Context, dst Writer, src Reader) (err error) {
	defer func() {
		if s, ok := dst.(Stopper); ok && err != nil {
			s.Stop()
		}
	}()
	if d, ok := src.(DerivedSkipper); ok { // dst computes them
		d.WithoutDerived()
	}
	from, to := inBatches(src, dst)
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
	for src.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := advance(src.Experiment()); err != nil {
			return err
		}
		if from != nil {
			b := from.Batch().(*countedBatch)
			counts.Plus(&b.counts)
			if err := to.WriteBatch(b.Batch); err != nil {
				return err
			}
			continue
		}
		r := src.Request()
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

// inBatches makes src read in batches of dst. It returns nil if src or dst cannot do so.
func inBatches(src Reader, dst Writer) (from BatchReader, to BatchWriter) {
	to, ok := dst.(BatchWriter)
	if !ok || to.NewBatch() == nil {
		return nil, nil
	}
	from, ok = InBatches(src, func() Batch { return &countedBatch{Batch: to.NewBatch()} })
	if !ok {
		return nil, nil
	}
	return from, to
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
func (b *countedBatch) Add(r *Request) {
	b.counts.Add(r)
	b.Batch.Add(r)
}

// withUnreadable returns e, experiment number index of src, with the number of requests
// that src could not read.
func (c *RequestCounts) withUnreadable(e *Experiment, src Reader, index int) *Experiment {
	counted, excluded := Skipped(src, index)
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

package export

import "context"

// Copy writes the readable part of src to dst and closes dst, but not src. It writes the
// readable part of a truncated file too; src.Err(), which Copy does not return, then
// returns the reason. [ExperimentMeta.Unreadable] keeps the number of
// requests that could not be read.
//
// The error comes from dst, or is the cause of ctx; dst is not closed then, but stopped if
// it is a [Stopper].
func Copy(ctx context.Context, dst Writer, src Reader) (err error) {
	defer func() {
		if s, ok := dst.(Stopper); ok && err != nil {
			s.Stop()
		}
	}()
	run := src.Run()
	begun := 0       // number of begun experiments; the last one is open
	var held written // of the experiment that is open
	advance := func(to int) error {
		for begun <= to {
			if begun > 0 {
				e := held.of(&run.Experiments[begun-1], src, begun-1)
				if err := dst.EndExperiment(e); err != nil {
					return err
				}
				held = written{}
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
		r := src.Request()
		held.add(r)
		if err := dst.WriteRequest(r); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := advance(len(run.Experiments)); err != nil {
		return err
	}
	return dst.Close(run)
}

// written counts the requests of an experiment that were written.
type written struct {
	excluded        map[string]int // requests by the reason of their exclusion; "": counted requests
	resent, dropped int
}

func (w *written) add(r *Request) {
	if w.excluded == nil {
		w.excluded = map[string]int{}
	}
	w.excluded[r.Excluded()]++
	if r.Resent {
		w.resent++
	}
	if r.OutputsDropped {
		w.dropped++
	}
}

// of returns e, the experiment of that index in src, with the number of requests
// that src could not read.
func (w *written) of(e *Experiment, src Reader, index int) *Experiment {
	counted, excluded := Skipped(src, index)
	if counted+excluded == 0 {
		return e
	}
	m := &ExperimentMeta{
		Measured: w.excluded[""], Failed: w.excluded["failed"], Warmup: w.excluded["warmup"], Late: w.excluded["late"], Cancelled: w.excluded["cancelled"],
		Resent: w.resent, OutputsDropped: w.dropped,
	}
	if e.Meta != nil {
		*m = *e.Meta
	}
	m.Unreadable += counted + excluded
	changed := *e
	changed.Meta = m
	return &changed
}

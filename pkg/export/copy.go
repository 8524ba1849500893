package export

import "context"

// Copy writes all of src that can be read to dst and closes dst, but not src.
// What ended the reading early is src.Err(), which Copy does not return: a run
// of which the file breaks off is written as far as it goes.
//
// The error is one of dst, or why ctx ended; dst is not closed then.
func Copy(ctx context.Context, dst Writer, src Reader) error {
	run := src.Run()
	begun := 0 // experiments; the last of them is open
	advance := func(to int) error {
		for begun <= to {
			if begun > 0 {
				if err := dst.EndExperiment(&run.Experiments[begun-1]); err != nil {
					return err
				}
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
		if err := dst.WriteRequest(src.Request()); err != nil {
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

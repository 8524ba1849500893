// Package shards reads the files that several ranks recorded of one run (see
// [export.ShardMeta]) as one run.
//
//	var all []shards.Shard
//	for _, name := range names {
//		r, err := opener.Open(ctx, name)
//		…
//		all = append(all, shards.Shard{Name: name, Reader: r})
//	}
//	run, err := shards.Merge(all)
//	if err != nil {
//		return err // of two runs, or a rank twice: *shards.ConflictError
//	}
//	report, err := analyze.Run(ctx, run, analyze.Config{})
//	err = errors.Join(err, run.Missing()) // ranks that are not there
//
// # What is joined
//
// Requests keep their ids, which are unique over all ranks, and get the rank of their shard.
// They come level by level, first the requests that count. Each shard keeps its own order,
// which is roughly the order of ids. Of the shards' next requests, the smallest id comes
// first. A level is joined by its place, mode and value. Counts, rates, CPU time and memory of
// the ranks are added up. Percentiles of the client's delays cannot be added. They are left
// out, and [export.MergedMeta] says so. Measurement windows are kept if all ranks have the
// same windows; otherwise one window covers all of them.
//
// # Clocks
//
// Every time of a shard is shifted by one number, the offset of the rank's clock to the clock
// of rank 0. Latencies are differences within a shard, so they do not change. The offset is
// the middle of the offsets before and after the run. Its bound covers both offsets and their
// bounds. Between the two measurements it holds if the clock drifted in one direction. A rank
// whose clock was not compared with rank 0's is not shifted, and the bound of the run is
// unknown. Ranks of one machine have one clock: if their offsets differ by more than their
// bounds, the run has a warning, and its bound covers all of the offsets.
//
// # Copies
//
// [Requests] notices a file that was given for another rank. The reading ends with an error if two
// shards have a request with the same id, if all their requests start at the same times, or if a
// request is of another rank than its file.
//
// # Memory
//
// [Reader] holds the current request of each shard and whatever its reader decodes ahead. A
// Parquet reader holds a page of each column, so that the merge of many shards takes several
// MB for each. In any order ([export.Need]) it reads one shard after the other instead, or in
// batches: the batches of a few shards take turns, and the memory of a shard that was
// read is free for the next one.
package shards

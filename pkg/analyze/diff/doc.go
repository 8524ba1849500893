// Package diff compares recorded runs: an old side and a new one, of one run or
// several each, load level by load level.
//
//	older, err := diff.Read(ctx, "old.json", oldReader, analyze.Config{Series: true})
//	newer, err := diff.Read(ctx, "new.json", newReader, analyze.Config{Series: true})
//	res := diff.Compare([]*diff.Run{older}, []*diff.Run{newer}, diff.Options{})
//	for _, l := range res.Levels {
//		for _, row := range l.Rows {
//			fmt.Println(l.Name, row.Metric.Name, row.Change, row.Verdict)
//		}
//	}
//	err = diff.Text(res, 0)(os.Stdout)
//
// Whether the runs can be compared is asked first: each [Difference] of how
// they were made is in the [Result], and those that make the numbers mean
// different things refuse the comparison, unless they are to be ignored. Then
// each [Metric] has the values of both sides, the change, its interval, and,
// if it belongs to the primary family, a verdict. What these may claim is said
// in package inference and in docs/reference/statistics.md.
//
// Times are nanoseconds, rates per second, shares and changes from 0 to 1. What
// does not exist is NaN and has a reason.
//
// The package opens no files; which responses are tokens and which requests
// count is decided by package analyze.
package diff

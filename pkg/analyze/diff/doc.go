// Package diff compares recorded runs, load level by load level: an old side and a new
// side of one or several runs each.
//
//	older, err := diff.Read(ctx, "old.json", oldReader, analyze.Config{Series: true})
//	newer, err := diff.Read(ctx, "new.json", newReader, analyze.Config{Series: true})
//	res := diff.Compare([]*diff.Run{older}, []*diff.Run{newer}, diff.Options{})
//	for _, l := range res.Levels {
//		for _, row := range l.Rows {
//			fmt.Println(l.Name, row.Metric.Name, row.Change, row.Verdict)
//		}
//	}
//	err = diff.Text(res, 0, false)(os.Stdout)
//	err = errors.Join(err, older.Close(), newer.Close())
//
// [Compare] first checks whether the runs can be compared. The [Result] has each
// [Difference] in how they were made; a difference that changes the meaning of the
// numbers refuses the comparison, unless the options ignore it. Then each [Metric]
// has the values of both sides, the change, its interval and, if it is a primary
// metric, a verdict. Package inference and docs/reference/statistics.md say what
// intervals and verdicts mean.
//
// Times are nanoseconds, rates per second, shares and changes from 0 to 1. A missing
// value is NaN and has a reason.
//
// The package opens no files. Package analyze decides which responses are tokens and
// which requests count.
package diff

// Package runset groups several runs by load level, checks that they were made in the same
// way, and formats their values. Packages rig and trend build on it.
//
//	set := runset.New(runs, nil)
//	if err := set.Incomparable(); err != nil {
//		return err
//	}
//	for i := range set.Levels {
//		l := &set.Levels[i]
//		fmt.Println(l.Name, l.Values(&diff.Metrics[0]))
//	}
//
// Values have the units of package diff: nanoseconds, per second, shares from 0 to 1; NaN
// is a missing value. The package opens no files and computes no statistics.
package runset

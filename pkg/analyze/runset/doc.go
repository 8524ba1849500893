// Package runset groups several runs by load level, checks that they were recorded with the
// same settings, and formats their values. Packages rig and trend build on it.
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
// Values have the units of package diff: times are nanoseconds, rates per second, shares
// from 0 to 1. A missing value is NaN. The package opens no files and computes no statistics.
package runset

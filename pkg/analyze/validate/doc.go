// Package validate checks a run against what every correct recorder writes: times in
// order, counts that agree, counters that do not fall.
//
//	result, err := validate.Run(ctx, r, validate.Config{}, func(v validate.Violation) {
//		fmt.Println(v)
//	})
//
// Each problem is a [Violation] with the experiment and the request that it is about.
// The package computes no figures of the requests (package analyze does) and changes
// nothing.
package validate

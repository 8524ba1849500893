// Package rig estimates what comparisons on a rig, a server and its machine, can find. From
// several runs of one setting it computes how much runs differ by chance, whether they
// drift, and the smallest change that N runs a side find.
//
//	res := rig.Analyze(diff.OneServer(runs, nil), rig.Options{RunsASide: []int{3, 5, 10}})
//	fmt.Println(res.Headlines()[0])
//
// The run is the unit: each run gives one value per metric. The deviation is the standard
// deviation of the logarithms of these values, so 0.01 is about one percent of the value.
// docs/reference/rig.md says how each number is computed. Changes and deviations are
// ratios; a missing number is NaN.
//
// [MakePlan] turns that round: it says how many runs, requests and minutes a comparison needs to find a
// change, or to show that there is none, and which command records them.
//
//	var within rig.Within
//	for _, run := range runs {
//		within.Add(run) // before the run is closed
//	}
//	plan := rig.MakePlan(diff.OneServer(runs, nil), &within, rig.PlanOptions{Change: 0.05, Power: 0.8})
//
// From [MinRuns] runs on, it knows how much runs differ, and plans runs a side. One or two runs show
// only how much requests differ within a run, so the plan is for two single runs, and says so.
//
// The package opens no files. Its random numbers have a fixed seed, so the same runs give
// the same result.
package rig

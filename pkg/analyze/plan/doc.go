// Package plan says how many runs, requests and minutes a comparison needs on the machine of some recorded runs: to
// find a change of a size, or to show that there is none.
//
//	var within plan.Within
//	for _, run := range runs {
//		within.Add(run) // before the run is closed
//	}
//	res := plan.Make(diff.OneServer(runs, nil), &within, plan.Options{Change: 0.05, Power: 0.8})
//	fmt.Println(res.Headlines()[0])
//
// From rig.MinRuns runs on, it knows how much runs differ (package rig), and plans runs a side. One or two runs
// show only how much requests differ within a run, so the plan is for two single runs, and says so. Changes
// and deviations are ratios; deviations are of logarithms, and NaN if they are not known.
package plan

// Package pareto compares load levels by two rates that are both better when they are higher: output
// tokens per second of one user, and tokens per second of one GPU.
//
//	res := pareto.Analyze(inputs, pareto.Options{})
//	for _, p := range res.Points {
//		fmt.Println(p.File, p.Level, p.UserRate, p.Rate, p.Frontier)
//	}
//
// A level is on the Pareto frontier if no other level is at least as good in both rates and better in
// one. The area of a frontier is its hypervolume: the area of all points that a level of the frontier
// dominates and that dominate a reference point (Zitzler and Thiele, "Multiobjective optimization using
// evolutionary algorithms: a comparative case study", PPSN V, 1998). Its knee is the level with the
// greatest distance to the straight line between the ends of the frontier, after both rates are scaled
// to 0 to 1 between the ends (Das, "On characterizing the knee of the Pareto curve based on
// normal-boundary intersection", Structural Optimization 18, 1999; Satopää and others, "Finding a
// Kneedle in a haystack", ICDCSW 2011, on points that are not smoothed).
//
// The package reads no files and analyzes no requests: the reports must have Economics.
package pareto

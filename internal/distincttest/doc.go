// Package distincttest helps tests to show that no output of a command line is one of its inputs
// or another output, for all flags that a program has and all ways to name a file.
//
//	for _, how := range distincttest.Ways {
//		out := distincttest.Alias(t, dir, how, "in", "out", "{}")
//		distincttest.Refused(t, dir, []string{"--input", "--output"}, out, run)
//	}
package distincttest

// Package commandtest has what the tests of both commands share.
//
// Program runs the testscript files of a command inside the process of its test.
// A process of a command costs 10 ms of CPU time before it does anything, and 40 ms for a
// short recording; the scripts run a thousand commands. In make test, a line
//
//	pa-record -u sim:// --dry-run
//
// of a script therefore calls the command's run function, in the script's folder and with
// the script's environment variables. In make test-long the same line starts a process. A
// line that begins with exec starts a process in both; a script needs that behind the line
// stdin FILE, and for a command in the background.
//
// Refused shows that no output of a command line is one of its inputs or another output, for all flags that a program
// has and all ways to name a file:
//
//	for _, how := range commandtest.Ways {
//		out := commandtest.Alias(t, dir, how, "in", "out", "{}")
//		commandtest.Refused(t, dir, []string{"--input", "--output"}, out, run)
//	}
package commandtest

// Package scripttest runs the testscript files of a command inside the process of its
// test.
//
// A process of a command costs 10 ms of CPU time before it does anything, and 40 ms for a
// short recording; the scripts run a thousand commands. In make test, a line
//
//	pa-record -u sim:// --dry-run
//
// of a script therefore calls the command's run function, in the script's folder and with
// the script's environment variables. In make test-long the same line starts a process. A
// line that begins with exec starts a process in both; a script needs that behind the line
// stdin FILE, and for a command in the background.
package scripttest

package recorder

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// coreWait is for how long a thread was ready to run but waited for a core, and how often it got one.
type coreWait struct{ ns, n int64 }

// readCoreWaits returns the waits of each thread of the process; none where the system does not count them: Linux
// does.
func readCoreWaits() map[string]coreWait {
	all := map[string]coreWait{}
	files, _ := filepath.Glob("/proc/self/task/*/schedstat") // the pattern is right
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil { // the thread has ended
			continue
		}
		if w, ok := parseSchedstat(text); ok {
			all[name] = w
		}
	}
	return all
}

// parseSchedstat reads a schedstat file of Linux: nanoseconds on a core, nanoseconds of waiting for one, and the
// number of times that the thread got one.
func parseSchedstat(text []byte) (w coreWait, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) != 3 {
		return w, false
	}
	var err, err2 error
	w.ns, err = strconv.ParseInt(string(fields[1]), 10, 64)
	w.n, err2 = strconv.ParseInt(string(fields[2]), 10, 64)
	return w, err == nil && err2 == nil && w.ns >= 0 && w.n >= 0
}

// addCoreWaits adds to c what the threads of now have waited since before. The waits of threads that have ended are
// missing.
func addCoreWaits(c *export.CPUMeta, before, now map[string]coreWait) {
	for thread, w := range now {
		was := before[thread]
		if was.ns > w.ns || was.n > w.n { // a new thread with the number of an old one
			was = coreWait{}
		}
		c.WaitNS += w.ns - was.ns
		c.Waits += w.n - was.n
	}
}

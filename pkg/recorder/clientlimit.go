package recorder

import (
	"bytes"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// readThrottledNS returns for how long CPU limits have stopped the cgroup of the process, in ns over all cores, since
// the cgroup exists; 0 without a limit, or where the system has no cgroups. A cgroup may have a limit of its own or
// one of a cgroup that contains it: the longest time counts. root is the root of the file system.
func readThrottledNS(root fs.FS) (ns int64) {
	text, _ := fs.ReadFile(root, "proc/self/cgroup") // no text: no cgroups
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers (none in version 2), cgroup
		if len(fields) != 3 || fields[1] != "" && !strings.HasPrefix(fields[1]+",", "cpu,") {
			continue
		}
		mount := path.Join("sys/fs/cgroup", fields[1])
		for group := path.Join("/", fields[2]); ; group = path.Dir(group) {
			stat, _ := fs.ReadFile(root, path.Join(mount, group, "cpu.stat")) // a container sees only its own
			ns = max(ns, parseThrottledNS(stat))
			if group == "/" {
				break
			}
		}
	}
	return ns
}

// parseThrottledNS returns the time in a file cpu.stat of a cgroup, of version 1 or 2; 0 if it has none.
func parseThrottledNS(text []byte) int64 {
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		per := map[string]int64{"throttled_usec": 1000, "throttled_time": 1}[name]
		if n, err := strconv.ParseInt(value, 10, 64); per > 0 && err == nil && n >= 0 && n <= math.MaxInt64/per {
			return n * per
		}
	}
	return 0
}

package heap

import (
	"bytes"
	"os"
	"strconv"
)

// FreeBytes returns how many bytes of memory the program may still take: the memory that the machine has available, or the
// limit of the container if that is less. ok is false where that is not known.
func FreeBytes() (n uint64, ok bool) {
	text, _ := os.ReadFile("/proc/meminfo")
	n, ok = availableBytes(text)
	for _, limit := range [...]string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, _ := os.ReadFile(limit)
		if most, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64); err == nil && (!ok || most < n) {
			n, ok = most, true
		}
	}
	return n, ok
}

// availableBytes returns MemAvailable of the text of /proc/meminfo, which states it in units of 1,024 bytes.
func availableBytes(meminfo []byte) (n uint64, ok bool) {
	for line := range bytes.Lines(meminfo) {
		fields := bytes.Fields(line)
		if len(fields) < 2 || string(fields[0]) != "MemAvailable:" {
			continue
		}
		kib, err := strconv.ParseUint(string(fields[1]), 10, 53)
		return kib << 10, err == nil
	}
	return 0, false
}

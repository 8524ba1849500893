package recorder

import (
	"os"
	"runtime"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// Host describes this machine. A part that cannot be found out is empty.
func Host() *export.HostMeta {
	name, _ := os.Hostname()
	return &export.HostMeta{Name: name, Kernel: kernelRelease(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GoVersion: runtime.Version()}
}

// kernelRelease returns what uname -r prints, "" if this is not Linux.
func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

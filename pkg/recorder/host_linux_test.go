package recorder

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The fields hold what the system itself says, without line ends.
func TestHost(t *testing.T) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	m := Host()
	for _, tt := range []struct{ field, got, want string }{
		{"Name", m.Name, name},
		{"Kernel", m.Kernel, unix.ByteSliceToString(uts.Release[:])},
		{"OS", m.OS, "linux"},
		{"Arch", m.Arch, runtime.GOARCH},
		{"GoVersion", m.GoVersion, runtime.Version()},
	} {
		if tt.got != tt.want {
			t.Errorf("%s %q, want %q", tt.field, tt.got, tt.want)
		}
	}
	if m.CPUs != runtime.NumCPU() {
		t.Errorf("CPUs %d, want %d", m.CPUs, runtime.NumCPU())
	}
}

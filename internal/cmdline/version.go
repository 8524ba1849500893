package cmdline

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// undated is the version of a program that was built without a version.
const undated = "dev"

// Version returns the version of the running program: linked, the version that the linker
// set, or else the version of the module that "go install MODULE@VERSION" built, without its v, or "dev".
func Version(linked string) string {
	if linked != undated {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return linked
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// versionInfo is what --version --json prints.
type versionInfo struct {
	Program  string `json:"program"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, if the build knows it
	Module   string `json:"module,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// writeVersion prints the version on one line, or as JSON.
func (a App) writeVersion(w io.Writer, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintf(w, "%s %s\n", a.Name, a.Version)
		return err
	}
	v := versionInfo{Program: a.Name, Version: a.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Module = info.Main.Path
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

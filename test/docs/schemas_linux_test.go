package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/internal/test/schematest"
)

// The outputs of pa-record are valid by the schemas that the pages refer to.
func TestSchemas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(filepath.Join(programs, "pa-record"), args...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &stderr)
		}
		return out
	}
	checkSchema(t, "calibration.schema.json", record("calibrate", "--streams", "2", "--rate", "500", "--events", "20", "--service", "both", "--format", "json"))
	record("-m", "add_sub", "-i", "grpc", "-u", "sim://", "--concurrency-range", "3", "--request-count", "3",
		"--calibrate", "--profile-export-file", "e.json")
	doc, err := os.ReadFile(filepath.Join(dir, "e.json"))
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "profile_export.schema.json", doc)
}

func checkSchema(t *testing.T, name string, doc []byte) {
	t.Helper()
	if err := schematest.Open(t, name).Check(t, doc); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

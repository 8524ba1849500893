package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// endlessRows is a reader that gives rows of input data for ever.
type endlessRows struct{ row []byte }

func (e endlessRows) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		n += copy(b[n:], e.row)
	}
	return n, nil
}

// Input data that decompresses to far more than its size, or never ends, is
// refused with the flag that allows more.
func TestInputDataLimits(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z, err := zstd.NewWriter(&bomb)
	if err != nil {
		t.Fatal(err)
	}
	_, err = z.Write([]byte(`{"text": "hi"}`))
	blanks := bytes.Repeat([]byte("\n"), 1<<20)
	for range 66 { // the first 64 MiB may have any ratio
		if err == nil {
			_, err = z.Write(blanks)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bomb.jsonl.zst")
	if err := os.WriteFile(file, bomb.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	const command = "pa-record inputs -m m --service-kind openai -n 1 --input-data "
	for name, tt := range map[string]struct {
		args, stderr string
		code         int
	}{
		"ratio":         {file, "bomb.jsonl.zst: decompresses to more than 1000 times its size", 1},
		"any ratio":     {file + " --max-ratio -1", "", 0},
		"endless stdin": {"- --max-spool 1000000", "stdin: holds more than 1000000 bytes of content", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			env := newEnvironment(noEnv, make(chan os.Signal))
			code := run(t.Context(), strings.Fields(command+tt.args), env, endlessRows{[]byte("{\"text\": \"hi\"}\n")}, &out, &errs)
			if code != tt.code || !strings.Contains(errs.String(), tt.stderr) {
				t.Errorf("exit code %d, want %d; %s, want %q", code, tt.code, errs.String(), tt.stderr)
			}
		})
	}
}

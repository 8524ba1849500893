//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A named pipe or a device where a regular file is expected is refused, and not
// waited for.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	tensors := filepath.Join(dir, "tensors")
	if err := os.Mkdir(tensors, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, filepath.Join(tensors, "INPUT0")} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := func(name, member, path string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, fmt.Appendf(nil, "{\"text\": \"look\", %q: %q}\n", member, path), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const openAI = "inputs -m m --service-kind openai --endpoint v1/chat/completions -u sim:// "
	for _, tt := range []struct{ name, args, stderr string }{
		{"an image that is a pipe", openAI + "--input-data " + data("i.jsonl", "image", pipe), "is a named pipe"},
		{"an image that is a device", openAI + "--input-data " + data("d.jsonl", "image", "/dev/zero"), "is a device"},
		{"an audio clip that is a pipe", openAI + "--input-data " + data("a.jsonl", "audio", pipe), "is a named pipe"},
		{"data that is a device", openAI + "--input-data /dev/zero", "/dev/zero: is a device; expected a regular file"},
		{"a tokenizer that is a pipe", openAI + "--synthetic-input-tokens-mean 5 --tokenizer " + pipe, "is a named pipe; expected a regular file"},
		{"a key that is a pipe", "-m m --service-kind openai -u sim:// --api-key-file " + pipe, "--api-key-file: " + pipe + ": is a named pipe; expected a regular file"},
		{"a key that is a device", "-m m --service-kind openai -u sim:// --api-key-file /dev/zero", "--api-key-file: /dev/zero: is a device; expected a regular file"},
		{"settings that are a device", "-m m -u sim:// --config /dev/zero", "--config: /dev/zero: is a device; expected a regular file"},
		{"tensors that are pipes", "-m add_sub -u sim://?triton_model=add_sub --input-data " + tensors, "INPUT0: is a named pipe; expected a regular file"},
		{"a certificate that is a pipe", "-m m -u https://localhost:1 --service-kind openai --ssl-https-ca-certificates-file " + pipe, "is a named pipe; expected a regular file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			type result struct {
				code   int
				stderr string
			}
			ended := make(chan result, 1)
			go func() {
				code, _, stderr := inProcess(t.Context(), t, strings.Fields(tt.args)...)
				ended <- result{code, stderr}
			}()
			select {
			case got := <-ended:
				if got.code == 0 || !strings.Contains(got.stderr, tt.stderr) {
					t.Errorf("exit code %d, %s, want %q", got.code, got.stderr, tt.stderr)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it waits for a writer")
			}
		})
	}
}

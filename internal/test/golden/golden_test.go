package golden

import (
	"io/fs"
	"testing"
)

func TestFS(t *testing.T) {
	for _, tt := range []struct{ archive, file string }{
		{"perf_analyzer", "2.60.0/guide/profile_export.json"},
		{"openai_streams", "llamacpp/chat_stream.http"},
	} {
		if b, err := fs.ReadFile(FS(t, tt.archive), tt.file); err != nil || len(b) == 0 {
			t.Errorf("%s: %s: %d bytes, %v", tt.archive, tt.file, len(b), err)
		}
	}
}

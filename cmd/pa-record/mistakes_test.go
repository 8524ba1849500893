package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/cmdline"
)

// A mistake in the value of a flag is reported once, even if other checks see it too.
func TestMistakesOnce(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--num-dataset-entries 0", "--num-dataset-entries 0: must be at least 1"},
		{"--num-dataset-entries 0 --synthetic-input-tokens 5", "--num-dataset-entries 0: must be at least 1"},
		{"--num-dataset-entries 5", "--num-dataset-entries applies to files; give them with --input-data"},
		{"--num-sessions -1", "--num-sessions -1: must be at least 1"},
		{"--max-concurrency -1 --request-rate-range 5", "--max-concurrency -1: must be at least 1"},
		{"--max-concurrency -1", "--max-concurrency belongs to --request-rate-range, --request-intervals, --fixed-schedule, --session-rate or --auto-sweep; give that, or drop it"},
		{"--ramp-up -1s", "--ramp-up -1s: must not be negative"},
		{"--ramp-up -1s --auto-sweep", "--ramp-up -1s: must not be negative"},
		{"--ramp-up -1s --request-rate-range 1:5", "--ramp-up -1s: must not be negative"},
		{"--block-tokens 0", "--block-tokens 0: must be at least 1"},
		{"--speed-up 0", "--speed-up belongs to --request-intervals or --fixed-schedule; give that, or drop it"},
		{"--prefix-prompt-length 0", "--prefix-prompt-length 0: must be at least 1"},
		{"--endpoint v1/realtime --audio-length-mean 0.2 --streaming=false", "--streaming=false: the answers of v1/realtime are always streamed; drop it"},
		{"--endpoint v1/realtime --audio-length-mean 0.2 --batch-size-text 2", "--batch-size-text 2: a request to v1/realtime has one audio clip; drop it"},
		{"--endpoint v1/audio/transcriptions --audio-length-mean 0.2 --batch-size-text 2", "--batch-size-text 2: a request to v1/audio/transcriptions has one audio clip; drop it"},
		{`--endpoint v1/realtime --audio-length-mean 0.2 --request-template {"a":"{{prompt}}"}`, "--request-template: a request to v1/realtime is a session with audio, not a body; drop it"},
		{"--endpoint v1beta/models/sim:streamGenerateContent?alt=sse --streaming=false", "--streaming=false: the path asks for a stream; give one that ends with :generateContent"},
		{"--endpoint v1/messages --output-tokens 4 --max-tokens-field max_completion_tokens", "--max-tokens-field does not fit --endpoint v1/messages: only chats, completions and responses have such a member; drop it"},
		{"--session-turns-mean -1", "--session-turns-mean belongs to --num-sessions; give that, or drop it"},
	} {
		code, _, stderr := inProcess(t.Context(), t, append(strings.Fields("-u sim:// --dry-run "+tt.args), "--quiet")...)
		if want := "pa-record: " + tt.want + "\nrun 'pa-record --help' for usage\n"; code != 2 || stderr != want {
			t.Errorf("%s: exit code %d, standard error %q, want %q", tt.args, code, stderr, want)
		}
	}
}

// Too many failures are a gate that was not met; so they are when everything
// fails.
func TestMaxErrorRateExit(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]int{"--max-error-rate 0.5": cmdline.ExitGate, "": cmdline.ExitError, "--max-error-rate 1": cmdline.ExitError} {
		args := append(strings.Fields(flags), "-u", "sim://?fault=http_500", "--request-count", "100", "--profile-export-file", filepath.Join(t.TempDir(), "x.json"))
		code, _, stderr := inProcess(t.Context(), t, args...)
		if code != want || !strings.Contains(stderr, "5 requests failed") && !strings.Contains(stderr, "5 of 5 requests failed") {
			t.Errorf("%q: exit code %d, want %d: %s", flags, code, want, stderr)
		}
	}
}

//go:build realservers

package realservers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAudio sends a clip to a tiny Whisper on vLLM. It compares each event that pa-record records with the events that a plain
// client of net/http receives for a form with the same fields, and the figures of pa-analyze with the clip.
func TestAudio(t *testing.T) {
	if os.Getenv("REALSERVERS") != "all" {
		t.Skip("vLLM runs with REALSERVERS=all")
	}
	s := startOpenAI(t, "whisper")
	const seconds = 1.5
	clip := wave(seconds)
	for _, endpoint := range []string{"v1/audio/transcriptions", "v1/audio/translations"} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %v", endpoint, stream), func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "clip.wav"), clip, 0o600); err != nil {
					t.Fatal(err)
				}
				rows := filepath.Join(dir, "rows.jsonl")
				if err := os.WriteFile(rows, []byte(`{"audio": "clip.wav", "extra": {"language": "en", "temperature": 0, "max_completion_tokens": 16}}`+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				diff := "none"
				for attempt := 1; diff != "" && attempt <= 5; attempt++ { // a server that is behind sends several tokens in one event
					path, f := mustRecord(t, "", "-m", "tiny", "--service-kind", "openai", "--endpoint", endpoint, "-u", s.HTTP, fmt.Sprintf("--streaming=%v", stream),
						"--request-count", "4", "--concurrency-range", "1", "--input-data="+rows, "--profile-export-file=profile_export.json")
					want := plainAudio(t, s, endpoint, clip, stream)
					if stream != (len(want) > 3) {
						t.Fatalf("a plain client got %q", want)
					}
					diff = ""
					for i, r := range f.requests(t, 4) {
						var got []string
						for _, out := range r.ResponseOutputs {
							got = append(got, changes.ReplaceAllString(out.text("response"), `"$1$2":0`))
						}
						if d := cmp.Diff(want, got); d != "" {
							diff = fmt.Sprintf("request %d: events (-plain client +pa-record):\n%s", i, d)
						}
					}
					if diff == "" {
						checkAudio(t, path, seconds, stream)
					}
				}
				if diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// wave returns a WAV file: a tone of 16 kHz, 16 bits, one channel.
func wave(seconds float64) []byte {
	const rate = 16000
	samples := make([]int16, int(seconds*rate))
	for i := range samples {
		samples[i] = int16(8000 * math.Sin(2*math.Pi*440*float64(i)/rate))
	}
	var b bytes.Buffer
	size := uint32(2 * len(samples))
	b.WriteString("RIFF")
	_ = binary.Write(&b, binary.LittleEndian, 36+size)
	b.WriteString("WAVEfmt ")
	_ = binary.Write(&b, binary.LittleEndian, struct {
		Size              uint32
		Format, Channels  uint16
		Rate, BytesPerSec uint32
		Block, Bits       uint16
	}{16, 1, 1, rate, 2 * rate, 2, 16})
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, size)
	_ = binary.Write(&b, binary.LittleEndian, samples)
	return b.Bytes()
}

// plainAudio returns the events that net/http receives for a form, or the whole answer.
func plainAudio(t *testing.T, s *server, endpoint string, clip []byte, stream bool) []string {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	fields := [][2]string{{"model", "tiny"}, {"language", "en"}, {"temperature", "0"}, {"max_completion_tokens", "16"}}
	if stream {
		fields = append(fields, [2]string{"stream", "true"}, [2]string{"stream_include_usage", "true"})
	}
	for _, f := range fields {
		if err := form.WriteField(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("file", "clip.wav")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write(clip)
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post("http://"+s.HTTP+"/"+endpoint, form.FormDataContentType(), &b)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("a plain client got %d: %s, %v", resp.StatusCode, answer, err)
	}
	return splitEvents(changes.ReplaceAllString(string(answer), `"$1$2":0`))
}

// checkAudio checks that each request has the length of the clip, and that a stream has tokens of the usage.
func checkAudio(t *testing.T, path string, seconds float64, stream bool) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(analyze(t, "requests", "--metrics", "audio", "--format", "jsonl", path)), "\n")
	if len(lines) != 4 {
		t.Errorf("%d rows, want 4", len(lines))
	}
	for _, line := range lines {
		var row struct {
			Status string
			Input  float64  `json:"audio_length_ns"`
			TTFT   *float64 `json:"ttft_ns"`
			Tokens *int     `json:"output_tokens"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Status != "ok" || row.Input != seconds*1e9 || stream && (row.TTFT == nil || row.Tokens == nil || *row.Tokens != 16) {
			t.Errorf("row %s", line)
		}
	}
}

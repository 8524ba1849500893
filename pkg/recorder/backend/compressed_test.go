package backend_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// compress returns body in a coding of HTTP, or "raw" for deflate without the format of zlib.
func compress(t testing.TB, coding string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, flate.BestSpeed)
	case "br":
		w = brotli.NewWriterLevel(&b, brotli.BestSpeed)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodedError(t *testing.T) {
	message := `{"error":{"message":"quota used up"}}`
	pack := func(coding string) string { return string(compress(t, coding, []byte(message))) }
	long := `{"error":{"message":"` + strings.Repeat("x", 10<<20) + `"}}`
	for _, tt := range []struct {
		name     string
		encoding []string
		body     string
		want     string
	}{
		{"plain", nil, message, message},
		{"identity", []string{"identity"}, message, message},
		{"gzip", []string{"gzip"}, pack("gzip"), message},
		{"x-gzip, in capitals", []string{"X-GZIP"}, pack("gzip"), message},
		{"deflate", []string{"deflate"}, pack("deflate"), message},
		{"deflate without zlib", []string{"deflate"}, pack("raw"), message},
		{"br", []string{"br"}, pack("br"), message},
		{"zstd", []string{"zstd"}, pack("zstd"), message},
		{"twice", []string{"gzip, br"}, string(compress(t, "br", compress(t, "gzip", []byte(message)))), message},
		{"twice, in two headers", []string{"zstd", "gzip"}, string(compress(t, "gzip", compress(t, "zstd", []byte(message)))), message},
		{"gzip that no header names", nil, pack("gzip"), message},
		{"zstd that no header names", nil, pack("zstd"), message},
		{"named, but not compressed", []string{"gzip"}, message, message},
		{"br, but not compressed", []string{"br"}, message, message},
		{"deflate, but not compressed", []string{"deflate"}, message, message},
		{"a long text of another language, but not compressed", []string{"gzip"}, "Fehler " + strings.Repeat("überlastet ", 100), "Fehler " + strings.Repeat("überlastet ", 100)},
		{"gzip of nothing", []string{"gzip"}, string(compress(t, "gzip", nil)), ""},
		{"unknown", []string{"lzma"}, "\x5d\x00\x00", `the server's message is compressed ("lzma") and cannot be decoded`},
		{"damaged", []string{"gzip"}, "\x1f\x8b\x08\xff\xff", `the server's message is compressed ("gzip") and cannot be decoded`},
		{"empty", []string{"gzip"}, "", ""},
		{"too long", []string{"gzip"}, string(compress(t, "gzip", []byte(long))), long[:backend.MaxErrorBytes]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{}
			for _, e := range tt.encoding {
				header.Add("Content-Encoding", e)
			}
			if got := string(backend.DecodedError(header, []byte(tt.body))); got != tt.want {
				t.Errorf("DecodedError = %.200q, want %.200q", got, tt.want)
			}
		})
	}
	t.Run("cut", func(t *testing.T) {
		whole := strings.Repeat("the quota of the day is used up; ", 100)
		body := compress(t, "raw", []byte(whole))
		got := string(backend.DecodedError(http.Header{"Content-Encoding": {"deflate"}}, body[:len(body)-10]))
		if got == "" || !strings.HasPrefix(whole, got) {
			t.Errorf("DecodedError = %.200q, want the beginning of %.200q", got, whole)
		}
	})
}

// FuzzDecompressor holds that no body hurts, and that it does not matter how a body is cut.
func FuzzDecompressor(f *testing.F) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		f.Add(coding, compress(f, coding, []byte(`data: {"choices":[]}`)), 3)
	}
	f.Fuzz(func(t *testing.T, encoding string, body []byte, at int) {
		const limit = 1 << 16
		header := http.Header{"Content-Encoding": {encoding}}
		want, compressed, wantErr := backend.Decompressed(header, body, limit)
		if !compressed {
			return
		}
		var got []byte
		d := backend.NewDecompressor(header, body, func(p []byte) error {
			if len(got)+len(p) > limit {
				return &backend.AnswerMemoryError{LimitBytes: limit}
			}
			got = append(got, p...)
			return nil
		})
		at = min(max(at, 0), len(body))
		_, _ = d.Write(body[:at]), d.Write(body[at:]) // Close has the error
		err := d.Close()
		if (err != nil) != (wantErr != nil) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("whole %q, %v; cut at %d %q, %v", want, wantErr, at, got, err)
		}
		d = backend.NewDecompressor(header, body, func([]byte) error { return nil })
		_ = d.Write(body[:at])
		d.Stop()
	})
}

// FuzzDecodedError holds that no body and no header hurts.
func FuzzDecodedError(f *testing.F) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		f.Add(coding, compress(f, coding, []byte("quota used up")))
	}
	f.Add("gzip, br,zstd,deflate,gzip", []byte("x"))
	f.Fuzz(func(t *testing.T, encoding string, body []byte) {
		header := http.Header{"Content-Encoding": {encoding}}
		if got := backend.DecodedError(header, body); len(got) > max(len(body), backend.MaxErrorBytes) {
			t.Errorf("%d bytes of %d", len(got), len(body))
		}
	})
}

package grpcconn

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestThereAndBack(t *testing.T) {
	for _, f := range []Compression{Gzip, Deflate} {
		for _, text := range []string{"", "x", strings.Repeat("again and ", 1000)} {
			var b bytes.Buffer
			if err := (Compressor{f}).Do(&b, []byte(text)); err != nil {
				t.Fatal(err)
			}
			got, err := Decompressor{f, 20000}.Do(bytes.NewReader(b.Bytes()))
			if err != nil || string(got) != text {
				t.Errorf("%s: %d bytes came back as %d, %v", f, len(text), len(got), err)
			}
			if _, err := (Decompressor{f, int64(len(text)) - 1}).Do(&b); len(text) > 0 && err == nil {
				t.Errorf("%s: a message of %d bytes was taken for one of less", f, len(text))
			}
		}
		if _, err := f.Decompress(strings.NewReader("")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: of nothing: %v", f, err)
		}
		if _, err := f.Decompress(strings.NewReader("plain text")); err == nil {
			t.Errorf("%s: plain text was decompressed", f)
		}
	}
	var b bytes.Buffer
	if err := (Compressor{Deflate}).Do(&b, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := zlib.NewReader(&b); err != nil {
		t.Errorf("deflate is not the zlib format: %v", err)
	}
	if err := CheckCompression("snappy"); err == nil {
		t.Error("snappy is known")
	}
}

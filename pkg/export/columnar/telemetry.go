package columnar

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/pkg/export"
)

// Telemetry is text, one object of [export.ScrapeEncoder] per line. A file has it in its
// metadata, compressed with zstd and cut into pieces of base64, "pa.samples.0" and so on.
// There every reader of Parquet and Arrow ignores it, and a reader that keeps metadata keeps it.

// telemetryKey, a dot and the number of a piece are a key of the metadata.
const telemetryKey = "pa.samples"

const (
	// pieceBytes is the size of a piece before base64. Readers bound the size of a text
	// in the metadata.
	pieceBytes = 768 << 10
	// maxTelemetryBytes bounds the compressed telemetry of a file, which its
	// readers keep in memory. That is weeks of a server.
	maxTelemetryBytes = 96 << 20
	// maxTelemetryText bounds the decompressed text.
	maxTelemetryText = 16 << 30
)

// A telemetryBuffer compresses the telemetry of a file. The zero value is empty.
type telemetryBuffer struct {
	enc export.ScrapeEncoder
	z   *zstd.Encoder // nil before the first scrape
	out bytes.Buffer
	buf []byte
}

func (t *telemetryBuffer) write(s *export.Scrape) (err error) {
	if t.z == nil {
		if t.z, err = zstd.NewWriter(&t.out, zstd.WithEncoderConcurrency(1)); err != nil {
			return err
		}
	}
	t.buf = t.enc.Append(t.buf[:0], s, '\n')
	if _, err := t.z.Write(t.buf); err != nil {
		return err
	}
	if t.out.Len() > maxTelemetryBytes {
		return fmt.Errorf("the telemetry takes more than %d bytes, compressed; write profile_export.json instead", maxTelemetryBytes)
	}
	return nil
}

// metadata adds the pieces, if there are any, to the metadata of the file.
func (t *telemetryBuffer) metadata(m *fileMetadata) error {
	if t.z == nil {
		return nil
	}
	if err := t.z.Close(); err != nil {
		return err
	}
	for i := 0; t.out.Len() > 0; i++ {
		m.add(pieceKey(i), base64.StdEncoding.EncodeToString(t.out.Next(pieceBytes)))
	}
	return nil
}

func pieceKey(i int) string { return fmt.Sprintf("%s.%d", telemetryKey, i) }

// telemetryOf returns the compressed telemetry in a file's metadata; nil for none. get returns ""
// for a key that is missing.
func telemetryOf(get func(key string) string) (all []byte, err error) {
	for i := 0; ; i++ {
		piece := get(pieceKey(i))
		if piece == "" {
			return all, nil
		}
		if all, err = base64.StdEncoding.AppendDecode(all, []byte(piece)); err != nil {
			return nil, fmt.Errorf("metadata %s: %w", pieceKey(i), err)
		}
	}
}

// eachLine calls do with each line of compressed telemetry. A line longer than
// most is an error.
func eachLine(ctx context.Context, compressed []byte, most int64, do func(line []byte) error) error {
	z, err := zstd.NewReader(bytes.NewReader(compressed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(32<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	lines := bufio.NewScanner(io.LimitReader(z, maxTelemetryText))
	lines.Buffer(nil, int(min(most, math.MaxInt32)))
	for lines.Scan() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := do(lines.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than %d bytes", most)
	}
	return lines.Err()
}

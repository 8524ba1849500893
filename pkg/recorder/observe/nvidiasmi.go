package observe

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// smiFields are the fields to query, in the order of the columns after the UUID and the
// index. Each becomes a gauge nvidia_smi_NAME in the unit of nvidia-smi: percent, MiB, W,
// degrees Celsius, MHz.
var smiFields = []string{"utilization.gpu", "memory.used", "memory.total", "power.draw", "temperature.gpu", "clocks.sm"}

// maxSMIOutput bounds the output of nvidia-smi, in bytes.
const maxSMIOutput = 1 << 20

// nvidiaSMI returns the source that runs nvidia-smi.
func (c *Metrics) nvidiaSMI(path string) *source {
	host, _ := os.Hostname()
	return &source{
		info:   export.TelemetrySource{Source: c.name("nvidia-smi"), Kind: export.TelemetryNvidiaSMI, Host: host},
		scrape: func(ctx context.Context, s *source, into *export.Scrape) error { return s.runSMI(ctx, path, into) },
	}
}

// A boundedBuffer takes up to maxSMIOutput bytes and then fails. It has no ReadFrom, which
// would bypass the limit.
type boundedBuffer struct {
	b    bytes.Buffer
	over bool
}

var errTooMuch = fmt.Errorf("more than %d bytes of output", maxSMIOutput)

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.over = b.b.Len()+len(p) > maxSMIOutput; b.over {
		return 0, errTooMuch
	}
	return b.b.Write(p)
}

// runSMI runs nvidia-smi once.
func (s *source) runSMI(ctx context.Context, path string, into *export.Scrape) error {
	cmd := exec.CommandContext(ctx, path, "--query-gpu=uuid,index,"+strings.Join(smiFields, ","), "--format=csv,noheader,nounits")
	var stdout, stderr boundedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // for children that keep the pipe open
	if err := cmd.Run(); err != nil {
		switch {
		case stdout.over || stderr.over:
			return errTooMuch
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if text := strings.TrimSpace(stderr.b.String() + stdout.b.String()); text != "" {
			line, _, _ := strings.Cut(text, "\n")
			return fmt.Errorf("%w: %s", err, line)
		}
		return err
	}
	return s.readSMI(&stdout.b, into)
}

// readSMI adds the values in a table of nvidia-smi.
func (s *source) readSMI(table io.Reader, into *export.Scrape) error {
	r := csv.NewReader(table)
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = len(smiFields) + 2
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("nvidia-smi did not print the requested table: %w", err)
	}
	if len(rows) == 0 {
		return errors.New("nvidia-smi lists no GPU")
	}
	for _, row := range rows {
		for i, field := range smiFields {
			v, err := strconv.ParseFloat(strings.TrimSpace(row[i+2]), 64)
			if err != nil {
				continue // [N/A]: the GPU does not measure it
			}
			name := "nvidia_smi_" + strings.ReplaceAll(field, ".", "_")
			head := fmt.Sprintf("%s{gpu_uuid=%q,gpu=%q}", name, row[0], row[1])
			if err := s.add(into, Sample{Head: []byte(head), Type: "gauge", Value: v}); err != nil {
				return err
			}
		}
	}
	return nil
}

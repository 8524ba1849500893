package spool

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// exportText is n bytes or more of what a recorded run consists of: SSE events
// within JSON strings, which are full of escapes, and timestamps.
func exportText(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"experiments":[{"requests":[`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"timestamp":%d,"response_outputs":[`, 1_700_000_000_000_000_000+i)
		for j := range 64 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"response":"data: {\"id\":\"chatcmpl-%d\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word%d\"},\"finish_reason\":null}]}\n\n"}`, i, j)
		}
		b.WriteString(`],"response_timestamps":[`)
		b.WriteString(strings.Repeat("1700000000000000000,", 63))
		b.WriteString("1700000000000000000]}")
	}
	b.WriteString("]}]}")
	return b.Bytes()
}

func BenchmarkCut(b *testing.B) {
	compact := exportText(4 << 20)
	indented := bytes.ReplaceAll(bytes.ReplaceAll(compact, []byte(`,"`), []byte(",\n        \"")), []byte(`000,1`), []byte("000,\n        1"))
	for _, c := range []struct {
		name string
		text []byte
	}{{"compact", compact}, {"indented", indented}} {
		b.Run(c.name, func(b *testing.B) {
			buf := make([]byte, 256<<10)
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				var k blankCutter
				for rest := c.text; len(rest) > 0; {
					n := copy(buf, rest)
					k.cut(buf[:n])
					rest = rest[n:]
				}
			}
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	text := exportText(16 << 20)
	for _, cut := range []bool{false, true} {
		b.Run(fmt.Sprintf("cut=%t", cut), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s, err := Copy(b.Context(), "run.json", bytes.NewReader(text), Config{Dir: b.TempDir(), CutBlanks: cut})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

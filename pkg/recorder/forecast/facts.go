package forecast

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

// Facts are what a forecast needs to know of the input data.
type Facts struct {
	Entries       int             // number of entries; 0: unknown
	About         bool            // Entries is an estimate
	Why           string          // why Entries is unknown
	Input, Output recorder.Figure // tokens of a request, on average
	InputBytes    float64         // of a request's prompt, on average; NaN if unknown
	Thinking      time.Duration   // all think times together
	ThinkingAbout bool            // Thinking is an estimate, from a part of the entries
	// Sessions describes the sessions of the data; nil for data without any.
	Sessions *workload.SessionFacts
}

const (
	// mostSampled and mostSampledBytes bound the entries that a forecast looks at.
	mostSampled      = 256
	mostSampledBytes = 16 << 20
	// MostDryBytes bounds the files that --dry-run reads.
	MostDryBytes = 32 << 20
	// TextPerToken is the length in bytes of a token of usual text.
	TextPerToken = 4
)

// Sample looks at entries at equal distances, and takes them for all. textPerToken is the length in bytes of a token of their
// texts, output the mean length that the run asks for where a prompt has none; 0: it asks for none.
func (d *Facts) Sample(src workload.Source, textPerToken, output float64) {
	n := min(src.Len(), mostSampled)
	var seen, withLength, bytes int
	var tokens, lengths float64
	var thinking time.Duration
	counted, prompts := true, true
	for i := 0; i < n && bytes < mostSampledBytes; i++ {
		e, err := src.At(i * src.Len() / n)
		if err != nil {
			break // the recorder reports it
		}
		one := lengthsOf(&e, textPerToken)
		if one.output == 0 && e.Prompt != nil && e.Prompt.Body == nil {
			one.output = output
		}
		seen++
		bytes += one.bytes
		tokens += one.tokens
		counted, prompts = counted && one.counted, prompts && one.prompt
		if one.output > 0 {
			withLength++
			lengths += one.output
		}
		thinking += e.Delay
	}
	if seen == 0 {
		d.InputBytes = math.NaN()
		return
	}
	all := float64(src.Len()) / float64(seen)
	d.Thinking, d.ThinkingAbout = time.Duration(float64(thinking)*all), seen < src.Len()
	d.InputBytes = float64(bytes) / float64(seen)
	basis := plural.GroupedOf(seen, "row")
	if seen < src.Len() {
		basis += " of " + plural.Grouped(src.Len())
	}
	if prompts {
		how := fmt.Sprintf("%s, at %.2g bytes a token", basis, textPerToken)
		if counted {
			how = basis
		}
		d.Input = recorder.Figure{Value: tokens / float64(seen), Bound: recorder.About, Basis: how}
	} else {
		d.Input = recorder.Figure{Basis: "the input data are not prompts"}
	}
	if withLength == seen {
		bound := recorder.AtMost
		if seen < src.Len() { // the others may ask for more
			bound = recorder.About
		}
		d.Output = recorder.Figure{Value: lengths / float64(withLength), Bound: bound, Basis: "the lengths that " + basis + " ask for"}
	}
}

// entryLengths are the lengths of an entry.
type entryLengths struct {
	bytes   int
	tokens  float64 // of the prompt
	output  float64 // tokens that it asks for; 0: none
	counted bool    // tokens is no estimate
	prompt  bool    // the entry is a prompt, or the body of a request
}

// lengthsOf returns the lengths of an entry whose texts have tokens of textPerToken bytes.
func lengthsOf(e *workload.Entry, textPerToken float64) (l entryLengths) {
	if p := e.Prompt; p != nil && p.Body == nil {
		l.prompt = true
		l.bytes = len(p.Messages) + len(p.System) + len(p.Text)
		for _, text := range p.More {
			l.bytes += len(text)
		}
		l.tokens = float64(l.bytes-len(p.Messages)+contentBytes(p.Messages)) / textPerToken
		if l.counted = p.IDs != nil && len(p.Text) == l.bytes; l.counted {
			l.tokens = float64(len(p.IDs))
		}
		for _, m := range p.Media {
			l.bytes += len(m.URL)
		}
		l.output = float64(p.MaxTokens)
		return l
	}
	bodies := [][]byte{}
	if e.Prompt != nil {
		bodies = append(bodies, e.Prompt.Body)
	} else if v, ok := e.Values.Get("payload"); ok {
		var all []json.RawMessage
		if json.Unmarshal(v.Data, &all) == nil {
			for _, body := range all {
				bodies = append(bodies, body)
			}
		}
	}
	for _, body := range bodies {
		l.prompt = true
		l.bytes += len(body)
		l.tokens += float64(len(body)) / textPerToken
		l.output += LengthIn(body, []string{"max_tokens", "max_completion_tokens", "max_output_tokens"})
	}
	if !l.prompt {
		for _, f := range e.Values {
			l.bytes += len(f.Value.Data)
		}
		for _, raw := range e.Raw {
			l.bytes += len(raw)
		}
	}
	return l
}

// contentBytes returns the length in bytes of the texts of messages, or of all messages if a content is not a text.
func contentBytes(messages []byte) int {
	var all []struct {
		Content *string `json:"content"`
	}
	if json.Unmarshal(messages, &all) != nil {
		return len(messages)
	}
	n := 0
	for _, m := range all {
		if m.Content == nil { // a call of a tool, for example
			return len(messages)
		}
		n += len(*m.Content)
	}
	return n
}

// LengthIn returns the first of the members of a request's body that is a number; 0 if there is none.
func LengthIn(body []byte, members []string) float64 {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return 0
	}
	for _, name := range members {
		var n float64
		if v, ok := all[name]; ok && json.Unmarshal(v, &n) == nil {
			return n
		}
	}
	return 0
}

// LengthBound says how well the mean of a distribution tells the lengths that are drawn.
func LengthBound(law synth.LengthDistribution) recorder.Bound {
	switch law := law.(type) {
	case synth.Fixed:
		return recorder.Exact
	case synth.Normal:
		if law.Stddev == 0 {
			return recorder.Exact
		}
	}
	return recorder.About
}

// A LaterError says why data is read when the run begins, and not by a dry run.
type LaterError string

// Error implements error.
func (e LaterError) Error() string { return string(e) }

// ReadLater reports whether err leaves open what a run would read: the data is read when the run begins, or holds more than
// a dry run reads. A run would fail with any other error.
func ReadLater(err error) bool {
	var later LaterError
	var limit *spool.LimitError
	return errors.As(err, &later) || errors.As(err, &limit) && limit.MaxBytes == MostDryBytes
}

// CheckQuick returns why files cannot be read for a dry run: a [LaterError] for streams and large files, other errors for
// files that are missing.
func CheckQuick(paths []string) error {
	total := int64(0)
	for _, path := range paths {
		if path == "-" {
			return LaterError("--input-data -: standard input is read when the run begins")
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("--input-data: %w", disk.Unreadable(err))
		}
		files := []os.FileInfo{info}
		if info.IsDir() {
			inside, err := os.ReadDir(path)
			if err != nil {
				return fmt.Errorf("--input-data: %w", disk.Unreadable(err))
			}
			files = nil
			for _, f := range inside {
				if info, err := os.Stat(filepath.Join(path, f.Name())); err == nil && !info.IsDir() && dataset.IsDataFile(f.Name()) {
					files = append(files, info)
				}
			}
			if len(inside) == 0 {
				return fmt.Errorf("--input-data %s: the folder holds no file", path)
			}
			if len(files) == 0 { // a file for each tensor of a model
				return LaterError("--input-data " + path + " holds tensors, or no data, and is read when the run begins")
			}
		}
		for _, info := range files {
			if !info.Mode().IsRegular() {
				return LaterError("--input-data " + path + " is not a regular file, and is read when the run begins")
			}
			if total += info.Size(); total > MostDryBytes {
				return LaterError("--input-data " + path + " is large, and is read when the run begins")
			}
		}
	}
	return nil
}

// LengthTexts are made-up texts; only their length matters. It implements dataset.Texts.
type LengthTexts struct{}

// Text implements dataset.Texts.
func (LengthTexts) Text(_ uint64, tokens int) (string, []uint32, error) {
	return strings.Repeat("text ", tokens)[:max(TextPerToken*tokens, 0)], make([]uint32, tokens), nil
}

// Blocks implements dataset.Texts.
func (t LengthTexts) Blocks(_ []int64, _, tokens int) (string, []uint32, error) {
	return t.Text(0, tokens)
}

// Scoped implements dataset.Texts.
func (t LengthTexts) Scoped(_ string, blocks []int64, size int, _ uint64, rest int) (string, []uint32, error) {
	return t.Text(0, len(blocks)*size+rest)
}

// Parts implements dataset.Texts.
func (t LengthTexts) Parts(_ []uint64, tokens []int) (string, []uint32, error) {
	total := 0
	for _, n := range tokens {
		total += n
	}
	return t.Text(0, total)
}

package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/wire/audio"
)

// formBoundary separates the parts of a form. It is the same for all requests, so that a prepared request is one
// string of bytes.
const formBoundary = "pa-record-form-8f14e45fceea167a5a36dedd4bea2543"

// AudioFormType is the content type of the form of [AudioForm].
const AudioFormType = "multipart/form-data; boundary=" + formBoundary

// MaxAudioSeconds bounds the length of a clip that a request states.
const MaxAudioSeconds = 1e7

// A clip is the member "file" of a request for a transcription: {"url": "data:audio/wav;base64,…", "name": "a.wav"}. A
// request in JSON may have the URL alone in its place.
type clip struct {
	name, kind string
	content    []byte
	seconds    []byte // as the request states them; nil: it does not
}

// AudioForm returns a request for a transcription or translation as a form, multipart/form-data, and as JSON for
// exports. body is the request in JSON, whose member "file" holds the clip: a data: URL, or
//
//	{"url": "data:audio/wav;base64,…", "name": "a.wav", "seconds": 2.5}
//
// Each other member becomes a field of the form; each element of a list one with the name "member[]". The JSON for
// exports holds, in place of the clip, its name, type, length in bytes and seconds, and SHA-256. seconds of the request
// count for clips whose header does not state their length.
func AudioForm(body []byte) (form, shown []byte, err error) {
	all, err := members(body)
	if err != nil {
		return nil, nil, err
	}
	var f formWriter
	f.b.Grow(len(body))
	file := -1
	for i, m := range all {
		var w jsonscan.Walker
		w.Reset(m.key)
		name := string(w.String())
		switch {
		case name == "file":
			file = i
		case m.value[0] == '[':
			w.Reset(m.value)
			for ok := w.OpenArray(); ok; ok = w.NextElement() {
				f.field(name+"[]", w.Value())
			}
		default:
			f.field(name, m.value)
		}
	}
	if file < 0 {
		return nil, nil, errors.New(`the request has no "file": give the clip as "audio"`)
	}
	c, err := parseClip(all[file].value)
	if err != nil {
		return nil, nil, fmt.Errorf("file: %w", err)
	}
	f.file("file", c.name, c.kind, c.content)
	if f.err != nil {
		return nil, nil, f.err
	}
	shown, err = MergeRequest(body, append(append([]byte(`{"file":`), c.description()...), '}'))
	return f.close(), shown, err
}

// parseClip reads the value of "file".
func parseClip(value []byte) (c clip, err error) {
	var url, described []byte
	var w jsonscan.Walker
	w.Reset(value)
	if w.Peek() == '{' {
		for ok := w.OpenObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "url":
				url = w.String()
			case "name":
				c.name = string(w.String())
			case "seconds":
				c.seconds = w.Value()
			case "sha256":
				described = w.Value()
			default:
				w.Skip()
			}
		}
	} else {
		url = w.String()
	}
	if url == nil && described != nil {
		return c, errors.New("it is the description of an export, without the clip; give the audio file")
	}
	rest, inline := bytes.CutPrefix(url, []byte("data:"))
	kind, content, ok := bytes.Cut(rest, []byte(";base64,"))
	if !inline || !ok {
		return c, errors.New("a form holds the clip itself; give a file, or a data: URL in base64")
	}
	c.kind = OneLine(kind)
	c.content = make([]byte, base64.StdEncoding.DecodedLen(len(content)))
	n, err := base64.StdEncoding.Decode(c.content, content)
	if c.content = c.content[:n]; err != nil {
		return c, fmt.Errorf("the data: URL: %w", err)
	}
	if c.name == "" {
		c.name = "audio." + strings.TrimPrefix(c.kind[strings.LastIndexByte(c.kind, '/')+1:], "x-")
	}
	if c.seconds != nil {
		if s, err := strconv.ParseFloat(string(c.seconds), 64); err != nil || !(s > 0 && s <= MaxAudioSeconds) {
			return c, fmt.Errorf("seconds %s: expected a number above 0 and at most %g", OneLine(c.seconds), MaxAudioSeconds)
		}
	}
	return c, nil
}

// description returns the clip as an export shows it.
func (c *clip) description() []byte {
	b := append(appendQuoted([]byte(`{"name":`), []byte(c.name)), `,"type":`...)
	b = append(appendQuoted(b, []byte(c.kind)), `,"bytes":`...)
	b = strconv.AppendInt(b, int64(len(c.content)), 10)
	switch ns, why := audio.DurationNS(c.content); {
	case why == "":
		b = strconv.AppendFloat(append(b, `,"seconds":`...), float64(ns)/1e9, 'f', -1, 64)
	case c.seconds != nil:
		b = append(append(b, `,"seconds":`...), c.seconds...)
	default:
		b = appendQuoted(append(b, `,"no_seconds":`...), []byte(why))
	}
	sum := sha256.Sum256(c.content)
	b = append(append(b, `,"sha256":"`...), hex.EncodeToString(sum[:])...)
	return append(b, `"}`...)
}

// A formWriter writes multipart/form-data.
type formWriter struct {
	b   bytes.Buffer
	err error
}

// formQuote escapes a name in the head of a part, as browsers do.
var formQuote = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")

func (f *formWriter) part(name, more string, content []byte) {
	if f.err == nil && (bytes.Contains(content, []byte(formBoundary)) || strings.Contains(name+more, formBoundary)) {
		f.err = fmt.Errorf("%s holds %q, which separates the fields of a form", OneLine([]byte(name)), formBoundary)
	}
	f.b.WriteString("--" + formBoundary + "\r\nContent-Disposition: form-data; name=\"" + formQuote.Replace(name) + `"` + more + "\r\n\r\n")
	f.b.Write(content)
	f.b.WriteString("\r\n")
}

// field writes a field with a JSON value: the text of a string, the JSON of others, and nothing for null.
func (f *formWriter) field(name string, value []byte) {
	switch value[0] {
	case '"':
		var w jsonscan.Walker
		w.Reset(value)
		value = w.String()
	case 'n':
		return
	}
	f.part(name, "", value)
}

func (f *formWriter) file(name, file, kind string, content []byte) {
	f.part(name, `; filename="`+formQuote.Replace(file)+"\"\r\nContent-Type: "+kind, content)
}

// close ends the form and returns it.
func (f *formWriter) close() []byte {
	f.b.WriteString("--" + formBoundary + "--\r\n")
	return f.b.Bytes()
}

// ClipNS returns the length in nanoseconds of the clip of a request, which AudioForm described in shown. why says why the length is
// not known; "" if it is.
func ClipNS(shown []byte) (ns int64, why string) {
	why = "the request does not state the length of its clip"
	var w jsonscan.Walker
	w.Reset(shown)
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		if string(w.Key) != "file" {
			w.Skip()
			continue
		}
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "seconds":
				s, err := strconv.ParseFloat(string(bytes.TrimSpace(w.Value())), 64)
				if err == nil && s > 0 && s <= MaxAudioSeconds {
					ns, why = int64(math.Round(s*1e9)), ""
				}
			case "no_seconds":
				if text := w.String(); len(text) > 0 {
					why = "the length of a clip is not known: " + OneLine(text)
				}
			default:
				w.Skip()
			}
		}
	}
	return ns, why
}

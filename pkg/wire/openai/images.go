package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// Images says which images an answer of v1/images/generations or v1/images/edits holds, or an event of such an answer:
//
//	{"data":[{"b64_json":"…"},{"url":"…"}]}
//	{"type":"image_generation.partial_image","partial_image_index":0,"b64_json":"…"}
//	{"type":"image_generation.completed","b64_json":"…"}
//
// The bytes of an image may be replaced as [AppendWithoutImages] does it.
type Images struct {
	Finished int // images that are finished
	Partial  int // images of a stream that are not
	// Sized counts the finished images whose size is known, and Bytes is their size. An image that the answer names by a
	// URL has no known size.
	Sized int
	Bytes int64
}

// ReadImages returns the images of an answer or of the frame of an event. It returns none for text that is no JSON object.
func ReadImages(text []byte) (im Images) {
	if body := bytes.TrimSpace(text); len(body) == 0 || body[0] != '{' {
		e := sse.Parse(text)
		if !e.HasData {
			return Images{}
		}
		text = e.Data
	}
	w := jsonscan.Walker{Text: text}
	var kind []byte
	var one image
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "type":
			kind = w.String()
		case "data":
			for ok := w.TryArray(); ok; ok = w.NextElement() {
				var i image
				for ok := w.TryObject(); ok; ok = w.NextMember() {
					i.member(&w)
				}
				im.add(i)
			}
		default:
			one.member(&w)
		}
	}
	w.End()
	switch {
	case w.Err != nil:
		return Images{}
	case bytes.HasSuffix(kind, []byte(".partial_image")):
		if one.there {
			im.Partial++
		}
	case len(kind) > 0:
		im.add(one)
	}
	return im
}

func (im *Images) add(i image) {
	if !i.there {
		return
	}
	im.Finished++
	if i.sized {
		im.Sized, im.Bytes = im.Sized+1, im.Bytes+i.bytes
	}
}

// An image is one image of an answer.
type image struct {
	there, sized bool
	bytes        int64
}

// member reads a member of an object that may be an image.
func (i *image) member(w *jsonscan.Walker) {
	switch c := w.Peek(); {
	case string(w.Key) == "b64_json" && c == '"':
		text := w.String()
		n := len(bytes.TrimRight(text, "="))
		i.there, i.sized, i.bytes = len(text) > 0, len(text) > 0, int64(base64.RawStdEncoding.DecodedLen(n))
	case string(w.Key) == "b64_json" && c == '{':
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			if string(w.Key) != "bytes" {
				w.Skip()
			} else if n, ok := count(w); ok {
				i.there, i.sized, i.bytes = true, true, n
			}
		}
	case string(w.Key) == "url" && c == '"':
		i.there = len(w.String()) > 0 || i.there
	default:
		w.Skip()
	}
}

// imageMember is the member that holds the bytes of an image.
const imageMember = `"b64_json"`

// AppendWithoutImages appends an answer, or a piece of one, in which each image in base64 has been replaced by its size
// and its SHA-256:
//
//	"b64_json":{"bytes":12345,"sha256":"…"}
//
// It also replaces an image that is cut. Text that is not base64 stays.
func AppendWithoutImages(dst, text []byte) []byte {
	for {
		i := bytes.Index(text, []byte(imageMember))
		if i < 0 {
			return append(dst, text...)
		}
		from := jsonscan.SkipSpace(text, i+len(imageMember))
		if from < len(text) && text[from] == ':' {
			from = jsonscan.SkipSpace(text, from+1)
		}
		if from >= len(text) || text[from] != '"' {
			dst, text = append(dst, text[:from]...), text[from:]
			continue
		}
		value := text[from+1:]
		end, rest := len(value), len(value)
		if n := bytes.IndexByte(value, '"'); n >= 0 {
			end, rest = n, n+1
		}
		summary, ok := summarizeImage(value[:end], rest == end)
		if !ok {
			dst, text = append(dst, text[:from+1]...), value
			continue
		}
		dst, text = append(append(dst, text[:from]...), summary...), value[rest:]
	}
}

// summarizeImage returns the JSON that replaces an image in base64; cut says that its end is missing. ok is false if the
// text is not base64.
func summarizeImage(text []byte, cut bool) (js []byte, ok bool) {
	if bytes.IndexByte(text, '\\') >= 0 { // "\/"
		text = bytes.ReplaceAll(text, []byte(`\/`), []byte("/"))
	}
	text = bytes.TrimRight(text, "=")
	if cut {
		text = text[:len(text)/4*4]
	}
	h := sha256.New()
	n := 0
	var buf [3 << 10]byte
	for len(text) > 0 {
		piece := text[:min(len(text), base64.RawStdEncoding.EncodedLen(len(buf)))]
		got, err := base64.RawStdEncoding.Decode(buf[:], piece)
		if err != nil {
			return nil, false
		}
		h.Write(buf[:got])
		n, text = n+got, text[len(piece):]
	}
	if n == 0 {
		return nil, false
	}
	return fmt.Appendf(nil, `{"bytes":%d,"sha256":"%s"}`, n, hex.EncodeToString(h.Sum(nil))), true
}

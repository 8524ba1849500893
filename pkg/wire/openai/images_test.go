package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func TestReadImages(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Images
	}{
		{"whole", `{"created":1,"data":[{"b64_json":"AAEC"},{"b64_json":"AA==","revised_prompt":"p"}],"usage":{"input_tokens":3}}`, Images{Finished: 2, Sized: 2, Bytes: 4}},
		{"by URL", `{"data":[{"url":"http://x/a.png"}]}`, Images{Finished: 1}},
		{"both null and a URL", `{"data":[{"b64_json":null,"url":"http://x/a.png"}]}`, Images{Finished: 1}},
		{"without bytes", `{"data":[{"b64_json":{"bytes":12,"sha256":"ab"}}]}`, Images{Finished: 1, Sized: 1, Bytes: 12}},
		{"partial", "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AAEC\"}\n\n", Images{Partial: 1}},
		{"finished", "data: {\"type\":\"image_generation.completed\",\"b64_json\":\"AAEC\",\"usage\":{\"input_tokens\":3}}\n\n", Images{Finished: 1, Sized: 1, Bytes: 3}},
		{"an edit", `{"type":"image_edit.partial_image","b64_json":"AAEC"}`, Images{Partial: 1}},
		{"no image", `{"data":[{}],"type":"image_generation.completed"}`, Images{}},
		{"empty image", `{"data":[{"b64_json":"","url":""}]}`, Images{}},
		{"a size that is no count", `{"data":[{"b64_json":{"bytes":-1}},{"b64_json":{"bytes":1e99}}]}`, Images{}},
		{"an error", `{"error":{"message":"busy"}}`, Images{}},
		{"other data", `{"data":5,"b64_json":7}`, Images{}},
		{"cut", `{"data":[{"b64_json":"AAEC"`, Images{}},
		{"no JSON", "data: x\n\n", Images{}},
		{"a comment", ": x\n\n", Images{}},
		{"a list", `[{"b64_json":"AAEC"}]`, Images{}},
		{"nothing", "", Images{}},
	} {
		if got := ReadImages([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// summaryOf returns what replaces an image.
func summaryOf(data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf(`{"bytes":%d,"sha256":"%s"}`, len(data), hex.EncodeToString(sum[:]))
}

func TestAppendWithoutImages(t *testing.T) {
	large := bytes.Repeat([]byte{1, 2, 3, 250, 251}, 5000)
	text := base64.StdEncoding.EncodeToString(large)
	for _, tt := range []struct{ name, text, want string }{
		{"whole", `{"data":[{"b64_json":"` + text + `"}, {"b64_json" : "AA=="}]}`, `{"data":[{"b64_json":` + summaryOf(large) + `}, {"b64_json" : ` + summaryOf([]byte{0}) + `}]}`},
		{"an event", "event: x\ndata: {\"b64_json\":\"AAEC\",\"size\":\"1x1\"}\n\n", "event: x\ndata: {\"b64_json\":" + summaryOf([]byte{0, 1, 2}) + ",\"size\":\"1x1\"}\n\n"},
		{"escaped slashes", `{"b64_json":"\/\/\/\/"}`, `{"b64_json":` + summaryOf([]byte{255, 255, 255}) + `}`},
		{"no padding", `{"b64_json":"AA"}`, `{"b64_json":` + summaryOf([]byte{0}) + `}`},
		{"cut", `{"b64_json":"AAECA`, `{"b64_json":` + summaryOf([]byte{0, 1, 2})},
		{"cut before the image", `{"b64_json":`, `{"b64_json":`},
		{"cut at its first byte", `{"b64_json":"`, `{"b64_json":"`},
		{"not base64", `{"b64_json":"a cat","b64_json":"AAEC"}`, `{"b64_json":"a cat","b64_json":` + summaryOf([]byte{0, 1, 2}) + `}`},
		{"empty", `{"b64_json":""}`, `{"b64_json":""}`},
		{"null", `{"b64_json":null,"url":"u"}`, `{"b64_json":null,"url":"u"}`},
		{"in a text", `{"p":"\"b64_json\":\"AAEC\""}`, `{"p":"\"b64_json\":\"AAEC\""}`},
		{"as a value", `{"p":"b64_json","q":"AAEC"}`, `{"p":"b64_json","q":"AAEC"}`},
		{"a URL", `{"data":[{"url":"http://x"}]}`, `{"data":[{"url":"http://x"}]}`},
	} {
		if got := string(AppendWithoutImages(nil, []byte(tt.text))); got != tt.want {
			t.Errorf("%s: %.300s\nwant %.300s", tt.name, got, tt.want)
		}
	}
	if got := string(AppendWithoutImages([]byte("x"), []byte("y"))); got != "xy" {
		t.Errorf("appended to x: %q", got)
	}
}

// FuzzImages checks that the images of an answer are the same without their bytes, and that nothing is left to remove.
func FuzzImages(f *testing.F) {
	for _, text := range []string{
		`{"data":[{"b64_json":"AAEC"},{"url":"u"}]}`, "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AA==\"}\n\n", `{"b64_json":{"bytes":5}}`, `{"b64_json":"`,
		`{"data":[{"b64_json":"\u0041AEC"}]}`, `{"data":[{"b64_json":"\/\/AA"}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		short := AppendWithoutImages(nil, []byte(text))
		if again := AppendWithoutImages(nil, short); !bytes.Equal(again, short) {
			t.Errorf("%q without images is %q, and without them again %q", text, short, again)
		}
		before, after := ReadImages([]byte(text)), ReadImages(short)
		if valid := strings.Count(text, imageMember) <= 1 && !strings.ContainsAny(text, "\\\r\n"); valid && before.Finished > 0 && before != after {
			t.Errorf("%q holds %+v, and without bytes %+v", text, before, after)
		}
	})
}

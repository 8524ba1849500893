package jsonscan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// texts decodes the strings of a JSON array with one Arena, and each with an Arena of its own,
// which has no envelope. It returns the differences.
func texts(t *testing.T, doc []byte) (hits int) {
	t.Helper()
	var shared Arena
	shared.Reset(len(doc))
	for i := 0; i < len(doc); {
		if doc[i] != '"' {
			i++
			continue
		}
		var alone Arena
		alone.Reset(len(doc))
		got, end, err := shared.Text(doc, i)
		want, wantEnd, wantErr := alone.Text(doc, i)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && end != wantEnd || !bytes.Equal(got, want) {
			t.Fatalf("%s\nat %d: %q to %d, %v; want %q to %d, %v", doc, i, got, end, err, want, wantEnd, wantErr)
		}
		if err != nil {
			return hits
		}
		if shared.envelope.attempts.used {
			hits++
			shared.envelope.attempts.used = false
		}
		i = end
	}
	return hits
}

func event(content string) string {
	return `"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"` + content + `\"},\"finish_reason\":null}]}\n\n"`
}

func TestEnvelope(t *testing.T) {
	var all []string
	for _, c := range []string{" of", "f", " to", " the", "", "é", " quite long content", `\\\"`, `\u00e9`, `\\n`, " a", `\ud83d`, `\ude00`, " b", " c", " d", " e", "s", "ss", " of"} {
		all = append(all, event(c))
	}
	other := strings.ReplaceAll(strings.Join(all, ","), "chatcmpl-1", "chatcmpl-22")
	doc := "[" + strings.Join(all, ",") + "," + other + "," + `"data: [DONE]\n\n",` + strings.Join(all, ",") + "]"
	if hits := texts(t, []byte(doc)); hits < 20 {
		t.Errorf("%d strings of %d were in the envelope, want 20 at least", hits, 3*len(all))
	}
	for i := 0; i < len(doc); i += testenv.Stride(41) { // cut at any place
		texts(t, []byte(doc[:i]))
	}
}

// An envelope never spans an escape of its own or half a surrogate pair.
func TestEnvelopeEscapes(t *testing.T) {
	long := strings.Repeat("x", minFront)
	for _, pair := range [][2]string{
		{long + `\"`, long + `\\`},
		{long + `a\"b`, long + `\"b`},
		{long + `\ud83d\ude00\n`, long + `\ud83d\ude01\n`},
		{long + `\ud83da\ude00\n`, long + `\ud83db\ude00\n`},
		{long + `a\ude00\n`, long + `b\ude00\n`},
		{long + `1\\`, long + `2\\`},
		{long + `\\`, long + `\\\\`},
	} {
		for _, third := range []string{long + `c\n`, long + `\ude00\n`, long + `\\`, long + `a\\`, long} {
			texts(t, []byte(`["`+pair[0]+`","`+pair[1]+`","`+third+`","`+pair[0]+`"]`))
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(event(" a") + event("b") + event(" c") + event("d")))
	f.Add([]byte(`"` + strings.Repeat(`\"`, 40) + `a\n"` + `"` + strings.Repeat(`\"`, 40) + `\ud83d\n"`))
	f.Fuzz(func(t *testing.T, doc []byte) { texts(t, doc) })
}

func BenchmarkText(b *testing.B) {
	doc := []byte("[" + strings.Join([]string{event(" of"), event(" to"), event("ing"), event(" the"), event(" a")}, ",") + "]")
	var a Arena
	a.Reset(len(doc))
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		a.Reset(len(doc))
		for i := 0; i < len(doc); {
			if doc[i] != '"' {
				i++
				continue
			}
			_, end, err := a.Text(doc, i)
			if err != nil {
				b.Fatal(err)
			}
			i = end
		}
	}
}

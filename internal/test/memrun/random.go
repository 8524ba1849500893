package memrun

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A Random makes requests with hostile strings and extreme numbers, for the round trips of
// formats. The fields of a request need not fit together.
type Random struct{ *rand.Rand }

// NewRandom returns a Random with a seed of two numbers.
func NewRandom(seed1, seed2 uint64) Random { return Random{rand.New(rand.NewPCG(seed1, seed2))} }

// Text returns up to three pieces of text, some of which are not UTF-8.
func (s Random) Text() string {
	parts := []string{"", "a", "\"", "\\", "\x00", "\x1f", "\x7f", "\xff", "é", "\xc3", "😀", "\xed\xa0\xbd", "data: {\"x\":1}\n\n", `"requests":[`, "]}]}", "base64:", strings.Repeat("y", 300)}
	b := ""
	for range s.IntN(4) {
		b += parts[s.IntN(len(parts))]
	}
	return b
}

// Value returns a text, or compact JSON.
func (s Random) Value() export.Value {
	json := []string{"null", "true", "0", "-1.5e+07", "18446744073709551615", `[1,2]`, `{"a":["\"",{}]}`}
	if s.IntN(2) == 0 {
		return export.Text(s.Text())
	}
	return export.JSON(json[s.IntN(len(json))])
}

// Fields returns up to three fields, which may have the same name. If there are no fields, it
// returns nil with absent set, else an empty list.
func (s Random) Fields(absent bool) export.Fields {
	n := s.IntN(4)
	if n == 0 {
		if absent {
			return nil
		}
		return export.Fields{}
	}
	f := make(export.Fields, n)
	for i := range f {
		f[i] = export.Field{Name: s.Text(), Value: s.Value()}
	}
	return f
}

// Uint returns a number that may not fit a signed integer.
func (s Random) Uint() uint64 {
	return []uint64{0, 1, 1700000000123456789, 1<<63 - 1, 1 << 63, 1<<64 - 1}[s.IntN(6)]
}

// Int returns a number that may be negative.
func (s Random) Int() int { return []int{0, 0, 1, -1, 1<<63 - 1, -1 << 63}[s.IntN(6)] }

// Request returns a request. Without HasMeta, it has no other metadata than a status and a
// phase.
func (s Random) Request() *export.Request {
	r := &export.Request{
		StartNS: s.Uint(), SequenceID: s.Uint(), Inputs: s.Fields(s.IntN(2) == 0),
		NoOutputs: s.IntN(4) == 0, Status: export.StatusOK, Phase: export.PhaseMeasured, HasMeta: s.IntN(3) > 0,
	}
	for range s.IntN(5) {
		x := export.Response{RecvNS: s.Uint()}
		if !r.NoOutputs {
			x.Outputs = s.Fields(s.IntN(4) == 0)
		}
		if r.HasMeta {
			x.Source = export.StampSource(s.IntN(3))
			x.Read = uint32(s.IntN(3))
			x.Final = s.IntN(3) == 0
			x.Error = s.IntN(3) == 0
		}
		r.Responses = append(r.Responses, x)
	}
	if s.IntN(4) == 0 {
		r.Extra = export.Fields{{Name: "x" + s.Text(), Value: s.Value()}}
	}
	if r.HasMeta {
		r.ID, r.ScheduledNS, r.IssuedNS, r.SentNS, r.FirstByteNS, r.FailedNS = s.Uint(), s.Uint(), s.Uint(), s.Uint(), s.Uint(), s.Uint()
		r.StartSource = export.StampSource(s.IntN(3))
		r.DNS, r.Connect, r.TLS = time.Duration(s.Int()), time.Duration(s.Int()), time.Duration(s.Int())
		r.Reused, r.Resent, r.OutputsDropped = s.IntN(2) == 0, s.IntN(4) == 0, s.IntN(4) == 0
		r.SessionID, r.Model, r.Message, r.ServerID = s.Text(), s.Text(), s.Text(), s.Text()
		if s.IntN(2) == 0 {
			r.Agent, r.ParentAgent, r.Depth, r.RequestID = s.Text(), s.Text(), s.Int(), s.Text()
		}
		r.Turn, r.Worker, r.Conn, r.Rank, r.Code, r.UnrecordedEvents = s.Int(), s.Int(), s.Int(), s.Int(), s.Int(), s.Int()
	}
	if r.HasMeta || s.IntN(4) == 0 {
		r.Status = export.Status(s.IntN(9))
		r.Phase = export.Phase(s.IntN(4))
	}
	return r
}

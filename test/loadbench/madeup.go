//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

const (
	madeUpStreams = 64 // concurrency of a rank
	// madeUpStart is the time at which all ranks of a made-up run begin, on rank 0's clock.
	madeUpStart = 1_750_000_000_000_000_000
	// madeUpSeed makes every made-up run of the same size the same file.
	madeUpSeed = 1
)

// vocabulary holds the texts of made-up answers: words, pieces of words, pairs,
// punctuation and letters beyond ASCII.
var vocabulary = strings.Split(" model| answers| quickly|,| then| it| waits| for| the| next| request|.| lat|ency|"+
	" through|put| 128| 3.5%| (p99)| a batch| of two| don't| stop|!| Why|?| größer| déjà| vu| 東京| ok|\n| \"quoted\"| tail", "|")

// tokenCounts says how many tokens the server of a made-up run puts into an event, and where it
// counts them.
type tokenCounts string

const (
	uncounted tokenCounts = "none"    // one token; nothing counts them, and the file is as perf_analyzer writes it
	oneToken  tokenCounts = "one"     // one token; the usage at the end of an answer counts all tokens
	several   tokenCounts = "several" // one to three tokens on average; the usage at the end counts all tokens
	counted   tokenCounts = "counted" // one to four tokens; each event has the count so far
)

// A madeUp is one rank of a made-up run: streamed chat completions with as many responses per request as tokens, at
// least 5. The first response names the role, the last ones are the reason of the end, the usage if tokens are counted,
// and [DONE]. If they are, each thousandth request has failed, and the clock of each rank but rank 0 is off by some
// milliseconds, which the shard states.
type madeUp struct {
	requests, tokens int
	counts           tokenCounts
	rank, ranks      int
}

// writeMode as the first argument makes the process write a made-up run of one process as
// Parquet. The next arguments are the number of requests, the number of responses per request, the
// file, and optionally the tokenCounts (oneToken by default). Other tests use this mode.
const writeMode = "write"

// writeMain writes a made-up run.
func writeMain(_ context.Context, args []string, _, _ io.Writer) error {
	if len(args) != 3 && len(args) != 4 {
		return errors.New("write: expected a number of requests, a number of responses, a file, and optionally one, several or counted")
	}
	m := madeUp{counts: oneToken, ranks: 1}
	if len(args) == 4 {
		m.counts = tokenCounts(args[3])
	}
	switch m.counts {
	case oneToken, several, counted:
	default:
		return fmt.Errorf("write: expected one, several or counted, found %s", m.counts)
	}
	var err error
	if m.requests, err = strconv.Atoi(args[0]); err != nil {
		return err
	}
	if m.tokens, err = strconv.Atoi(args[1]); err != nil {
		return err
	}
	_, err = m.create(args[2])
	return err
}

// create writes the file of the rank, in the format of its name, and returns its size.
func (m madeUp) create(path string) (size int64, err error) {
	create, ok := formats.ForName(path)
	if !ok {
		return 0, fmt.Errorf("%s: no format of this name", path)
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	run := m.header()
	w, err := create(f, answer.NewDeriver(run))
	if err != nil {
		return 0, err
	}
	if err := m.write(w, run); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// write writes the requests of the rank.
func (m madeUp) write(w export.Writer, run *export.Run) error {
	m.tokens = max(m.tokens, 5)
	events := m.events()
	begin := uint64(madeUpStart - m.offset())
	var free [madeUpStreams]uint64 // when each stream can send its next request
	for i := range free {
		free[i] = begin + uint64(i)*1000
	}
	if err := w.BeginExperiment(export.ModeConcurrency, strconv.Itoa(madeUpStreams*m.ranks)); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(madeUpSeed, uint64(m.rank)))
	end := begin
	var failed []export.Request // excluded requests follow the others
	q := export.Request{}
	for i := range m.requests {
		stream := i % madeUpStreams
		events.request(&q, r, free[stream])
		free[stream] = q.Responses[m.tokens-1].RecvNS
		end = max(end, free[stream])
		if q.HasMeta {
			q.ID, q.Rank, q.Worker, q.Conn = uint64(i*m.ranks+m.rank+1), m.rank, stream, stream
			if i%1000 == 999 {
				x := q.Clone()
				x.Status, x.Code, x.Message, x.FailedNS, x.Responses = export.StatusHTTPError, 503, "no room", x.FirstByteNS, nil
				failed = append(failed, *x)
				continue
			}
		}
		if err := w.WriteRequest(&q); err != nil {
			return err
		}
	}
	for i := range failed {
		if err := w.WriteRequest(&failed[i]); err != nil {
			return err
		}
	}
	e := &export.Experiment{WindowBoundaries: []uint64{begin, end}}
	if run.Meta != nil {
		e.Meta = &export.ExperimentMeta{
			Share:   &export.LevelShare{Value: strconv.Itoa(madeUpStreams), BeginNS: madeUpStart},
			StartNS: begin, EndNS: end, RequestCounts: export.RequestCounts{Measured: m.requests - len(failed), Failed: len(failed)},
		}
		run.Meta.StartNS, run.Meta.EndNS = begin, end
		run.Meta.Stamps = &export.StampCount{Kernel: uint64((m.requests - len(failed)) * m.tokens)}
	}
	if err := w.EndExperiment(e); err != nil {
		return err
	}
	return w.Close(run)
}

// offset is rank 0's clock minus the clock of the rank.
func (m madeUp) offset() int64 { return int64(m.rank) * 1_234_567 }

// header returns the facts of the run of the rank.
func (m madeUp) header() *export.Run {
	version, kind, endpoint, streaming := "1.1", "openai", "v1/chat/completions", true
	if m.counts == uncounted {
		return &export.Run{Version: &version, ServiceKind: &kind, Endpoint: &endpoint}
	}
	run := &export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "pa-record 0.1.0", Model: "m", Streaming: &streaming, Start: export.StartFirstSegment,
		Seed: madeUpSeed, DatasetSHA256: "d", Protocol: "http",
		Host:  &export.HostMeta{Name: fmt.Sprintf("node%d", m.rank), OS: "linux", Arch: "amd64", CPUs: 2},
		Shard: &export.ShardMeta{Rank: m.rank, WorldSize: m.ranks, Run: "r", PlanSHA256: "p", DividedBy: export.DividedByRequest, Launcher: "flags"},
	}}
	if m.rank > 0 {
		run.Meta.Shard.OffsetBefore = &export.ClockOffset{OffsetNS: m.offset(), BoundNS: 20_000, AtNS: uint64(madeUpStart - m.offset()), Exchanges: 8}
		run.Meta.Shard.OffsetAfter = run.Meta.Shard.OffsetBefore
	}
	return run
}

// madeUpEvents makes the requests of a rank. Its texts are encoded once.
type madeUpEvents struct {
	tokens             int // responses of a request
	counts             tokenCounts
	role, finish, done export.Fields
	usage              export.Fields // of oneToken
	pieces             []export.Fields
}

func (m madeUp) events() *madeUpEvents {
	s := &madeUpEvents{tokens: m.tokens, counts: m.counts}
	event := func(delta, finish string) export.Fields {
		return response(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1750000000,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`)
	}
	for _, text := range vocabulary {
		s.pieces = append(s.pieces, event(`{"content":`+quoted(text)+`}`, "null"))
	}
	s.role, s.finish, s.done = event(`{"content":"","role":"assistant"}`, "null"), event("{}", `"stop"`), response("[DONE]")
	s.usage = usageEvent(m.tokens - 4)
	return s
}

// quoted returns a text in JSON.
func quoted(text string) string {
	b, _ := json.Marshal(text) // any text can be written
	return string(b)
}

// response returns the outputs of a response with one event.
func response(data string) export.Fields {
	return export.Fields{{Name: "response", Value: export.Text("data: " + data + "\n\n")}}
}

// usageEvent returns an event without text that counts the tokens of an answer.
func usageEvent(tokens int) export.Fields {
	return response(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":%d}}`, tokens))
}

// withUsage returns an event of pieces that also states the number of tokens so far.
func withUsage(piece export.Fields, tokens int) export.Fields {
	text, _ := strings.CutSuffix(strings.TrimPrefix(string(piece[0].Value.Data), "data: "), "}\n\n")
	return response(fmt.Sprintf(`%s,"usage":{"prompt_tokens":20,"completion_tokens":%d}}`, text, tokens))
}

// request makes q a request that its stream can send from the time free on. It reuses the
// memory of q.
func (s *madeUpEvents) request(q *export.Request, r *rand.Rand, free uint64) {
	var prompt strings.Builder
	for range 20 {
		prompt.WriteString(vocabulary[r.IntN(len(vocabulary))])
	}
	payload := `{"messages":[{"content":` + quoted(strings.TrimSpace(prompt.String())) + `,"role":"user"}],"model":"m","stream":true}`
	start := free + 10_000 + r.Uint64N(100_000)
	at := start + 50_000_000 + r.Uint64N(150_000_000)
	mean := 8_000_000 + r.Uint64N(12_000_000)
	*q = export.Request{StartNS: start, Inputs: export.Fields{{Name: "payload", Value: export.Text(payload)}}, Responses: q.Responses[:0]}
	if s.counts != uncounted {
		q.IssuedNS, q.SentNS, q.FirstByteNS, q.StartSource = start-9_000, start+2_000, at-40_000, export.SourceKernel
		q.Reused, q.Status, q.Phase, q.HasMeta = true, export.StatusOK, export.PhaseMeasured, true
	}
	ends := 3 // finish, usage and done
	if s.counts == uncounted {
		ends = 2
	}
	total := 0 // tokens so far
	for k := range s.tokens {
		x := export.Response{RecvNS: at}
		if q.HasMeta {
			x.Source, x.Read, x.Final = export.SourceKernel, uint32(k), k == s.tokens-1
		}
		switch s.tokens - k {
		case 1:
			x.Outputs = s.done
		case ends:
			x.Outputs = s.finish
		case 2:
			x.Outputs = s.usage
			switch events := s.tokens - 4; s.counts {
			case several:
				x.Outputs = usageEvent(events + r.IntN(2*events+1))
			case counted:
				x.Outputs = usageEvent(total)
			}
		default:
			x.Outputs = s.pieces[r.IntN(len(s.pieces))]
			switch {
			case k == 0:
				x.Outputs = s.role
			case s.counts == counted:
				total += 1 + r.IntN(4)
				x.Outputs = withUsage(x.Outputs, total)
			}
		}
		q.Responses = append(q.Responses, x)
		if k < s.tokens-ends {
			at += mean + r.Uint64N(5_000_000)
		} else {
			at += 50_000
		}
	}
}

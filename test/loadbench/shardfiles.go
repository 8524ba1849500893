//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
)

// shardStart is the time at which all ranks of a made-up run begin, on rank 0's clock.
const shardStart = 1_750_000_000_000_000_000

// writeShards writes a made-up run of that many ranks into dir, a Parquet file for each rank as
// pa-record --rank writes it. It returns the size of all files in bytes.
func writeShards(dir string, ranks, requests, tokens int) (bytes int64, err error) {
	for rank := range ranks {
		n, err := createShard(filepath.Join(dir, fmt.Sprintf("%03d.parquet", rank)), rank, ranks, requests, tokens, oneToken)
		if err != nil {
			return 0, err
		}
		bytes += n
	}
	return bytes, nil
}

// tokenCounts says how many tokens the server of a made-up run puts into an event, and where it
// counts them.
type tokenCounts string

const (
	oneToken tokenCounts = "one"     // one token; the usage at the end of an answer counts all tokens
	several  tokenCounts = "several" // one to three tokens on average; the usage at the end counts all tokens
	counted  tokenCounts = "counted" // one to four tokens; each event has the count so far
)

// writeMode as the first argument makes the process write a made-up run of one process as
// Parquet. The next arguments are the number of requests, the number of responses per request, the
// file, and optionally the tokenCounts (oneToken by default). Other tests use this mode.
const writeMode = "write"

// writeMain writes a made-up run.
func writeMain(args []string) error {
	if len(args) != 3 && len(args) != 4 {
		return errors.New("write: want a number of requests, a number of responses, a file, and perhaps one, several or counted")
	}
	counts := oneToken
	if len(args) == 4 {
		counts = tokenCounts(args[3])
	}
	switch counts {
	case oneToken, several, counted:
	default:
		return fmt.Errorf("write: %s is none of one, several and counted", counts)
	}
	requests, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	tokens, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	_, err = createShard(args[2], 0, 1, requests, tokens, counts)
	return err
}

// createShard writes the file of one rank and returns its size.
func createShard(path string, rank, ranks, requests, tokens int, counts tokenCounts) (bytes int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := writeShard(f, rank, ranks, requests, tokens, counts); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// writeShard writes the requests of one rank: streamed chat completions with as many responses
// per request as tokens, at least 5. The first response names the role, the last ones are the
// reason of the end, the usage, and [DONE]. Each thousandth request has failed. The clock of
// each rank but rank 0 is off by some milliseconds, which the shard states.
func writeShard(out io.Writer, rank, ranks, requests, tokens int, counts tokenCounts) error {
	tokens = max(tokens, 5)
	r := rand.New(rand.NewPCG(exportSeed, uint64(rank)))
	run := shardHeader(rank, ranks)
	w, err := columnar.NewParquetWriter(out, answer.NewDeriver(run))
	if err != nil {
		return err
	}
	events, err := newShardEvents(tokens, counts)
	if err != nil {
		return err
	}
	offset := int64(0)
	if o := run.Meta.Shard.OffsetBefore; o != nil {
		offset = o.OffsetNS
	}
	value := strconv.Itoa(exportStreams * ranks)
	if err := w.BeginExperiment(export.ModeConcurrency, value); err != nil {
		return err
	}
	m := &export.ExperimentMeta{Share: &export.LevelShare{Value: strconv.Itoa(exportStreams), BeginNS: shardStart}}
	begin := uint64(shardStart - offset)
	var free [exportStreams]uint64 // when each stream can send its next request
	for i := range free {
		free[i] = begin + uint64(i)*1000
	}
	end := begin
	var failed []export.Request // excluded requests follow the others
	q := export.Request{}
	for i := range requests {
		stream := i % exportStreams
		if err := events.request(&q, r, free[stream]); err != nil {
			return err
		}
		q.ID, q.Rank, q.Worker, q.Conn = uint64(i*ranks+rank+1), rank, stream, stream
		free[stream] = q.Responses[tokens-1].RecvNS
		end = max(end, free[stream])
		if i%1000 == 999 {
			x := q.Clone()
			x.Status, x.Code, x.Message, x.FailedNS, x.Responses = export.StatusHTTPError, 503, "no room", x.FirstByteNS, nil
			failed = append(failed, *x)
			continue
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
	m.StartNS, m.EndNS, m.Measured, m.Failed = begin, end, requests-len(failed), len(failed)
	if err := w.EndExperiment(&export.Experiment{WindowBoundaries: []uint64{begin, end}, Meta: m}); err != nil {
		return err
	}
	run.Meta.StartNS, run.Meta.EndNS = begin, end
	run.Meta.Stamps = &export.StampCount{Kernel: uint64((requests - len(failed)) * tokens)}
	return w.Close(run)
}

// shardHeader returns the facts of the run of a rank.
func shardHeader(rank, ranks int) *export.Run {
	kind, endpoint, streaming := "openai", "v1/chat/completions", true
	run := &export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "pa-record 0.1.0", Model: "m", Streaming: &streaming, Start: export.StartFirstSegment,
		Seed: exportSeed, DatasetSHA256: "d", Protocol: "http",
		Host:  &export.HostMeta{Name: fmt.Sprintf("node%d", rank), OS: "linux", Arch: "amd64", CPUs: 2},
		Shard: &export.ShardMeta{Rank: rank, WorldSize: ranks, Run: "r", PlanSHA256: "p", DividedBy: export.DividedByRequest, Launcher: "flags"},
	}}
	if rank > 0 {
		offset := int64(rank) * 1_234_567
		run.Meta.Shard.OffsetBefore = &export.ClockOffset{OffsetNS: offset, BoundNS: 20_000, AtNS: uint64(shardStart - offset), Exchanges: 8}
		run.Meta.Shard.OffsetAfter = run.Meta.Shard.OffsetBefore
	}
	return run
}

// shardEvents makes the requests of a shard. Its texts are encoded once.
type shardEvents struct {
	tokens             int // responses of a request
	counts             tokenCounts
	role, finish, done export.Fields
	usage              export.Fields // of oneToken
	pieces             []export.Fields
}

// fields returns the fields of a response.
func fields(text string) export.Fields {
	return export.Fields{{Name: "response", Value: export.Text(text)}}
}

// usageFields returns an event without text that counts the tokens of an answer.
func usageFields(tokens int) export.Fields {
	return fields(fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":%d}}`, tokens) + "\n\n")
}

// withUsage returns an event of pieces that also states the number of tokens so far.
func withUsage(piece export.Fields, tokens int) export.Fields {
	text, _ := strings.CutSuffix(string(piece[0].Value.Data), "}\n\n")
	return fields(fmt.Sprintf(`%s,"usage":{"prompt_tokens":20,"completion_tokens":%d}}`, text, tokens) + "\n\n")
}

func newShardEvents(tokens int, counts tokenCounts) (*shardEvents, error) {
	s := &shardEvents{tokens: tokens, counts: counts}
	role, err := event(map[string]string{"role": "assistant", "content": ""}, nil)
	if err != nil {
		return nil, err
	}
	stop := "stop"
	finish, err := event(map[string]string{}, &stop)
	if err != nil {
		return nil, err
	}
	for _, text := range vocabulary {
		piece, err := event(map[string]string{"content": text}, nil)
		if err != nil {
			return nil, err
		}
		s.pieces = append(s.pieces, fields(piece))
	}
	s.role, s.finish, s.done = fields(role), fields(finish), fields("data: [DONE]\n\n")
	s.usage = usageFields(tokens - 4)
	return s, nil
}

// request makes q a request that its stream can send from the time free on. It reuses the
// memory of q.
func (s *shardEvents) request(q *export.Request, r *rand.Rand, free uint64) error {
	body, err := payload(r)
	if err != nil {
		return err
	}
	start := free + 10_000 + r.Uint64N(100_000)
	at := start + 50_000_000 + r.Uint64N(150_000_000)
	mean := 8_000_000 + r.Uint64N(12_000_000)
	*q = export.Request{
		IssuedNS: start - 9_000, StartNS: start, SentNS: start + 2_000, FirstByteNS: at - 40_000, StartSource: export.SourceKernel,
		Reused: true, Status: export.StatusOK, Phase: export.PhaseMeasured, HasMeta: true,
		Inputs:    export.Fields{{Name: "payload", Value: export.Text(string(body))}},
		Responses: q.Responses[:0],
	}
	total := 0 // tokens so far
	for k := range s.tokens {
		x := export.Response{RecvNS: at, Source: export.SourceKernel, Read: uint32(k)}
		switch s.tokens - k {
		case 1:
			x.Outputs, x.Final = s.done, true
		case 2:
			x.Outputs = s.usage
			switch events := s.tokens - 4; s.counts {
			case several:
				x.Outputs = usageFields(events + r.IntN(2*events+1))
			case counted:
				x.Outputs = usageFields(total)
			}
		case 3:
			x.Outputs = s.finish
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
		if k < s.tokens-3 {
			at += mean + r.Uint64N(5_000_000)
		} else {
			at += 50_000
		}
	}
	return nil
}

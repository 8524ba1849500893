package formats_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// make readback has readback.py compare the files of one synthetic run. The run is in run.json,
// run.parquet and run.arrow.
// report.json is the report of run.json. shards/0.parquet and shards/1.parquet hold another run of two ranks,
// for queries in SQL.
func TestWriteForReadback(t *testing.T) {
	dir := os.Getenv("PA_TEST_READBACK")
	if dir == "" {
		t.Skip("left to make readback, because other tools read what it writes")
	}
	if err := writeFormats(dir); err != nil {
		t.Fatal(err)
	}
}

func writeFormats(dir string) error {
	files := map[string]func(w io.Writer) (export.Writer, error){
		"run.json": func(w io.Writer) (export.Writer, error) { return profilejson.NewWriter(w), nil },
		"run.parquet": func(w io.Writer) (export.Writer, error) {
			return columnar.NewParquetWriter(w, answer.NewDeriver(header()))
		},
		"run.arrow": func(w io.Writer) (export.Writer, error) {
			return columnar.NewArrowWriter(w, answer.NewDeriver(header()))
		},
	}
	for name, create := range files {
		var out bytes.Buffer
		w, err := create(&out)
		if err != nil {
			return err
		}
		if err := writeRun(w); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if name == "run.json" {
			if err := writeReport(filepath.Join(dir, "report.json"), out.Bytes()); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o600); err != nil {
			return err
		}
	}
	if err := writeSessions(filepath.Join(dir, "sessions.parquet")); err != nil {
		return err
	}
	return writeShards(filepath.Join(dir, "shards"))
}

// writeSessions writes two levels of sessions: of three agents, of two turns and of one. Some sessions fail, recover from a failure
// or are cancelled, some end before the first request that counts, and some after the last.
func writeSessions(name string) error {
	const start, ms = 1_700_000_000_000_000_000, 1_000_000
	var out bytes.Buffer
	run := header()
	w, err := columnar.NewParquetWriter(&out, answer.NewDeriver(run))
	if err != nil {
		return err
	}
	id := uint64(0)
	for level := range 2 {
		if err := w.BeginExperiment(export.ModeConcurrency, fmt.Sprint(4*(level+1))); err != nil {
			return err
		}
		for i := range 60 {
			at := uint64(start + (level*100_000+i*70)*ms)
			for k, agent := range []string{"", "", "search", "read"}[:1+i%4] {
				id++
				began := at + uint64(k*(130+i)*ms)
				r := &export.Request{
					ID: id, StartNS: began, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured,
					SessionID: fmt.Sprintf("s%d", i), Turn: k, Agent: agent,
				}
				if agent != "" {
					r.Depth = 1
				}
				for j := range 3 {
					r.Responses = append(r.Responses, export.Response{
						RecvNS: began + uint64((j+1)*(20+i)*ms), Final: j == 2, Outputs: export.Fields{{Name: "response", Value: export.Text(event(i, j, 3))}},
					})
				}
				switch failed := i%10 == 3 && k == 3 || i%10 == 5 && k == 0; {
				case i < 6:
					r.Phase = export.PhaseWarmup
				case i > 56:
					r.Phase = export.PhaseCooldown
				case failed:
					r.Status, r.Responses, r.FailedNS = export.StatusTimeout, nil, began+30*ms
				case i == 41:
					r.Status, r.Responses, r.FailedNS = export.StatusCancelled, r.Responses[:1], began+30*ms
				case i == 44:
					r.SessionID, r.Turn, r.Agent, r.Depth = "", 0, "", 0
				}
				if err := w.WriteRequest(r); err != nil {
					return err
				}
			}
		}
		if err := w.EndExperiment(&export.Experiment{}); err != nil {
			return err
		}
	}
	if err := w.Close(run); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o600)
}

// writeShards writes the files of two ranks, which share three levels of 400 requests.
func writeShards(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for rank := range 2 {
		run := header()
		run.Meta = &export.RunMeta{Schema: export.Schema, Tool: "pa-record 0.1.0", Streaming: new(true), Shard: &export.ShardMeta{
			Rank: rank, WorldSize: 2, Run: "r", PlanSHA256: "p", DividedBy: export.DividedByRequest,
		}}
		if rank > 0 {
			run.Meta.Shard.OffsetBefore = &export.ClockOffset{BoundNS: 1000, Exchanges: 1}
		}
		var out bytes.Buffer
		w, err := columnar.NewParquetWriter(&out, answer.NewDeriver(run))
		if err != nil {
			return err
		}
		if err := writeShard(w, run, rank); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.parquet", rank)), out.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeShard writes the requests of a rank.
func writeShard(w export.Writer, run *export.Run, rank int) error {
	const start = 1_700_000_000_000_000_000
	for level := range 3 {
		if err := w.BeginExperiment(export.ModeRequestRate, fmt.Sprint(2.5*float64(level+1))); err != nil {
			return err
		}
		for i := rank; i < 400; i += 2 {
			r := &export.Request{
				ID: uint64(level*400 + i + 1), StartNS: start + uint64(level*1000+i)*1_000_000, HasMeta: true,
				Status: export.StatusOK, Phase: export.PhaseMeasured, Rank: rank,
			}
			if i%3 > 0 { // else it is not known
				r.SentNS = r.StartNS + uint64(i%5)*2_000
			}
			n := 2 + i*i%9
			at := r.StartNS
			for k := range n {
				at += 10_000 + uint64(i*i*(k+1)%7919)*1_003
				r.Responses = append(r.Responses, export.Response{
					RecvNS: at, Source: export.SourceKernel, Read: uint32(k), Final: k == n-1,
					Outputs: export.Fields{{Name: "response", Value: export.Text(event(i, k, n))}},
				})
			}
			switch i % 40 {
			case 5, 6:
				r.Status, r.Code, r.Message, r.FailedNS = export.StatusHTTPError, 503, "no room", at
			case 7:
				r.Status, r.FailedNS = export.StatusTimeout, at
			case 8:
				r.Phase = export.PhaseWarmup
			case 9:
				r.Responses = nil
			}
			switch i {
			case 398: // never issued
				*r = export.Request{ID: r.ID, ScheduledNS: r.StartNS, HasMeta: true, Status: export.StatusTimeout, Phase: export.PhaseMeasured, Rank: rank}
			case 399: // never left, and after a time without requests it is the end of the level
				*r = export.Request{ID: r.ID, IssuedNS: r.StartNS + 300_000_000, HasMeta: true, Status: export.StatusConnectError, Phase: export.PhaseMeasured, Rank: rank}
			}
			if err := w.WriteRequest(r); err != nil {
				return err
			}
		}
		from := uint64(start + level*1_000_000_000)
		if err := w.EndExperiment(&export.Experiment{WindowBoundaries: []uint64{from + 50_000_000, from + 250_000_001, from + 380_000_000}}); err != nil {
			return err
		}
	}
	return w.Close(run)
}

// writeReport analyzes the export in data.
func writeReport(name string, data []byte) error {
	r, err := profilejson.NewReader(context.Background(), "run.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		return err
	}
	rep, err := analyze.Run(context.Background(), r, analyze.Config{})
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := report.JSON(report.Input{Name: "run.json", Report: rep})(&out); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o600)
}

// header returns the facts of the run.
func header() *export.Run {
	version, kind, endpoint := "1", "openai", "v1/chat/completions"
	return &export.Run{Version: &version, ServiceKind: &kind, Endpoint: &endpoint}
}

// event returns the text of response k of n to request i: a token, and the server's count
// of them at the end, for some requests with cached tokens and the server's times. Some requests have two choices, some reason first, and some chunks hold two tokens.
func event(i, k, n int) string {
	if k == n-1 {
		details, timings := "", ""
		if i%3 == 0 {
			details = fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d}`, i%7)
		}
		if i%4 == 1 {
			timings = fmt.Sprintf(`,"timings":{"prompt_ms":%d.25,"predicted_ms":%d}`, i%13, i%17)
		}
		if i%4 == 3 {
			timings = fmt.Sprintf(`,"metrics":{"queue_time_ms":%d.125,"time_to_first_token_ms":%d,"prefix_cache":{"prefill_time_ms":%d}}`, i%3, 9+i%5, 2+i%7)
		}
		return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d%s}%s}`, 10+i%5, n, details, timings) + "\n\n"
	}
	member := "content"
	if i%5 == 0 && k < i%4 {
		member = "reasoning_content"
	}
	one := fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":{"%s":"é %d"}}]}`, k%2*(i%3/2), member, k) + "\n\n"
	if i%11 == 0 {
		return one + fmt.Sprintf(`data: {"choices":[{"index":1,"delta":{"content":"%d"}}]}`, k) + "\n\n"
	}
	return one
}

// writeRun writes two levels of 3000 requests with all that is hard to keep.
func writeRun(w export.Writer) error {
	const start = 1_700_000_000_000_000_000
	for level := range 2 {
		if err := w.BeginExperiment(export.ModeConcurrency, fmt.Sprint(1<<level)); err != nil {
			return err
		}
		for i := range 3000 {
			r := &export.Request{
				ID: uint64(level*3000 + i), StartNS: start + uint64(i)*1_000_000, HasMeta: true,
				SentNS: start + uint64(i)*1_000_000 + 50, Status: export.StatusOK, Phase: export.PhaseMeasured,
				Inputs: export.Fields{{Name: "payload", Value: export.Text(fmt.Sprintf(`{"prompt":"é %d"}`, i))}},
			}
			n := 2 + i%7
			pace := 10_000 + uint64(i*i%977)
			for k := range n {
				r.Responses = append(r.Responses, export.Response{
					RecvNS: r.SentNS + uint64(k+1)*pace, Source: export.SourceKernel, Read: uint32(k), Final: k == n-1,
					Outputs: export.Fields{{Name: "response", Value: export.Text(event(i, k, n))}},
				})
			}
			switch i % 50 {
			case 1:
				r.Responses[0].RecvNS = 1<<64 - 1
			case 2:
				r.Responses[0].Outputs = nil
				r.Responses[1].Outputs = export.Fields{}
			case 3:
				r.Responses[0].Outputs[0].Value = export.Text("cut \xe2\x82")
			case 4:
				r.Inputs = nil
			case 5:
				r.Status, r.Code, r.Message = export.StatusHTTPError, 503, "no room"
			case 6:
				r.Phase = export.PhaseWarmup
			case 7:
				r.Responses = nil
			}
			if err := w.WriteRequest(r); err != nil {
				return err
			}
		}
		if err := w.EndExperiment(&export.Experiment{WindowBoundaries: []uint64{start, 1<<64 - 1}}); err != nil {
			return err
		}
	}
	return w.Close(header())
}

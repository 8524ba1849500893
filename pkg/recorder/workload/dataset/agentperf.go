package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// agentperfVersion is the version of the rows and manifests that are read.
const agentperfVersion = 1

func fitsAgentperf(r *row, _ *file) bool {
	return r.has("task_id", "conversation_id", "conversation_idx", "messages")
}

// agentperfSessions returns the session of a task of agentperf-local, whose rows are whole requests in the order of the replay:
//
//	{"version": 1, "turn_id": "t:0", "task_id": "t", "conversation_id": "t", "conversation_idx": 0, "messages": […], "tools": […],
//	 "target_output_tokens": 60, "max_output_tokens": 60, "simulated_tool_delay_ms_after": 250}
//
// The requests of a conversation follow each other. A further conversation of the task is an agent of its own, which begins after the
// row before its first one.
func agentperfSessions(f *file, _ *Options, rows []groupRow) ([]*workload.Session, error) {
	id, err := requiredName(rows[0].row, "task_id")
	if err != nil {
		return nil, err
	}
	s := &workload.Session{ID: id, Nodes: make([]workload.Node, len(rows)), Recorded: true, Entry: f.reread(rows, agentperfRequest)}
	agents := map[string]int{}
	last := []int{} // the latest request of each agent
	wait := make([]time.Duration, len(rows))
	for i, r := range rows {
		name, err := agentperfTurn(f, r.row)
		if err == nil {
			wait[i], err = r.duration("simulated_tool_delay_ms_after", time.Millisecond)
		}
		if err != nil {
			return nil, r.fault("%w", err)
		}
		before := i - 1
		agent, known := agents[name]
		if !known {
			agent = len(last)
			agents[name], last = agent, append(last, i)
			a := workload.Agent{ID: name, Kind: workload.Spawned}
			if agent == 0 {
				a = workload.Agent{Parent: -1}
			} else {
				a.Parent = s.Nodes[before].Agent
				f.assume("a further conversation of a task begins after the row before its first one, and then runs beside the others")
			}
			s.Agents = append(s.Agents, a)
		} else {
			before, last[agent] = last[agent], i
		}
		s.Nodes[i] = workload.Node{Agent: agent, Continues: -1}
		if i > 0 {
			s.Nodes[i].After = []workload.Edge{{From: before, Delay: wait[before]}}
		}
	}
	if len(s.Agents) == 1 {
		s.Agents = nil
	}
	return []*workload.Session{s}, nameModels(s, rows)
}

// agentperfTurn returns the conversation of a row. It checks the row while the file is opened.
func agentperfTurn(f *file, r *row) (conversation string, err error) {
	if conversation, err = requiredName(r, "conversation_id"); err != nil || !f.opening {
		return conversation, err
	}
	if err := agentperfKnown(r.get("version")); err != nil {
		return "", err
	}
	if _, _, err := r.count("conversation_idx"); err != nil {
		return "", err
	}
	_, err = agentperfRequest(f, r)
	return conversation, err
}

// agentperfKnown returns an error for a version that is not read.
func agentperfKnown(version []byte) error {
	if version != nil && string(version) != fmt.Sprint(agentperfVersion) {
		return fmt.Errorf("\"version\": expected %d, found %s", agentperfVersion, clip(version))
	}
	return nil
}

// agentperfMembers are the members of a row of agentperf-local that are no parameters of its request.
var agentperfMembers = []string{
	"version", "turn_id", "task_id", "conversation_id", "conversation_idx", "simulated_tool_delay_ms_after", "recorded_tool_calls_after", "source",
	"target_output_tokens", "max_output_tokens", "recorded_prompt_tokens", "recorded_completion_tokens", "recorded_total_tokens",
	"recorded_model_duration_ms",
}

func agentperfRequest(f *file, r *row) (workload.Entry, error) {
	e, err := f.wholeMessages(r, "messages", agentperfMembers...)
	if err == nil {
		e.Prompt.MaxTokens, err = f.recordedTokens(r, "max_output_tokens", "target_output_tokens", "recorded_completion_tokens")
	}
	return e, err
}

// manifestName is the name of a file that lists the traces of a folder.
const manifestName = "manifest.json"

// manifestTraces returns the traces that a manifest of agentperf-local lists, in its order:
//
//	{"version": 1, "name": "…", "tasks": [{"task_id": "t", "trace": "traces/t.jsonl", …}]}
//
// There are none if the file does not exist or is no such manifest.
func manifestTraces(path string) (all []dataFile, err error) {
	const most = 64 << 20
	f, err := os.Open(path) //nolint:gosec // the user names it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, disk.Unreadable(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var manifest struct {
		Version json.RawMessage
		Tasks   []struct {
			Trace      string
			ModelCalls *int `json:"model_calls"`
		}
	}
	if json.Unmarshal(text, &manifest) != nil || len(manifest.Tasks) == 0 || manifest.Tasks[0].Trace == "" {
		return nil, nil
	}
	if err := agentperfKnown(manifest.Version); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, task := range manifest.Tasks {
		if !filepath.IsLocal(filepath.FromSlash(task.Trace)) {
			return nil, fmt.Errorf("%s: task %d: \"trace\": expected a path within the folder, found %q", path, i, clip([]byte(task.Trace)))
		}
		one := dataFile{filepath.Join(filepath.Dir(path), filepath.FromSlash(task.Trace)), -1}
		if task.ModelCalls != nil {
			one.requests = *task.ModelCalls
		}
		all = append(all, one)
	}
	return all, nil
}

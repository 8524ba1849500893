package publish

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
)

// experiment is the experiment that runs belong to.
const experiment = "pa-analyze"

// The longest values that MLflow takes.
const (
	longestParam = 6000
	longestTag   = 8000
)

// mlflow returns a run for each run, in the layout of MLflow's file store. The steps of a metric are the load levels. The same
// figures always have the same run ID.
func mlflow(folder string, runs []*Run) (files []File) {
	hash := sha256.Sum256([]byte(experiment))
	id := strconv.FormatUint(binary.BigEndian.Uint64(hash[:])%1e18, 10)
	root := filepath.Join(folder, id)
	began := runs[0].start()
	for _, r := range runs {
		if t := r.start(); t.Before(began) {
			began = t
		}
	}
	files = append(files, File{Path: filepath.Join(root, "meta.yaml"), Shared: true, Content: metaYAML(
		"artifact_location", filepath.ToSlash(root), "creation_time", began.UnixMilli(), "experiment_id", id, "last_update_time", began.UnixMilli(),
		"lifecycle_stage", "active", "name", experiment,
	)})
	names := distinctNames(runs)
	for i, r := range runs {
		metrics, order := r.mlflowMetrics()
		steps, what := r.steps()
		own := map[string]string{
			"params/definitions": r.Definitions, "params/model": r.Model, "params/server": r.URL, "params/step": what, "params/tool": r.Tool,
			"tags/mlflow.runName": names[i], "tags/mlflow.source.name": "pa-analyze", "tags/mlflow.source.type": "LOCAL", "tags/file": r.File,
		}
		for j := range r.Levels {
			own["params/level_at_step_"+strconv.Itoa(steps[j])] = r.Levels[j].Name
		}
		content := sha256.New()
		for _, name := range order {
			fmt.Fprintf(content, "%q %q\n", name, metrics[name])
		}
		fmt.Fprintf(content, "%q", own) // in the order of the names
		run := hex.EncodeToString(content.Sum(nil)[:16])
		add := func(name string, content []byte) {
			files = append(files, File{Path: filepath.Join(root, run, filepath.FromSlash(name)), Content: content, Folder: filepath.Join(root, run)})
		}
		for _, name := range order {
			add("metrics/"+name, metrics[name])
		}
		for _, name := range slices.Sorted(maps.Keys(own)) {
			if value := sanitize.Text(own[name]); value != "" {
				longest := longestTag
				if strings.HasPrefix(name, "params/") {
					longest = longestParam
				}
				add(name, []byte(sanitize.Cut(value, longest)))
			}
		}
		for _, name := range []string{"metrics", "params", "artifacts"} { // MLflow finds no run that lacks one
			add(name, nil)
		}
		add("meta.yaml", metaYAML( // last: MLflow sees a run when this file is there
			"artifact_uri", filepath.ToSlash(filepath.Join(root, run, "artifacts")), "end_time", r.end().UnixMilli(), "entry_point_name", "", "experiment_id", id,
			"lifecycle_stage", "active", "run_id", run, "run_name", names[i], "source_name", "", "source_type", 4, "source_version", "",
			"start_time", r.start().UnixMilli(), "status", 3, "user_id", "unknown",
		))
	}
	return files
}

// mlflowMetrics returns the content of the files of metrics by their names, and the names in order: a line for each level,
// with the time, the value and the step.
func (r *Run) mlflowMetrics() (content map[string][]byte, order []string) {
	content = map[string][]byte{}
	known, names := map[[4]string]string{}, distinct{}
	steps, _ := r.steps()
	for i := range r.Levels {
		l := &r.Levels[i]
		written := map[string]bool{}
		for j := range l.Figures {
			f := &l.Figures[j]
			what := [4]string{f.Name, f.Of, f.Statistic, f.Model}
			name := known[what]
			if name == "" {
				name = names.name(r.mlflowName(f), "%s_%d")
				known[what] = name
				order = append(order, name)
			}
			if written[name] { // the file states the figure twice
				continue
			}
			written[name] = true
			content[name] = fmt.Appendf(content[name], "%d %s %d\n", l.End.UnixMilli(), f.Text, steps[i])
		}
	}
	return content, order
}

// longestMetric leaves room for a number; MLflow takes 250 characters.
const longestMetric = 230

// mlflowName returns the name of a metric, which is also the name of a file: "ttft_seconds.p99".
func (r *Run) mlflowName(f *Figure) string {
	name := f.Name
	for _, part := range []string{f.Of, f.Statistic} {
		if part != "" {
			name += "." + slug(part)
		}
	}
	if f.Model != r.Model {
		name += "." + slug(f.Model)
	}
	return name[:min(len(name), longestMetric)]
}

// steps returns the step of each level, and what a step is: the load where all levels have one mode and different whole numbers,
// else the number of the level.
func (r *Run) steps() (steps []int, what string) {
	taken := map[int]bool{}
	for i := range r.Levels {
		l := &r.Levels[i]
		n, err := strconv.Atoi(l.Value)
		if err != nil || n < 0 || taken[n] || l.Mode != r.Levels[0].Mode {
			steps = steps[:0]
			for j := range r.Levels {
				steps = append(steps, j+1)
			}
			return steps, "number of the level"
		}
		taken[n] = true
		steps = append(steps, n)
	}
	if steps == nil {
		return nil, ""
	}
	return steps, cmp.Or(strings.ReplaceAll(r.Levels[0].Mode, "_", " "), "load")
}

// start and end return the time of the run; zero without levels.
func (r *Run) start() (t time.Time) {
	for i := range r.Levels {
		if s := r.Levels[i].Start; i == 0 || s.Before(t) {
			t = s
		}
	}
	return t
}

func (r *Run) end() (t time.Time) {
	for i := range r.Levels {
		if e := r.Levels[i].End; e.After(t) {
			t = e
		}
	}
	return t
}

// metaYAML returns keys and values as YAML. A text is as in JSON, which is also YAML.
func metaYAML(all ...any) []byte {
	var b []byte
	for i := 0; i < len(all); i += 2 {
		value, err := json.Marshal(all[i+1])
		if err != nil { // texts and numbers have none
			panic(err)
		}
		b = append(b, all[i].(string)+": "...)
		b = append(append(b, sanitize.JSON(value)...), '\n')
	}
	return b
}

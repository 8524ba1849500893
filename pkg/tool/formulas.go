package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// oneRequest is a run to ask the definitions of a tool, which explain themselves for a file.
const oneRequest = `{"service_kind":"openai","endpoint":"v1/chat/completions","experiments":[{"experiment":{"mode":"concurrency","value":1},
"requests":[{"timestamp":1000000000,"request_inputs":{"payload":"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"stream\":true}"},
"response_timestamps":[1010000000,1020000000,1030000000],"response_outputs":[
{"response":"data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"},
{"response":"data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\n"},
{"response":"data: [DONE]\n\n"}]}],"window_boundaries":[]}],"version":"","service_kind":"openai","endpoint":"v1/chat/completions"}`

// Formulas returns what a dialect and this project define for each measure that the dialect has. The error says that there is no such
// dialect, as for a tool whose figures pa-analyze cannot compute.
func Formulas(ctx context.Context, name string) ([]stated.Formula, error) {
	known := Dialects()
	t := known.Find(name)
	if t == nil || !slices.Contains(known.Compared(), t) {
		return nil, errors.New("pa-analyze does not know the formulas of the tool")
	}
	r, err := profilejson.Format{}.Open(ctx, "a request", bytes.NewReader([]byte(oneRequest)), int64(len(oneRequest)), export.Limits{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sides, err := dialect.Define(ctx, r, 0, []*dialect.Tool{t}, func(*dialect.Tool) dialect.Config {
		return dialect.Config{Level: dialect.Level{Mode: "concurrency", Value: "1"}}
	}, analyze.Config{})
	if err != nil {
		return nil, err
	}
	strict := map[explain.Measure]string{}
	for _, d := range sides[0].Definitions {
		strict[d.Measure] = d.Formula
	}
	var all []stated.Formula
	for _, d := range sides[1].Definitions {
		if d.Formula != "" {
			all = append(all, stated.Formula{Measure: d.Measure.Words(), Name: d.Name, Rule: d.Formula, Ours: strict[d.Measure]})
		}
	}
	if all == nil {
		return nil, fmt.Errorf("%s explains no figure: %v", t.Name, sides[1].Remarks)
	}
	return all, nil
}

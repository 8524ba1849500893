package profilejson_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// Copy the first experiment of an export that was cut short.
func Example() {
	const cut = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` +
		`{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"text_output":"hi"}]},{"timestamp":3,"resp`
	r, err := profilejson.NewReader(context.Background(), "run.json", strings.NewReader(cut), int64(len(cut)), export.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := profilejson.NewWriter(os.Stdout)
	e := r.Run().Experiments[0]
	if err := w.BeginExperiment(e.Mode, e.Value); err != nil {
		fmt.Println(err)
	}
	for r.Next() {
		if err := w.WriteRequest(r.Request()); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.EndExperiment(&e); err != nil {
		fmt.Println(err)
	}
	if err := w.Close(r.Run()); err != nil {
		fmt.Println(err)
	}
	fmt.Println()
	fmt.Println(r.Err())
	// Output:
	// {"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"text_output":"hi"}]}]}]}
	// run.json: cut short at byte 179, inside experiment 0, request 1; the part before it was read
}

package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Example measures a server at two levels and reads the export again.
func Example() {
	if err := record(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// concurrency 1: 4 requests, streamed: true
	// concurrency 2: 4 requests, streamed: true
	// exported by model sim: 8 requests
}

func record(ctx context.Context) (err error) {
	srv, err := sim.Start(ctx, sim.Config{OpenAIAddr: "127.0.0.1:0", OutputTokens: plan.ConstantLength(3)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()

	b, err := openai.New(openai.Config{URL: srv.OpenAIURL(), Streaming: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	var file bytes.Buffer // profile_export.json
	res, err := recorder.Run(ctx, recorder.Config{
		Backend: b,
		Levels:  load.Closed(1, 2),
		Measure: window.Measure{Requests: 4},
		Writer:  profilejson.NewWriter(&file),
		Run:     export.Run{ServiceKind: new("openai"), Meta: &export.RunMeta{Schema: export.Schema, Tool: "example"}},
	})
	if err != nil {
		return err
	}
	for _, l := range res.Levels {
		fmt.Printf("%v: %d requests, streamed: %v\n", l.Load, l.OK, l.Streamed)
	}

	r, err := profilejson.NewReader(ctx, "profile_export.json", bytes.NewReader(file.Bytes()), int64(file.Len()), export.Limits{})
	if err != nil {
		return err
	}
	n := 0
	for r.Next() {
		n++
	}
	fmt.Printf("exported by model %s: %d requests\n", r.Run().Meta.Model, n)
	return errors.Join(r.Err(), r.Close())
}

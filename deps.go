//go:build deps

package deps

import (
	_ "github.com/apache/arrow/go/v15/arrow/ipc"
	_ "github.com/apache/arrow/go/v15/parquet/pqarrow"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/jedib0t/go-pretty/v6/table"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/montanaflynn/stats"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/urfave/cli/v2"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "google.golang.org/grpc"
	_ "google.golang.org/protobuf/proto"
	_ "github.com/go-json-experiment/json/jsontext"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "golang.org/x/term"
	_ "gopkg.in/yaml.v3"
)

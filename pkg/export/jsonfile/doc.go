// Package jsonfile reads JSON documents of any size from a file. It holds no more
// of a document than one value, and says where in the file each value is.
//
//	c := jsonfile.NewCursor("run.json", file, size, limit, jsonfile.DefaultChunk)
//	for first := true; ; first = false {
//		name, more, err := c.Key(first) // the Cursor is behind a '{'
//		if err != nil || !more {
//			return err
//		}
//		text, err := c.Value(name) // or c.Skip() past other values
//		…
//	}
//
// Package jsonscan looks into the values.
//
// # Telemetry
//
// All file formats keep telemetry as JSON objects. A [ScrapeEncoder] writes the objects, and a
// [ScrapeDecoder] reads them. Each object is a series or a scrape.
//
//	{"series":0,"source":"http://gpu1:8002/metrics","name":"nv_gpu_utilization","type":"gauge","labels":{"gpu_uuid":"GPU-1"}}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"values":[[0,0.5,1],[7,"NaN"]]}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"error":"connection refused"}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"left_out":1200,"values":[[0,0.5]]}
//
// A series comes before the first scrape that has a value of it. Series are numbered
// from 0 in the order in which they come. A scrape holds runs of values. A run is the
// number of a series, the value of that series, the value of the next series, and so
// on. A value is a number, or one of the strings "NaN", "+Inf" and "-Inf".
//
// profile_export.json has these objects as the elements of an array, the others
// as lines of text.
package jsonfile

// Package samplejson has the form in which every format keeps telemetry: JSON
// objects, each of which is a series or a scrape.
//
//	{"series":0,"source":"http://gpu1:8002/metrics","name":"nv_gpu_utilization","type":"gauge","labels":{"gpu_uuid":"GPU-1"}}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"values":[[0,0.5,1],[7,"NaN"]]}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"error":"connection refused"}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"left_out":1200,"values":[[0,0.5]]}
//
// A series comes before the first scrape that has a value of it; series count
// from 0 in the order in which they come. A scrape holds runs of values: each is
// the number of a series, the value of that series, that of the next one, and
// so on. A value is a number, or one of the strings "NaN", "+Inf" and "-Inf".
//
// profile_export.json has these objects as the elements of an array, the others
// as lines of text.
package samplejson

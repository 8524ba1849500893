package export

// CalibrationSchema is the value of Calibration.Schema that this version of
// the project writes.
const CalibrationSchema = "pa-calibration/1"

// A Calibration holds the errors of the recorder's times on the machine that recorded. It
// compares the times recorded with a simulated server in another process with the
// server's own kernel stamps. All errors are in nanoseconds, recorded time minus true
// time.
type Calibration struct {
	Schema   string              `json:"schema"`
	Tool     string              `json:"tool"`
	StartNS  uint64              `json:"start_ns"`
	EndNS    uint64              `json:"end_ns"`
	Host     *HostMeta           `json:"host,omitempty"` // nil within a run, which has its own
	Services []CalibratedService `json:"services"`
	// Limits are sentences about what these figures cannot show.
	Limits []string `json:"limits"`
}

// A CalibratedService is one protocol under one load.
type CalibratedService struct {
	Service   string `json:"service"` // "openai" or "triton-grpc"
	Transport string `json:"transport,omitempty"`
	// Streams is the number of answers read at a time. Each answer has
	// TokensPerRequest tokens, sent at TokensPerSecond.
	Streams          int     `json:"streams"`
	TokensPerSecond  float64 `json:"tokens_per_second"`
	TokensPerRequest int     `json:"tokens_per_request"`
	// Recordings holds the ways of taking times. They took turns in Rounds rounds.
	Rounds     int                   `json:"rounds"`
	Recordings []CalibratedRecording `json:"recordings"`
}

// A CalibratedRecording holds the result of one way of taking times.
type CalibratedRecording struct {
	// Stamps names the intended source of the times: "kernel" or "user".
	Stamps string `json:"stamps"`
	// Requests is the number of compared requests. Skipped is the number of others:
	// they failed, or differ from the server's record.
	Requests int `json:"requests"`
	Skipped  int `json:"skipped,omitempty"`
	// Sources counts the tokens by the source of their time, StartSources the
	// requests by the source of their start time.
	Sources      StampCount `json:"sources"`
	StartSources StampCount `json:"start_sources"`
	// Merged counts the tokens that came in the same read as the previous token of
	// their answer, and so have the same time.
	Merged int `json:"merged"`
	// Receive is the error of the tokens' times, and Start the error of the requests'
	// start times; nil if there was nothing to compare.
	Receive *ClockError `json:"receive_error,omitempty"`
	Start   *ClockError `json:"start_error,omitempty"`
}

// A ClockError is a distribution of errors. Percentiles are of type 7, of the
// absolute values, in whole nanoseconds.
type ClockError struct {
	N int `json:"n"`
	// Truth counts the true times by source: the server's kernel or, where its stamp is
	// missing, the server's own clock before it called the kernel.
	Truth StampCount `json:"truth"`
	// MedianNS is the median of the signed errors; above 0, recorded times were late.
	MedianNS int64 `json:"median_ns"`
	P50NS    int64 `json:"p50_ns"`
	P90NS    int64 `json:"p90_ns"`
	P99NS    int64 `json:"p99_ns"`
	P999NS   int64 `json:"p99.9_ns"`
	MaxNS    int64 `json:"max_ns"`
}

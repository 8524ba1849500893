package openai

import (
	"errors"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// Units of times that servers state, in nanoseconds.
const (
	unitNS = 1
	unitMS = 1e6
	unitS  = 1e9
)

// server returns Server, which is not nil then.
func (c *Chunk) server() *export.ServerDetails {
	if c.Server == nil {
		if c.details == nil {
			c.details = &export.ServerDetails{}
		}
		*c.details = export.ServerDetails{}
		c.Server = c.details
	}
	return c.Server
}

// addServer adds what read finds in a value to Server.
func (c *Chunk) addServer(w *jsonscan.Walker, read func(*jsonscan.Walker, *export.ServerDetails)) {
	d := c.server()
	if read(w, d); *d == (export.ServerDetails{}) {
		c.Server = nil
	}
}

// number reads a number times a unit: the nearest int64. It skips all other values, which are missing.
func number(w *jsonscan.Walker, unit float64) (n export.Int) {
	if c := w.Peek(); c != '-' && (c < '0' || c > '9') {
		w.Skip()
		return n
	}
	text := w.Value()
	if unit == 1 {
		n.V, n.OK = parseWhole(text)
		return n
	}
	f, err := strconv.ParseFloat(string(text), 64) // infinite if it does not fit
	if err != nil && !errors.Is(err, strconv.ErrRange) || err == nil && math.IsInf(f, 0) {
		return n // the second is the word -Infinity
	}
	n.OK = true
	switch f = math.Round(f * unit); {
	case f >= 1<<63:
		n.V = math.MaxInt64
	case f < -1<<63:
		n.V = math.MinInt64
	default:
		n.V = int64(f)
	}
	return n
}

// readMetrics reads vLLM's metrics. Its time_to_first_token_ms begins when the queue ends. Bedrock's metrics have one time.
func readMetrics(w *jsonscan.Walker, d *export.ServerDetails) {
	var first export.Int
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "queue_time_ms":
			d.Queue = number(w, unitMS)
		case "time_to_first_token_ms":
			first = number(w, unitMS)
		case "generation_time_ms":
			d.Decode = number(w, unitMS)
		case "prefix_cache":
			readPrefixCache(w, d)
		case "speculative_decoding":
			readDrafts(w, d)
		case "latencyMs":
			d.E2E = number(w, unitMS)
		default:
			w.Skip()
		}
	}
	if first.OK && d.Queue.OK {
		d.TTFT = export.IntOf(stat.SaturatingAdd(d.Queue.V, first.V))
	}
	if !d.Prefill.OK {
		d.Prefill = first
	}
}

// readPrefixCache reads prefix_cache of vLLM's metrics.
func readPrefixCache(w *jsonscan.Walker, d *export.ServerDetails) {
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "num_local_cached_tokens":
			d.CachedLocal = number(w, 1)
		case "num_external_cached_tokens":
			d.CachedExternal = number(w, 1)
		case "prefill_time_ms":
			d.Prefill = number(w, unitMS)
		default:
			w.Skip()
		}
	}
}

// readDrafts reads speculative_decoding of vLLM's metrics.
func readDrafts(w *jsonscan.Walker, d *export.ServerDetails) {
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "num_spec_steps":
			d.DraftSteps = number(w, 1)
		case "num_draft_tokens":
			d.DraftTokens = number(w, 1)
		case "num_accepted_draft_tokens":
			d.AcceptedTokens = number(w, 1)
		default:
			w.Skip()
		}
	}
}

// readTimings reads llama.cpp's timings.
func readTimings(w *jsonscan.Walker, d *export.ServerDetails) {
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "prompt_ms":
			d.Prefill = number(w, unitMS)
		case "predicted_ms":
			d.Decode = number(w, unitMS)
		case "cache_n":
			d.CachedLocal = number(w, 1)
		case "draft_n":
			d.DraftTokens = number(w, 1)
		case "draft_n_accepted":
			d.AcceptedTokens = number(w, 1)
		default:
			w.Skip()
		}
	}
}

// readSGLang reads meta_info, which stands in answers of /generate and beside choices, and sglext. The names of the drafts
// changed between releases.
func readSGLang(w *jsonscan.Walker, d *export.ServerDetails) {
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "queue_time":
			d.Queue = number(w, unitS)
		case "e2e_latency":
			d.E2E = number(w, unitS)
		case "response_sent_to_client_ts":
			d.SentNS = number(w, unitS)
		case "num_retractions", "total_retractions":
			d.Retractions = number(w, 1)
		case "cached_tokens_details":
			readLevels(w, d)
		case "spec_tokens_details":
			readSGLang(w, d)
		case "spec_verify_ct":
			d.DraftSteps = number(w, 1)
		case "spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num":
			d.DraftTokens = number(w, 1)
		case "spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num":
			d.AcceptedTokens = number(w, 1)
		default:
			w.Skip()
		}
	}
}

// readLevels reads SGLang's cached_tokens_details.
func readLevels(w *jsonscan.Walker, d *export.ServerDetails) {
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "device":
			d.CachedLocal = number(w, 1)
		case "host":
			d.CachedHost = number(w, 1)
		case "storage":
			d.CachedStorage = number(w, 1)
		default:
			w.Skip()
		}
	}
}

// readDynamo reads Dynamo's nvext.
func readDynamo(w *jsonscan.Walker, d *export.ServerDetails) {
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "worker_id", "timing":
			readDynamo(w, d)
		case "prefill_worker_id":
			d.PrefillWorker = workerID(w)
		case "decode_worker_id":
			d.DecodeWorker = workerID(w)
		case "prefill_wait_time_ms":
			d.Queue = number(w, unitMS)
		case "prefill_time_ms":
			d.Prefill = number(w, unitMS)
		case "ttft_ms":
			d.TTFT = number(w, unitMS)
		case "total_time_ms":
			d.E2E = number(w, unitMS)
		default:
			w.Skip()
		}
	}
}

// workerID reads an id, a number or a text.
func workerID(w *jsonscan.Walker) string {
	switch c := w.Peek(); {
	case c == '"':
		return OneLine(w.String())
	case c >= '0' && c <= '9':
		return OneLine(w.Value())
	}
	w.Skip()
	return ""
}

// readGroq reads x_groq, which has the usage of a stream.
func (c *Chunk) readGroq(w *jsonscan.Walker) {
	for more := w.TryObject(); more; more = w.NextMember() {
		if string(w.Key) == "usage" {
			c.parseUsage(w)
		} else {
			w.Skip()
		}
	}
}

// readGroqTime reads one of the times in Groq's usage.
func readGroqTime(w *jsonscan.Walker, d *export.ServerDetails) {
	switch string(w.Key) {
	case "queue_time":
		d.Queue = number(w, unitS)
	case "prompt_time":
		d.Prefill = number(w, unitS)
	case "completion_time":
		d.Decode = number(w, unitS)
	}
}

// readDuration reads one of Ollama's times.
func readDuration(w *jsonscan.Walker, d *export.ServerDetails) {
	switch string(w.Key) {
	case "total_duration":
		d.E2E = number(w, unitNS)
	case "load_duration":
		d.Queue = number(w, unitNS)
	case "prompt_eval_duration":
		d.Prefill = number(w, unitNS)
	case "eval_duration":
		d.Decode = number(w, unitNS)
	}
}

// AskServerDetails returns the members of a request that ask a server for export.ServerDetails, with the members of extra,
// an object, in their place or beside them. It returns extra if extra is no object; an empty extra is {}. SGLang and Dynamo
// must be asked. Dynamo's extra_fields are the same list in every request, so that nvext of extra replaces it.
func AskServerDetails(extra []byte) []byte {
	const ask = `{"return_cached_tokens_details":true,"return_spec_tokens_details":true,"nvext":{"extra_fields":["worker_id","timing"]}}`
	asked, err := MergeRequest([]byte(ask), extra)
	if err != nil {
		return extra
	}
	return asked
}

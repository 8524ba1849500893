package genaiperf

import (
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/stat"
)

// rules holds the differences between releases.
type rules struct {
	// Reading an export.

	// needsKind: the export must name its service_kind and endpoint. Older releases took
	// them from arguments.
	needsKind bool
	// needsInputs: requests must have inputs, whose tokens are counted.
	needsInputs bool
	// kinds lists the known service kinds of an export.
	kinds []string
	// formats decides the format of an OpenAI server's answers.
	formats formatRules

	// Cleaning the responses of an OpenAI server.

	// stripJunk: the text of a Triton server begins at its first printable character
	// after the third.
	stripJunk bool
	// prefix begins an event.
	prefix string
	// skipsFields: comments, and fields of an event other than data, hold no text. An
	// error event is an exception.
	skipsFields bool
	drop        dropRule
	rejoin      rejoinRule
	merge       mergeRule
	text        textRule
	// nullIsEmpty: a null content is an empty text.
	nullIsEmpty bool
	// survives: the release drops a response that it cannot read, without an exception.
	survives bool
	json     py.Library

	// emptyIDs: ids of the TensorRT-LLM engine may be missing.
	emptyIDs bool

	// Measuring.

	input  inputText
	prompt promptText
	count  counting
	itl    itlRule
	// secondToken, requestCount, goodput, sessions: the release has such metrics.
	secondToken, requestCount, goodput, sessions bool
	// perUser: tokens per second are per user, not per request.
	perUser bool
	// latencyOnly lists the endpoint types whose only metric is the latency.
	latencyOnly []string
	images      imageList
	numpy       stat.NumpyVersion

	// Printing the reports.

	layout layout
	// title begins the title of the table. multimodal is the endpoint type of multimodal
	// models, and multimodalTitle names their metrics in the title.
	title, multimodal, multimodalTitle string
	// rows lists the metrics of a request on the console and in the CSV report.
	rows []string
	// missing decides the cells of a console row without values.
	missing missingRule
	// wrapNames: names of rows break at 36 characters, and their column may become
	// narrower.
	wrapNames bool
	// lowPercentiles: p10, p5 and p1 are in the CSV and JSON reports.
	lowPercentiles bool
	jsonReport     jsonStyle
	// tokenRate is the unit of the token throughput on the console and in the
	// CSV report.
	tokenRate string
	// maxBytes is the size from which a file is too large; 0: no limit.
	maxBytes int64
	// records: each metric must have a record type; metrics of images have none.
	records bool
	// plots: the plots that are made by default need a time to first token.
	plots bool
	// csvName is the name of the CSV file; "" means the name of the export with
	// _genai_perf.csv at its end.
	csvName string
}

// dropRule says which responses of an OpenAI server are dropped.
type dropRule uint8

const (
	dropDone  dropRule = iota // [DONE] if it is the last response
	trimEmpty                 // responses without text at both ends; it is an exception if none is left
	trimSafe                  // as trimEmpty, but none may be left
	dropEmpty                 // all responses without text
)

// rejoinRule says how the pieces of an event from several reads are joined.
type rejoinRule uint8

const (
	rejoinNot rejoinRule = iota
	// rejoinCircular: a response that does not begin with "data: " is appended to the
	// previous one. The last response is the previous one of the first.
	rejoinCircular
	// rejoinData: the same except for the first response. It is an exception if the
	// previous response does not contain "data: ".
	rejoinData
	// rejoinColon: the same with "data:" in place of "data: ".
	rejoinColon
)

// mergeRule says how several events from one read become one response.
type mergeRule uint8

const (
	mergeNot mergeRule = iota
	// mergeAppend: the texts are appended to delta.content of the first event, which
	// must exist.
	mergeAppend
	// mergeCreate: delta must exist, delta.content need not.
	mergeCreate
	// mergeGenerate: as mergeCreate, or text_output of Triton's generate.
	mergeGenerate
	// mergeJoin: the joined texts replace delta.content of the first event.
	mergeJoin
	// mergeFormat: the joined texts replace the text member of the format.
	mergeFormat
)

// textRule says where the text of a response is. Each rule is named after its first
// release.
type textRule uint8

const (
	text2403 textRule = iota // by "object", which must be there; [DONE] is no JSON
	text2404                 // [DONE] has no text
	text2405                 // "object" may be missing
	text2412                 // text_output of Triton's generate
	text2504                 // by format; "object" must fit it; Hugging Face
	text2505                 // "choices" of chats may be missing
)

// inputText says which messages of a chat count as input.
type inputText uint8

const (
	inputNone  inputText = iota // not counted
	inputFirst                  // the first message
	inputAll                    // all messages, joined by blanks
)

// promptText says which part of a completion's prompt is counted.
type promptText uint8

const (
	promptFirst promptText = iota // its first element; for a string, the first character
	promptBatch                   // the prompt as it is; for a list, its number of elements
	promptPlain                   // the prompt as it is; a list is an exception
	promptJoin                    // its elements joined by blanks; for a string, its characters
)

// counting says how output tokens are counted.
type counting uint8

const (
	// countPlain: each response by itself, with the tokenizer's special tokens.
	countPlain counting = iota
	// countMarked: each response with an exclamation mark in front, less one token.
	countMarked
	// countJoined: the whole text at once.
	countJoined
)

// itlRule is the formula of inter token latency.
type itlRule uint8

const (
	itlGaps  itlRule = iota // gaps, each by the tokens of the response at its end
	itlMean                 // (latency − first) / (tokens − 1), of each request
	itlMean2                // the same, of requests with at least two responses
)

// imageList says where a request holds its images.
type imageList uint8

const (
	imagesNot      imageList = iota // no metrics of images
	imagesMessages                  // in the content of the first message
	imagesInput                     // in input
)

// layout is the layout of the reports. Each layout is named after its first release.
type layout uint8

const (
	layout2403 layout = iota // nanoseconds, names as in the code
	layout2404               // nanoseconds, titles, rates in a block of their own
	layout2407               // milliseconds, rates below the table
	layout2409               // rates in the table
	layout2501               // every unit is named
)

// missingRule decides the text for missing values.
type missingRule uint8

const (
	missingMinus    missingRule = iota // -1
	missingRaises                      // an exception
	missingOrZeroNA                    // N/A, also for a value of 0
	missingNA                          // N/A
)

// jsonStyle is the layout of the JSON report.
type jsonStyle uint8

const (
	jsonNone jsonStyle = iota
	json2406           // percentiles from the highest, maximum before minimum
	json2409           // from the lowest, minimum first; all but times have the unit of the request throughput
	json2412           // right units
)

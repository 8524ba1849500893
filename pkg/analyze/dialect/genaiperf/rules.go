package genaiperf

import (
	"github.com/pa-tools/pa/internal/numpy"
	"github.com/pa-tools/pa/internal/pyjson"
)

// rules are what differs from release to release.
type rules struct {
	// How an export is taken in.

	// needsKind: the export must name its service_kind and endpoint, which were
	// arguments before.
	needsKind bool
	// needsInputs: requests must have their inputs, whose tokens are counted.
	needsInputs bool
	// kinds are the known service kinds of an export.
	kinds []string
	// formats say what kind of text an answer of an OpenAI server holds.
	formats formatRules

	// How the responses of an OpenAI server are cleaned.

	// stripJunk: the text of a Triton server loses what is before its first
	// printable character behind the third.
	stripJunk bool
	// prefix is what begins an event.
	prefix string
	// skipsFields: comments, and fields of an event other than data, hold no
	// text. An event that is an error is an exception.
	skipsFields bool
	clean       cleaning
	mend        mending
	merge       merging
	text        texting
	// nullIsEmpty: a content of null is an empty text.
	nullIsEmpty bool
	// survives: a response that cannot be read is dropped and no exception.
	survives bool
	json     pyjson.Library

	// emptyIDs: ids of the TensorRT-LLM engine may be missing.
	emptyIDs bool

	// What is measured.

	input  inputText
	prompt promptText
	count  counting
	itl    itlRule
	// secondToken, requestCount, goodput, sessions: there are such metrics.
	secondToken, requestCount, goodput, sessions bool
	// perUser: there are tokens per second and user, not per request.
	perUser bool
	// latencyOnly are the endpoint types with no metrics but the latency.
	latencyOnly []string
	images      imageList
	numpy       numpy.Version

	// What the reports look like.

	layout layout
	// title begins the title of the table. multimodal is the endpoint type of
	// models that see, and multimodalTitle what the title calls their metrics.
	title, multimodal, multimodalTitle string
	// rows are the metrics of a request on the console and in the CSV report.
	rows []string
	// absent is what happens to a row of the console without values.
	absent absence
	// wrapNames: the names of the rows are broken at 36 characters, and the
	// column may be narrowed.
	wrapNames bool
	// lowPercentiles: p10, p5 and p1 are in the CSV and JSON reports.
	lowPercentiles bool
	jsonReport     jsonStyle
	// tokenRate is the unit of the token throughput on the console and in the
	// CSV report.
	tokenRate string
	// maxBytes is the size of a file that is too large; 0: none is.
	maxBytes int64
	// records: each metric must have a record type, which those of images lack.
	records bool
	// plots: the plots that are made by default need a time to first token.
	plots bool
	// csvName is the name of the CSV file; "" is that of the export with
	// _genai_perf.csv at its end.
	csvName string
}

// cleaning is what is dropped of the responses of an OpenAI server.
type cleaning uint8

const (
	dropDone  cleaning = iota // [DONE], when it is the last
	trimEmpty                 // those without text at both ends; none left is an exception
	trimSafe                  // the same, and none may be left
	dropEmpty                 // all without text
)

// mending is how an event is put together that came in several reads.
type mending uint8

const (
	mendNot mending = iota
	// mendRing: what does not begin with "data: " is appended to the response
	// before it; before the first is the last.
	mendRing
	// mendData: the same but for the first, and the one before must hold
	// "data: ", else it is an exception.
	mendData
	// mendColon: "data:" is enough.
	mendColon
)

// merging is what becomes of several events that came in one read.
type merging uint8

const (
	mergeNot merging = iota
	// mergeAppend: the texts are appended to delta.content of the first event,
	// which must be there.
	mergeAppend
	// mergeCreate: delta.content need not be there; delta must.
	mergeCreate
	// mergeGenerate: that, or text_output of Triton's generate.
	mergeGenerate
	// mergeJoin: the joined texts replace delta.content of the first event.
	mergeJoin
	// mergeFormat: they replace what the format has.
	mergeFormat
)

// texting is where the text of a response is. Each is named after its first
// release.
type texting uint8

const (
	text2403 texting = iota // by "object", which must be there; [DONE] is no JSON
	text2404                // [DONE] has no text
	text2405                // "object" may be missing
	text2412                // text_output of Triton's generate
	text2504                // by format; "object" must fit it; Hugging Face
	text2505                // "choices" of chats may be missing
)

// inputText is what a chat's input is.
type inputText uint8

const (
	inputNone  inputText = iota // not counted
	inputFirst                  // the first message
	inputAll                    // all messages, joined by blanks
)

// promptText is what of the prompt of a completion is counted.
type promptText uint8

const (
	promptFirst promptText = iota // its first element: of a string the first character
	promptBatch                   // it, as it is; of a list the number of its elements
	promptPlain                   // it, as it is; a list is an exception
	promptJoin                    // its elements, joined by blanks: of a string its characters
)

// counting is how output tokens are counted.
type counting uint8

const (
	// countPlain: those of each response, with the special tokens of the
	// tokenizer.
	countPlain counting = iota
	// countMarked: those of each response with an exclamation mark in front,
	// less one.
	countMarked
	// countJoined: those of the whole text.
	countJoined
)

// itlRule is what inter token latency means.
type itlRule uint8

const (
	itlGaps  itlRule = iota // gaps, each by the tokens of the response at its end
	itlMean                 // (latency − first) / (tokens − 1), of each request
	itlMean2                // the same, of requests with at least two responses
)

// imageList is where the images of a request are.
type imageList uint8

const (
	imagesNot      imageList = iota // no metrics of images
	imagesMessages                  // in the content of the first message
	imagesInput                     // in input
)

// layout is how the reports are written. Each is named after its first release.
type layout uint8

const (
	layout2403 layout = iota // nanoseconds, names as in the code
	layout2404               // nanoseconds, titles, rates in a block of their own
	layout2407               // milliseconds, rates below the table
	layout2409               // rates in the table
	layout2501               // every unit is named
)

// absence is what becomes of a row without values.
type absence uint8

const (
	absentMinus    absence = iota // -1
	absentRaises                  // an exception
	absentOrZeroNA                // N/A; for a value of 0, too
	absentNA                      // N/A
)

// jsonStyle is the JSON report.
type jsonStyle uint8

const (
	jsonNone jsonStyle = iota
	json2406           // percentiles from the highest, maximum before minimum
	json2409           // from the lowest, minimum first; all but times have the unit of the request throughput
	json2412           // right units
)

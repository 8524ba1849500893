package frontend

import (
	"slices"
	"strings"
)

// inputs adds the flags of the prompts: source, lengths, sessions, seed and tokenizer.
func (l *latest) inputs() {
	a, file := l.a, l.a.text("--input-file")
	switch {
	case l.payload != "":
		l.set("--input-data", l.payload)
		if a.whole("--num-prefix-prompts") > 0 {
			l.notef("--num-prefix-prompts has no effect on a trace, as in GenAI-Perf")
		}
	case file != "" && l.syntheticFiles() == nil:
		l.set("--input-data", file)
		if a.whole("--batch-size-text") > 1 || l.imagesPerRequest() > 1 {
			l.setWhole("--num-dataset-entries", a.whole("--num-dataset-entries"))
		}
		if n := l.imagesPerRequest(); n > 1 {
			l.setWhole("--batch-size-image", n)
		}
		l.prefixes()
	default:
		n := a.whole("--num-dataset-entries")
		if files := l.syntheticFiles(); files != nil && l.service.name != "rankings" {
			n *= len(files)
		}
		if a.whole("--num-sessions") > 0 {
			n = 0
		}
		l.synthetic("--synthetic-input-tokens-mean", l.wholeOrDefault("--synthetic-input-tokens-mean"), a.whole("--synthetic-input-tokens-stddev"), n)
		l.prefixes()
		l.media()
	}
	if n := a.whole("--batch-size-text"); n > 1 {
		l.setWhole("--batch-size-text", n)
	}
	if l.limitsOutput() {
		l.set("--output-tokens-mean", a.text("--output-tokens-mean"))
		l.setWhole("--output-tokens-stddev", a.whole("--output-tokens-stddev"))
	}
	l.sessions()
	l.setWhole("--random-seed", a.whole("--random-seed"))
	if a.has("--tokenizer") {
		l.tokenizer(a.text("--tokenizer"), true)
	} else {
		l.tokenizer(l.model, false)
	}
}

// prefixes adds the shared prefixes of prompts.
func (l *latest) prefixes() {
	if n := l.a.whole("--num-prefix-prompts"); n > 0 {
		l.setWhole("--num-prefix-prompts", n)
		l.setWhole("--prefix-prompt-length", l.wholeOrDefault("--prefix-prompt-length"))
	}
}

// media adds synthetic images and audio, if the service takes them.
func (l *latest) media() {
	a := l.a
	width, height, seconds := a.whole("--image-width-mean"), a.whole("--image-height-mean"), a.number("--audio-length-mean")
	if (width > 0) != (height > 0) {
		l.notef("no images are made, as in GenAI-Perf; give both --image-width-mean and --image-height-mean")
	}
	if width > 0 && height > 0 && l.canSend("images", l.service.images) {
		l.checkStddev("--image-width-mean", width, a.whole("--image-width-stddev"))
		l.checkStddev("--image-height-mean", height, a.whole("--image-height-stddev"))
		for _, name := range []string{"--image-width-mean", "--image-width-stddev", "--image-height-mean", "--image-height-stddev", "--image-format"} {
			l.set(name, a.text(name))
		}
		l.setWhole("--batch-size-image", l.imagesPerRequest())
	} else if l.service.name == "image_retrieval" {
		l.errorf("--endpoint-type image_retrieval needs images; give --image-width-mean and --image-height-mean, or --input-file")
	}
	if seconds == 0 || !l.canSend("audio clips", l.service.audio) {
		return
	}
	l.refuse(!(seconds >= minAudioSeconds), "--audio-length-mean %v: must be at least %v", seconds, minAudioSeconds)
	if stddev := a.number("--audio-length-stddev"); !(stddev >= 0 && stddev <= seconds) {
		l.errorf("--audio-length-stddev %v: must be from 0 to the mean, %v", stddev, seconds)
	}
	l.refuse(a.text("--audio-format") == "mp3", "--audio-format mp3 is not supported: there is no encoder for it; take wav")
	for _, depth := range a.values("--audio-depths") {
		if !slices.Contains([]string{"8", "16", "24", "32"}, depth) {
			l.errorf("--audio-depths %s: must be 8, 16, 24 or 32", clip(depth))
		}
	}
	for _, name := range []string{"--audio-length-mean", "--audio-length-stddev", "--audio-format", "--audio-num-channels"} {
		l.set(name, a.text(name))
	}
	for _, name := range []string{"--audio-depths", "--audio-sample-rates"} {
		list := a.values(name)
		if list == nil {
			list = []string{a.text(name)}
		}
		l.set(name, strings.Join(list, ","))
	}
	l.setWhole("--batch-size-audio", max(1, a.whole("--batch-size-audio")))
}

// minAudioSeconds is the least length of synthetic audio.
const minAudioSeconds = 0.1

// imagesPerRequest returns the number of images of a request, 1 if the service takes none.
func (l *latest) imagesPerRequest() int {
	if !l.service.images {
		return 1
	}
	return max(1, l.a.whole("--batch-size-image"))
}

// canSend reports whether requests can hold the medium that the user asked for. It
// adds a note if not.
func (l *latest) canSend(what string, takes bool) bool {
	switch {
	case !takes:
		l.notef("no %s for --endpoint-type %s, as in GenAI-Perf; give --endpoint-type multimodal", what, l.service.name)
	case l.a.whole("--num-sessions") > 0:
		l.notef("no %s in the turns of --num-sessions, as in GenAI-Perf", what)
		return false
	}
	return takes
}

// sessions adds the settings of conversations.
func (l *latest) sessions() {
	a := l.a
	if a.number("--session-delay-ratio") != 1 && l.payload != "" {
		l.set("--session-delay-ratio", a.text("--session-delay-ratio"))
	}
	if n := a.whole("--num-sessions"); n > 0 {
		l.setWhole("--num-sessions", n)
		for _, name := range []string{"--session-turns-mean", "--session-turns-stddev", "--session-turn-delay-mean", "--session-turn-delay-stddev"} {
			l.set(name, a.text(name))
		}
	}
}

// syntheticFiles returns the names in --input-file synthetic:NAME,…; nil if it is not
// given. Each name makes --num-dataset-entries prompts, except for rankings.
func (l *latest) syntheticFiles() []string {
	names, ok := strings.CutPrefix(l.a.text("--input-file"), "synthetic:")
	if !ok {
		return nil
	}
	return strings.Split(names, ",")
}

// hasRankingInput reports whether --input-file names both queries and passages, or a path,
// which pa-record checks when it reads the folder.
func (l *latest) hasRankingInput() bool {
	if names := l.syntheticFiles(); names != nil {
		return slices.Contains(names, "queries") && slices.Contains(names, "passages")
	}
	return l.a.has("--input-file") && l.payload == ""
}

package dialect

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// EndpointTypes returns the endpoint types that a Config may have: all that a release
// of GenAI-Perf knows by name.
func EndpointTypes() []string {
	return []string{
		"chat", "completions", "embeddings", "nvclip", "rankings", "vision", "multimodal", "image_retrieval",
		"generate", "huggingface_generate", "kserve", "template", "tensorrtllm_engine", "dynamic_grpc",
	}
}

// ParseLevel reads the name of a load level: "8", or "concurrency:8".
func ParseLevel(text string) Level {
	mode, value, ok := strings.Cut(text, ":")
	if !ok {
		return Level{Value: text}
	}
	return Level{mode, value}
}

// ParseLimits reads limits of good requests, separated by blanks: "ttft:200 tpot:16.5".
func ParseLimits(text string) ([]Limit, error) {
	var all []Limit
	for _, l := range strings.Fields(text) {
		name, number, ok := strings.Cut(l, ":")
		value, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || !(value >= 0) {
			return nil, fmt.Errorf("%q: give pairs such as request_latency:300, of a metric and a number of 0 or more", l)
		}
		all = append(all, Limit{Metric: name, Value: value})
	}
	return all, nil
}

// ParseArgs reads arguments such as "KEY=VALUE"; nil for none.
func ParseArgs(texts []string) (map[string]string, error) {
	var args map[string]string
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q: give KEY=VALUE", text)
		}
		if args == nil {
			args = map[string]string{}
		}
		args[key] = value
	}
	return args, nil
}

// TokenizerName returns the name that reports show for a tokenizer: the folder of a
// local file, else the name itself.
func TokenizerName(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	if !info.IsDir() && filepath.Base(path) == "tokenizer.json" {
		path = filepath.Dir(path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

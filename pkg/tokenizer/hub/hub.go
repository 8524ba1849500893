package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Config says where tokenizers are found. The zero value of each field but
// Cache means its default.
type Config struct {
	// Cache is the folder with the models--ORG--NAME folders.
	Cache string
	// Endpoint is the hub's URL; empty means https://huggingface.co.
	Endpoint string
	// Token is sent to the endpoint, and to no other host; empty means none.
	Token string
	// Offline forbids to ask the hub.
	Offline bool
	// Revision is a branch, tag or commit; empty means main.
	Revision string
	// Client does the requests; nil means http.DefaultClient.
	Client *http.Client
}

// CacheFromEnv returns the cache folder that the environment variables of
// huggingface_hub name: HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME. home is the user's
// home directory.
func CacheFromEnv(getenv func(string) string, home string) string {
	return first(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"), filepath.Join(homeFromEnv(getenv, home), "hub"))
}

// homeFromEnv returns what HF_HOME is or stands for.
func homeFromEnv(getenv func(string) string, home string) string {
	if base := getenv("HF_HOME"); base != "" {
		return base
	}
	return filepath.Join(first(getenv("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "huggingface")
}

// first returns the first value that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// FromEnv is the configuration that the environment variables of
// huggingface_hub say: HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HF_ENDPOINT,
// HF_TOKEN, HF_TOKEN_PATH (or the file token in HF_HOME), HF_HUB_OFFLINE and
// TRANSFORMERS_OFFLINE. home is the user's home directory.
func FromEnv(getenv func(string) string, home string) Config {
	base := homeFromEnv(getenv, home)
	c := Config{
		Cache:    CacheFromEnv(getenv, home),
		Endpoint: getenv("HF_ENDPOINT"),
		Token:    getenv("HF_TOKEN"),
		Offline:  isTrue(getenv("HF_HUB_OFFLINE")) || isTrue(getenv("TRANSFORMERS_OFFLINE")),
	}
	if c.Token == "" {
		// As after huggingface-cli login. A file that cannot be read is no
		// token.
		if data, err := os.ReadFile(first(getenv("HF_TOKEN_PATH"), filepath.Join(base, "token"))); err == nil {
			c.Token = strings.TrimSpace(string(data))
		}
	}
	return c
}

func isTrue(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

const (
	defaultEndpoint = "https://huggingface.co"
	defaultRevision = "main"
)

func (c Config) endpoint() string {
	if c.Endpoint == "" {
		return defaultEndpoint
	}
	return strings.TrimRight(c.Endpoint, "/")
}

func (c Config) revision() string {
	if c.Revision == "" {
		return defaultRevision
	}
	return c.Revision
}

// ErrOffline is the reason why a tokenizer cannot be had that is not in the
// cache when asking the hub is forbidden.
var ErrOffline = errors.New("HF_HUB_OFFLINE forbids to ask the hub")

// ErrNotCached is the reason why Cached finds nothing.
var ErrNotCached = errors.New("not in the local cache")

// repoName is what the hub takes for the name of a model.
var repoName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$`)

// revisionName is what can be a branch, a tag or a commit here.
var revisionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`)

// repo returns a repository of a kind, models or datasets.
func (c Config) repo(kind, name string) repo {
	return repo{Config: c, name: name, dir: filepath.Join(c.Cache, kind+"--"+strings.ReplaceAll(name, "/", "--"))}
}

// Find returns what Load of package tokenizer takes: name itself if it is a
// file or directory, else the folder of the cache that has the tokenizer of the
// model of that name, after fetching it from the hub if need be.
func (c Config) Find(ctx context.Context, name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	switch {
	case name == "":
		return "", errors.New("tokenizer: the name is empty")
	case strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".tiktoken"), strings.HasPrefix(name, "."), filepath.IsAbs(name):
		return "", fmt.Errorf("tokenizer %s: no such file or directory", name)
	case !isRepo(name):
		return "", fmt.Errorf("tokenizer %q: no such file or directory, and no name of a model on the hub", name)
	case !revisionName.MatchString(c.revision()) || strings.Contains(c.revision(), ".."):
		return "", fmt.Errorf("tokenizer %s: %q is no name of a revision", name, c.Revision)
	}
	r := c.repo("models", name)
	if dir := r.cached(); dir != "" {
		return dir, nil
	}
	if c.Offline {
		return "", fmt.Errorf("tokenizer %s: not in the cache %s: %w; unset it, or name a tokenizer.json", name, c.Cache, ErrOffline)
	}
	dir, err := r.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("tokenizer %s: %w", name, err)
	}
	return dir, nil
}

// isRepo reports whether the hub takes name for the name of a model.
func isRepo(name string) bool {
	return repoName.MatchString(name) && !strings.Contains(name, "..") && !strings.Contains(name, "--")
}

// Cached returns the folder of the cache that has the tokenizer of the model of
// that name. It opens nothing outside of the cache, whatever the name, and never
// asks the hub; the error wraps ErrNotCached then.
func (c Config) Cached(name string) (string, error) {
	if isRepo(name) && revisionName.MatchString(c.revision()) && !strings.Contains(c.revision(), "..") {
		if dir := c.repo("models", name).cached(); dir != "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("tokenizer %q: %w", name, ErrNotCached)
}

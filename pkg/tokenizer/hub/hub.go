package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// Config describes the cache and the hub. The zero value of each field but Cache means its
// default.
type Config struct {
	// Cache is the folder with the models--ORG--NAME folders.
	Cache string
	// Endpoint is the hub's URL; empty means https://huggingface.co.
	Endpoint string
	// Token is sent to the endpoint, and to no other host; empty means none.
	Token string
	// Offline forbids requests to the hub.
	Offline bool
	// Revision is a branch, tag or commit; empty means main.
	Revision string
	// Client sends the requests; nil means http.DefaultClient.
	Client *http.Client
}

// CacheFromEnv returns the cache folder that the environment variables of
// huggingface_hub name: HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME. home is the user's
// home directory.
func CacheFromEnv(getenv func(string) string, home string) string {
	return cmp.Or(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"), filepath.Join(homeFromEnv(getenv, home), "hub"))
}

// homeFromEnv returns HF_HOME or its default.
func homeFromEnv(getenv func(string) string, home string) string {
	if base := getenv("HF_HOME"); base != "" {
		return base
	}
	return filepath.Join(cmp.Or(getenv("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "huggingface")
}

// TokenFileFromEnv returns the path of the file that huggingface-cli login writes: HF_TOKEN_PATH,
// or the file token in HF_HOME. home is the user's home directory.
func TokenFileFromEnv(getenv func(string) string, home string) string {
	return cmp.Or(getenv("HF_TOKEN_PATH"), filepath.Join(homeFromEnv(getenv, home), "token"))
}

// FromEnv returns the configuration from the environment variables of huggingface_hub:
// HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH (or the file
// token in HF_HOME), HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE. home is the user's home
// directory.
func FromEnv(getenv func(string) string, home string) Config {
	c := Config{
		Cache:    CacheFromEnv(getenv, home),
		Endpoint: getenv("HF_ENDPOINT"),
		Token:    getenv("HF_TOKEN"),
		Offline:  isTrue(getenv("HF_HUB_OFFLINE")) || isTrue(getenv("TRANSFORMERS_OFFLINE")),
	}
	if c.Token == "" {
		// An unreadable file means no token.
		if data, err := os.ReadFile(TokenFileFromEnv(getenv, home)); err == nil {
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

// ErrOffline is the error for files that are not in the cache while requests to the hub are
// forbidden.
var ErrOffline = errors.New("HF_HUB_OFFLINE forbids requests to the hub")

// FilesFromEnv returns the files that exist of the tokenizer which Load finds for name without a
// download (the file or the files of the folder name, or the model's files in the cache), and the
// path of the file with the user's token. It sends no requests. getenv and home are as for
// FromEnv.
func FilesFromEnv(getenv func(string) string, home, name string) []string {
	path := name
	if _, err := os.Stat(name); err != nil {
		if path, err = (Config{Cache: CacheFromEnv(getenv, home)}).Cached(name); err != nil {
			return []string{TokenFileFromEnv(getenv, home)}
		}
	}
	return append(tokenizer.FilesAt(path), TokenFileFromEnv(getenv, home))
}

// ErrNotCached is the error of Cached for a tokenizer that is not in the cache.
var ErrNotCached = errors.New("not in the local cache")

// repoName matches the names of models on the hub.
var repoName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$`)

// revisionName matches the accepted names of branches, tags and commits, and names with "..".
var revisionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`)

// repo returns a repository. kind is models or datasets.
func (c Config) repo(kind, name string) repo {
	return repo{Config: c, name: name, dir: filepath.Join(c.Cache, kind+"--"+strings.ReplaceAll(name, "/", "--"))}
}

// Find returns a path for tokenizer.Load: name itself if it is a file or directory, else
// the folder of that model in the cache. Find downloads the files if they are not in the
// cache.
func (c Config) Find(ctx context.Context, name string) (string, error) {
	_, err := os.Stat(name)
	if err == nil {
		return name, nil
	}
	switch {
	case errors.Is(err, fs.ErrPermission): // there may be such a file
		return "", fmt.Errorf("tokenizer %w", disk.Unreadable(err))
	case name == "":
		return "", errors.New("tokenizer: the name is empty")
	case strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".tiktoken"), strings.HasSuffix(name, ".model"), strings.HasPrefix(name, "."), filepath.IsAbs(name):
		return "", fmt.Errorf("tokenizer %s: no such file or directory", name)
	case !IsModel(name):
		return "", fmt.Errorf("tokenizer %q: no such file or directory, and no name of a model on the hub", name)
	case !isRevision(c.revision()):
		return "", fmt.Errorf("tokenizer %s: %q is not a revision name", name, c.Revision)
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

// IsModel reports whether name is a valid name of a model on the hub.
func IsModel(name string) bool {
	return repoName.MatchString(name) && !strings.Contains(name, "..") && !strings.Contains(name, "--")
}

// isRevision reports whether name is an accepted name of a branch, tag or commit.
func isRevision(name string) bool {
	return revisionName.MatchString(name) && !strings.Contains(name, "..")
}

// Cached returns the folder of a model's tokenizer in the cache. It never opens a file
// outside the cache and sends no requests. The error wraps ErrNotCached.
func (c Config) Cached(name string) (string, error) {
	if IsModel(name) && isRevision(c.revision()) {
		if dir := c.repo("models", name).cached(); dir != "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("tokenizer %q: %w", name, ErrNotCached)
}

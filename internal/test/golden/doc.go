// Package golden opens the archives of recorded material under testdata/golden
// for tests: outputs of real tools and byte streams of real servers.
//
// Each archive is one zstd-compressed tar per tool, so that the tree holds a
// few files instead of thousands. Its folder structure and the meaning of each
// file are described in the README.md inside the archive.
package golden

// Package hub finds the files of a tokenizer by name: in the cache that the
// Hugging Face libraries share, else on the hub, from where they are put into
// that cache. Of datasets it finds the files in that cache, and gets single rows
// from the hub's datasets server, which are not kept.
//
//	h := hub.FromEnv(os.Getenv, home)
//	dir, err := h.Find(ctx, "Qwen/Qwen2.5-0.5B")
//	if err != nil { … }
//	tok, err := tokenizer.Load(dir)
//
// The cache has the layout of huggingface_hub, so that either finds what the
// other has fetched:
//
//	models--ORG--NAME/refs/main              the commit that main was
//	models--ORG--NAME/snapshots/COMMIT/FILE  a link to
//	models--ORG--NAME/blobs/ETAG             the content
//
// What is in the cache is used as it is, without asking the hub for something
// newer. Only a tokenizer's files are fetched, never a model.
package hub

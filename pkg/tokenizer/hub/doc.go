// Package hub finds the files of a tokenizer by name, in the cache that the Hugging Face
// libraries share. If they are not there, it downloads them from the hub into the cache.
// It also finds the files of datasets in the cache, and gets rows from the hub's datasets
// server, which it does not store.
//
//	h := hub.FromEnv(os.Getenv, home)
//	dir, err := h.Find(ctx, "Qwen/Qwen2.5-0.5B")
//	if err != nil { … }
//	tok, err := tokenizer.Load(dir)
//
// The cache has the layout of huggingface_hub, so that each finds the files that the
// other has fetched:
//
//	models--ORG--NAME/refs/main              the commit of main when it was fetched
//	models--ORG--NAME/snapshots/COMMIT/FILE  a link to
//	models--ORG--NAME/blobs/ETAG             the content
//
// Cached files are used without asking the hub for newer ones. Only the files of a
// tokenizer are downloaded, never a model.
package hub

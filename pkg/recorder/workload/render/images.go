package render

import "github.com/pa-tools/pa/pkg/recorder/workload"

// images writes a request to v1/images/generations:
//
//	{"model": M, "prompt": "…", "stream": true, "partial_images": 1}
//
// The last two ask for a stream, with a partial image before the finished one.
func (b *object) images(p *workload.Prompt, o Options) error {
	if err := noMedia(p, "image generations"); err != nil {
		return err
	}
	b.model(o)
	all, err := plainTexts(p)
	if err != nil {
		return err
	}
	b.texts("prompt", all, false)
	if o.Stream {
		b.flag("stream")
		b.number("partial_images", 1)
	}
	return nil
}

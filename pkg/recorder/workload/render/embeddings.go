package render

import "github.com/pa-tools/pa/pkg/recorder/workload"

// embeddings writes a request to v1/embeddings:
//
//	{"model": M, "input": "…"}
//
// Images are further inputs, by URL, as NVIDIA's NV-CLIP expects them.
func (b *object) embeddings(p *workload.Prompt, o Options) error {
	b.model(o)
	all, err := inputsOf(p)
	if err != nil {
		return err
	}
	b.texts("input", all, len(p.Media) > 0)
	return nil
}

// inputsOf returns the texts followed by the URLs of the images. An empty text beside images
// is omitted.
func inputsOf(p *workload.Prompt) ([]string, error) {
	texts, err := plainTexts(p)
	if err != nil {
		return nil, err
	}
	urls, err := pictureURLs(p, "embeddings")
	if err != nil {
		return nil, err
	}
	if len(urls) > 0 && len(texts) == 1 && texts[0] == "" {
		texts = nil
	}
	return append(texts, urls...), nil
}

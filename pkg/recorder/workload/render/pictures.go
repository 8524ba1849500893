package render

import (
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// imageRetrieval writes a request to NVIDIA NIM's v1/infer, which processes images:
//
//	{"input": [{"type": "image_url", "url": "…"}, …]}
func (b *object) imageRetrieval(p *workload.Prompt) error {
	pictures, err := picturesOf(p)
	if err != nil {
		return err
	}
	b.raw("input", pictures)
	return nil
}

// picturesOf returns the images as objects. No image is an error.
func picturesOf(p *workload.Prompt) ([]byte, error) {
	urls, err := pictureURLs(p, "image endpoints")
	if err != nil {
		return nil, err
	}
	if len(urls) == 0 {
		return nil, errors.New("the endpoint takes images; give \"image\", or --image-width-mean")
	}
	out := []byte{'['}
	for _, url := range urls {
		out = appendPart(out, []byte(`{"type":"image_url","url":`), quote(url), []byte("}"))
	}
	return append(out, ']'), nil
}

// pictureURLs returns the URLs of the images of p, for a service without other media.
func pictureURLs(p *workload.Prompt, service string) ([]string, error) {
	var urls []string
	for _, m := range p.Media {
		if m.Kind != workload.Image {
			return nil, fmt.Errorf("%s take no %v; use the chat endpoint", service, m.Kind)
		}
		urls = append(urls, m.URL)
	}
	return urls, nil
}

package answer

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// addImages adds the images of a frame or a body, which the response at completed.
func (d *Decoder) addImages(at int, frame []byte) {
	im := openai.ReadImages(frame)
	all := &d.a.Images
	all.Finished, all.Partial, all.Sized, all.Bytes = all.Finished+im.Finished, all.Partial+im.Partial, all.Sized+im.Sized, all.Bytes+im.Bytes
	if d.a.shape == StreamedYes && !d.a.FirstImage.OK && im.Finished+im.Partial > 0 {
		d.a.FirstImage = export.IntOf(int64(at))
	}
}

// addImages fills the measures of the images of a, the answer to r. from and b are as for measure.
func (m *Measures) addImages(r *export.Request, a *Answer, from uint64, b *Bounds) {
	m.Images, m.SizedImages, m.ImageBytes = export.IntOf(int64(a.Images.Finished)), export.IntOf(int64(a.Images.Sized)), export.IntOf(a.Images.Bytes)
	if a.shape != StreamedYes {
		return
	}
	m.PartialImages = export.IntOf(int64(a.Images.Partial))
	if a.FirstImage.OK && from != 0 && !m.StartWrong {
		m.FirstImage = m.keep(TTFT, m.elapsed(from, r.Responses[a.FirstImage.V].RecvNS), m.mostLatency(b))
	}
}

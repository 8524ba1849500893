package figure

import (
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Images says how many images the answers of a level hold, how large they are, and how soon the first came.
type Images struct {
	// Figures holds the figures that ImageFigures lists.
	Figures []Figure
}

// The keys of the figures.
const (
	KeyImages        = "images"
	KeyPartialImages = "partial_images"
	KeyImageRate     = "images_per_second"
	KeyRequestImages = "images_per_request"
	KeyImageBytes    = "bytes_per_image"
	KeyFirstImage    = "first_image_ns"
	KeyFirstImageP50 = "first_image_p50_ns"
	KeyFirstImageP99 = "first_image_p99_ns"
)

// ImageFigures are the figures of [Images] without values, in the order of a report.
var ImageFigures = [...]Figure{
	{Key: KeyImages, Label: "images", Unit: "count", Formula: "finished images of all answers"},
	{Key: KeyPartialImages, Label: "partial images", Unit: "count", Formula: "partial images of all streamed answers"},
	{Key: KeyImageRate, Label: "images per second", Unit: "1/s", Formula: "images / duration of the level"},
	{Key: KeyRequestImages, Label: "images per request", Unit: "count", Formula: "images / requests"},
	{Key: KeyImageBytes, Label: "size of an image", Unit: "bytes", Formula: "mean size in bytes, without base64, of the images whose size is known"},
	{Key: KeyFirstImage, Label: "time to first image, mean", Unit: "ns", Formula: "first partial or finished image of a streamed answer − start"},
	{Key: KeyFirstImageP50, Label: "time to first image, p50", Unit: "ns", Formula: "the same"},
	{Key: KeyFirstImageP99, Label: "time to first image, p99", Unit: "ns", Formula: "the same"},
}

// An imagesCollector gathers the images of a level.
type imagesCollector struct {
	requests, streamed           int
	images, partial, sized, size stat.IntSum
	first                        summary.Sample[int64]
	times                        *summary.Summary
}

// NewImages returns the group of [Images]. Its values share memory.
func NewImages(memory *stat.Store) Group {
	c := &imagesCollector{}
	c.first.Memory = memory
	return c
}

// Add implements [Group].
func (c *imagesCollector) Add(p *answer.Measured) {
	if !p.Images.OK {
		return
	}
	c.requests++
	c.images.Add(p.Images.V)
	c.sized.Add(p.SizedImages.V)
	c.size.Add(p.ImageBytes.V)
	if p.PartialImages.OK {
		c.streamed++
		c.partial.Add(p.PartialImages.V)
	}
	if p.FirstImage.OK {
		c.first.AddOne(p.FirstImage.V)
	}
}

// End implements [Group].
func (c *imagesCollector) End() error {
	c.times = c.first.Summary()
	return c.first.Err
}

// Set implements [Group].
func (c *imagesCollector) Set(x *Level, run *export.Run) {
	figures := ImageFigures
	for i := range figures {
		f := &figures[i]
		switch {
		case c.requests == 0:
			f.Why = "no answer of this run holds images: --endpoint v1/images/generations of pa-record asks for them"
		case f.Key == KeyImages:
			f.Value = c.images.Float64()
		case f.Key == KeyRequestImages:
			f.Value = c.images.Float64() / float64(c.requests)
		case f.Key == KeyImageRate:
			if x.DurationNS <= 0 {
				f.Why = withoutDuration(run)
				break
			}
			f.Value = c.images.Float64() / (float64(x.DurationNS) / 1e9)
		case f.Key == KeyImageBytes:
			if f.Why = "the answers hold URLs in place of images"; c.sized.Float64() > 0 {
				f.Value, f.Why = c.size.Float64()/c.sized.Float64(), ""
			} else if c.images.Float64() == 0 {
				f.Why = "no answer holds an image"
			}
		case c.streamed == 0:
			f.Why = "the answers were not streamed: pa-record --streaming asks for streams with a partial image"
		case f.Key == KeyPartialImages:
			f.Value = c.partial.Float64()
		case c.times == nil:
			f.Why = "no answer holds an image"
		case f.Key == KeyFirstImage:
			f.Value = c.times.Mean
		case f.Key == KeyFirstImageP50:
			f.Value = c.times.P(50)
		default:
			f.Value = c.times.P(99)
		}
	}
	x.Images = &Images{figures[:]}
}

// dropRate removes the rate, and says why.
func (g *Images) dropRate(why string) {
	f := Find(g.Figures, KeyImageRate)
	f.Value, f.Why = 0, why
}

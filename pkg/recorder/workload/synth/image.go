package synth

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
)

// Images describes synthetic images.
type Images struct {
	// Width and Height are in pixels and normally distributed. The mean plus eight
	// standard deviations must not exceed maxImageSide.
	Width, Height Normal
	Format        ImageFormat
	Content       ImageContent
}

// An ImageFormat is an encoding of images.
type ImageFormat uint8

// The formats. The zero value is PNG. JPEG uses quality 75.
const (
	PNG ImageFormat = iota
	JPEG
)

var imageFormats = []string{"png", "jpeg"}

// String returns "png" or "jpeg".
func (f ImageFormat) String() string { return nameOf(imageFormats, int(f)) }

// ParseImageFormat is the inverse of String.
func ParseImageFormat(name string) (ImageFormat, error) {
	i, err := indexOf(imageFormats, name)
	return ImageFormat(i), err
}

// An ImageContent is the content of synthetic images.
type ImageContent uint8

// The contents. Scene, the zero value, has smooth colours and compresses about as well
// as a photograph. Noise has a random colour in every pixel and hardly compresses.
const (
	Scene ImageContent = iota
	Noise
)

var imageContents = []string{"scene", "noise"}

// String returns "scene" or "noise".
func (c ImageContent) String() string { return nameOf(imageContents, int(c)) }

// ParseImageContent is the inverse of String.
func ParseImageContent(name string) (ImageContent, error) {
	i, err := indexOf(imageContents, name)
	return ImageContent(i), err
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprint(i)
}

func indexOf(names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%.40q: expected %s or %s", name, names[0], names[1])
}

// maxImageSide bounds the sides of an image, in pixels: at most 2^28 pixels.
const maxImageSide = 1 << 14

// Validate reports all mistakes at once.
func (p *Images) Validate() error {
	var errs []error
	for i, n := range []Normal{p.Width, p.Height} {
		what := []string{"width", "height"}[i]
		switch {
		case !(n.Mean >= 1):
			errs = append(errs, fmt.Errorf("%s: mean %v: must be at least 1 pixel", what, n.Mean))
		case !(n.Stddev >= 0 && n.Stddev <= n.Mean):
			errs = append(errs, fmt.Errorf("%s: standard deviation %v: must be from 0 to the mean, %v", what, n.Stddev, n.Mean))
		case !(n.Mean+8*n.Stddev <= maxImageSide):
			errs = append(errs, fmt.Errorf("%s: mean %v with standard deviation %v: may exceed %d pixels", what, n.Mean, n.Stddev, maxImageSide))
		}
	}
	return errors.Join(errs...)
}

// url returns the image with this number as a data: URL.
func (p *Images) url(seed, number uint64) (string, error) {
	r := source(seed, forImage, number)
	width, height := min(p.Width.Draw(r), maxImageSide), min(p.Height.Draw(r), maxImageSide)
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	if p.Content == Noise {
		noise(m, r)
	} else {
		scene(m, r)
	}
	var b bytes.Buffer
	var err error
	if p.Format == JPEG {
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: jpeg.DefaultQuality})
	} else {
		// The best compression takes eight times as long and saves a third of the bytes.
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m)
	}
	if err != nil {
		return "", err
	}
	return "data:image/" + p.Format.String() + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// noise gives every pixel a random colour.
func noise(m *image.RGBA, r *rand.Rand) {
	for i := 0; i < len(m.Pix); i += 4 {
		v := r.Uint32()
		m.Pix[i], m.Pix[i+1], m.Pix[i+2], m.Pix[i+3] = uint8(v), uint8(v>>8), uint8(v>>16), math.MaxUint8
	}
}

// sceneCell is the distance in pixels between points of random colour; colours between
// them are interpolated. With 64, an image of 512 by 512 takes 0.8 bytes a pixel as PNG
// and 0.05 as JPEG. The four photographs that GenAI-Perf scales to that size take 0.42
// to 0.74 and 0.07 to 0.09.
const sceneCell = 64

// scene interpolates between random colours on a grid.
func scene(m *image.RGBA, r *rand.Rand) {
	width, height := m.Rect.Dx(), m.Rect.Dy()
	columns := width/sceneCell + 2
	colours := make([][3]int, columns*(height/sceneCell+2))
	for i := range colours {
		v := r.Uint32()
		colours[i] = [3]int{int(uint8(v)), int(uint8(v >> 8)), int(uint8(v >> 16))}
	}
	for y := range height {
		row, dy := y/sceneCell*columns, y%sceneCell
		for x := range width {
			at, dx := row+x/sceneCell, x%sceneCell
			pix := m.Pix[y*m.Stride+4*x:][:4]
			for c := range 3 {
				above := colours[at][c]*(sceneCell-dx) + colours[at+1][c]*dx
				below := colours[at+columns][c]*(sceneCell-dx) + colours[at+columns+1][c]*dx
				pix[c] = uint8((above*(sceneCell-dy) + below*dy) / (sceneCell * sceneCell))
			}
			pix[3] = math.MaxUint8
		}
	}
}

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

// Pictures says which pictures are made.
type Pictures struct {
	// Width and Height are in pixels, normally distributed. Each may be a few
	// thousand: eight standard deviations above the mean there may be maxSide.
	Width, Height Normal
	Format        PictureFormat
	Content       PictureContent
}

// A PictureFormat is how a picture is encoded.
type PictureFormat uint8

// The formats; the zero value is PNG. JPEG is of quality 75.
const (
	PNG PictureFormat = iota
	JPEG
)

var pictureFormats = []string{"png", "jpeg"}

// String returns "png" or "jpeg".
func (f PictureFormat) String() string { return nameOf(pictureFormats, int(f)) }

// ParsePictureFormat is the inverse of String.
func ParsePictureFormat(name string) (PictureFormat, error) {
	i, err := indexOf(pictureFormats, name)
	return PictureFormat(i), err
}

// A PictureContent is what a picture shows.
type PictureContent uint8

// The contents; the zero value is Scene: soft colours, which take about as many
// bytes as a photograph. Noise is a random colour for every
// pixel, which takes about as many bytes as there can be.
const (
	Scene PictureContent = iota
	Noise
)

var pictureContents = []string{"scene", "noise"}

// String returns "scene" or "noise".
func (c PictureContent) String() string { return nameOf(pictureContents, int(c)) }

// ParsePictureContent is the inverse of String.
func ParsePictureContent(name string) (PictureContent, error) {
	i, err := indexOf(pictureContents, name)
	return PictureContent(i), err
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
	return 0, fmt.Errorf("%.40q: it is %s or %s", name, names[0], names[1])
}

// maxSide bounds the sides of a picture: one of that size has a quarter of a
// billion pixels.
const maxSide = 1 << 14

// Validate reports all mistakes at once.
func (p *Pictures) Validate() error {
	var errs []error
	for i, n := range []Normal{p.Width, p.Height} {
		what := []string{"width", "height"}[i]
		switch {
		case !(n.Mean >= 1):
			errs = append(errs, fmt.Errorf("%s: mean %v: must be at least 1 pixel", what, n.Mean))
		case !(n.Stddev >= 0 && n.Stddev <= n.Mean):
			errs = append(errs, fmt.Errorf("%s: standard deviation %v: must be from 0 to the mean, %v", what, n.Stddev, n.Mean))
		case !(n.Mean+8*n.Stddev <= maxSide):
			errs = append(errs, fmt.Errorf("%s: mean %v with standard deviation %v: may come to more than %d pixels", what, n.Mean, n.Stddev, maxSide))
		}
	}
	return errors.Join(errs...)
}

// url returns a picture as a data: URL, by its number.
func (p *Pictures) url(seed, number uint64) (string, error) {
	r := source(seed, forPicture, number)
	width, height := min(p.Width.Draw(r), maxSide), min(p.Height.Draw(r), maxSide)
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
		// The best compression takes eight times as long for a third less.
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

// sceneCell is the distance in pixels of the points that have a random colour;
// those between them have colours between theirs. With 64 a picture of 512 by 512
// takes 0.8 bytes a pixel as PNG and 0.05 as JPEG; of the four photographs that
// GenAI-Perf scales to that size it is 0.42 to 0.74, and 0.07 to 0.09.
const sceneCell = 64

// scene gives every pixel a colour between those of the nearest points of a grid.
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

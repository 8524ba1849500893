package synth

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"image"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// content returns the decoded content of a data: URL.
func content(t *testing.T, url, kind string) []byte {
	t.Helper()
	text, ok := strings.CutPrefix(url, "data:"+kind+";base64,")
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		t.Fatalf("%.40q is no %s: %v", url, kind, err)
	}
	return b
}

// TestImages checks that images have the requested size, and about as many bytes as
// photographs or noise. At 512 by 512 pixels, Pillow encodes GenAI-Perf's photographs with
// 0.42 to 0.74 bytes a pixel as PNG and 0.07 to 0.09 as JPEG, and noise with 0.60 as JPEG.
func TestImages(t *testing.T) {
	for _, tt := range []struct {
		format     ImageFormat
		content    ImageContent
		least, top float64 // bytes a pixel
	}{
		{PNG, Scene, 0.4, 0.95},
		{JPEG, Scene, 0.04, 0.1},
		{PNG, Noise, 3, 3.01},
		{JPEG, Noise, 0.55, 0.65},
	} {
		p := Images{Width: Normal{Mean: 512}, Height: Normal{Mean: 512}, Format: tt.format, Content: tt.content}
		url, err := p.url(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		b := content(t, url, "image/"+tt.format.String())
		m, format, err := image.Decode(bytes.NewReader(b))
		if err != nil || format != tt.format.String() || m.Bounds() != image.Rect(0, 0, 512, 512) {
			t.Errorf("%v %v: %s of %v, %v", tt.format, tt.content, format, m.Bounds(), err)
		}
		if per := float64(len(b)) / (512 * 512); per < tt.least || per > tt.top {
			t.Errorf("%v %v: %.3f bytes a pixel, want %v to %v", tt.format, tt.content, per, tt.least, tt.top)
		}
	}
}

// TestImageSizes checks that sizes follow their distribution, and that an image depends only
// on the seed and its number.
func TestImageSizes(t *testing.T) {
	p := Images{Width: Normal{20, 5}, Height: Normal{1, 1}, Format: JPEG}
	seen, widths, sum := map[string]bool{}, map[int]bool{}, 0
	const n = 400
	for i := range uint64(n) {
		url, err := p.url(7, i)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := image.DecodeConfig(bytes.NewReader(content(t, url, "image/jpeg")))
		if err != nil || c.Height < 1 || c.Width < 1 {
			t.Fatalf("image %d: %v, %v", i, c, err)
		}
		seen[url], widths[c.Width] = true, true
		sum += c.Width
		if again, _ := p.url(7, i); again != url {
			t.Errorf("image %d differs the second time", i)
		}
		if other, _ := p.url(8, i); other == url {
			t.Errorf("image %d is the same with another seed", i)
		}
	}
	if mean := float64(sum) / n; len(seen) != n || len(widths) < 15 || math.Abs(mean-20) > 4*5/math.Sqrt(n) {
		t.Errorf("%d different images of %d, widths %v with mean %v", len(seen), n, widths, mean)
	}
}

// TestAudio checks that clips have the requested length, rate, depth and channels, the
// headers that libsndfile writes, and the same loudness at every depth.
func TestAudio(t *testing.T) {
	for _, tt := range []struct {
		rate, depth, channels int
		header                string // for one second
	}{
		{16000, 16, 1, "RIFF\x24\x7d\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\x00\x7d\x00\x00"},
		{16000, 24, 1, "RIFF\xa4\xbb\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x80\xbb\x00\x00\x03\x00\x18\x00data\x80\xbb\x00\x00"},
		{16000, 32, 1, "RIFF\x24\xfa\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\xfa\x00\x00\x04\x00\x20\x00data\x00\xfa\x00\x00"},
		{8000, 8, 2, "RIFF\xa4\x3e\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x08\x00data\x80\x3e\x00\x00"},
	} {
		s := Audio{Seconds: AudioLength{Mean: 1}, SampleRates: []int{tt.rate}, Depths: []int{tt.depth}, Channels: tt.channels}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		b := content(t, s.url(1, 2), "audio/wav")
		if got := string(b[:wavHeaderBytes]); got != tt.header {
			t.Errorf("header %q, want %q", got, tt.header)
		}
		samples := tt.rate * tt.channels
		if len(b) != wavHeaderBytes+samples*tt.depth/8 {
			t.Errorf("%d bits: %d bytes", tt.depth, len(b))
		}
		var sum, squares float64
		for i := range samples {
			var raw [4]byte
			copy(raw[4-tt.depth/8:], b[wavHeaderBytes+i*tt.depth/8:][:tt.depth/8])
			if tt.depth == 8 {
				raw[3] -= 128
			}
			x := float64(int32(binary.LittleEndian.Uint32(raw[:]))) / (1 << 31)
			sum += x
			squares += x * x
		}
		mean, rms := sum/float64(samples), math.Sqrt(squares/float64(samples))
		if math.Abs(mean) > 0.02 || math.Abs(rms-noiseLevel) > 0.02 {
			t.Errorf("%d bits: mean %v, root mean square %v", tt.depth, mean, rms)
		}
	}
}

// TestAudioChoices checks that lengths, rates and depths vary.
func TestAudioChoices(t *testing.T) {
	s := Audio{Seconds: AudioLength{0.15, 0.1}, SampleRates: []int{1000, 2000}, Depths: []int{8, 32}, Channels: 1}
	kinds, lengths := map[[2]int]int{}, map[int]bool{}
	for i := range uint64(200) {
		b := content(t, s.url(3, i), "audio/wav")
		rate, depth := int(binary.LittleEndian.Uint32(b[24:])), int(binary.LittleEndian.Uint16(b[34:]))
		kinds[[2]int{rate, depth}]++
		samples := (len(b) - wavHeaderBytes) * 8 / depth
		if lengths[samples] = true; float64(samples) < minAudioSeconds*float64(rate)-1 {
			t.Errorf("audio clip %d has %d samples at %d Hz", i, samples, rate)
		}
	}
	if len(kinds) != 4 || len(lengths) < 50 {
		t.Errorf("rates and depths %v, %d lengths", kinds, len(lengths))
	}
}

func testMedia() Media {
	return Media{
		Seed: 4, ImagesPerPrompt: 2, AudioPerPrompt: 1,
		Images: Images{Width: Normal{8, 2}, Height: Normal{8, 2}},
		Audio:  Audio{Seconds: AudioLength{Mean: 0.1}, SampleRates: []int{1000}, Depths: []int{8}, Channels: 1},
	}
}

// TestAddMedia checks that prompts have their media in any order of access, whatever the
// number of prompts, and that Close removes the file.
func TestAddMedia(t *testing.T) {
	list := func(n int) (l workload.List) {
		for range n {
			l = append(l, workload.Entry{Prompt: &workload.Prompt{Text: "a"}})
		}
		return l
	}
	dir := t.TempDir()
	src := list(7)
	s, err := AddMedia(t.Context(), src, testMedia(), dir)
	if err != nil {
		t.Fatal(err)
	}
	fewer, err := AddMedia(t.Context(), list(2), testMedia(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, k := range []int{6, 0, 1, 2, 3, 4, 5} {
		e, err := s.At(k)
		if err != nil || len(e.Prompt.Media) != 3 || e.Prompt.Text != "a" {
			t.Fatalf("prompt %d: %+v, %v", k, e.Prompt, err)
		}
		for i, m := range e.Prompt.Media {
			if kind := []string{"image/png", "image/png", "audio/wav"}[i]; len(content(t, m.URL, kind)) == 0 || !strings.HasPrefix(kind, m.Kind.String()) {
				t.Errorf("prompt %d, medium %d: %v", k, i, m.Kind)
			}
			all = append(all, m.URL)
		}
		if k < 2 {
			if o, err := fewer.At(k); err != nil || !slices.Equal(o.Prompt.Media, e.Prompt.Media) {
				t.Errorf("prompt %d has other media when there are two, %v", k, err)
			}
		}
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 21 {
		t.Errorf("%d different media of 21", n)
	}
	if src[0].Prompt.Media != nil {
		t.Error("the source was changed")
	}
	if err := errors.Join(s.Close(), fewer.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestMediaErrors(t *testing.T) {
	src := workload.List{{Prompt: &workload.Prompt{}}}
	for _, tt := range []struct {
		change func(m *Media)
		want   string
	}{
		{func(m *Media) { m.Images.Width.Mean = 0 }, "images: width: mean 0: must be at least 1 pixel"},
		{func(m *Media) { m.Images.Height = Normal{100, 101} }, "images: height: standard deviation 101: must be from 0 to the mean, 100"},
		{func(m *Media) { m.Images.Height = Normal{Mean: 20000} }, "may exceed 16384 pixels"},
		{func(m *Media) { m.ImagesPerPrompt = -1 }, "-1 images or audio"},
		{func(m *Media) { m.Audio.Seconds.Mean = 0.05 }, "audio clips: length: mean 0.05 s: must be at least 0.1 s"},
		{func(m *Media) { m.Audio.Seconds.Mean = math.NaN() }, "length: mean NaN s"},
		{func(m *Media) { m.Audio.Seconds = AudioLength{1, 2} }, "standard deviation 2 s: must be from 0 to the mean"},
		{func(m *Media) { m.Audio.Seconds.Mean = 4000 }, "may exceed 3600 s"},
		{func(m *Media) { m.Audio.SampleRates = []int{16} }, "sample rate 16 Hz: must be from 1 to 384 kHz"},
		{func(m *Media) { m.Audio.Depths = []int{12} }, "depth of 12 bits: must be 8, 16, 24 or 32"},
		{func(m *Media) { m.Audio.Channels = 3 }, "3 channels: must be 1 or 2"},
	} {
		m := testMedia()
		tt.change(&m)
		if s, err := AddMedia(t.Context(), src, m, t.TempDir()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, %v; want an error with %q", s, err, tt.want)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := AddMedia(stopped, src, testMedia(), t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := ParseImageFormat("gif"); err == nil || err.Error() != `"gif": expected png or jpeg` {
		t.Errorf("a format: %v", err)
	}
	if c, err := ParseImageContent(Noise.String()); err != nil || c != Noise {
		t.Errorf("%v, %v", c, err)
	}
}

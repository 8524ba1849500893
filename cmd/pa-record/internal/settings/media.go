package settings

import (
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

// mediaFlags returns the flags for the images and audio of made-up prompts, with the names
// of GenAI-Perf and AIPerf.
func mediaFlags() []cli.Flag {
	return []cli.Flag{
		&cli.Float64Flag{Name: "image-width-mean", Category: catMedia, Usage: "make up an image beside each made-up prompt, `PX` pixels wide"},
		&cli.Float64Flag{Name: "image-width-stddev", Category: catMedia, Usage: "with standard deviation `PX`", DefaultText: "0"},
		&cli.Float64Flag{Name: "image-height-mean", Category: catMedia, Usage: "and `PX` pixels high"},
		&cli.Float64Flag{Name: "image-height-stddev", Category: catMedia, Usage: "with standard deviation `PX`", DefaultText: "0"},
		&cli.StringFlag{Name: "image-format", Category: catMedia, Usage: "as `FORMAT` png or jpeg", DefaultText: "png"},
		&cli.StringFlag{Name: "image-content", Category: catMedia, Usage: "of `WHAT`: scene, about as many bytes as a photograph, or noise", DefaultText: "scene"},
		&cli.IntFlag{Name: "batch-size-image", Category: catMedia, Usage: "`N` images in a request, also of files with one in each row", DefaultText: "1"},
		&cli.Float64Flag{Name: "audio-length-mean", Category: catMedia, Usage: "make up an audio clip beside each made-up prompt, of `S` seconds"},
		&cli.Float64Flag{Name: "audio-length-stddev", Category: catMedia, Usage: "with standard deviation `S`", DefaultText: "0"},
		&cli.StringFlag{Name: "audio-format", Category: catMedia, Usage: "as `FORMAT` wav", DefaultText: "wav"},
		&cli.StringFlag{Name: "audio-depths", Category: catMedia, Usage: "with one of `BITS,…` a sample: 8, 16, 24, 32", DefaultText: "16"},
		&cli.StringFlag{Name: "audio-sample-rates", Category: catMedia, Usage: "at one of `KHZ,…`", DefaultText: "16"},
		&cli.IntFlag{Name: "audio-num-channels", Category: catMedia, Usage: "with `N` channels, 1 or 2", DefaultText: "1"},
		&cli.IntFlag{Name: "batch-size-audio", Category: catMedia, Usage: "`N` audio clips in a request", DefaultText: "1"},
	}
}

// mediaSettings are the images and audio of made-up prompts; the zero value has none.
type mediaSettings struct {
	ImageWidthMean    float64 `json:"image_width_mean,omitempty"`
	ImageWidthStddev  float64 `json:"image_width_stddev,omitempty"`
	ImageHeightMean   float64 `json:"image_height_mean,omitempty"`
	ImageHeightStddev float64 `json:"image_height_stddev,omitempty"`
	ImageFormat       string  `json:"image_format,omitempty"`
	ImageContent      string  `json:"image_content,omitempty"`
	BatchImages       int     `json:"batch_size_image,omitempty"`

	AudioLengthMean   float64   `json:"audio_length_mean_s,omitempty"`
	AudioLengthStddev float64   `json:"audio_length_stddev_s,omitempty"`
	AudioDepths       []int     `json:"audio_depths,omitempty"`
	AudioSampleRates  []float64 `json:"audio_sample_rates_khz,omitempty"`
	AudioChannels     int       `json:"audio_num_channels,omitempty"`
	BatchAudio        int       `json:"batch_size_audio,omitempty"`

	Media synth.Media `json:"-"`
}

// HasMedia reports whether made-up prompts have images or audio.
func (m *mediaSettings) HasMedia() bool {
	return m.Media.ImagesPerPrompt+m.Media.AudioPerPrompt > 0
}

// media reads the flags of images and audio.
func (p *parser) media(s *Settings) {
	c, m := p.c, &s.mediaSettings
	s.BatchImages = p.positive("batch-size-image", c.Int("batch-size-image"))
	s.BatchAudio = p.positive("batch-size-audio", c.Int("batch-size-audio"))
	m.Media.Seed = s.Seed
	switch width, height := c.IsSet("image-width-mean"), c.IsSet("image-height-mean"); {
	case width && height:
		p.images(m)
	case width || height:
		p.errorf("images have a width and a height; give --image-width-mean and --image-height-mean")
	default:
		p.withoutMean("image-width-mean and --image-height-mean", "image-width-stddev", "image-height-stddev", "image-format", "image-content")
	}
	if c.IsSet("audio-length-mean") {
		p.audio(m)
	} else {
		p.withoutMean("audio-length-mean", "audio-length-stddev", "audio-format", "audio-depths", "audio-sample-rates", "audio-num-channels", "batch-size-audio")
	}
	if s.HasMedia() && c.IsSet("num-sessions") {
		p.errorf("--num-sessions: the turns of made-up conversations are texts alone; drop the flags for images and audio")
	}
}

// withoutMean refuses flags about media without the flag that makes them.
func (p *parser) withoutMean(mean string, flags ...string) {
	for _, flag := range flags {
		if p.c.IsSet(flag) {
			p.errorf("--%s needs --%s", flag, mean)
		}
	}
}

func (p *parser) images(m *mediaSettings) {
	c := p.c
	m.ImageWidthMean, m.ImageWidthStddev = c.Float64("image-width-mean"), c.Float64("image-width-stddev")
	m.ImageHeightMean, m.ImageHeightStddev = c.Float64("image-height-mean"), c.Float64("image-height-stddev")
	made := &m.Media.Images
	made.Width, made.Height = synth.Normal{Mean: m.ImageWidthMean, Stddev: m.ImageWidthStddev}, synth.Normal{Mean: m.ImageHeightMean, Stddev: m.ImageHeightStddev}
	var err error
	if name := c.String("image-format"); name != "" {
		if made.Format, err = synth.ParseImageFormat(name); err != nil {
			p.errorf("--image-format %w", err)
		}
	}
	if name := c.String("image-content"); name != "" {
		if made.Content, err = synth.ParseImageContent(name); err != nil {
			p.errorf("--image-content %w", err)
		}
	}
	m.ImageFormat, m.ImageContent = made.Format.String(), made.Content.String()
	if err := made.Validate(); err != nil {
		p.errorf("images: %w", err)
	}
	m.Media.ImagesPerPrompt = max(1, m.BatchImages)
}

func (p *parser) audio(m *mediaSettings) {
	c := p.c
	m.AudioLengthMean, m.AudioLengthStddev = c.Float64("audio-length-mean"), c.Float64("audio-length-stddev")
	depths, rates := p.numbers("audio-depths", 16), p.numbers("audio-sample-rates", 16)
	if m.AudioChannels = c.Int("audio-num-channels"); !c.IsSet("audio-num-channels") {
		m.AudioChannels = 1
	}
	switch format := c.String("audio-format"); format {
	case "", "wav":
	case "mp3":
		p.errorf("--audio-format mp3 is not made up: there is no encoder for it here; take wav, or give --input-data files with audio clips")
	default:
		p.errorf("--audio-format %.40q: it is wav", format)
	}
	made := &m.Media.Audio
	made.Seconds = synth.AudioLength{Mean: m.AudioLengthMean, Stddev: m.AudioLengthStddev}
	made.Channels = m.AudioChannels
	for _, bits := range depths {
		if bits != math.Trunc(bits) {
			p.errorf("--audio-depths %v: must be a whole number", bits)
		}
		made.Depths = append(made.Depths, int(bits))
	}
	for _, khz := range rates {
		made.SampleRates = append(made.SampleRates, int(math.Round(khz*1000)))
	}
	m.AudioDepths, m.AudioSampleRates = made.Depths, rates
	if err := made.Validate(); err != nil {
		p.errorf("audio clips: %w", err)
	}
	m.Media.AudioPerPrompt = max(1, m.BatchAudio)
}

// numbers reads a list of numbers with commas between them; without the flag it returns
// initial.
func (p *parser) numbers(flag string, initial float64) []float64 {
	if !p.c.IsSet(flag) {
		return []float64{initial}
	}
	var all []float64
	for field := range strings.SplitSeq(p.c.String(flag), ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || !(f >= 1 && f <= 1e6) {
			p.errorf("--%s %s: %.40q is not a number of at least 1", flag, p.c.String(flag), field)
			f = initial
		}
		all = append(all, f)
	}
	return all
}

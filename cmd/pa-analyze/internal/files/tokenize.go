package files

import (
	"bufio"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/tokenlines"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// Tokenize returns the command tokenize.
func Tokenize() *cli.Command {
	flags := []cli.Flag{
		settings.TokenizerFlag(),
		&cli.StringFlag{Name: "as", Usage: "read the tokenizer's files as `LIBRARY` does: transformers-4 (also the tokenizers library) or transformers-5", Value: tokenizer.Transformers4.String(), Category: "Counting"},
		&cli.BoolFlag{Name: "ids", Usage: "print the ids as a JSON array, not their number", Category: "Output"},
		&cli.BoolFlag{Name: "special", Usage: "count the special tokens too that the model expects around a text", Category: "Counting"},
		&cli.BoolFlag{Name: "jsonl", Usage: "each line is a text as a JSON string, which may hold line ends", Category: "Input"},
	}
	flags = append(flags, settings.OutputFlags()...)
	return &cli.Command{
		Name: "tokenize", Usage: "count the tokens of texts, as Hugging Face does", ArgsUsage: "[FILE]",
		Description: `Reads a text from each line of the file, or of standard input, and prints a
line for each: the number of its tokens, or the ids, as the Hugging Face library
counts them. Special tokens in a text are recognized; only --special
adds some. Bytes that are not UTF-8 count as U+FFFD.

A model's name is looked up in the Hugging Face cache, then on the hub; HF_HOME,
HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean
there. Without --tokenizer it is the built-in one, which is no model's.
transformers 5 reads some tokenizers, such as LLaMA 2's, by rules of its own:
see --as.`,
		Flags:  append(flags, settings.InputFlags()...),
		Action: settings.Distinct(settings.ReadsRuns, tokenizeAction),
	}
}

func tokenizeAction(c *cli.Context) error {
	if c.NArg() > 1 {
		return cmdline.Usagef("%d files given; %s takes one", c.NArg(), c.App.Name)
	}
	limit := c.Int64("max-value")
	if limit <= 0 {
		return cmdline.Usagef("--max-value %d: give a number of bytes above 0", limit)
	}
	reading, err := tokenizer.ParseReading(c.String("as"))
	if err != nil {
		return cmdline.Usagef("--as: %v", err)
	}
	tok, err := settings.OpenTokenizer(c, c.String("tokenizer"), reading)
	if err != nil {
		return err
	}
	name, in := "-", c.App.Reader
	if c.NArg() == 1 && c.Args().First() != "-" {
		name = c.Args().First()
		f, err := regular.OpenStream(c.Context, name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	t := tokenlines.Counter{Tokenizer: tok, IDs: c.Bool("ids"), Special: c.Bool("special"), JSONL: c.Bool("jsonl"), MaxLine: limit}
	return settings.WriteRequests(c, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<16)
		err := t.Copy(c.Context, bufio.NewReaderSize(regular.Interruptible(c.Context, in), 1<<18), out)
		return errors.Join(settings.Named(name, err), out.Flush())
	})
}

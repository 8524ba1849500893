package settings

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// Distinct returns an action that refuses a command line with an output that is also an input or
// another output, before action begins. arguments adds the files of the arguments; the flags say
// themselves what they are: see [cmdline.Files].
func Distinct(arguments func(*cli.Context), action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		arguments(c)
		if err := cmdline.CheckFiles(c); err != nil {
			return err
		}
		return action(c)
	}
}

// argument is what messages call a file that is no flag's.
const argument = "the argument"

// ReadsArguments adds files to the files that the command reads. Mistakes in the arguments are
// the action's to report: err and paths are what a function for them returned.
func ReadsArguments(c *cli.Context, paths []string, err error) {
	if err != nil {
		return
	}
	for _, path := range paths {
		cmdline.ReadsFile(c, argument, resultOf(path))
	}
}

// resultOf returns the file of requests in a folder, or path if it is no such folder.
func resultOf(path string) string {
	if !IsFolder(path) {
		return path
	}
	if file, err := export.ResultFile(path); err == nil {
		return file
	}
	return path
}

// ReadsRuns adds the runs that all arguments name, or the default file.
func ReadsRuns(c *cli.Context) { ReadsRunsOf(c, c.Args().Slice()) }

// ReadsRunsOf adds the runs that these arguments name, or the default file.
func ReadsRunsOf(c *cli.Context, args []string) {
	paths, err := expandAll(orDefault(args))
	ReadsArguments(c, paths, err)
}

// ReadsLists adds the runs of arguments that are lists with commas.
func ReadsLists(c *cli.Context) {
	paths, err := RunFiles(c.Args().Slice())
	ReadsArguments(c, paths, err)
}

// ReadsSides adds the runs of both sides of a comparison.
func ReadsSides(c *cli.Context) {
	_, older, newer, err := Sides(c.Args().Slice())
	ReadsArguments(c, older, err)
	ReadsArguments(c, newer, err)
}

// ReadsAllButLast adds the arguments of a command whose last argument is its output.
func ReadsAllButLast(c *cli.Context) {
	last := c.NArg() - 1
	if last < 1 {
		return
	}
	paths, err := expandAll(c.Args().Slice()[:last])
	ReadsArguments(c, paths, err)
	cmdline.Files(c).Writes("the output", c.Args().Get(last))
}

// readsSummaries adds the files beside the file at path, which r reads.
func readsSummaries(c *cli.Context, path string, r export.Reader) error {
	for _, name := range export.SummaryPaths(r, resultOf(path)) {
		cmdline.ReadsFile(c, "--beside", name)
	}
	return cmdline.CheckFiles(c)
}

// readsTokenizer marks a flag that names a tokenizer.
func readsTokenizer(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		home, _ := os.UserHomeDir()
		return hub.FilesFromEnv(os.Getenv, home, value)
	})
}

// ReadsGlob marks a flag whose value is a path or a glob.
func ReadsGlob(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		paths, _ := expand(value)
		return paths
	})
}

package cmdline

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"
)

// completionShells are the shells that a script can be written for. Bash may be 3.2, which macOS has.
var completionShells = []string{"bash", "zsh", "fish", "powershell"}

// completionScripts holds a template of a script for each shell, which a completion fills in.
//
//go:embed completion
var completionScripts embed.FS

// A completion is what a shell may complete: the commands of a program and the flags of each.
type completion struct {
	Program  string
	Commands []completionCommand
	// Bare holds the flags that stand without a command: the program's own flags, or the
	// flags of its default command.
	Bare []completionFlag
}

type completionCommand struct {
	Name, Usage string
	Flags       []completionFlag
}

type completionFlag struct {
	Names      []string // as they are typed, long names first
	Usage      string   // one line
	TakesValue bool
}

// newCompletion collects the visible commands and flags of the app.
func newCompletion(a App) completion {
	c := completion{Program: a.Name, Bare: completionFlags(a.Flags)}
	for _, cmd := range a.Commands {
		if cmd.Hidden {
			continue
		}
		flags := completionFlags(cmd.Flags)
		if cmd.SkipFlagParsing && a.OwnFlags != nil {
			flags = completionFlags(a.OwnFlags(cmd.Name))
		}
		c.Commands = append(c.Commands, completionCommand{Name: cmd.Name, Usage: cmd.Usage, Flags: flags})
		if cmd.Name == a.Default {
			c.Bare = append(c.Bare, flags...)
		}
	}
	return c
}

func completionFlags(flags []cli.Flag) []completionFlag {
	var all []completionFlag
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if v, visible := f.(cli.VisibleFlag); !ok || visible && !v.IsVisible() {
			continue
		}
		_, usage := unquote(d.GetUsage())
		var names []string
		for _, n := range f.Names() {
			names = append(names, Dashed(n))
		}
		slices.SortStableFunc(names, func(a, b string) int { return min(len(b), 3) - min(len(a), 3) })
		all = append(all, completionFlag{Names: names, Usage: strings.Join(strings.Fields(usage), " "), TakesValue: d.TakesValue()})
	}
	return all
}

// completionCommand returns the command that prints the completion script of a shell.
func (a App) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print the completion script of a shell", ArgsUsage: "bash | zsh | fish | powershell",
		Description: fmt.Sprintf(`bash:        echo 'source <(%[1]s completion bash)' >>~/.bashrc
zsh:         %[1]s completion zsh >"${fpath[1]}/_%[1]s"
fish:        %[1]s completion fish >~/.config/fish/completions/%[1]s.fish
PowerShell:  %[1]s completion powershell >>$PROFILE`, a.Name),
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 || !slices.Contains(completionShells, c.Args().First()) {
				return Usagef("completion: name one shell: %s", strings.Join(completionShells, ", "))
			}
			name := c.Args().First() + ".tmpl"
			script, err := template.New(name).Funcs(completionFuncs).ParseFS(completionScripts, "completion/"+name)
			if err != nil {
				return err
			}
			return script.Execute(c.App.Writer, newCompletion(a))
		},
	}
}

// Function returns the name of the shell function that completes.
func (c completion) Function() string { return "_" + strings.ReplaceAll(c.Program, "-", "_") }

// CommandNames returns the names of the commands, with blanks between.
func (c completion) CommandNames() string {
	names := make([]string, len(c.Commands))
	for i, cmd := range c.Commands {
		names[i] = cmd.Name
	}
	return strings.Join(names, " ")
}

// completionFuncs are the functions of the templates.
var completionFuncs = template.FuncMap{
	// zshEntry returns an entry of zsh's _describe: a name and what it is for.
	"zshEntry": func(name, usage string) string {
		colon := strings.NewReplacer(`\`, `\\`, `:`, `\:`)
		return "'" + strings.ReplaceAll(colon.Replace(name)+":"+colon.Replace(usage), "'", `'\''`) + "'"
	},
	// fishQuoted quotes for fish, in which a backslash escapes within single quotes.
	"fishQuoted": func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" },
	// quoted quotes for PowerShell.
	"quoted": func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
	// eachOnce returns the names of flags, each with its usage. PowerShell's names of a hash table
	// ignore case, so that only the first of -h and -H is in it.
	"eachOnce": func(flags []completionFlag) (all []completionCommand) {
		for _, f := range flags {
			for _, n := range f.Names {
				if !slices.ContainsFunc(all, func(c completionCommand) bool { return strings.EqualFold(c.Name, n) }) {
					all = append(all, completionCommand{Name: n, Usage: f.Usage})
				}
			}
		}
		return all
	},
}

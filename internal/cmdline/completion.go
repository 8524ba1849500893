package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionShells are the shells that a script can be written for.
var completionShells = []string{"bash", "zsh", "fish", "powershell"}

// A completion is what a shell may complete: the commands of a program and the flags of each.
type completion struct {
	program  string
	commands []completionCommand
	// bare holds the flags that stand without a command: the program's own flags, or the
	// flags of its default command.
	bare []completionFlag
}

type completionCommand struct {
	name, usage string
	flags       []completionFlag
}

type completionFlag struct {
	names      []string // without dashes, long names first
	usage      string   // one line
	takesValue bool
}

// newCompletion collects the visible commands and flags of the app.
func newCompletion(a App) completion {
	c := completion{program: a.Name, bare: completionFlags(a.Flags)}
	for _, cmd := range a.Commands {
		if cmd.Hidden {
			continue
		}
		flags := completionFlags(cmd.Flags)
		c.commands = append(c.commands, completionCommand{name: cmd.Name, usage: cmd.Usage, flags: flags})
		if cmd.Name == a.Default {
			c.bare = append(c.bare, flags...)
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
		names := slices.Clone(f.Names())
		slices.SortStableFunc(names, func(a, b string) int { return min(len(b), 2) - min(len(a), 2) })
		all = append(all, completionFlag{names: names, usage: strings.Join(strings.Fields(usage), " "), takesValue: d.TakesValue()})
	}
	return all
}

// completionCommand returns the command that prints the completion script of a shell.
func (a App) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print the completion script of a shell", ArgsUsage: "bash | zsh | fish | powershell",
		Description: fmt.Sprintf(`bash:        %[1]s completion bash >~/.local/share/bash-completion/completions/%[1]s
zsh:         %[1]s completion zsh >"${fpath[1]}/_%[1]s"
fish:        %[1]s completion fish >~/.config/fish/completions/%[1]s.fish
PowerShell:  %[1]s completion powershell >>$PROFILE`, a.Name),
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 || !slices.Contains(completionShells, c.Args().First()) {
				return Usagef("completion: name one shell: %s", strings.Join(completionShells, ", "))
			}
			_, err := fmt.Fprint(c.App.Writer, newCompletion(a).script(c.Args().First()))
			return err
		},
	}
}

func (c completion) script(shell string) string {
	switch shell {
	case "bash":
		return c.bash()
	case "zsh":
		return c.zsh()
	case "fish":
		return c.fish()
	}
	return c.powershell()
}

// function returns the name of the shell function that completes.
func (c completion) function() string { return "_" + strings.ReplaceAll(c.program, "-", "_") }

// commandNames returns the names of the commands.
func (c completion) commandNames() []string {
	names := make([]string, len(c.commands))
	for i, cmd := range c.commands {
		names[i] = cmd.name
	}
	return names
}

// dashedNames returns the names of all flags as they are typed.
func dashedNames(flags []completionFlag) []string {
	var names []string
	for _, f := range flags {
		for _, n := range f.names {
			names = append(names, dashed(n))
		}
	}
	return append(names, "--help")
}

// bash works with version 3.2, which macOS has.
func (c completion) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for bash.\n", c.program)
	fmt.Fprintf(&b, "%s() {\n", c.function())
	b.WriteString("\tlocal current=${COMP_WORDS[COMP_CWORD]} command= flags line\n")
	b.WriteString("\t[ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]}\n")
	b.WriteString("\tcase $command in\n")
	for _, cmd := range c.commands {
		fmt.Fprintf(&b, "\t%s) flags='%s' ;;\n", cmd.name, strings.Join(dashedNames(cmd.flags), " "))
	}
	fmt.Fprintf(&b, "\t*) flags='%s' ;;\n\tesac\n", strings.Join(append(dashedNames(c.bare), "--version"), " "))
	b.WriteString("\tCOMPREPLY=()\n\tcase $current in\n\t-*) ;;\n\t*)\n")
	b.WriteString("\t\t[ \"$COMP_CWORD\" -eq 1 ] || return 0 # a file or a value\n")
	fmt.Fprintf(&b, "\t\tflags='%s'\n", strings.Join(c.commandNames(), " "))
	b.WriteString("\t\twhile IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- \"$current\")\n\t\t;;\n\tesac\n")
	b.WriteString("\twhile IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -W \"$flags\" -- \"$current\")\n}\n")
	fmt.Fprintf(&b, "complete -o filenames -o default -F %s %s\n", c.function(), c.program)
	return b.String()
}

func (c completion) zsh() string {
	// quoted returns an entry of _describe: its name and what it is for.
	quoted := func(name, usage string) string {
		colon := strings.NewReplacer(`\`, `\\`, `:`, `\:`)
		return singleQuoted(colon.Replace(name) + ":" + colon.Replace(usage))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# Completion of %s for zsh.\n", c.program, c.program)
	fmt.Fprintf(&b, "%s() {\n\tlocal -a commands flags\n\tlocal command=\n\t(( CURRENT > 2 )) && command=$words[2]\n\tcase $command in\n", c.function())
	write := func(pattern string, flags []completionFlag) {
		fmt.Fprintf(&b, "\t%s) flags=(\n", pattern)
		for _, f := range flags {
			for _, n := range f.names {
				fmt.Fprintf(&b, "\t\t%s\n", quoted(dashed(n), f.usage))
			}
		}
		fmt.Fprintf(&b, "\t\t%s) ;;\n", quoted("--help", "describe the flags"))
	}
	for _, cmd := range c.commands {
		write(cmd.name, cmd.flags)
	}
	write("*", c.bare)
	b.WriteString("\tesac\n\tcommands=(\n")
	for _, cmd := range c.commands {
		fmt.Fprintf(&b, "\t\t%s\n", quoted(cmd.name, cmd.usage))
	}
	b.WriteString("\t)\n\tif [[ $PREFIX == -* ]]; then\n\t\t_describe -o flag flags\n\telif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\t_files\n\telse\n\t\t_files\n\tfi\n}\n")
	fmt.Fprintf(&b, "if [[ $funcstack[1] == %[1]s ]]; then\n\t%[1]s \"$@\"\nelse\n\tcompdef %[1]s %[2]s\nfi\n", c.function(), c.program)
	return b.String()
}

func (c completion) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for fish.\n", c.program)
	names := strings.Join(c.commandNames(), " ")
	first := singleQuoted("not __fish_seen_subcommand_from " + names)
	for _, cmd := range c.commands {
		fmt.Fprintf(&b, "complete -c %s -n %s -a %s -d %s\n", c.program, first, cmd.name, fishQuoted(cmd.usage))
	}
	write := func(condition string, flags []completionFlag) {
		for _, f := range flags {
			fmt.Fprintf(&b, "complete -c %s -n %s", c.program, condition)
			for _, n := range f.names {
				if len(n) == 1 {
					b.WriteString(" -s " + n)
				} else {
					b.WriteString(" -l " + n)
				}
			}
			if f.takesValue {
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", fishQuoted(f.usage))
		}
	}
	write(first, c.bare)
	for _, cmd := range c.commands {
		write(singleQuoted("__fish_seen_subcommand_from "+cmd.name), cmd.flags)
	}
	fmt.Fprintf(&b, "complete -c %s -l help -d 'describe the flags'\n", c.program)
	return b.String()
}

func (c completion) powershell() string {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for PowerShell.\n", c.program)
	fmt.Fprintf(&b, "Register-ArgumentCompleter -Native -CommandName %s -ScriptBlock {\n", quoted(c.program))
	b.WriteString("    param($wordToComplete, $commandAst, $cursorPosition)\n    $commands = [ordered]@{\n")
	for _, cmd := range c.commands {
		fmt.Fprintf(&b, "        %s = %s\n", quoted(cmd.name), quoted(cmd.usage))
	}
	b.WriteString("    }\n    $flags = @{\n")
	write := func(name string, flags []completionFlag) {
		fmt.Fprintf(&b, "        %s = [ordered]@{\n", quoted(name))
		seen := map[string]bool{} // names of a hash table ignore case
		for _, f := range flags {
			for _, n := range f.names {
				if n = dashed(n); !seen[strings.ToLower(n)] {
					seen[strings.ToLower(n)] = true
					fmt.Fprintf(&b, "            %s = %s\n", quoted(n), quoted(f.usage))
				}
			}
		}
		b.WriteString("            '--help' = 'describe the flags'\n        }\n")
	}
	for _, cmd := range c.commands {
		write(cmd.name, cmd.flags)
	}
	write("", c.bare)
	b.WriteString(`    }
    $elements = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
    $command = ''
    if ($elements.Count -gt 1 -and $flags.ContainsKey($elements[1]) -and $elements[1] -ne $wordToComplete) { $command = $elements[1] }
    $words = if ($wordToComplete -like '-*') { $flags[$command] } elseif ($command -eq '') { $commands } else { @{} }
    $words.GetEnumerator() | Where-Object { $_.Key -like "$wordToComplete*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_.Key, $_.Key, 'ParameterValue', $_.Value)
    }
}
`)
	return b.String()
}

// singleQuoted quotes s for bash and zsh.
func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fishQuoted quotes s for fish, in which a backslash escapes within single quotes.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

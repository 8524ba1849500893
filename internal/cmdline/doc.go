// Package cmdline is the common command line of pa-record and pa-analyze: exit codes,
// one-line usage errors, help pages that fit 80 columns, flags after positional
// arguments, environment variables and a configuration file for every flag. It wraps
// github.com/urfave/cli/v2, which by itself prints usage errors with the whole help on
// standard output, splits flag values at commas, and silently ignores flags that stand
// after an argument.
//
//	app := cmdline.App{
//		Name:    "pa-analyze",
//		Usage:   "read recorded runs",
//		Default: "report",
//		Commands: []*cli.Command{report(), convert()},
//	}
//	os.Exit(app.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
//
// A command's Action returns nil (exit 0), an error made by [Usagef] (2), a
// [CodeError], or any other error (1), which is printed as "name: error".
// A flag's own Action checks its value before the Action of the command begins.
// Flags must be pointers to the types of urfave/cli; their usage text names
// the value in back quotes ("write the report to `FILE`"), their Category
// groups them in the help. Names are long first: {Name: "model", Aliases: []string{"m"}}.
//
// Help is by topic. "--help" shows a first screen where [App.CommonFlags] names its
// flags, else all flags. "--help TOPIC" shows the flags of one category; the topic is
// the category's first word in lower case, or a beginning of it. "--help all" shows
// everything, "--help commands" the subcommands. "help TOPIC" and "help COMMAND" mean
// the same; a word that is both is the topic. An unknown topic is a usage error that
// lists the topics.
package cmdline

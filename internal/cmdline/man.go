package cmdline

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/urfave/cli/v2"
)

// manTemplate is the manual page of an app in the Markdown that md2man reads.
//
//go:embed man.tmpl
var manTemplate string

// manFuncs are the functions of the template.
var manFuncs = template.FuncMap{
	"categories": categorized,
	"trim":       strings.TrimSpace,
	// text protects the characters that Markdown gives a meaning.
	"text": strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `\<`, `>`, `\>`, `[`, `\[`, `]`, `\]`, `|`, `\|`, `#`, `\#`, `~`, `\~`).Replace,
}

// manCommand returns the hidden command that prints the manual page, for packages.
func (a App) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page", Hidden: true,
		Action: func(c *cli.Context) error {
			page, err := template.New("man").Funcs(manFuncs).Parse(manTemplate)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			if err := page.Execute(&text, struct {
				App
				EnvPrefix string
			}{a, a.envPrefix()}); err != nil {
				return err
			}
			_, err = c.App.Writer.Write(md2man.Render(text.Bytes()))
			return err
		},
	}
}

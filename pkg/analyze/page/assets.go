package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strings"
	"sync"

	"github.com/pa-tools/pa/pkg/analyze/svg"
)

//go:embed page.tmpl assets third_party/uplot/uPlot.iife.min.js third_party/uplot/uPlot.min.css
var files embed.FS

// assets are the scripts and style sheets of every page, and the policy that allows them.
type assets struct {
	Styles  []template.CSS
	Scripts []template.JS
	Policy  string
}

// ownScripts are the parts of the page's own script, in their order. They share one function.
var ownScripts = []string{"base.js", "waterfall.js", "overtime.js", "main.js"}

// embedded returns the assets.
var embedded = sync.OnceValue(func() assets {
	var own strings.Builder
	own.WriteString("(function () {\n\"use strict\";\n")
	for _, name := range ownScripts {
		own.WriteString(file("assets/" + name))
	}
	own.WriteString("})();\n")
	styles := []string{file("third_party/uplot/uPlot.min.css"), colors() + file("assets/page.css")}
	scripts := []string{file("third_party/uplot/uPlot.iife.min.js"), own.String()}
	a := assets{}
	for _, s := range styles {
		a.Styles = append(a.Styles, template.CSS(s))
	}
	for _, s := range scripts {
		a.Scripts = append(a.Scripts, template.JS(s))
	}
	// base-uri and form-action do not fall back to default-src. The icon is an empty data URL, which
	// keeps browsers from asking a server for one.
	a.Policy = "default-src 'none'; script-src " + hashes(scripts) + "; style-src " + hashes(styles) + "; img-src data:; base-uri 'none'; form-action 'none'"
	return a
})

// file returns an embedded file.
func file(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the name is in the program
	}
	return string(b)
}

// colors returns the colors of the page: light ones, and for screens dark ones for systems that prefer
// dark, and for the button that chooses dark. Paper is light.
func colors() string {
	dark := file("assets/dark.css")
	light := strings.Replace(file("assets/light.css"), "{", "{ "+svg.Light.Properties(), 1)
	dark = strings.Replace(dark, "{", "{ "+svg.Dark.Properties(), 1)
	return light + svg.Rules() + "\n" +
		"@media screen and (prefers-color-scheme: dark) {\n" + strings.Replace(dark, ":root", ":root:not([data-theme=\"light\"])", 1) + "}\n" +
		"@media screen {\n" + strings.Replace(dark, ":root", ":root[data-theme=\"dark\"]", 1) + "}\n"
}

// hashes returns the sources of a Content-Security-Policy that allow exactly these texts.
func hashes(texts []string) string {
	var all []string
	for _, s := range texts {
		sum := sha256.Sum256([]byte(s))
		all = append(all, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(all, " ")
}

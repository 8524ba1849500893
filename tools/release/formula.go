package main

import (
	"bytes"
	"text/template"
)

var formula = template.Must(template.New("formula").Parse(`class Pa < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.CPU}} do
      url "{{$.Homepage}}/releases/download/{{$.Tag}}/{{.File}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "pa-record", "pa-analyze"
    man1.install Dir["man/*.1"]
    %w[pa-record pa-analyze].each do |program|
      bash_completion.install "completions/#{program}.bash" => program
      zsh_completion.install "completions/_#{program}"
      fish_completion.install "completions/#{program}.fish"
    end
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/pa-record --version")
    system bin/"pa-record", "-u", "sim://?ttft=1ms&itl=1ms&output_tokens=4", "--request-count", "8", "--quiet"
    assert_match "TTFT", shell_output("#{bin}/pa-analyze profile_export.json")
  end
end
`))

type formulaArchive struct{ CPU, File, Sum string }

type formulaSystem struct {
	Name     string
	Archives []formulaArchive
}

// writeFormula writes the Homebrew formula, which installs the archives of macOS and Linux.
func (r *release) writeFormula() error {
	cpu := map[string]string{"amd64": "intel", "arm64": "arm"}
	var systems []formulaSystem
	for _, s := range []struct{ os, brew string }{{"darwin", "macos"}, {"linux", "linux"}} {
		system := formulaSystem{Name: s.brew}
		for _, p := range r.platforms {
			if p.os == s.os {
				name := r.archiveName(p)
				system.Archives = append(system.Archives, formulaArchive{cpu[p.arch], name, r.sum(name)})
			}
		}
		if system.Archives != nil {
			systems = append(systems, system)
		}
	}
	var b bytes.Buffer
	if err := formula.Execute(&b, map[string]any{
		"Summary": summary, "Homepage": homepage, "Version": r.version.file(), "Tag": r.version.tag(), "Systems": systems,
	}); err != nil {
		return err
	}
	return r.write("pa.rb", b.Bytes())
}

// Command release makes everything that a release consists of from the binaries of all
// platforms:
//
//	go run . -binaries ../../dist/bin -host ../../bin -root ../.. -out ../../dist -version 1.2.3
//
// The folder of the binaries has a folder for each platform, such as linux_amd64. The
// programs of the machine at hand print the completion scripts and the manual pages. The
// release holds
//
//	pa_VERSION_OS_ARCH.tar.gz, .zip    both programs, completions, manual pages, licences
//	pa-tools_VERSION_ARCH.deb, .rpm    the same as packages of Linux distributions
//	pa_analyze-VERSION-….whl           the same as Python wheels, with the package pa
//	pa_VERSION_image.tar               an OCI image of Linux for both architectures
//	pa_VERSION_sbom.cdx.json           the modules in the programs, as CycloneDX
//	pa.rb                              a Homebrew formula
//	SHA256SUMS                         of all these files
//
// All files are the same for the same source: times are the time of the commit. An ELF file
// that asks for a dynamic loader or a shared library is an error, because the Linux programs
// must run on any distribution.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// command makes the release that args describe and lists its files on w.
func command(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	binaries := flags.String("binaries", "dist/bin", "folder with a folder of binaries for each platform")
	host := flags.String("host", "bin", "folder with the binaries of this machine")
	root := flags.String("root", ".", "root of the repository")
	out := flags.String("out", "dist", "folder that the release is written to")
	text := flags.String("version", "", "version that tools/version.sh prints, such as 1.2.3")
	when := flags.Int64("time", 0, "time of all files, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	v, err := parseVersion(*text)
	if err != nil {
		return err
	}
	if err := v.checkChanges(*root); err != nil {
		return err
	}
	r := &release{version: v, at: time.Unix(*when, 0).UTC(), out: *out}
	if r.platforms, err = findPlatforms(*binaries); err != nil {
		return err
	}
	if r.modules, err = modulesOf(ctx, *root, r.platforms); err != nil {
		return err
	}
	if r.extras, err = extras(ctx, *host, *root, r.modules); err != nil {
		return err
	}
	if r.python, err = pythonPackage(*root); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	for _, write := range []func() error{r.writeArchives, r.writePackages, r.writeWheels, r.writeImage, r.writeSBOM, r.writeFormula, r.writeSums} {
		if err := write(); err != nil {
			return err
		}
	}
	for _, f := range r.written {
		fmt.Fprintf(w, "%8.2f MB  %s\n", float64(f.bytes)/1e6, filepath.Join(*out, f.name))
	}
	return nil
}

// Command site makes a static site of the documentation:
//
//	go run . -root ../.. -out ../../out/site
//
// Each page of docs becomes a page of HTML of the same name, docs/README.md the first one.
// CHANGELOG.md, pages of schemas and files that a page links to come with them. The
// navigation has the sections of docs/README.md and lists the pages that it links to; a page
// of docs that it does not link to is an error, as is a link to a file or a heading that does
// not exist.
//
// With -gallery the site also has the pages of that folder, which make gallery writes, and a picture NAME.png of
// docs/gallery leads to the page NAME.html.
//
// The site needs no server and no network: a browser opens its files from a folder. Without
// scripts only the search, the choice of a theme and the copying of commands do not work.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	out := flag.String("out", "out/site", "folder of the site; it is replaced")
	gallery := flag.String("gallery", "", "folder of the pages of docs/gallery; without it its pictures lead nowhere")
	flag.Parse()
	var pages fs.FS
	if *gallery != "" {
		pages = os.DirFS(*gallery)
	}
	s, err := build(os.DirFS(*root), pages)
	if err == nil {
		err = s.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d pages, %d other files\n", *out, s.pages, len(s.files)-s.pages)
}

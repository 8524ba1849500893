package settings

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/redact"
)

// A Server is what one label of -u stands for: the server, or the servers that get
// requests in turn, of some of the runs. Its JSON is a part of the JSON of Settings.
type Server struct {
	Label     string   `json:"label"`
	URL       string   `json:"url"`            // without user information and query
	URLs      []string `json:"urls,omitempty"` // all of several
	Transport string   `json:"transport"`
	Proxies   []string `json:"proxies,omitempty"` // without user information

	RawURLs  []string `json:"-"`
	Warnings []string `json:"-"` // about this server alone
}

// serverURLs reads -u. Without labels it returns the URLs of the one server, or of the
// servers that get requests in turn. With labels it returns a Server for each, with the
// URLs of the first.
func (p *parser) serverURLs(flags []string) (urls []string, all []Server) {
	var plain string // the first without a label
	for _, text := range flags {
		if text == "" { // an empty variable of the environment is none
			continue
		}
		label, rest, ok := cutLabel(text)
		if !ok {
			if plain == "" {
				plain = text
			}
			continue
		}
		all = append(all, Server{Label: label, RawURLs: servers([]string{rest})})
	}
	switch {
	case len(all) == 0:
		return servers(flags), nil
	case plain != "":
		p.errorf("-u %s has no label and -u %s=… has one; give each server a label, LABEL=URL, or none", redact.URL(plain), all[0].Label)
	case len(all) == 1:
		p.errorf("-u %s=…: one server needs no label; drop it, or give the server to compare with as -u LABEL=URL", all[0].Label)
	}
	for i := range all {
		p.label(all, i)
	}
	return all[0].RawURLs, all
}

// label checks server i.
func (p *parser) label(all []Server, i int) {
	label := all[i].Label
	if strings.Trim(label[:1], "_-.") == "" {
		p.errorf("-u %s=…: the label must begin with a letter or a digit", label)
	}
	for _, u := range all[i].RawURLs {
		if inner, _, ok := cutLabel(u); ok {
			p.errorf("-u %s=…: a label within a list; give %s=… a -u of its own", label, inner)
		}
	}
	if len(all[i].RawURLs) == 0 {
		p.errorf("-u %s=: the server's URL is empty", label)
		all[i].RawURLs = []string{"localhost"} // for the other checks
	}
	for _, before := range all[:i] {
		switch {
		case before.Label == label:
			p.errorf("-u %s=…: the label is given twice; give each server its own, or several URLs of one as a list, %s=a:1,b:1", label, label)
		case strings.HasPrefix(before.Label, label+"."), strings.HasPrefix(label, before.Label+"."):
			p.errorf("-u %s=…, -u %s=…: NAME.%s.* would also mean the files of the other; choose labels of which none begins with the other and a dot",
				before.Label, label, shorter(before.Label, label))
		}
	}
}

func shorter(a, b string) string {
	if len(a) < len(b) {
		return a
	}
	return b
}

// labelCharacters are allowed in a label. None of them ends the host of a URL.
const labelCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// cutLabel splits LABEL=URL. ok is false for a URL without a label, such as
// a:1/?x=1, sim://?ttft=5ms, or me=x:password@host, whose "=" is in the query or in the
// user information. In a URL with a label, user information needs a scheme.
func cutLabel(text string) (label, rest string, ok bool) {
	label, rest, ok = strings.Cut(text, "=")
	if !ok || label == "" || strings.Trim(label, labelCharacters) != "" {
		return "", text, false
	}
	if !strings.Contains(rest, "://") && strings.Contains(rest, "@") {
		return "", text, false
	}
	return label, rest, true
}

// ForServer returns the settings for the runs against server i of Servers; s itself if
// the servers have no labels.
func (s *Settings) ForServer(i int) *Settings {
	if len(s.Servers) == 0 {
		return s
	}
	c, server := *s, &s.Servers[i]
	c.Label, c.URL, c.URLs, c.RawURLs = server.Label, server.URL, server.URLs, server.RawURLs
	c.Transport, c.Proxies = server.Transport, server.Proxies
	c.Warnings = slices.Concat(s.Warnings, server.Warnings)
	return &c
}

// AllURLs returns the URLs of all servers, with user information and query.
func (s *Settings) AllURLs() []string {
	if len(s.Servers) == 0 {
		return s.RawURLs
	}
	var all []string
	for i := range s.Servers {
		all = append(all, s.Servers[i].RawURLs...)
	}
	return all
}

// mostURLs returns how many URLs the label with the most of them has. Only one label is
// recorded at a time.
func (s *Settings) mostURLs() int {
	most := len(s.RawURLs)
	for i := range s.Servers {
		most = max(most, len(s.Servers[i].RawURLs))
	}
	return most
}

// labelled completes the servers that have labels: what of the settings depends on the
// server's address. getenv is os.Getenv but for tests.
func (p *parser) labelled(s *Settings, getenv func(string) string) {
	for i := range s.Servers {
		server := &s.Servers[i]
		c := s.ForServer(i)
		c.Proxies, c.Warnings = nil, nil
		if err := p.proxies(c, p.secured(c), getenv); err != nil {
			p.errs = append(p.errs, err)
			return
		}
		s.Proxy = c.Proxy
		p.transport(c)
		server.Transport, server.Proxies, server.Warnings = c.Transport, c.Proxies, c.Warnings
	}
}

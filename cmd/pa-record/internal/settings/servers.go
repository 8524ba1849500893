package settings

import (
	"net/url"
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
		all = append(all, Server{Label: label, RawURLs: splitURLs([]string{rest})})
	}
	switch {
	case len(all) == 0:
		return splitURLs(flags), nil
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

// splitURLs returns the URLs in the values of -u: one URL, or a list. A list has no passwords,
// queries or settings of a simulated server, because these may hold commas.
func splitURLs(flags []string) []string {
	var all []string
	for _, text := range flags {
		if text == "" { // an empty variable of the environment is none
			continue
		}
		if strings.ContainsAny(text, "@?") || strings.HasPrefix(text, simScheme) {
			all = append(all, text)
			continue
		}
		for u := range strings.SplitSeq(text, ",") {
			all = append(all, strings.TrimSpace(u))
		}
	}
	return all
}

// urls resolves the servers.
func (p *parser) urls(s *Settings) {
	if len(s.RawURLs) == 0 {
		s.RawURLs = []string{"localhost:8000"}
		if s.Protocol == GRPC {
			s.RawURLs = []string{"localhost:8001"}
		}
	}
	secured, simulated := map[bool]string{}, map[bool]string{}
	for _, u := range s.AllURLs() {
		secured[isSecured(u)] = redact.URL(u)
		simulated[strings.HasPrefix(u, simScheme)] = redact.URL(u)
	}
	switch {
	case len(simulated) > 1 && len(s.Servers) > 0:
		p.errorf("-u %s, -u %s: a simulated server in this process is compared with another one only; start it with pa-record sim instead", simulated[true], simulated[false])
	case len(secured) > 1:
		p.errorf("-u %s, -u %s: some with TLS and some without; make all the same", secured[true], secured[false])
	}
	s.URL, s.URLs = p.shownURLs(s.RawURLs)
	for i := range s.Servers {
		server := &s.Servers[i]
		server.URL, server.URLs = p.shownURLs(server.RawURLs)
	}
}

// shownURLs checks the URLs of a server, or of several that get requests in turn. It
// returns the first, and all if there are several, without user information and query.
func (p *parser) shownURLs(raw []string) (first string, all []string) {
	for i, u := range raw {
		shown := redact.URL(u)
		switch {
		case u == "":
			p.errorf("-u: a server's URL is empty")
		case slices.Contains(raw[:i], u):
			p.errorf("-u %s: given twice", shown)
		case strings.HasPrefix(u, simScheme) && len(raw) > 1:
			p.errorf("-u %s: a simulated server cannot be one of several", shown)
		}
		all = append(all, shown)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all[0], all
}

// isSecured reports whether a URL's scheme asks for TLS.
func isSecured(u string) bool {
	scheme, _, _ := strings.Cut(u, "://")
	return scheme == "https" || scheme == "grpcs"
}

// Simulated reports whether the server is a simulated one in this process.
func (s *Settings) Simulated() bool { return strings.HasPrefix(s.RawURLs[0], simScheme) }

// AddressOf returns host[:port] of a URL with or without a scheme.
func AddressOf(u string) string {
	if _, rest, ok := strings.Cut(u, "://"); ok {
		u = rest
	}
	u = u[strings.LastIndexByte(u, '@')+1:]
	if i := strings.IndexAny(u, "/?#"); i >= 0 {
		u = u[:i]
	}
	return u
}

// HostOf returns the host of a URL, without its port.
func HostOf(u string) string { return (&url.URL{Host: AddressOf(u)}).Hostname() }

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

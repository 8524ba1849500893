// Package redact hides the user's credentials if a server repeats them: in messages, and
// in the bytes of recorded answers.
//
//	var s redact.Secrets
//	s.AddHeader("Authorization", "Bearer sk-secret-1")
//	s.Text("no key sk-secret-1") // "no key [redacted]"
//	s.Mask(body)                 // stars, as many bytes as before
//
// Every header is a secret except for a fixed list (Accept, Content-Type and the like),
// because any other may carry the server's key. The same goes for the values of a URL's
// query (all but api-version and the like). A secret is found as a whole, as its part
// after a scheme such as Bearer, as the name and password that Basic encodes, and in the
// forms that JSON gives each of them. One that a model utters token by token, split over
// events, is not found.
//
// [Members] hides the values of JSON members, and of name:value and name=value, whose names
// say that they are credentials. [Credential] is the rule for names.
//
// [Args], [URL] and [Endpoint] remove the secrets from the command line itself, so that
// it can be printed and kept in an export.
package redact

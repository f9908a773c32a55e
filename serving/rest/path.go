package rest

import (
	"net/http"
	"strings"
)

// path is the parts of a path. Name and label are still escaped.
type path struct {
	name, version, label string
	method               string // "status" if the path names none
}

// splitPath splits a path. Its forms are TensorFlow Serving's, in capital or small
// letters:
//
//	POST /v1/models/NAME[/versions/N|/labels/L]:predict|classify|regress
//	GET  /v1/models/NAME[/versions/N|/labels/L][/metadata]
func splitPath(httpMethod, text string) (p path, ok bool) {
	rest, ok := cutPrefix(text, "/v1/models/")
	if !ok {
		return p, false
	}
	p.name, rest = cutName(rest)
	ok = p.name != ""
	if number, found := cutPrefix(rest, "/versions/"); found {
		rest = strings.TrimLeft(number, "0123456789")
		p.version = number[:len(number)-len(rest)]
		ok = ok && p.version != ""
	} else if label, found := cutPrefix(rest, "/labels/"); found {
		p.label, rest = cutName(label)
		ok = ok && p.label != ""
	}
	p.method = pathMethod(httpMethod, rest)
	return p, ok && p.method != ""
}

// pathMethod returns the method that the end of a path names, "" if it is none.
func pathMethod(httpMethod, end string) string {
	switch {
	case httpMethod == http.MethodGet && end == "":
		return "status"
	case httpMethod == http.MethodGet && strings.EqualFold(end, "/metadata"):
		return "metadata"
	case httpMethod != http.MethodPost:
		return ""
	}
	for _, method := range []string{"predict", "classify", "regress"} {
		if len(end) == 1+len(method) && end[0] == ':' && strings.EqualFold(end[1:], method) {
			return method
		}
	}
	return ""
}

// cutPrefix cuts a prefix off, in capital or small letters.
func cutPrefix(s, prefix string) (rest string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// cutName cuts off the part before the next slash or colon.
func cutName(s string) (name, rest string) {
	if i := strings.IndexAny(s, "/:"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

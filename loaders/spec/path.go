package spec

import (
	"strings"

	"millrace"
)

// schemeOf returns the scheme of a path such as "gs://bucket/name".
func schemeOf(path string) (string, bool) {
	scheme, _, ok := strings.Cut(path, "://")
	return scheme, ok && scheme != "" && !strings.ContainsAny(scheme, "/ ")
}

// withoutFileScheme returns the local path of a "file://" path, with or without
// a host, which TensorFlow ignores. Other paths stay as they are.
func withoutFileScheme(path string) string {
	rest, ok := strings.CutPrefix(path, "file://")
	if slash := strings.IndexByte(rest, '/'); ok && slash >= 0 {
		return rest[slash:]
	}
	return path
}

// PrintablePath returns a path to print: without a user's name and password, and
// without what follows a question mark, which may be a key.
func PrintablePath(path string) string {
	scheme, ok := schemeOf(path)
	if !ok {
		return millrace.Quote(path)
	}
	rest, _, _ := strings.Cut(path[len(scheme)+len("://"):], "?")
	host, name, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if slash {
		host += "/"
	}
	return millrace.Quote(scheme + "://" + host + name)
}

package remote

import (
	"path"
	"strings"
)

// SchemeOf returns the scheme of a path such as "s3://bucket/name".
func SchemeOf(path string) (string, bool) {
	scheme, _, ok := strings.Cut(path, "://")
	return scheme, ok && scheme != "" && !strings.ContainsAny(scheme, "/ ")
}

// IsURL reports whether a path has a scheme other than "file".
func IsURL(path string) bool {
	scheme, ok := SchemeOf(path)
	return ok && scheme != "file"
}

// Join returns the path of name in a folder. Either may be a URL.
func Join(folder, name string) string {
	scheme, ok := SchemeOf(folder)
	if !ok {
		return path.Join(folder, name)
	}
	return scheme + "://" + path.Join(folder[len(scheme)+len("://"):], name)
}

// Dir returns the folder of a URL, without a slash at its end.
func Dir(url string) string {
	scheme, _ := SchemeOf(url)
	return scheme + "://" + path.Dir(withoutQuery(url)[len(scheme)+len("://"):])
}

func withoutQuery(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// public returns a URL without the parts that may be secrets: the user, the password and
// the query.
func public(url string) string {
	scheme, ok := SchemeOf(url)
	if !ok {
		return url
	}
	rest := withoutQuery(url)[len(scheme)+len("://"):]
	host, name, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if slash {
		host += "/"
	}
	return scheme + "://" + host + name
}

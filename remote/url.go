package remote

import (
	"path"
	"strconv"
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

// Conceal returns the name of a URL for messages, graphs and states: without its user,
// password and query. Every function of the Client accepts the name in place of the URL.
// Two URLs that differ only in their queries have different names.
func (c *Client) Conceal(url string) string {
	name := public(url)
	if name == url {
		return url
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := name + withoutUser(url)[len(name):] // signatures of two runs may differ, names must not
	if known, ok := c.names[key]; ok {
		c.secrets[known] = url
		return known
	}
	free := name
	for n := 2; ; n++ {
		if _, taken := c.secrets[free]; !taken {
			break
		}
		free = name + "#" + strconv.Itoa(n)
	}
	c.names[key], c.secrets[free] = free, url
	return free
}

// withoutUser returns a URL without its user and password.
func withoutUser(url string) string {
	_, query, _ := strings.Cut(url, "?")
	return public(url) + "?" + query
}

// reveal returns the URL of a name that Conceal returned.
func (c *Client) reveal(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if url, ok := c.secrets[name]; ok {
		return url
	}
	return name
}

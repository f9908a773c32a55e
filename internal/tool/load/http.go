package load

import (
	"bytes"
	"fmt"
	"strconv"

	"millrace"
)

// Post returns an HTTP request that posts JSON and keeps the connection.
func Post(host, path string, body []byte) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, host, len(body), body)
}

// answer is a complete HTTP answer.
type answer struct {
	status int
	body   []byte
	closes bool // the server closes the connection
}

// headerEnd separates headers and body.
var headerEnd = []byte("\r\n\r\n")

// parseAnswer returns the answer at the start of text. It reports false if the answer
// is incomplete. Answers have a Content-Length; chunks are an error.
func parseAnswer(text []byte) (a answer, complete bool, err error) {
	head, rest, found := bytes.Cut(text, headerEnd)
	if !found {
		return a, false, nil
	}
	if len(head) < len("HTTP/1.1 200") || !bytes.HasPrefix(head, []byte("HTTP/1.1 ")) {
		return a, false, millrace.Errorf(millrace.ErrIO, "the server answers %s", millrace.QuoteData(head))
	}
	if a.status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return a, false, millrace.Errorf(millrace.ErrIO, "the server answers %s", millrace.QuoteData(head))
	}
	value, ok := header(head, "content-length")
	n, err := strconv.Atoi(string(value))
	if !ok || err != nil || n < 0 {
		return a, false, millrace.Errorf(millrace.ErrIO, "the answer has no Content-Length: %s", millrace.QuoteData(head))
	}
	if len(rest) < n {
		return a, false, nil
	}
	connection, _ := header(head, "connection")
	a.body, a.closes = rest[:n], bytes.EqualFold(connection, []byte("close"))
	return a, true, nil
}

// header returns a header's value. name is in lower case.
func header(head []byte, name string) ([]byte, bool) {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		if len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name)) {
			return bytes.TrimSpace(line[len(name)+1:]), true
		}
	}
	return nil, false
}

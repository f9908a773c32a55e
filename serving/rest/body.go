package rest

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// firstRead is how much memory a body gets before more of it has come.
const firstRead = 1 << 20

// body returns the body of the request, decompressed. It is valid until the
// answer is sent.
func (c *call) body() ([]byte, error) {
	var from io.Reader = c.request.Body
	if n := c.request.ContentLength; n < 0 || n > c.options.MaxBodyBytes {
		from = http.MaxBytesReader(c.writer, c.request.Body, c.options.MaxBodyBytes)
	}
	switch encoding := c.request.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		inflated, err := gzip.NewReader(from)
		if err != nil {
			return nil, invalid("the body is not gzip: %w", err)
		}
		from = http.MaxBytesReader(c.writer, inflated, c.options.MaxBodyBytes)
	default:
		return nil, invalid("Content-Encoding %q is not supported, gzip is", encoding)
	}
	text := &c.scratch.text
	if n := c.request.ContentLength; n > 0 { // what a client claims is no reason to allocate it
		text.Grow(int(min(n, firstRead)) + bytes.MinRead)
	}
	if _, err := text.ReadFrom(from); err != nil {
		return nil, invalid("the body: %w", err)
	}
	return text.Bytes(), nil
}

// minCompressed is how long an answer is at least that is compressed. For shorter
// ones net/http finds out the Content-Length.
const minCompressed = 1024

// vary is a header's value that answers share.
var vary = []string{"Accept-Encoding"}

// send sends an answer, compressed if the client takes that.
func (c *call) send(status int, body []byte) error {
	header := c.writer.Header()
	header["Vary"] = vary
	if len(body) < minCompressed || !acceptsGzip(c.request.Header) {
		if len(body) >= minCompressed {
			header.Set("Content-Length", strconv.Itoa(len(body)))
		}
		c.writer.WriteHeader(status)
		_, err := c.writer.Write(body)
		return err
	}
	header.Set("Content-Encoding", "gzip")
	c.writer.WriteHeader(status)
	w := gzip.NewWriter(c.writer)
	if _, err := w.Write(body); err != nil {
		return err
	}
	return w.Close()
}

// acceptsGzip reports whether a client takes gzip.
func acceptsGzip(h http.Header) bool {
	for _, line := range h.Values("Accept-Encoding") {
		for encoding := range strings.SplitSeq(line, ",") {
			name, quality, _ := strings.Cut(encoding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				q := strings.TrimSpace(quality)
				return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
			}
		}
	}
	return false
}

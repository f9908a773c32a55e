package rest

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"

	"millrace/serving"
	"millrace/tfbridge"
)

// text returns the body of the request, decompressed. It is valid until the answer
// is sent.
func (c *call) text() ([]byte, error) {
	from, length := c.body()
	most := c.options.MaxBodyBytes
	if length > most { // refused by its header, before it is read
		return nil, invalid("the body of %d bytes: %w", length, &http.MaxBytesError{Limit: most})
	}
	if err := c.lease.Check(max(length, 0)); err != nil {
		return nil, err
	}
	if length < 0 {
		from = http.MaxBytesReader(nil, io.NopCloser(from), most)
	}
	switch encoding := c.header("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		inflated, err := gzip.NewReader(from)
		if err != nil {
			return nil, invalid("the body is not gzip: %w", err)
		}
		from, length = http.MaxBytesReader(nil, inflated, most), -1
	default:
		return nil, invalid("Content-Encoding %q is not supported, gzip is", encoding)
	}
	text, err := c.lease.ReadAll(c.scratch.text, from, length)
	c.scratch.text = text
	if refused := serving.CodeOf(err) == tfbridge.ResourceExhausted; err != nil && !refused {
		err = invalid("the body: %w", err)
	}
	return text, err
}

// minCompressed is the length from which on an answer is compressed.
const minCompressed = 1024

// respond sends an answer, compressed if the client accepts that.
func (c *call) respond(status int, body []byte, retry bool) error {
	a := &c.scratch.reply
	*a = answer{status: status, body: body, cors: c.options.EnableCORS, retry: retry, lease: &c.lease}
	if status == http.StatusOK {
		a.json = c.jsonLength
	}
	if len(body) >= minCompressed && acceptsGzip(c.header("Accept-Encoding")) && c.lease.Grow(int64(len(body))) == nil {
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		a.body, a.gzip = compressed.Bytes(), true
	}
	return c.send(a)
}

// acceptsGzip reports whether a client accepts gzip, by its Accept-Encoding.
func acceptsGzip(accepted string) bool {
	for encoding := range strings.SplitSeq(accepted, ",") {
		name, quality, _ := strings.Cut(encoding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q := strings.TrimSpace(quality)
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}

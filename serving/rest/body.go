package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// A body gets firstRead bytes of memory before more of it has come, or firstUnknown if its
// length is not known. What a client claims is no reason to allocate it.
const firstRead, firstUnknown = 1 << 20, 4 << 10

// text returns the body of the request, decompressed. It is valid until the answer
// is sent.
func (c *call) text() ([]byte, error) {
	from, length := c.body()
	most := c.options.MaxBodyBytes
	if length > most { // refused by its header, before any of it is read
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
	if err := c.readText(from, length); err != nil {
		return nil, err
	}
	return c.scratch.text, nil
}

// readText reads a body into the memory of the request. The lease grows before the
// memory does, so a body is refused when it no longer fits, however short it was when
// compressed. A negative length is not known.
func (c *call) readText(from io.Reader, length int64) (err error) {
	text, held := c.scratch.text[:0], int64(0) // memory from an earlier request costs nothing until it is used
	defer func() { c.scratch.text = text }()
	for {
		if len(text) == cap(text) {
			size := int64(max(2*cap(text), firstUnknown))
			if length >= 0 { // with a byte more, reading finds the end
				size = min(max(int64(2*cap(text)), firstRead), length+1)
				size = max(size, int64(cap(text))+1)
			}
			if err := c.lease.Grow(size); err != nil {
				return err
			}
			text = append(make([]byte, 0, size), text...)
			c.lease.Shrink(held)
			held = size
		}
		n, err := from.Read(text[len(text):min(cap(text), len(text)+firstRead)])
		text = text[:len(text)+n]
		if more := int64(len(text)) - held; more > 0 {
			if err := c.lease.Grow(more); err != nil {
				return err
			}
			held += more
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return invalid("the body: %w", err)
		}
	}
}

// minCompressed is how long an answer is at least that is compressed.
const minCompressed = 1024

// respond sends an answer, compressed if the client takes that.
func (c *call) respond(status int, body []byte, retry bool) error {
	a := &c.scratch.reply
	*a = answer{status: status, body: body, cors: c.options.EnableCORS, retry: retry, lease: &c.lease}
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

// acceptsGzip reports whether a client takes gzip, by its Accept-Encoding.
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

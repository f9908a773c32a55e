package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"millrace"
)

// WritableStore is a Store whose objects can be written and removed. Methods are repeated
// after errors, as the methods of a Store are.
type WritableStore interface {
	Store

	// Put makes the data of a part the content of an object. Readers see the old content or
	// the new one.
	Put(ctx context.Context, url string, p Part) error

	// Begin begins to write an object of several parts.
	Begin(ctx context.Context, url string) (Multipart, error)

	// Remove removes an object, if it exists.
	Remove(ctx context.Context, url string) error
}

// Multipart is an object that is written in parts. Until Commit readers see the old content.
type Multipart interface {
	// Part sends a part. Parts are sent in their order. The last one is sent to commit, so it
	// may make the object visible.
	Part(ctx context.Context, p Part) error

	// Commit makes the parts the content of the object.
	Commit(ctx context.Context) error

	// Abort removes the parts.
	Abort(ctx context.Context) error
}

// Part is a part of an object that is written.
type Part struct {
	Number int   // from 0 on
	Offset int64 // position of the first byte in the object
	Data   []byte
	Last   bool

	// Body returns a reader of Data from an offset on, whose progress the deadline of the
	// request depends on.
	Body func(from int) io.ReadSeeker
}

// Writer writes an object: [Writer.Commit] makes it visible, whole or not at all. One
// goroutine at a time may use it.
type Writer struct {
	c      *Client
	ctx    context.Context
	name   string
	url    string
	store  WritableStore
	buffer []byte
	parts  Multipart // nil up to [Options].Part bytes
	next   Part      // number and offset of the next part
	failed error     // the first error; the object cannot be written any more
	done   bool
}

// Create begins to write an object with the [Default] client.
func Create(ctx context.Context, name string) (*Writer, error) { return Default.Create(ctx, name) }

// Create begins to write an object. When ctx ends, writing fails. It makes no request before
// there are more than [Options].Part bytes. The caller closes the Writer in any case.
func (c *Client) Create(ctx context.Context, name string) (*Writer, error) {
	s, err := c.writable(name)
	if err != nil {
		return nil, err
	}
	return &Writer{c: c, ctx: ctx, name: name, url: c.reveal(name), store: s}, nil
}

// writable returns the store of an object that is to be written.
func (c *Client) writable(name string) (WritableStore, error) {
	s, err := c.store(name)
	if err != nil {
		return nil, err
	}
	if u, ok := s.(unusable); ok {
		return nil, c.failed(context.Background(), "write", name, -1, 1, &Failure{Msg: u.err.Error(), Err: u.err})
	}
	w, ok := s.(WritableStore)
	if !ok {
		scheme, _ := SchemeOf(name)
		e := millrace.Errorf(millrace.ErrConfig, "%s:// is read only; write to a disk of this machine, s3:// or gs://", scheme)
		e.File = public(name)
		return nil, e
	}
	return w, nil
}

// Write appends data. It sends what fills a part.
func (w *Writer) Write(data []byte) (n int, err error) {
	for len(data) > 0 && w.failed == nil {
		if len(w.buffer) == w.c.part {
			w.failed = w.send(false)
			continue
		}
		m := min(len(data), w.c.part-len(w.buffer))
		w.buffer = append(w.buffer, data[:m]...)
		data = data[m:]
		n += m
	}
	return n, w.failed
}

// send sends the buffer as the next part.
func (w *Writer) send(last bool) error {
	if w.parts == nil {
		err := w.c.attempt(w.ctx, "write", w.name, func(t *watch) (err error) {
			w.parts, err = w.store.Begin(t.ctx, w.url)
			return err
		})
		if err != nil {
			w.parts = nil
			return err
		}
	}
	p := w.next
	p.Data, p.Last = w.buffer, last
	err := w.c.attempt(w.ctx, "write", w.name, func(t *watch) error { return w.parts.Part(t.ctx, watched(p, t)) })
	w.next = Part{Number: p.Number + 1, Offset: p.Offset + int64(len(p.Data))}
	w.buffer = w.buffer[:0]
	return err
}

// watched returns a part whose reading starts a deadline again.
func watched(p Part, t *watch) Part {
	p.Body = func(from int) io.ReadSeeker {
		data := bytes.NewReader(p.Data[from:])
		return struct {
			io.Reader
			io.Seeker
		}{t.read(data), data}
	}
	return p
}

// Commit sends the rest, and makes the object visible. After an error the old object is
// unchanged, or the store has not said whether it has the new one.
func (w *Writer) Commit() error {
	switch {
	case w.failed != nil:
		return w.failed
	case w.done:
		return millrace.Errorf(millrace.ErrInternal, "an object that is committed")
	case w.parts == nil:
		w.failed = w.c.put(w.ctx, w.store, w.name, w.buffer)
	default:
		if w.failed = w.send(true); w.failed == nil {
			w.failed = w.c.attempt(w.ctx, "write", w.name, func(t *watch) error { return w.parts.Commit(t.ctx) })
		}
	}
	w.c.forget(w.name)
	if w.failed == nil {
		w.done, w.buffer = true, nil
	}
	return w.failed
}

// put writes an object by one request.
func (c *Client) put(ctx context.Context, s WritableStore, name string, data []byte) error {
	url, p := c.reveal(name), Part{Data: data, Last: true}
	return c.attempt(ctx, "write", name, func(t *watch) error { return s.Put(t.ctx, url, watched(p, t)) })
}

// abortTime is how long Close waits for the answer to an abort.
const abortTime = 5 * time.Second

// Close removes what was sent of an object that is not committed. It does so even if the
// context of Create has ended.
func (w *Writer) Close() error {
	if w.done || w.parts == nil {
		w.done = true
		return nil
	}
	w.done = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortTime)
	defer cancel()
	if err := w.parts.Abort(ctx); err != nil {
		var f *Failure
		if errors.As(err, &f) && f.Missing() {
			return nil // the store has removed it, or it became the object
		}
		return w.c.failed(ctx, "write", w.name, -1, 1, err)
	}
	return nil
}

// Remove removes an object of the [Default] client, if it exists.
func Remove(ctx context.Context, name string) error { return Default.Remove(ctx, name) }

// Remove removes an object, if it exists.
func (c *Client) Remove(ctx context.Context, name string) error {
	s, err := c.writable(name)
	if err != nil {
		return err
	}
	defer c.forget(name)
	url := c.reveal(name)
	return c.attempt(ctx, "remove", name, func(t *watch) error { return s.Remove(t.ctx, url) })
}

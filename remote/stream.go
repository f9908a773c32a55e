package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// mostSkipped is how far into an object a reader goes if the server ignores ranges and sends
// it from its beginning each time.
const mostSkipped = 64 << 20

// stream reads a part of an object from its beginning to its end. After a fault it continues
// at the byte that it reached.
type stream struct {
	o       *object
	at, end int64
	trial   trial
	body    *Body
	watch   *watch
}

func (o *object) stream(from, to int64) *stream {
	return &stream{o: o, at: from, end: to, trial: trial{attempts: o.client.attempts}}
}

// close ends the request in flight.
func (s *stream) close() {
	if s.body != nil {
		s.body.Close()
		s.body = nil
	}
	if s.watch != nil {
		s.watch.stop()
		s.watch = nil
	}
}

// fill reads the next len(p) bytes.
func (s *stream) fill(ctx context.Context, p []byte) error {
	for len(p) > 0 {
		n, err := s.read(ctx, p)
		p = p[n:]
		s.at += int64(n)
		if n > 0 {
			s.trial.barren = 0
			s.watch.progress()
		}
		if err == nil || len(p) == 0 {
			continue
		}
		err = s.watch.cause(err)
		s.close()
		if ctx.Err() != nil {
			return s.o.client.failed(ctx, "read", s.o.name, s.at, s.trial.total, err)
		}
		if n > 0 && !answered(err) {
			continue // a connection that was cut: the next request begins at once
		}
		if err := s.trial.again(ctx, err); err != nil {
			return s.o.client.failed(ctx, "read", s.o.name, s.at, s.trial.total, err)
		}
	}
	return nil
}

func answered(err error) bool {
	var f *Failure
	return errors.As(err, &f)
}

// read reads some bytes, and begins a request if none is in flight.
func (s *stream) read(ctx context.Context, p []byte) (int, error) {
	if s.body == nil {
		s.trial.total++
		s.watch = newWatch(ctx, s.o.client.idle)
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.body.Read(p)
	if err == io.EOF {
		err = nil
		if n == 0 {
			err = errShort
		}
	}
	return n, err
}

// open begins a request for what is left.
func (s *stream) open() (err error) {
	o := s.o
	s.body, err = o.store.Open(s.watch.ctx, o.url, Range{From: s.at, Bytes: s.end - s.at, Version: o.info.Version})
	if err != nil {
		return err
	}
	if v := o.info.Version; v != "" && s.body.Version != v {
		return &Failure{Msg: ErrChanged.Error(), Err: ErrChanged}
	}
	if s.body.Size != o.info.Size {
		return &Failure{Msg: fmt.Sprintf("%v: it had %d bytes and has %d", ErrChanged, o.info.Size, s.body.Size), Err: ErrChanged}
	}
	return s.skip()
}

// skip passes over the bytes that the server sent although they were not requested.
func (s *stream) skip() error {
	n := s.at - s.body.Offset
	switch {
	case n == 0:
		return nil
	case n < 0 || n > mostSkipped:
		return &Failure{Msg: fmt.Sprintf("the server sent the bytes from %d on in place of those from %d on", s.body.Offset, s.at),
			Advice: "it does not support Range requests; copy the file to a disk of this machine"}
	}
	buf := make([]byte, 64<<10)
	for n > 0 {
		got, err := s.body.Read(buf[:min(n, int64(len(buf)))])
		n -= int64(got)
		s.watch.progress()
		if err != nil && n > 0 {
			if err == io.EOF {
				return errShort
			}
			return err
		}
	}
	return nil
}

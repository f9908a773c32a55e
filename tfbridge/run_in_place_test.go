package tfbridge

import (
	"context"
	"errors"
	"testing"
	"time"

	"millrace"
)

// A run in place ends with its context where it may loop, and the session and its guards stay
// usable. Where TensorFlow cannot end it, it is listed among the abandoned runs.
func TestInPlace(t *testing.T) {
	b := newBuild(t)
	loop := endless(b)
	p := b.placeholder("p", Float, Shape{})
	y := b.out("Identity", "y", nil, p)
	s := b.session()
	looping, err := s.PrepareRun(nil, []Output{loop}, nil, &RunOptions{Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	simple, err := s.PrepareRun([]Output{p}, []Output{y}, nil, &RunOptions{Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := looping.Run(InPlace(ctx), nil); !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("an endless loop in place: %v", err)
		}
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		got, err := simple.Run(InPlace(ctx), []*Tensor{b.tensor(float32(3))})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		closeAll(got)
	}
	if n := len(blocking); n != 0 || len(s.Abandoned()) != 0 {
		t.Errorf("%d slots are taken, abandoned runs: %v", n, s.Abandoned())
	}
}

// The caller of a run in place that cannot be interrupted gets its result, however late, and the
// run is listed until then.
func TestInPlaceLate(t *testing.T) {
	b := newBuild(t)
	p := b.placeholder("p", Float, Shape{})
	y := b.out("Identity", "y", nil, p)
	s := b.session()
	c, err := s.Prepare([]Output{p}, []Output{y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := c.begin([]*Tensor{b.tensor(float32(3))})
	if err != nil {
		t.Fatal(err)
	}
	out, err := runInPlace(InPlace(ctx), r, func(r *run) ([]*Tensor, error) {
		cancel()
		if !soon(func() bool { return len(s.Abandoned()) == 1 }) {
			t.Error("the run is not listed")
		}
		return r.run()
	}, nil)
	if err != nil || len(out) != 1 || len(s.Abandoned()) != 0 {
		t.Errorf("got %v, %v; abandoned: %v", out, err, s.Abandoned())
	}
	closeAll(out)
}

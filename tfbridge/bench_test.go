package tfbridge

import (
	"context"
	"fmt"
	"testing"

	"millrace/internal/testruntime"
)

func BenchmarkRun(b *testing.B) {
	g := newBuild(b)
	x := g.placeholder("x", Float, MakeShape(-1))
	y := g.out("Identity", "y", nil, x)
	s := g.session()
	in := g.tensor([]float32{1, 2, 3, 4})
	c, err := s.Prepare([]Output{x}, []Output{y}, nil)
	if err != nil {
		b.Fatal(err)
	}
	inline, err := NewSession(g.g, &SessionOptions{InterOpThreads: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer inline.Close()
	d, err := inline.Prepare([]Output{x}, []Output{y}, nil)
	if err != nil {
		b.Fatal(err)
	}
	cancellable, cancel := context.WithCancel(b.Context())
	defer cancel()
	for name, run := range map[string]func() ([]*Tensor, error){
		"way=callable":           func() ([]*Tensor, error) { return c.Run(context.Background(), []*Tensor{in}) },
		"way=inline":             func() ([]*Tensor, error) { return d.Run(context.Background(), []*Tensor{in}) },
		"way=inline_cancellable": func() ([]*Tensor, error) { return d.Run(cancellable, []*Tensor{in}) },
		"way=cancellable":        func() ([]*Tensor, error) { return c.Run(cancellable, []*Tensor{in}) },
		"way=session":            func() ([]*Tensor, error) { return s.Run(map[Output]*Tensor{x: in}, []Output{y}, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out, err := run()
				if err != nil {
					b.Fatal(err)
				}
				out[0].Close()
			}
		})
	}
}

func BenchmarkStrings(b *testing.B) {
	testruntime.Need(b)
	const n = 1_000_000
	for _, size := range []int{8, 64} {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("%0*d", size, i)
		}
		b.Run(fmt.Sprintf("in/size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n * size))
			for b.Loop() {
				x, err := NewStringTensor([]int64{n}, values)
				if err != nil {
					b.Fatal(err)
				}
				x.Close()
			}
		})
		x, err := NewStringTensor([]int64{n}, values)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("out/size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n * size))
			for b.Loop() {
				if _, err := x.Strings(); err != nil {
					b.Fatal(err)
				}
			}
		})
		x.Close()
	}
}

func BenchmarkNewTensor(b *testing.B) {
	testruntime.Need(b)
	flat := make([]float32, 1<<20)
	nested := make([][]float32, 1<<10)
	for i := range nested {
		nested[i] = flat[i<<10 : (i+1)<<10]
	}
	for name, v := range map[string]any{"scalar": float32(1), "flat": flat, "nested": nested} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x, err := NewTensor(v)
				if err != nil {
					b.Fatal(err)
				}
				x.Close()
			}
		})
	}
}

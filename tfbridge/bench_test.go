package tfbridge

import (
	"context"
	"fmt"
	"testing"

	"millrace/internal/test/testruntime"
)

// BenchmarkRun compares the ways to run a trivial graph with a loop in C.
func BenchmarkRun(b *testing.B) {
	g := newBuild(b)
	x := g.placeholder("x", Float, MakeShape(-1))
	y := g.out("Identity", "y", nil, x)
	s := g.session()
	in := []*Tensor{g.tensor([]float32{1, 2, 3, 4})}
	cancellable, cancel := context.WithCancel(b.Context())
	defer cancel()
	loop := func(b *testing.B, run func() error) {
		b.ReportAllocs()
		for b.Loop() {
			if err := run(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, threads := range []string{"pool", "inline"} {
		prepare := func(interrupt bool) *Callable {
			c, err := s.PrepareRun([]Output{x}, []Output{y}, nil, &RunOptions{Inline: threads == "inline", Interrupt: interrupt})
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		c, guarded, out := prepare(false), prepare(true), make([]*Tensor, 1)
		run := func(ctx context.Context, c *Callable) func() error {
			return func() error {
				if err := c.RunInto(ctx, in, out); err != nil {
					return err
				}
				return out[0].Close()
			}
		}
		b.Run(threads+"/way=bare_c", func(b *testing.B) {
			b.ReportAllocs()
			if err := c.runLoop(b.N, in); err != nil {
				b.Fatal(err)
			}
		})
		b.Run(threads+"/way=callable", func(b *testing.B) { loop(b, run(context.Background(), c)) })
		b.Run(threads+"/way=cancellable", func(b *testing.B) { loop(b, run(cancellable, c)) })
		b.Run(threads+"/way=interruptible", func(b *testing.B) { loop(b, run(cancellable, guarded)) })
	}
	b.Run("pool/way=session", func(b *testing.B) {
		feeds, fetches := map[Output]*Tensor{x: in[0]}, []Output{y}
		loop(b, func() error {
			out, err := s.Run(feeds, fetches, nil)
			if err != nil {
				return err
			}
			return out[0].Close()
		})
	})
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

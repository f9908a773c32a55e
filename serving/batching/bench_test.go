package batching_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"millrace/graph"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// width is the length of a row, and depth the number of layers, of the model that
// is measured.
const width, depth = 64, 4

// dense is a model of dense layers in its own graph.
type dense struct {
	alone, batched *tfbridge.Callable // the model itself, and within a BatchFunction
}

// newDense returns the model. Its BatchFunction has the limits of a Batcher without
// options.
func newDense(b *testing.B) *dense {
	b.Helper()
	s := graph.NewScope()
	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1, width))
	weights := make([][]float32, width)
	for i := range weights {
		weights[i] = make([]float32, width)
		weights[i][(i*7)%width] = 0.5
	}
	layers := func(s *graph.Scope, y tfbridge.Output) tfbridge.Output {
		for range depth {
			y = s.Op1("Relu", nil, s.Op1("MatMul", nil, y, s.Const(weights)))
		}
		return y
	}
	f := s.Func("layers", []graph.Spec{{DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, width)}}, nil,
		func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{layers(s, args[0])}
		})
	y := layers(s, x)
	z := s.Op1("BatchFunction", map[string]any{
		"f": f.Attr(), "num_batch_threads": int64(2), "max_batch_size": int64(1000), "batch_timeout_micros": int64(0),
		"max_enqueued_batches": int64(10), "Tin": []tfbridge.DataType{tfbridge.Float}, "Tcaptured": []tfbridge.DataType{}, "Tout": []tfbridge.DataType{tfbridge.Float},
	}, tfbridge.OutputList{x}, tfbridge.OutputList{})
	if err := s.Err(); err != nil {
		b.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { session.Close(); s.Graph().Close() })
	d := &dense{}
	for _, call := range []struct {
		to  **tfbridge.Callable
		out tfbridge.Output
	}{{&d.alone, y}, {&d.batched, z}} {
		if *call.to, err = session.Prepare([]tfbridge.Output{x}, []tfbridge.Output{call.out}, nil); err != nil {
			b.Fatal(err)
		}
	}
	return d
}

func (d *dense) Signatures() map[string]tfbridge.Signature {
	info := tfbridge.TensorInfo{DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, width)}
	return map[string]tfbridge.Signature{graph.DefaultSignature: {
		Inputs: map[string]tfbridge.TensorInfo{"x": info}, Outputs: map[string]tfbridge.TensorInfo{"y": info},
	}}
}

func (d *dense) Call(ctx context.Context, _ string, inputs map[string]any, _ ...string) (map[string]*tfbridge.Tensor, error) {
	out, err := d.alone.Run(ctx, []*tfbridge.Tensor{inputs["x"].(*tfbridge.Tensor)})
	if err != nil {
		return nil, err
	}
	return map[string]*tfbridge.Tensor{"y": out[0]}, nil
}

// BenchmarkPredict compares requests of one row that run alone, in batches made in
// Go, and in batches of TensorFlow's BatchFunction.
func BenchmarkPredict(b *testing.B) {
	d := newDense(b)
	batcher, err := batching.New(d, "", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer batcher.Close()
	ways := []struct {
		name string
		call func(x *tfbridge.Tensor) (*tfbridge.Tensor, error)
	}{
		{"alone", func(x *tfbridge.Tensor) (*tfbridge.Tensor, error) {
			out, err := d.Call(context.Background(), "", map[string]any{"x": x})
			return out["y"], err
		}},
		{"batcher", func(x *tfbridge.Tensor) (*tfbridge.Tensor, error) {
			out, err := batcher.Predict(context.Background(), map[string]any{"x": x})
			return out["y"], err
		}},
		{"batch_function", func(x *tfbridge.Tensor) (*tfbridge.Tensor, error) {
			out, err := d.batched.Run(context.Background(), []*tfbridge.Tensor{x})
			if err != nil {
				return nil, err
			}
			return out[0], nil
		}},
	}
	for _, callers := range []int{1, 16, 256} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("callers=%d/%s", callers, way.name), func(b *testing.B) { measure(b, callers, way.call) })
		}
	}
}

// measure makes b.N calls from a number of goroutines.
func measure(b *testing.B, callers int, call func(x *tfbridge.Tensor) (*tfbridge.Tensor, error)) {
	x, err := tfbridge.NewTensor([1][width]float32{{1, 2, 3}})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	b.ReportAllocs()
	var group sync.WaitGroup
	b.ResetTimer()
	for i := range callers {
		n := (b.N + i) / callers
		group.Go(func() {
			for range n {
				y, err := call(x)
				if err != nil {
					b.Error(err)
					return
				}
				y.Close()
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

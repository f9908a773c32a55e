package tfbridge_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"millrace/tfbridge"
)

func ExampleNewTensor() {
	t, err := tfbridge.NewTensor([][]float32{{1, 2}, {3, 4}})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	fmt.Println(t.DataType(), t.Shape(), t.Value())
	// Output: float32 [2 2] [[1 2] [3 4]]
}

func ExampleView() {
	t, err := tfbridge.NewTensor([]int64{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	v, err := tfbridge.View[int64](t)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v[2])
	// Output: 3
}

func ExampleNewStringTensor() {
	t, err := tfbridge.NewStringTensor([]int64{2}, [][]byte{[]byte("mill"), []byte("race")})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	all, err := t.Strings()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(all)
	// Output: [mill race]
}

func ExampleSession_Run() {
	g := tfbridge.NewGraph()
	defer g.Close()
	x, err := g.AddOperation(tfbridge.OpSpec{
		Type:  "Placeholder",
		Name:  "x",
		Attrs: map[string]any{"dtype": tfbridge.Float},
	})
	if err != nil {
		log.Fatal(err)
	}
	y, err := g.AddOperation(tfbridge.OpSpec{
		Type:  "Square",
		Name:  "y",
		Input: []tfbridge.Input{x.Output(0)},
	})
	if err != nil {
		log.Fatal(err)
	}
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	in, err := tfbridge.NewTensor([]float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	out, err := s.Run(map[tfbridge.Output]*tfbridge.Tensor{x.Output(0): in}, []tfbridge.Output{y.Output(0)}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer out[0].Close()
	fmt.Println(out[0].Value())
	// Output: [1 4 9]
}

func ExampleLoadSavedModel() {
	m, err := tfbridge.LoadSavedModel("../testdata/models/linear", []string{"serve"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	x, err := tfbridge.NewTensor([][]float32{{1, 2, 4}})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	out, err := m.Run(context.Background(), "serving_default", map[string]*tfbridge.Tensor{"x": x})
	if err != nil {
		log.Fatal(err)
	}
	defer out["y"].Close()
	fmt.Println(out["y"].Value())
	// Output: [[6.5 15.5]]
}

// TensorFlow uses the slice in place.
func ExampleNewPinnedTensor() {
	data, err := tfbridge.AlignedSlice[float32](4)
	if err != nil {
		fmt.Println(err)
		return
	}
	released := make(chan struct{})
	t, err := tfbridge.NewPinnedTensor([]int64{2, 2}, data, &tfbridge.PinOptions{Released: func() { close(released) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	data[3] = 1 // no copy was made, so the tensor changes; never write while a run reads
	fmt.Println(t.Value())
	t.Close()
	<-released // the slice may now be reused
	// Output: [[0 0] [0 1]]
}

// A trace of what TensorFlow did, for a viewer of Chrome traces.
func ExampleCallable_RunTraced() {
	g := tfbridge.NewGraph()
	defer g.Close()
	x, err := g.AddOperation(tfbridge.OpSpec{Type: "Placeholder", Name: "x", Attrs: map[string]any{"dtype": tfbridge.Float}})
	if err != nil {
		log.Fatal(err)
	}
	y, err := g.AddOperation(tfbridge.OpSpec{Type: "Square", Name: "y", Input: []tfbridge.Input{x.Output(0)}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	in, err := tfbridge.NewTensor(float32(3))
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	c, err := s.PrepareRun([]tfbridge.Output{x.Output(0)}, []tfbridge.Output{y.Output(0)}, nil, &tfbridge.RunOptions{Trace: tfbridge.FullTrace})
	if err != nil {
		log.Fatal(err)
	}
	out, metadata, err := c.RunTraced(context.Background(), []*tfbridge.Tensor{in})
	if err != nil {
		log.Fatal(err)
	}
	defer out[0].Close()
	for _, d := range metadata.Devices {
		for _, n := range d.Nodes {
			if n.Name == "y" {
				fmt.Println(n.Label)
			}
		}
	}
	if err := metadata.WriteTimeline(io.Discard); err != nil {
		log.Fatal(err)
	}
	// Output: y = Square(_arg_x_0_0)
}

// A run that would wait forever ends with its context, in TensorFlow too.
func ExampleSession_PrepareRun() {
	g := tfbridge.NewGraph()
	defer g.Close()
	types := map[string]any{"component_types": []tfbridge.DataType{tfbridge.Float}}
	queue, err := g.AddOperation(tfbridge.OpSpec{Type: "FIFOQueueV2", Name: "queue", Attrs: types})
	if err != nil {
		log.Fatal(err)
	}
	next, err := g.AddOperation(tfbridge.OpSpec{Type: "QueueDequeueV2", Name: "next", Attrs: types, Input: []tfbridge.Input{queue.Output(0)}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c, err := s.PrepareRun(nil, []tfbridge.Output{next.Output(0)}, nil, &tfbridge.RunOptions{Interrupt: true})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = c.Run(ctx, nil)
	fmt.Println(err)
	// Output: run that may have waited at "queue" (FIFOQueueV2) canceled: context deadline exceeded
}

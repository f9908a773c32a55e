package tfbridge_test

import (
	"context"
	"fmt"
	"log"

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

// A slice that TensorFlow uses where it is.
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
	data[3] = 1 // no copy was made, so this shows; never write while a run reads
	fmt.Println(t.Value())
	t.Close()
	<-released // from here on the slice is free for other values
	// Output: [[0 0] [0 1]]
}

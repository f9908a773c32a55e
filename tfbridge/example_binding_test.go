package tfbridge_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// input adds an input of a graph.
func input(g *tfbridge.Graph, name string) tfbridge.Output {
	op, err := g.AddOperation(tfbridge.OpSpec{Type: "Placeholder", Name: name, Attrs: map[string]any{"dtype": tfbridge.Float}})
	if err != nil {
		log.Fatal(err)
	}
	return op.Output(0)
}

// apply adds an operation.
func apply(g *tfbridge.Graph, typ string, in ...tfbridge.Input) tfbridge.Output {
	op, err := g.AddOperation(tfbridge.OpSpec{Type: typ, Input: in})
	if err != nil {
		log.Fatal(err)
	}
	return op.Output(0)
}

func ExampleGraph_AddGradients() {
	g := tfbridge.NewGraph()
	defer g.Close()
	x := input(g, "x")
	y := apply(g, "Square", x)
	dx, err := g.AddGradients("", []tfbridge.Output{y}, []tfbridge.Output{x}, nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	three, err := tfbridge.NewTensor(float32(3))
	if err != nil {
		log.Fatal(err)
	}
	defer three.Close()
	out, err := s.Run(map[tfbridge.Output]*tfbridge.Tensor{x: three}, dx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer out[0].Close()
	fmt.Println("the derivative of x*x at 3 is", out[0].Value())
	// Output: the derivative of x*x at 3 is 6
}

func ExampleSession_NewPartialRun() {
	g := tfbridge.NewGraph()
	defer g.Close()
	a, b := input(g, "a"), input(g, "b")
	square := apply(g, "Square", a)
	sum := apply(g, "AddV2", square, b)
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	run, err := s.NewPartialRun([]tfbridge.Output{a, b}, []tfbridge.Output{square, sum}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()
	step := func(in tfbridge.Output, value float32, fetch tfbridge.Output) any {
		t, err := tfbridge.NewTensor(value)
		if err != nil {
			log.Fatal(err)
		}
		defer t.Close()
		out, err := run.Run(map[tfbridge.Output]*tfbridge.Tensor{in: t}, []tfbridge.Output{fetch}, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer out[0].Close()
		return out[0].Value()
	}
	first := step(a, 3, square)
	// A feed may depend on earlier results; the square is not computed again.
	fmt.Println(first, step(b, first.(float32)+1, sum))
	// Output: 9 19
}

func ExampleTensor_Reshape() {
	t, err := tfbridge.NewTensor([]int32{1, 2, 3, 4, 5, 6})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	if err := t.Reshape([]int64{2, 3}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Value())
	// Output: [[1 2 3] [4 5 6]]
}

func ExampleReadTensor() {
	t, err := tfbridge.NewTensor([]int16{1, 2})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	var file bytes.Buffer
	if _, err := t.WriteContentsTo(&file); err != nil {
		log.Fatal(err)
	}
	back, err := tfbridge.ReadTensor(t.DataType(), t.Shape(), &file)
	if err != nil {
		log.Fatal(err)
	}
	defer back.Close()
	fmt.Println(back.Value())
	// Output: [1 2]
}

func ExampleNewTensorHandle() {
	c, err := tfbridge.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	devices, err := c.ListDevices()
	if err != nil {
		log.Fatal(err)
	}
	t, err := tfbridge.NewTensor([]float32{1, 2})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	th, err := tfbridge.NewTensorHandle(t)
	if err != nil {
		log.Fatal(err)
	}
	defer th.Close()
	onDevice, err := th.CopyToDevice(c, devices[0].Name)
	if err != nil {
		log.Fatal(err)
	}
	defer onDevice.Close()
	name, err := onDevice.BackingDeviceName()
	if err != nil {
		log.Fatal(err)
	}
	back, err := onDevice.ToTensor()
	if err != nil {
		log.Fatal(err)
	}
	defer back.Close()
	fmt.Println(name, back.Value())
	// Output: /job:localhost/replica:0/task:0/device:CPU:0 [1 2]
}

func ExampleGraph_ImportWithOptions() {
	model := tfbridge.NewGraph()
	defer model.Close()
	apply(model, "Square", input(model, "x"))
	var def bytes.Buffer
	if _, err := model.WriteTo(&def); err != nil {
		log.Fatal(err)
	}

	g := tfbridge.NewGraph()
	defer g.Close()
	o := tfbridge.GraphImportOptions{Prefix: "model"}
	o.AddInputMapping("x", 0, apply(g, "Abs", input(g, "mine")))
	if err := g.ImportWithOptions(def.Bytes(), o); err != nil {
		log.Fatal(err)
	}
	for _, in := range g.Operation("model/Square").Inputs() {
		fmt.Println(in)
	}
	// Output: Abs:0
}

func ExampleOutput_Consumers() {
	g := tfbridge.NewGraph()
	defer g.Close()
	x := input(g, "x")
	apply(g, "Neg", x)
	for _, c := range x.Consumers() {
		fmt.Println(c.Op.Name(), "takes", c.Producer(), "as input", c.Index)
	}
	// Output: Neg takes x:0 as input 0
}

func ExampleOperation_Attr() {
	g := tfbridge.NewGraph()
	defer g.Close()
	op, err := g.AddOperation(tfbridge.OpSpec{Type: "Placeholder", Name: "x", Attrs: map[string]any{
		"dtype": tfbridge.Float, "shape": tfbridge.MakeShape(-1, 3),
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"dtype", "shape"} {
		value, err := op.Attr(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, value)
	}
	// Output:
	// dtype float32
	// shape [?, 3]
}

func ExampleTypeOf() {
	fmt.Println(tfbridge.TypeOf(tfbridge.Double, []int64{2, 3}))
	// Output: [][]float64
}

func ExampleMakeShape() {
	fmt.Println(tfbridge.MakeShape(-1, 3), tfbridge.ScalarShape(), tfbridge.Shape{})
	// Output: [?, 3] [] ?
}

func ExampleDevice_String() {
	d := tfbridge.Device{Name: "/device:CPU:0", Type: "CPU", MemoryLimitBytes: -1}
	fmt.Println(d)
	// Output: (Device: name "/device:CPU:0", type CPU, no memory limit)
}

func ExampleSession_ListDevices() {
	g := tfbridge.NewGraph()
	defer g.Close()
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	devices, err := s.ListDevices()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(devices[0].Type, strings.HasSuffix(devices[0].Name, "CPU:0"))
	// Output: CPU true
}

func ExampleSignatureFromProto() {
	s, err := tfbridge.SignatureFromProto(&tfproto.SignatureDef{
		Inputs: map[string]*tfproto.TensorInfo{
			"x": {Encoding: &tfproto.TensorInfo_Name{Name: "x:0"}, Dtype: tfproto.DataType_DT_FLOAT, TensorShape: &tfproto.TensorShapeProto{UnknownRank: true}},
		},
		MethodName: "predict",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.MethodName, s.Inputs["x"])
	// Output: predict {x:0 float32 ?}
}

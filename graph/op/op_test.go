package op_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/op"
	tf "millrace/tfbridge"
)

func TestScopeNames(t *testing.T) {
	root := newScope(t)
	first, second := root.SubScope("x"), root.SubScope("x")
	tests := []struct {
		scope *op.Scope
		want  string
	}{
		{root, "Const"},
		{first, "x/Const"},
		{first.SubScope("y"), "x/y/Const"},
		{second, "x_1/Const"},
		{second.SubScope("y"), "x_1/y/Const"},
	}
	for _, tt := range tests {
		if got := op.Const(tt.scope, int64(1)).Op.Name(); got != tt.want {
			t.Errorf("name\n got %s\nwant %s", got, tt.want)
		}
	}
}

func TestErrorReachesAllScopes(t *testing.T) {
	root := newScope(t)
	sub := root.SubScope("x")
	op.Const(root, struct{}{})
	if root.Err() == nil || sub.Err() != root.Err() {
		t.Errorf("errors of scope and subscope\n got %v, %v\nwant the same", root.Err(), sub.Err())
	}
	ops := len(root.Graph().Operations())
	if o := op.Placeholder(sub, tf.Float); o != (tf.Output{}) || len(root.Graph().Operations()) != ops {
		t.Errorf("after a failure %v was added", o)
	}
	if list := op.Split(sub, tf.Output{}, tf.Output{}, 2); !slices.Equal(list, make([]tf.Output, 2)) {
		t.Errorf("after a failure the list %v, want two zero Outputs", list)
	}
}

func TestFinalizedScope(t *testing.T) {
	root := newScope(t)
	sub := root.SubScope("x")
	g, err := sub.Finalize()
	if err != nil || g != root.Graph() {
		t.Fatalf("Finalize: %v, %v", g, err)
	}
	if root.Err() == nil || sub.Err() == nil || sub.SubScope("y").Err() == nil {
		t.Error("a scope of a finalized graph has no error")
	}
	again := op.NewScopeWithGraph(g)
	if op.Const(again.SubScope("more"), "world"); again.Err() != nil {
		t.Error(again.Err())
	}
}

func TestControlDependencies(t *testing.T) {
	s := newScope(t)
	variable := op.VarHandleOp(s, tf.Int32, tf.ScalarShape())
	init := op.AssignVariableOp(s, variable, op.Const(s, int32(0)))
	after := []*tf.Operation{op.AssignAddVariableOp(s, variable, op.Const(s, int32(1)))}
	counted := s.WithControlDependencies(after...)
	after[0] = init // this change must not reach the scope
	read := op.ReadVariableOp(counted, variable, tf.Int32)
	sess := session(t, s)
	do(t, sess, init)
	for i := range int32(10) {
		if diff := cmp.Diff([]any{i + 1}, values(t, sess, read)); diff != "" {
			t.Errorf("run %d (-want +got)\n%s", i, diff)
		}
	}
}

func TestDevice(t *testing.T) {
	s := newScope(t)
	x := op.Const(s, [][]float32{{3}})
	placed := s.WithDevice("/device:GPU:0")
	got := []string{op.Square(placed, x).Op.Device(), op.Square(placed.WithDevice(""), x).Op.Device()}
	if diff := cmp.Diff([]string{"/device:GPU:0", ""}, got); diff != "" {
		t.Errorf("devices (-want +got)\n%s", diff)
	}
}

func TestPlaceholderShapes(t *testing.T) {
	s := newScope(t)
	for _, shape := range []tf.Shape{tf.MakeShape(-1, 10), tf.ScalarShape(), {}} {
		if got := op.Placeholder(s, tf.Float, op.PlaceholderShape(shape)).Shape(); got.String() != shape.String() {
			t.Errorf("shape\n got %v\nwant %v", got, shape)
		}
	}
	if got := op.Placeholder(s, tf.Float).Shape().NumDimensions(); got != -1 {
		t.Errorf("without a shape: %d dimensions", got)
	}
}

func TestWrongTypeIsAnError(t *testing.T) {
	s := newScope(t)
	resize := op.ResizeArea(s, op.Placeholder(s, tf.Float), op.Const(s, []int64{80, 80}))
	if err := s.Err(); !errors.Is(err, tf.InvalidArgument) || !strings.Contains(err.Error(), "ResizeArea") {
		t.Errorf("sizes as int64\n got %v\nwant an invalid argument", err)
	}
	if resize != (tf.Output{}) {
		t.Errorf("the failure gave %v", resize)
	}
}

func TestIterator(t *testing.T) {
	s := newScope(t)
	c := op.Const(s, []int32{21718, 31415})
	types, shapes := []tf.DataType{c.DataType()}, []tf.Shape{c.Shape()}
	iterator := op.Iterator(s, "", "", types, shapes)
	next := op.IteratorGetNext(s, iterator, types, shapes)
	init := op.MakeIterator(s, op.TensorDataset(s, []tf.Output{c}, shapes), iterator)
	sess := session(t, s)
	do(t, sess, init)
	if diff := cmp.Diff([]any{[]int32{21718, 31415}}, values(t, sess, next...)); diff != "" {
		t.Errorf("element (-want +got)\n%s", diff)
	}
	if _, err := sess.Run(nil, next, nil); !errors.Is(err, tf.OutOfRange) {
		t.Errorf("after the last element\n got %v\nwant out of range", err)
	}
}

// A list among the results does not shift those that follow.
func TestListThenSingleResult(t *testing.T) {
	s := newScope(t)
	splits, flat := op.Const(s, []int64{0, 2, 3}), op.Const(s, []int32{7, 8, 9})
	nested, dense := op.RaggedGather(s, []tf.Output{splits}, flat, op.Const(s, []int64{1, 0}), 1)
	want := []any{[]int64{0, 1, 3}, []int32{9, 7, 8}}
	if diff := cmp.Diff(want, values(t, session(t, s), nested[0], dense)); diff != "" || len(nested) != 1 {
		t.Errorf("%d lists of splits (-want +got)\n%s", len(nested), diff)
	}
}

func TestReferences(t *testing.T) {
	s := newScope(t)
	v := op.VariableV2(s, tf.ScalarShape(), tf.Float)
	assign := op.Assign(s, v, op.Const(s, float32(2)))
	doubled := op.Mul(s.WithControlDependencies(assign.Op), v, op.Const(s, float32(2)))
	if diff := cmp.Diff([]any{float32(4)}, values(t, session(t, s), doubled)); diff != "" {
		t.Errorf("variable (-want +got)\n%s", diff)
	}
}

func TestFunctionAttributes(t *testing.T) {
	s := newScope(t)
	in := []graph.Spec{{DType: tf.Int32, Shape: tf.ScalarShape()}}
	ten := op.Const(s, int32(10))
	times := func(name string) *graph.Func {
		return s.Func(name, in, nil, func(s *op.Scope, args, _ []tf.Output) []tf.Output {
			return []tf.Output{op.Mul(s, args[0], ten)}
		})
	}
	f, g := times("f"), times("g")
	five := op.Const(s, int32(5))
	args := append([]tf.Output{five}, f.Captures...)
	types := graph.DTypes(f.Out)
	called := op.PartitionedCall(s, args, types, f.Attr())
	chosen := op.StatelessCase(s, op.Const(s, int32(1)), args, types, []tf.FuncName{f.Attr(), g.Attr()})
	mapped := op.MapDataset(s, op.TensorSliceDataset(s, []tf.Output{op.Const(s, []int32{1, 2})}, graph.Shapes(in)),
		f.Captures, f.Attr(), types, graph.Shapes(f.Out))
	first := op.DatasetToSingleElement(s, op.TakeDataset(s, mapped, op.Const(s, int64(1)), types, graph.Shapes(f.Out)), types, graph.Shapes(f.Out))
	want := []any{int32(50), int32(50), int32(10)}
	if diff := cmp.Diff(want, values(t, session(t, s), called[0], chosen[0], first[0])); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
}

// The zero value of an option has no effect.
func TestZeroOption(t *testing.T) {
	s := newScope(t)
	x := op.Const(s, [][]float32{{1, 2}})
	product := op.MatMul(s, x, x, op.MatMulAttr{}, op.MatMulTransposeB(true))
	if diff := cmp.Diff([]any{[][]float32{{5}}}, values(t, session(t, s), product)); diff != "" {
		t.Errorf("product (-want +got)\n%s", diff)
	}
}

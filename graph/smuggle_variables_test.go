package graph_test

import (
	"fmt"

	"millrace/internal/base/tfproto"
)

// trains1 makes a variable of strings, named name, and has handle trained as numbers after it is assigned.
func (s *smuggled) trains1(assigned, handle string) {
	s.op("assigned", "AssignVariableOp", in(assigned, "x"), "dtype", str)
	s.op("evil", "ResourceApplyGradientDescent", in(handle, "one", "one", "^assigned"), "T", f32)
	s.output("^evil")
}

// generator makes a state of a declared length, the inputs of RngReadAndSkip.
func (s *smuggled) generator(declared int64) {
	s.op("state", "VarHandleOp", nil, "dtype", i64, "shape", dims{declared}, "shared_name", "state")
	s.numbers("algorithm", dims{}, 1)
	s.op("delta", "Const", nil, "dtype", tfproto.DataType_DT_UINT64, "value",
		&tfproto.TensorProto{Dtype: tfproto.DataType_DT_UINT64, TensorShape: &tfproto.TensorShapeProto{}, Uint64Val: []uint64{4}})
	s.longs("long_value", dims{1000}, 1)
	s.hidden("long", "long_value", i64)
}

// grown gives a tensor many dimensions, one after the other.
func grown(n int) func(s *smuggled) {
	return func(s *smuggled) {
		s.numbers("zero", dims{}, 0)
		s.floats("e", dims{}, 1)
		s.hidden("e0", "e", f32)
		for i := range n {
			s.op(fmt.Sprint("e", i+1), "ExpandDims", in(fmt.Sprint("e", i), "zero"), "T", f32, "Tdim", i32)
		}
		s.run(fmt.Sprint("e", n), f32)
	}
}

// swapping makes a loop whose body trains its first variable, and returns its two in the other order.
func swapping(s *smuggled) {
	s.floats("one", dims{}, 1)
	s.op("a", "VarHandleOp", nil, "dtype", f32, "shape", dims{}, "shared_name", "a")
	s.op("b", "VarHandleOp", nil, "dtype", str, "shape", dims{}, "shared_name", "b")
	s.op("set_a", "AssignVariableOp", in("a", "one"), "dtype", f32)
	s.op("set_b", "AssignVariableOp", in("b", "x"), "dtype", str)
	cond := s.function("cond", []string{"i", "a", "b"}, longNode("n", 4), opNode("less", "Less", in("i", "n:output:0"), "T", i64))
	body := s.function("body", []string{"i", "a", "b"}, longNode("one", 1), opNode("next", "AddV2", in("i", "one:output:0"), "T", i64),
		opNode("step", "Cast", in("i"), "SrcT", i64, "DstT", f32), opNode("t", "ResourceApplyGradientDescent", in("a", "step:y:0", "step:y:0"), "T", f32))
	for _, f := range []*tfproto.FunctionDef{cond, body} {
		f.Signature.InputArg[0].Type, f.Signature.InputArg[1].Type, f.Signature.InputArg[2].Type = i64, resource, resource
	}
	cond.Signature.OutputArg[0].Type, cond.Ret["out"] = boolean, "less:z:0"
	body.Signature.OutputArg[0].Type = i64
	body.Signature.OutputArg = append(body.Signature.OutputArg, &tfproto.OpDef_ArgDef{Name: "first", Type: resource}, &tfproto.OpDef_ArgDef{Name: "second", Type: resource})
	body.Ret["out"], body.Ret["first"], body.Ret["second"] = "next:z:0", "b", "a"
	s.longs("zero", dims{}, 0)
	s.op("loop", "While", in("zero", "a", "b", "^set_a", "^set_b"), "T", []tfproto.DataType{i64, resource, resource}, "cond", fn("cond"), "body", fn("body"), "output_shapes", list{{}, {}, {}})
	s.run("loop", i64)
}

// ofHandles makes an operation of two handles whose output is read as one.
func ofHandles(op string, inputs []string, attrs ...any) func(s *smuggled) {
	return func(s *smuggled) {
		s.numbers("zero", dims{1}, 0)
		s.numbers("ones", dims{2}, 1, 1)
		s.op("v", "VarHandleOp", nil, "dtype", f32, "shape", dims{}, "shared_name", "v")
		s.op("evil", op, inputs, append(attrs, "T", resource)...)
		s.op("read", "ReadVariableOp", in("evil"), "dtype", f32)
		s.run("read", f32)
	}
}

// variableTricks are about what a variable is, and about how many dimensions a tensor has.
var variableTricks = []trick{
	failed(trick{"a variable of numbers and one of strings have the same name", "", func(s *smuggled) {
		s.floats("one", dims{}, 1)
		s.op("strings", "VarHandleOp", nil, "dtype", str, "shape", dims{}, "shared_name", "v")
		s.op("numbers", "VarHandleOp", nil, "dtype", f32, "shape", dims{}, "shared_name", "v")
		s.trains1("strings", "numbers")
	}}),
	failed(trick{"a variable of numbers and one of strings have no name", "", func(s *smuggled) {
		s.floats("one", dims{}, 1)
		s.op("strings", "VarHandleOp", nil, "dtype", str, "shape", dims{})
		s.op("numbers", "VarHandleOp", nil, "dtype", f32, "shape", dims{})
		s.trains1("strings", "numbers")
	}}),
	failed(trick{"a variable of numbers is assigned a string by a handle that takes a way that only a run knows", "", func(s *smuggled) {
		s.floats("one", dims{}, 1)
		s.op("v", "VarHandleOp", nil, "dtype", f32, "shape", dims{}, "shared_name", "v")
		s.hidden("way", "v", resource)
		s.trains1("way", "v")
	}}),
	{"a loop exchanges a variable of numbers and one of strings", returnsError, swapping},
	{"the state of a random generator has a thousand numbers", returnsError, func(s *smuggled) {
		s.generator(3)
		s.op("assigned", "AssignVariableOp", in("state", "long"), "dtype", i64)
		s.op("evil", "RngReadAndSkip", in("state", "algorithm", "delta", "^assigned"))
		s.run("evil", i64)
	}},
	{"the state of a random generator is declared with a thousand numbers", returnsError, func(s *smuggled) {
		s.generator(1000)
		s.op("assigned", "AssignVariableOp", in("state", "long"), "dtype", i64)
		s.op("evil", "RngReadAndSkip", in("state", "algorithm", "delta", "^assigned"))
		s.run("evil", i64)
	}},
	{"another variable with the name of a generator's state has a thousand numbers", returnsError, func(s *smuggled) {
		s.generator(3)
		s.op("other", "VarHandleOp", nil, "dtype", i64, "shape", dims{1000}, "shared_name", "state")
		s.op("assigned", "AssignVariableOp", in("other", "long"), "dtype", i64)
		s.op("evil", "RngReadAndSkip", in("state", "algorithm", "delta", "^assigned"))
		s.run("evil", i64)
	}},
	{"the state of a random generator takes a way that only a run knows", returnsError, func(s *smuggled) {
		s.generator(3)
		s.op("other", "VarHandleOp", nil, "dtype", i64, "shape", dims{1000}, "shared_name", "other")
		s.op("assigned", "AssignVariableOp", in("other", "long"), "dtype", i64)
		s.hidden("way", "other", resource)
		s.op("evil", "RngReadAndSkip", in("way", "algorithm", "delta", "^assigned"))
		s.run("evil", i64)
	}},
	{"a function assigns a thousand numbers to the state of a random generator", returnsError, func(s *smuggled) {
		s.generator(3)
		f := s.function("set", []string{"v", "n"}, opNode("w", "AssignVariableOp", in("v", "n"), "dtype", i64), opNode("i", "Identity", in("n", "^w"), "T", i64))
		f.Signature.InputArg[0].Type, f.Signature.InputArg[1].Type, f.Signature.OutputArg[0].Type, f.Ret["out"] = resource, i64, i64, "i:output:0"
		s.op("assigned", "StatefulPartitionedCall", in("state", "long"), "Tin", []tfproto.DataType{resource, i64}, "Tout", []tfproto.DataType{i64}, "f", fn("set"))
		s.op("evil", "RngReadAndSkip", in("state", "algorithm", "delta", "^assigned"))
		s.run("evil", i64)
	}},
	{"a tensor gets 255 dimensions one after the other", returnsError, grown(255)},
	failing("a tensor is filled with 255 dimensions", "Fill", f32, func(s *smuggled) []string {
		s.numbers("many", dims{255}, 1)
		s.floats("f", dims{}, 1)
		return in("many", "f")
	}, "T", f32, "index_type", i32),
	refused("a constant is read into a shape attribute of 65 dimensions", "Placeholder", f32, nil, "dtype", f32, "shape", make(dims, 65)),
	{"handles are packed, and none of them is taken", "", ofHandles("Pack", in("v", "v"), "N", 2)},
	{"a handle is repeated no time", "", ofHandles("Fill", in("zero", "v"), "index_type", i32)},
	{"a partition has no handle", "", ofHandles("DynamicPartition", in("v", "zero"), "num_partitions", 2)},
}

package graph_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

func TestOps(t *testing.T) {
	type out = tfbridge.Output
	tests := []struct {
		name  string
		build func(s *graph.Scope) out
		want  any
		spec  string
	}{
		{"Const", func(s *graph.Scope) out { return s.Const([][]int32{{1, 2}}) }, [][]int32{{1, 2}}, "int32[1, 2]"},
		{"Const of a tensor", func(s *graph.Scope) out { return s.Const(tensor(t, "x")) }, "x", "string[]"},
		{"Const empty", func(s *graph.Scope) out { return s.Const([]string{}) }, []string{}, "string[0]"},
		{"Zeros", func(s *graph.Scope) out { return s.Zeros(tfbridge.Half, 2) }, nil, "float16[2]"},
		{"Zeros of strings", func(s *graph.Scope) out { return s.Zeros(tfbridge.String, 1, 2) }, [][]string{{"", ""}}, "string[1, 2]"},
		{"Zeros scalar", func(s *graph.Scope) out { return s.Zeros(tfbridge.Bool) }, false, "bool[]"},
		{"ZerosLike", func(s *graph.Scope) out { return graph.ZerosLike(s, s.Const([]int64{5})) }, []int64{0}, "int64[1]"},
		{"Identity", func(s *graph.Scope) out { return graph.Identity(s, s.Const(1.5)) }, 1.5, "float64[]"},
		{"Fill", func(s *graph.Scope) out { return graph.Fill(s, s.Const([]int64{2}), s.Const("x")) }, []string{"x", "x"}, "string[2]"},
		{"Range", func(s *graph.Scope) out {
			return graph.Range(s, s.Const(int64(1)), s.Const(int64(6)), s.Const(int64(2)))
		}, []int64{1, 3, 5}, "int64[3]"},
		{"Cast truncates", func(s *graph.Scope) out { return graph.Cast(s, s.Const([]float32{1.9, -1.9}), tfbridge.Int32) }, []int32{1, -1}, "int32[2]"},
		{"Cast wraps", func(s *graph.Scope) out { return graph.Cast(s, s.Const(int64(257)), tfbridge.Uint8) }, uint8(1), "uint8[]"},
		{"Bitcast", func(s *graph.Scope) out { return graph.Bitcast(s, s.Const([]int32{-1}), tfbridge.Uint32) }, []uint32{math.MaxUint32}, "uint32[1]"},
		{"DecodeRaw", func(s *graph.Scope) out {
			return graph.DecodeRaw(s, s.Const([]string{"\x01\x02\x03\x04"}), tfbridge.Int16, nil)
		}, [][]int16{{0x201, 0x403}}, "int16[1, ?]"},
		{"DecodeRaw big-endian", func(s *graph.Scope) out {
			return graph.DecodeRaw(s, s.Const("\x01\x02"), tfbridge.Int16, &graph.DecodeRawOptions{BigEndian: true})
		}, []int16{0x102}, "int16[?]"},
		{"Shape", func(s *graph.Scope) out { return graph.Shape(s, s.Zeros(tfbridge.Int32, 2, 3)) }, []int64{2, 3}, "int64[2]"},
		{"Size", func(s *graph.Scope) out { return graph.Size(s, s.Zeros(tfbridge.Int32, 2, 3)) }, int64(6), "int64[]"},
		{"Rank", func(s *graph.Scope) out { return graph.Rank(s, s.Zeros(tfbridge.Int32, 2, 3)) }, int32(2), "int32[]"},
		{"Reshape", func(s *graph.Scope) out {
			return graph.Reshape(s, s.Const([]int32{1, 2, 3, 4}), s.Const([]int64{-1, 2}))
		}, [][]int32{{1, 2}, {3, 4}}, "int32[2, 2]"},
		{"EnsureShape", func(s *graph.Scope) out {
			return graph.EnsureShape(s, graph.DecodeRaw(s, s.Const("ab"), tfbridge.Uint8, nil), tfbridge.MakeShape(2))
		}, []uint8("ab"), "uint8[2]"},
		{"ExpandDims", func(s *graph.Scope) out { return graph.ExpandDims(s, s.Const([]int32{1, 2}), -1) }, [][]int32{{1}, {2}}, "int32[2, 1]"},
		{"Squeeze all", func(s *graph.Scope) out { return graph.Squeeze(s, s.Const([][]int32{{1}})) }, int32(1), "int32[]"},
		{"Squeeze one", func(s *graph.Scope) out { return graph.Squeeze(s, s.Const([][]int32{{1}}), 1) }, []int32{1}, "int32[1]"},
		{"BroadcastTo", func(s *graph.Scope) out { return graph.BroadcastTo(s, s.Const(int32(7)), s.Const([]int64{2})) }, []int32{7, 7}, "int32[2]"},
		{"ConcatV2", func(s *graph.Scope) out {
			return graph.ConcatV2(s, []out{s.Const([]int32{1}), s.Const([]int32{2, 3})}, 0)
		}, []int32{1, 2, 3}, "int32[3]"},
		{"ConcatV2 of one", func(s *graph.Scope) out { return graph.ConcatV2(s, []out{s.Const([]int32{1})}, 0) }, []int32{1}, "int32[1]"},
		{"Pack", func(s *graph.Scope) out {
			return graph.Pack(s, []out{s.Const([]int32{1, 2}), s.Const([]int32{3, 4})}, 1)
		}, [][]int32{{1, 3}, {2, 4}}, "int32[2, 2]"},
		{"Unpack", func(s *graph.Scope) out { return graph.Unpack(s, s.Const([][]int32{{1, 2}, {3, 4}}), 2, 0)[1] }, []int32{3, 4}, "int32[2]"},
		{"PadV2", func(s *graph.Scope) out {
			return graph.PadV2(s, s.Const([]int32{1}), s.Const([][]int64{{1, 2}}), s.Const(int32(9)))
		}, []int32{9, 1, 9, 9}, "int32[4]"},
		{"GatherV2", func(s *graph.Scope) out {
			return graph.GatherV2(s, s.Const([][]int32{{1, 2}, {3, 4}}), s.Const([]int32{1, 0}), 1)
		}, [][]int32{{2, 1}, {4, 3}}, "int32[2, 2]"},
		{"Max", func(s *graph.Scope) out { return graph.Max(s, s.Const([][]int32{{1, 2}, {3, 0}}), s.Const(int32(1))) }, []int32{2, 3}, "int32[2]"},
		{"Min", func(s *graph.Scope) out { return graph.Min(s, s.Const([][]int32{{1, 2}, {3, 0}}), s.Const(int32(0))) }, []int32{1, 0}, "int32[2]"},
		{"Cumsum", func(s *graph.Scope) out { return graph.Cumsum(s, s.Const([]int64{3, 1, 2}), 0) }, []int64{3, 4, 6}, "int64[3]"},
		{"Cumprod", func(s *graph.Scope) out { return graph.Cumprod(s, s.Const([]int64{3, 0, 2}), 0) }, []int64{3, 0, 0}, "int64[3]"},
		{"PlaceholderWithDefault", func(s *graph.Scope) out {
			return graph.PlaceholderWithDefault(s, s.Const([]int64{3}), tfbridge.MakeShape(-1))
		}, []int64{3}, "int64[?]"},
		{"Rows", func(s *graph.Scope) out {
			return graph.Rows(s, s.Const([][]int32{{1}, {2}, {3}}), s.Const(int64(1)), s.Const(int64(2)))
		}, [][]int32{{2}}, "int32[1, 1]"},
		{"RowsFrom", func(s *graph.Scope) out {
			return graph.RowsFrom(s, s.Const([]int32{1, 2, 3}), s.Const(int64(1)))
		}, []int32{2, 3}, "int32[2]"},
		{"Slice", func(s *graph.Scope) out {
			return graph.Slice(s, s.Const([]int32{1, 2, 3}), s.Const([]int64{1}), s.Const([]int64{-1}))
		}, []int32{2, 3}, "int32[2]"},
		{"StridedSlice", func(s *graph.Scope) out {
			return graph.StridedSlice(s, s.Const([]int32{1, 2, 3, 4}), s.Const([]int32{0}), s.Const([]int32{4}), s.Const([]int32{2}), nil)
		}, []int32{1, 3}, "int32[2]"},
		{"Add", func(s *graph.Scope) out { return graph.Add(s, s.Const([]int32{1, 2}), s.Const(int32(1))) }, []int32{2, 3}, "int32[2]"},
		{"Sub", func(s *graph.Scope) out { return graph.Sub(s, s.Const(int32(1)), s.Const(int32(3))) }, int32(-2), "int32[]"},
		{"Mul", func(s *graph.Scope) out { return graph.Mul(s, s.Const(int32(2)), s.Const(int32(3))) }, int32(6), "int32[]"},
		{"FloorDiv", func(s *graph.Scope) out { return graph.FloorDiv(s, s.Const(int32(-7)), s.Const(int32(2))) }, int32(-4), "int32[]"},
		{"FloorMod", func(s *graph.Scope) out { return graph.FloorMod(s, s.Const(int32(-7)), s.Const(int32(3))) }, int32(2), "int32[]"},
		{"Minimum", func(s *graph.Scope) out { return graph.Minimum(s, s.Const(int32(1)), s.Const(int32(3))) }, int32(1), "int32[]"},
		{"Maximum", func(s *graph.Scope) out { return graph.Maximum(s, s.Const(int32(1)), s.Const(int32(3))) }, int32(3), "int32[]"},
		{"Sum", func(s *graph.Scope) out { return graph.Sum(s, s.Const([][]int32{{1, 2}, {3, 4}}), s.Const(int32(0))) }, []int32{4, 6}, "int32[2]"},
		{"ReduceSum", func(s *graph.Scope) out { return graph.ReduceSum(s, s.Const([][]int32{{1, 2}, {3, 4}})) }, int32(10), "int32[]"},
		{"ReduceSum of unknown rank", func(s *graph.Scope) out {
			x := s.Op1("PlaceholderWithDefault", map[string]any{"shape": tfbridge.Shape{}}, s.Const([]int32{1, 2}))
			return graph.ReduceSum(s, x)
		}, int32(3), "int32[...]"},
		{"Equal", func(s *graph.Scope) out { return graph.Equal(s, s.Const([]string{"a", "b"}), s.Const("a")) }, []bool{true, false}, "bool[2]"},
		{"NotEqual", func(s *graph.Scope) out { return graph.NotEqual(s, s.Const(int32(1)), s.Const(int32(1))) }, false, "bool[]"},
		{"Less", func(s *graph.Scope) out { return graph.Less(s, s.Const(int32(1)), s.Const(int32(1))) }, false, "bool[]"},
		{"LessEqual", func(s *graph.Scope) out { return graph.LessEqual(s, s.Const(int32(1)), s.Const(int32(1))) }, true, "bool[]"},
		{"Greater", func(s *graph.Scope) out { return graph.Greater(s, s.Const(int32(2)), s.Const(int32(1))) }, true, "bool[]"},
		{"GreaterEqual", func(s *graph.Scope) out { return graph.GreaterEqual(s, s.Const(int32(0)), s.Const(int32(1))) }, false, "bool[]"},
		{"LogicalAnd", func(s *graph.Scope) out { return graph.LogicalAnd(s, s.Const(true), s.Const([]bool{true, false})) }, []bool{true, false}, "bool[2]"},
		{"LogicalOr", func(s *graph.Scope) out { return graph.LogicalOr(s, s.Const(true), s.Const(false)) }, true, "bool[]"},
		{"LogicalNot", func(s *graph.Scope) out { return graph.LogicalNot(s, s.Const(true)) }, false, "bool[]"},
		{"IsFinite", func(s *graph.Scope) out {
			return graph.IsFinite(s, s.Const([]float32{1, float32(math.Inf(1)), float32(math.NaN())}))
		}, []bool{true, false, false}, "bool[3]"},
		{"All", func(s *graph.Scope) out {
			return graph.All(s, s.Const([][]bool{{true, false}, {true, true}}), s.Const([]int32{1}))
		}, []bool{false, true}, "bool[2]"},
		{"ReduceAll", func(s *graph.Scope) out { return graph.ReduceAll(s, s.Const([][]bool{{true, false}})) }, false, "bool[]"},
		{"Any", func(s *graph.Scope) out { return graph.Any(s, s.Const([]bool{true, false}), s.Const(int32(0))) }, true, "bool[]"},
		{"ReduceAny", func(s *graph.Scope) out { return graph.ReduceAny(s, s.Const([][]bool{{true, false}})) }, true, "bool[]"},
		{"Select", func(s *graph.Scope) out {
			return graph.Select(s, s.Const([]bool{true, false}), s.Const([]int32{1, 2}), s.Const(int32(0)))
		}, []int32{1, 0}, "int32[2]"},
		{"Where", func(s *graph.Scope) out { return graph.Where(s, s.Const([]bool{false, true})) }, [][]int64{{1}}, "int64[?, 1]"},
		{"StringJoin", func(s *graph.Scope) out { return graph.StringJoin(s, "-", s.Const("a"), s.Const([]string{"b", "c"})) }, []string{"a-b", "a-c"}, "string[2]"},
		{"StringLength", func(s *graph.Scope) out { return graph.StringLength(s, s.Const("größe")) }, int32(7), "int32[]"},
		{"AsString", func(s *graph.Scope) out { return graph.AsString(s, s.Const(int64(42))) }, "42", "string[]"},
		{"Substr", func(s *graph.Scope) out {
			return graph.Substr(s, s.Const("hello"), s.Const(int32(1)), s.Const(int32(3)))
		}, "ell", "string[]"},
		{"ParseTensor", func(s *graph.Scope) out {
			return graph.ParseTensor(s, graph.SerializeTensor(s, s.Const([]int32{1, 2})), tfbridge.Int32)
		}, []int32{1, 2}, "int32[...]"},
		{"NoOp", func(s *graph.Scope) out {
			return s.WithControlDependencies(graph.NoOp(s, s.Const(true).Op)).Const(int32(1))
		}, int32(1), "int32[]"},
		{"StatelessRandomUniformInt", func(s *graph.Scope) out {
			return graph.StatelessRandomUniformInt(s, s.Const([]int64{3}), s.Const([]int64{1, 2}), s.Const(int64(5)), s.Const(int64(6)))
		}, []int64{5, 5, 5}, "int64[3]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			o := tt.build(s)
			got := run(t, s, o)[0]
			if tt.want != nil {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("value (-want +got)\n%s", diff)
				}
			}
			if spec := graph.SpecOf(o).String(); spec != tt.spec {
				t.Errorf("spec\n got %s\nwant %s", spec, tt.spec)
			}
		})
	}
}

func TestSubscript(t *testing.T) {
	cube := [][][]int32{{{0, 1, 2}, {3, 4, 5}}, {{6, 7, 8}, {9, 10, 11}}}
	tests := []struct {
		name string
		at   []graph.Index
		want any
	}{
		{"nothing", nil, cube},
		{"first", []graph.Index{graph.At(0)}, cube[0]},
		{"last", []graph.Index{graph.At(-1)}, cube[1]},
		{"last of the last", []graph.Index{graph.At(-1), graph.At(-1), graph.At(-1)}, int32(11)},
		{"between", []graph.Index{graph.Whole(), graph.At(1), graph.Between(1, 3)}, [][]int32{{4, 5}, {10, 11}}},
		{"from", []graph.Index{graph.At(0), graph.At(0), graph.From(-2)}, []int32{1, 2}},
		{"until", []graph.Index{graph.At(0), graph.At(0), graph.Until(-1)}, []int32{0, 1}},
		{"clamped", []graph.Index{graph.At(0), graph.At(0), graph.Between(-9, 9)}, []int32{0, 1, 2}},
		{"empty", []graph.Index{graph.At(0), graph.At(0), graph.Between(2, 1)}, []int32{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			if diff := cmp.Diff(tt.want, run(t, s, graph.Subscript(s, s.Const(cube), tt.at...))[0]); diff != "" {
				t.Errorf("value (-want +got)\n%s", diff)
			}
		})
	}
	s := graphtest.NewScope(t)
	graph.Subscript(s, s.Const([]int32{1}), graph.At(1))
	if err := s.Err(); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("index out of range: %v", err)
	}
}

func TestAssertOptions(t *testing.T) {
	s := graphtest.NewScope(t)
	data := []tfbridge.Output{s.Const([]int32{11, 22, 33, 44, 55})}
	short := graph.Assert(s, s.Const(false), data, nil)
	long := graph.Assert(s, s.Const(false), data, &graph.AssertOptions{Summarize: -1})
	for op, want := range map[*tfbridge.Operation]string{short: "[11 22 33...]", long: "[11 22 33 44 55]"} {
		o := graph.Identity(s.WithControlDependencies(op), s.Const(int32(1)))
		if _, err := tryRun(t, s, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error\n got %v\nwant one with %s", err, want)
		}
	}
}

func TestRandomIsReproducible(t *testing.T) {
	draw := func(seed []int64) any {
		s := graphtest.NewScope(t)
		return run(t, s, graph.StatelessRandomUniformInt(s, s.Const([]int64{4}), s.Const(seed), s.Const(int32(0)), s.Const(int32(1000000))))[0]
	}
	if diff := cmp.Diff(draw([]int64{1, 2}), draw([]int64{1, 2})); diff != "" {
		t.Errorf("one seed, two results\n%s", diff)
	}
	if cmp.Equal(draw([]int64{1, 2}), draw([]int64{1, 3})) {
		t.Error("two seeds, one result")
	}
}

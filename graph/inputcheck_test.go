package graph_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// A parsing is a way to parse serialized Examples in a graph. Each requests the
// features "vals" (three floats if the operation supports fixed sizes), "s" (strings)
// and "list" (any number of floats).
type parsing struct {
	name string
	add  func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output
}

func types(all ...tfbridge.DataType) []tfbridge.DataType { return all }

var (
	three  = []tfbridge.Shape{tfbridge.MakeShape(3)}
	sparse = map[string]any{
		"Tdense": types(tfbridge.Float), "dense_shapes": three, "num_sparse": int64(2), "sparse_types": types(tfbridge.String, tfbridge.Float),
	}
	keyed = map[string]any{"sparse_keys": []string{"s", "list"}, "dense_keys": []string{"vals"}}
)

// with returns attributes with more.
func with(attrs map[string]any, more ...any) map[string]any {
	all := map[string]any{}
	for name, value := range attrs {
		all[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i].(string)] = more[i+1]
	}
	return all
}

func parseV2(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
	return s.Op("ParseExampleV2", with(sparse, "ragged_value_types", types(), "ragged_split_types", types()), records,
		s.Const([]string{}), s.Const([]string{"s", "list"}), s.Const([]string{"vals"}), s.Const([]string{}),
		tfbridge.OutputList{s.Const(make([]float32, 3))})
}

var parsings = []parsing{
	{"ParseExampleV2", parseV2},
	{"ParseExample", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		attrs := with(sparse, "Nsparse", int64(2), "Ndense", int64(1))
		delete(attrs, "num_sparse")
		return s.Op("ParseExample", attrs, records, s.Const([]string{}), tfbridge.OutputList{s.Const("s"), s.Const("list")},
			tfbridge.OutputList{s.Const("vals")}, tfbridge.OutputList{s.Const(make([]float32, 3))})
	}},
	{"ParseExampleV2 of ragged features", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		attrs := with(sparse, "num_sparse", int64(0), "sparse_types", types(),
			"ragged_value_types", types(tfbridge.String, tfbridge.Float), "ragged_split_types", types(tfbridge.Int64, tfbridge.Int64))
		return s.Op("ParseExampleV2", attrs, records, s.Const([]string{}), s.Const([]string{}), s.Const([]string{"vals"}), s.Const([]string{"s", "list"}),
			tfbridge.OutputList{s.Const(make([]float32, 3))})
	}},
	{"ParseSingleExample", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		one := s.Op1("Squeeze", map[string]any{"squeeze_dims": []int64{}}, s.Op1("Slice", nil, records, s.Const([]int32{0}), s.Const([]int32{1})))
		return s.Op("ParseSingleExample", with(sparse, "sparse_keys", keyed["sparse_keys"], "dense_keys", keyed["dense_keys"]), one,
			tfbridge.OutputList{s.Const(make([]float32, 3))})
	}},
	{"ParseExampleDatasetV2", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		out := map[string]any{"output_types": types(tfbridge.Variant, tfbridge.Variant, tfbridge.Float), "output_shapes": []tfbridge.Shape{{}, {}, {}}}
		slices := s.Op1("TensorSliceDataset", map[string]any{"Toutput_types": types(tfbridge.String), "output_shapes": []tfbridge.Shape{tfbridge.ScalarShape()}}, tfbridge.OutputList{records})
		batches := s.Op1("BatchDatasetV2", map[string]any{"output_types": types(tfbridge.String), "output_shapes": []tfbridge.Shape{tfbridge.MakeShape(-1)}},
			slices, s.Const(int64(8)), s.Const(false))
		parsed := s.Op1("ParseExampleDatasetV2", with(out, "sparse_keys", keyed["sparse_keys"], "sparse_types", sparse["sparse_types"],
			"dense_keys", keyed["dense_keys"], "dense_shapes", three, "Tdense", types(tfbridge.Float)),
			batches, s.Const(int64(1)), tfbridge.OutputList{s.Const(make([]float32, 3))})
		return s.Op("DatasetToSingleElement", out, parsed)[2:] // "vals"
	}},
	{"ParseSequenceExample", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		return s.Op("ParseSequenceExample", map[string]any{
			"feature_list_dense_missing_assumed_empty": []string{}, "context_sparse_keys": []string{"s"}, "context_sparse_types": types(tfbridge.String), "Ncontext_sparse": int64(1),
			"context_dense_keys": []string{}, "feature_list_sparse_keys": []string{}, "feature_list_dense_keys": []string{}, "Tcontext_dense": types(),
		}, records, s.Const([]string{}), tfbridge.OutputList{})
	}},
	{"ParseSequenceExampleV2", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		none := s.Const([]string{})
		return s.Op("ParseSequenceExampleV2", map[string]any{
			"feature_list_sparse_types": types(tfbridge.String), "Nfeature_list_sparse": int64(1), "Tcontext_dense": types(),
		}, records, none, none, none, none, s.Const([]string{"s"}), none, none, s.Const([]bool{}), tfbridge.OutputList{})
	}},
	{"ParseExampleV2 in a function", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		f := s.Func("parse", []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}}, nil,
			func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output { return parseV2(s, args[0]) })
		return graph.Call(s, f, records)
	}},
	{"ParseExampleV2 of computed bytes", func(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
		encoded := s.Op1("EncodeBase64", nil, records)
		return parseV2(s, s.Op1("DecodeBase64", nil, encoded))
	}},
}

// overshoot is a record whose list of strings "s", in the context and in a feature
// list, contains a string that ends after the list does.
var overshoot = []byte("\x0a\x0d\x0a\x0b\x0a\x01s\x12\x06\x0a\x04\x0a\x05ab\x12\x0f\x0a\x0d\x0a\x01s\x12\x08\x0a\x06\x0a\x04\x0a\x05ab")

// importParsing returns a model that parses, and its input.
func importParsing(t *testing.T, p parsing) (*graph.Model, tfbridge.Output, []tfbridge.Output) {
	t.Helper()
	s := graphtest.NewScope(t)
	records := s.Placeholder(tfbridge.String, tfbridge.MakeShape(-1))
	outputs := p.add(s, records)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	m, err := graph.ImportModel(writeGraph(t, s), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	again := func(o tfbridge.Output) tfbridge.Output {
		same, err := m.Op(o.Op.Name(), o.Index)
		if err != nil {
			t.Fatal(err)
		}
		return same
	}
	var fetches []tfbridge.Output
	for _, o := range outputs {
		fetches = append(fetches, again(o))
	}
	return m, again(records), fetches
}

// parse runs a model on records.
func parse(t *testing.T, m *graph.Model, in tfbridge.Output, fetches []tfbridge.Output, records ...[]byte) error {
	t.Helper()
	x, err := tfbridge.NewStringTensor([]int64{int64(len(records))}, records)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	values, err := m.Exec(t.Context(), fetches, map[tfbridge.Output]*tfbridge.Tensor{in: x})
	for _, v := range values {
		v.Close()
	}
	return err
}

// TestModelsNeverParseKillers gives each kind of parser in a model the records that end
// the process in TensorFlow: the error names their element. Records that TensorFlow
// parses or refuses without harm reach it.
func TestModelsNeverParseKillers(t *testing.T) {
	sound, odd := corrupt.Example(1), slices.Concat(corrupt.Example(2), []byte("\x9a\x06\x7fxx"))
	for _, p := range parsings {
		t.Run(p.name, func(t *testing.T) {
			m, in, fetches := importParsing(t, p)
			single, sequence := p.name == "ParseSingleExample", strings.HasPrefix(p.name, "ParseSequence")
			killers := map[string][]byte{"a string of 2^31 bytes": corrupt.HugeString("s")}
			if sequence {
				killers["a string that ends behind its list"] = overshoot
			} else {
				killers["unpacked floats without room"] = corrupt.Unpacked(1, 2_000_000)
				killers["floats that claim 2^28 bytes"] = []byte("\x0a\x17\x0a\x15\x0a\x04list\x12\x0d\x12\x0b\x0a\xff\xff\xff\x7f\x00\x00\x00\x00\x00\x00")
			}
			for name, killer := range killers {
				records, at := [][]byte{sound, killer}, int64(1)
				if single {
					records, at = records[1:], 0
				}
				err := parse(t, m, in, fetches, records...)
				var refused *tfbridge.RefusedBytes
				if !errors.As(err, &refused) || refused.Element != at || !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(refused.Parser, "Parse") {
					t.Errorf("%s: got %v", name, err)
				}
				if !errors.Is(err, millrace.ErrCorrupt) && !errors.Is(err, millrace.ErrSchema) {
					t.Errorf("%s: the class of %v", name, err)
				}
			}
			if err := parse(t, m, in, fetches, sound); err != nil {
				t.Errorf("a sound record: %v", err)
			}
			if err := parse(t, m, in, fetches, odd); err != nil && !sequence {
				t.Errorf("an odd record: %v", err)
			}
			var refused *tfbridge.RefusedBytes
			if err := parse(t, m, in, fetches, []byte("\x0a\xff")); err == nil || !sequence && errors.As(err, &refused) {
				t.Errorf("a cut record, which TensorFlow finds itself: %v", err)
			}
		})
	}
}

// A frozen graph contains no check operations, because other programs do not have them.
func TestFrozenModelHasNoChecks(t *testing.T) {
	m := load(t, "examples", nil)
	def, err := m.Freeze(t.Context(), "classify")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(def, []byte(tfbridge.OpCheckExamples)) || !bytes.Contains(def, []byte("ParseExample")) {
		t.Error("the frozen graph has a check, or parses nothing")
	}
}

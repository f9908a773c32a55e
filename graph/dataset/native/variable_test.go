package native_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// variableFeatures are features of Examples with any number of values.
func variableFeatures() []native.Feature {
	return []native.Feature{
		{Key: "f", Kind: native.Float, List: true, Optional: true},
		{Key: "i", Kind: native.Int, List: true, Optional: true},
		{Key: "s", Kind: native.Bytes, List: true, Optional: true},
	}
}

// columns are the values and splits of all features of q.
func columns(features []native.Feature) *native.Sequence {
	q := &native.Sequence{Examples: true, Features: features}
	for i := range features {
		q.Components = append(q.Components, native.Component{Feature: i, Part: native.Values, Size: -1},
			native.Component{Feature: i, Part: native.Splits, Size: -1})
	}
	return q
}

// TestVariableFeaturesAsInPython reads odd Examples as Python TensorFlow 2.21
// does with tf.io.FixedLenSequenceFeature, and refuses those that it refuses or
// that end its process. The script tfrecord/example/testdata/parity/examples.py
// recorded what it does.
func TestVariableFeaturesAsInPython(t *testing.T) {
	needLibrary(t)
	file, err := os.Open("../../../tfrecord/example/testdata/parity/examples.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := newScope(t)
	record := s.Placeholder(tfbridge.String, tfbridge.MakeShape(1))
	fetches := native.DecodeSequences(s, record, columns(variableFeatures()), nil)
	sess, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(s.Err(), err)
	}
	defer sess.Close()
	accepted := 0
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var c struct {
			Record string
			TF     *struct {
				I []int64
				F []uint32
				S []string
			}
		}
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(c.Record)
		if err != nil {
			t.Fatal(err)
		}
		fed, err := tfbridge.NewStringTensor([]int64{1}, [][]byte{data})
		if err != nil {
			t.Fatal(err)
		}
		got, err := sess.Run(map[out]*tfbridge.Tensor{record: fed}, fetches, nil)
		if (err == nil) != (c.TF != nil) {
			t.Errorf("record %s: got %v, TensorFlow %+v", c.Record, err, c.TF)
		}
		if err != nil || c.TF == nil {
			continue
		}
		accepted++
		floats, texts := []uint32{}, []string{}
		for _, x := range got[0].Value().([]float32) {
			floats = append(floats, math.Float32bits(x))
		}
		for _, x := range got[4].Value().([]string) {
			texts = append(texts, hex.EncodeToString([]byte(x)))
		}
		want := []any{c.TF.F, c.TF.I, c.TF.S}
		if diff := cmp.Diff(want, []any{floats, got[2].Value(), texts}); diff != "" {
			t.Errorf("record %s (-TensorFlow +native)\n%s", c.Record, diff)
		}
	}
	if accepted < 300 {
		t.Errorf("only %d records accepted", accepted)
	}
}

// TestVariableFeatureErrors checks that errors name the feature and the fault.
func TestVariableFeatureErrors(t *testing.T) {
	needLibrary(t)
	ints := func(v ...int64) example.Feature { return example.Feature{Kind: example.Int64, Ints: v} }
	record := func(name string, f example.Feature) string {
		return string(example.Marshal([]example.Named{{Name: name, Feature: f}}))
	}
	tests := []struct {
		name, record, want string
	}{
		{"missing", record("other", ints(1)), `feature "x": the record has no such feature`},
		{"no kind", record("x", example.Feature{}), `feature "x": the record has no such feature`},
		{"no multiple", record("x", ints(1, 2, 3)), `feature "x": 3 values stored, want a multiple of 2`},
		{"another kind", record("x", example.Feature{Kind: example.Float, Floats: []float32{1, 2}}), `feature "x": stored as a float list, int64 is asked for`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScope(t)
			features := []native.Feature{{Key: "x", Kind: native.Int, Shape: []int64{2}, List: true}}
			fetches := native.DecodeSequences(s, s.Const([]string{record("x", ints(1, 2)), test.record}), columns(features), nil)
			sess, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
			if err != nil {
				t.Fatal(s.Err(), err)
			}
			defer sess.Close()
			_, err = sess.Run(nil, fetches, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestVariableFeaturesRefused checks that impossible lists of Examples are refused.
func TestVariableFeaturesRefused(t *testing.T) {
	needLibrary(t)
	tests := []struct {
		name     string
		examples bool
		feature  native.Feature
		want     string
	}{
		{"optional of one size", true, native.Feature{Key: "x", Kind: native.Int, Optional: true}, "only a list of Examples can be optional"},
		{"optional feature list", false, native.Feature{Key: "x", Kind: native.Int, List: true, Optional: true}, "only a list of Examples can be optional"},
		{"raw", true, native.Feature{Key: "x", Kind: native.Raw, DType: tfbridge.Int8, List: true}, "holds no raw numbers"},
		{"no values", true, native.Feature{Key: "x", Kind: native.Int, Shape: []int64{0}, List: true}, "have no values to count them by"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := graph.NewScope()
			q := &native.Sequence{Examples: test.examples, Features: []native.Feature{test.feature}, Components: []native.Component{{Part: native.Values, Size: -1}}}
			native.DecodeSequences(s, s.Const([]string{""}), q, nil)
			if s.Err() == nil || !strings.Contains(s.Err().Error(), test.want) {
				t.Errorf("got %v\nwant %s", s.Err(), test.want)
			}
		})
	}
}

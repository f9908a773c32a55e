package loaders_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"
)

// variableLists are Examples with features of every kind with any number of values,
// some cast. A record may lack one of them.
var variableLists = listForm{false, []fixture.Object{
	{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	{"name": "weight", "dtype": "float64", "shape": []int{}, "deserialize_type": "float"},
	{"name": "label", "dtype": "string", "shape": []int{2}, "deserialize_type": "string"},
	{"name": "bits", "dtype": "int16", "shape": []int{2}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big", "len": 2}},
	{"name": "tokens", "dtype": "int64", "shape": []int{-1}, "deserialize_type": "int"},
	{"name": "small", "dtype": "uint8", "shape": []int{-1, 2}, "deserialize_type": "int"},
	{"name": "frames", "dtype": "float32", "shape": []int{-1, 3}, "deserialize_type": "float"},
	{"name": "words", "dtype": "string", "shape": []int{-1}, "deserialize_type": "string"},
	{"name": "patches", "dtype": "float32", "shape": []int{-1, 1, 2}, "deserialize_type": "float", "default": []int{}},
}, variableRecord}

// variableRecord has the features of a [recordOfKinds] with the values of each
// list in one feature.
func variableRecord(r *rand.Rand, id int64) []byte {
	features, lists := recordOfKinds(r, id)
	for _, list := range lists {
		kind := map[string]example.Kind{"tokens": example.Int64, "small": example.Int64, "words": example.Bytes}[list.Name]
		if kind == example.None {
			kind = example.Float
		}
		all := example.Feature{Kind: kind}
		for _, one := range list.Features {
			all.Ints, all.Floats, all.Bytes = append(all.Ints, one.Ints...), append(all.Floats, one.Floats...), append(all.Bytes, one.Bytes...)
		}
		if list.Name == "patches" {
			if len(list.Features) == 0 {
				continue // the record lacks it
			}
			all.Bytes = nil
			for range list.Features {
				all.Floats = append(all.Floats, r.Float32(), -r.Float32())
			}
		}
		features = append(features, named(list.Name, all))
	}
	return example.Marshal(features)
}

// TestOddVariableFeatures reads the valid forms of a feature of any number of values,
// and refuses the invalid ones with the same message from every decoder.
func TestOddVariableFeatures(t *testing.T) {
	testruntime.Need(t)
	ints := fixture.Ints
	record := func(features ...example.Named) []byte {
		return example.Marshal(append([]example.Named{named("id", ints(5))}, features...))
	}
	xs := func(v ...int64) example.Named { return named("xs", ints(v...)) }
	tests := []struct {
		name   string
		record []byte
		class  millrace.Class
		words  []string // words of the error; nil: no error
	}{
		{"values", record(xs(1, 2, 3, 4)), "", nil},
		{"none", record(xs()), "", nil},
		{"an optional one with values", record(xs(1, 2), named("fs", fixture.Floats(1, 2, 3))), "", nil},
		{"twice", record(xs(1), xs(1, 2)), "", nil},
		{"no multiple", record(xs(1, 2, 3)), millrace.ErrSchema, []string{`feature "xs"`, "3 values are stored, want a multiple of 2 for shape [-1 2]"}},
		{"another kind", record(named("xs", fixture.Floats(1, 2))), millrace.ErrSchema, []string{`feature "xs"`, "float list"}},
		{"an optional one of another kind", record(xs(1, 2), named("fs", ints(1))), millrace.ErrSchema, []string{`feature "fs"`, "int64 list"}},
		{"longer than its padding", record(xs(1, 2, 3, 4, 5, 6, 7, 8)), millrace.ErrSchema, []string{`tensor "xs"`, "larger than its padding"}},
	}
	for _, test := range tests {
		for _, cast := range []string{"int64", "int32"} {
			t.Run(test.name+", "+cast, func(t *testing.T) {
				d := variableDataset(t, cast)
				d.WriteRecords(t, "a.tfrecords", record(xs()), record(xs(8, 9)))
				d.WriteRecords(t, "b.tfrecords", record(xs(1, 1)), test.record, record(xs()))
				ids, err := read(t, d)
				if test.words == nil {
					if err != nil || len(ids) != 5 {
						t.Errorf("%d records and %v", len(ids), err)
					}
					return
				}
				checkFault(t, &fault{class: test.class, words: append(test.words, "b.tfrecords", "record 1 ")}, err)
			})
		}
	}
}

// variableDataset is a dataset of records with "xs", pairs of integers, and optionally
// "fs", floats. It has no files yet.
func variableDataset(t *testing.T, dtype string) *fixture.Dataset {
	d := fixture.New(t)
	d.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "xs", "dtype": dtype, "shape": []int{-1, 2}, "deserialize_type": "int"},
		{"name": "fs", "dtype": "float32", "shape": []int{-1}, "deserialize_type": "float", "default": []int{}},
	}
	d.Args["primary_features"] = []fixture.Object{
		{"from_name": "id", "to_name": "id"}, {"from_name": "xs", "to_name": "xs"}, {"from_name": "fs", "to_name": "fs"},
	}
	d.Args["padding"] = []fixture.Object{{"tensor": "xs", "shape": []int{3, -1}, "value": 7}}
	return d
}

// A record that lacks a feature of any number of values, or claims more values than it
// holds, is refused by name before it is decoded, by every decoder. TensorFlow's parser
// would read the first as an empty feature, and allocate the memory that the second
// claims.
func TestVariableFeatureThatIsNotThere(t *testing.T) {
	testruntime.Need(t)
	claim := "\x0a\x02fs\x12\x09\x12\x07\x0a\xff\xff\xff\x7f\x00\x00" // floats: 2^28 bytes of them
	claim = string(example.Marshal([]example.Named{named("id", fixture.Ints(5)), named("xs", fixture.Ints(1, 2))})) +
		"\x0a" + string(rune(len(claim)+2)) + "\x0a" + string(rune(len(claim))) + claim
	for name, bad := range map[string]struct {
		record string
		words  []string
	}{
		"no feature":           {string(example.Marshal([]example.Named{named("id", fixture.Ints(5))})), []string{`feature "xs"`, "no such feature"}},
		"a feature of no kind": {string(example.Marshal([]example.Named{named("id", fixture.Ints(5)), named("xs", example.Feature{})})), []string{`feature "xs"`, "no such feature"}},
		"a huge claim":         {claim, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := variableDataset(t, "int64")
			good := example.Marshal([]example.Named{named("id", fixture.Ints(1)), named("xs", fixture.Ints(1, 2))})
			d.WriteRecords(t, "a.tfrecords", good, []byte(bad.record))
			d.Save(t)
			plan, problems := loaders.Check(d.Config(), nil)
			if plan == nil {
				t.Fatal(problems)
			}
			general := *plan
			general.NativeLibrary = ""
			for way, p := range map[string]*loaders.Plan{"native": plan, "general": &general} {
				_, err := readPlan(t, p)
				if err == nil {
					t.Fatalf("%s: no error", way)
				}
				for _, w := range append(bad.words, "a.tfrecords", "record 1 ") {
					if !strings.Contains(fmt.Sprint(err), w) {
						t.Errorf("%s: %v does not say %q", way, err, w)
					}
				}
			}
		})
	}
}

// TestVariableFeaturesAsInPython makes the batches that Python TensorFlow makes with
// tf.io.FixedLenSequenceFeature and tf.io.RaggedFeature, padded and in buckets, with
// every decoder. testdata/variable/make.py recorded those batches.
func TestVariableFeaturesAsInPython(t *testing.T) {
	testruntime.Need(t)
	type tensor struct {
		Shape  []int64
		Values []any
	}
	recorded := map[string][]map[string]tensor{}
	text, err := os.ReadFile("testdata/variable/batches.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("testdata/variable/data")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range recorded {
		for _, native := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", native ", native), func(t *testing.T) {
				d := fixture.New(t)
				d.Args["dataset"] = fixture.Object{"type": "dir", "args": fixture.Object{"data_dir": data, "pattern": "train-*-of-*"}}
				d.Args["target_batch_size"] = 3
				primaries := []fixture.Object{}
				for feature := range want[0] {
					primaries = append(primaries, fixture.Object{"from_name": feature, "to_name": feature})
				}
				d.Args["primary_features"] = primaries
				d.Args["padding"] = []fixture.Object{{"tensor": "tokens", "value": -1}, {"tensor": "tags", "value": "none"}}
				if name == "bucketed" {
					d.Args["bucket_by_length"] = fixture.Object{"tensor": "tokens", "boundaries": []int{2, 4}}
				}
				d.Save(t)
				plan, problems := loaders.Check(d.Config(), nil)
				if plan == nil {
					t.Fatal(problems)
				}
				if !native {
					plan.NativeLibrary = ""
				}
				var got []map[string]tensor
				for b, err := range openPlan(t, plan).Batches(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					batch := map[string]tensor{}
					for feature := range want[0] {
						x := b.Tensor(feature)
						batch[feature] = tensor{x.Shape(), flat(reflect.ValueOf(x.Value()))}
					}
					got = append(got, batch)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-Python +got)\n%s", diff)
				}
			})
		}
	}
}

// flat returns the values of nested slices as JSON decodes them.
func flat(v reflect.Value) []any {
	out := []any{}
	for i := range v.Len() {
		switch e := v.Index(i); e.Kind() {
		case reflect.Slice:
			out = append(out, flat(e)...)
		case reflect.Int64:
			out = append(out, float64(e.Int()))
		case reflect.Float32:
			out = append(out, e.Float())
		default:
			out = append(out, e.Interface())
		}
	}
	return out
}

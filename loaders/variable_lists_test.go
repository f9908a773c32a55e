package loaders_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// asExamples returns a dataset with the data of a [newSequence] in Examples: each
// feature list is a feature of any number of values.
func asExamples(t *testing.T, of *fixture.Dataset, d *sequenceData) *fixture.Dataset {
	f := fixture.New(t)
	f.Type = of.Type
	f.Manifest["features"] = []fixture.Object{
		{"name": "pos", "dtype": "int64", "shape": []int{-1}, "deserialize_type": "int"},
		{"name": "pair", "dtype": "float32", "shape": []int{-1, 2}, "deserialize_type": "float"},
	}
	place := f.Args["dataset"]
	maps.Copy(f.Args, of.Args)
	f.Args["dataset"] = place
	n := int64(0)
	for i, lengths := range d.files {
		var records [][]byte
		for _, length := range lengths {
			var pos []int64
			var pair []float32
			for range length {
				pos, pair = append(pos, n), append(pair, float32(n), -float32(n))
				n++
			}
			records = append(records, example.Marshal([]example.Named{named("pos", fixture.Ints(pos...)), named("pair", fixture.Floats(pair...))}))
		}
		f.WriteRecords(t, fmt.Sprintf("%02d.tfrecords", i), records...)
	}
	f.Save(t)
	return f
}

// measured adds measures of lists, and their padding or batching, to a config of a
// type.
func measured(f *fixture.Dataset) {
	secondaries := []fixture.Object{
		{"to_name": "length", "type": "lengths", "args": fixture.Object{"tensor": "pair"}},
		{"to_name": "mask", "type": "mask", "args": fixture.Object{"tensor": "pos"}},
		{"to_name": "ones", "type": "const", "args": fixture.Object{"shape": "pair", "dtype": "int8", "value": 1}},
	}
	if f.Type == "discrete_sequence" {
		secondaries = append(secondaries, fixture.Object{"to_name": "records", "type": "lengths", "args": fixture.Object{"tensor": "pos", "of": "records"}})
	}
	f.Args["secondary_features"] = secondaries
	f.Args["processing_steps"] = []fixture.Object{{"tensor": "pair", "type": "slice", "args": fixture.Object{"slice": ":-1"}}}
}

// TestVariableFeaturesAreFeatureLists gives the same data as feature lists of
// SequenceExamples and as features of Examples: the batches are the same for every
// loader type and every decoder.
func TestVariableFeaturesAreFeatureLists(t *testing.T) {
	testruntime.Need(t)
	for _, kind := range []string{"independent", "continuous_sequence", "discrete_sequence"} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 4))
				data := newSequenceData(randomFiles(r, kind))
				lists := newSequence(t, kind, data)
				if kind != "independent" {
					w := randomWindow(r, kind)
					w.max = w.min + 3 // the buckets then hold different lengths
					w.set(lists)
				}
				shuffled(lists)
				lists.Args["shuffle"] = seed == 0
				if seed > 0 {
					measured(lists)
				}
				if seed == 2 {
					lists.Args["bucket_by_length"] = fixture.Object{"tensor": "pos", "boundaries": []int{2, 5}}
				}
				lists.Save(t)
				want := batchTexts(t, lists, true)
				features := asExamples(t, lists, data)
				for way, native := range map[string]bool{"native": true, "general": false} {
					if diff := cmp.Diff(want, batchTexts(t, features, native)); diff != "" {
						t.Errorf("%s (-feature lists +features)\n%s", way, diff)
					}
				}
			})
		}
	}
}

// batchTexts returns the batches of a dataset, printed.
func batchTexts(t *testing.T, f *fixture.Dataset, native bool) []string {
	t.Helper()
	plan, problems := loaders.Check(f.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	if !native {
		plan.NativeLibrary = ""
	}
	texts, _ := textsOf(t, openPlan(t, plan), nil)
	return texts
}

// Features of one record of a continuous sequence that differ in length are refused,
// and the error has their lengths.
func TestVariableFeaturesOfTwoLengths(t *testing.T) {
	testruntime.Need(t)
	d := newSequenceData([][]int{{3, 4}})
	f := newSequence(t, "continuous_sequence", d)
	window{min: 2, max: 2, tail: "keep"}.set(f)
	f = asExamples(t, f, d)
	f.WriteRecords(t, "01.tfrecords", example.Marshal([]example.Named{named("pos", fixture.Ints(1, 2, 3)), named("pair", fixture.Floats(1, 2))}))
	for _, native := range []bool{true, false} {
		plan, problems := loaders.Check(f.Config(), nil)
		if plan == nil {
			t.Fatal(problems)
		}
		if !native {
			plan.NativeLibrary = ""
		}
		_, _, err := textsUntil(t, openPlan(t, plan), nil)
		checkFault(t, &fault{class: millrace.ErrSchema, words: []string{"01.tfrecords", "record 0 ", "features pos and pair have 3 and 1 positions"}}, err)
	}
}

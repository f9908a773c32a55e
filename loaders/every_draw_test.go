package loaders_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/processing/catalog"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// randomSteps returns a step of each type that draws, on an image of bytes, or on a matrix.
func randomSteps() (list []fixture.Object) {
	image := func(kind string, args fixture.Object) {
		list = append(list, fixture.Object{"tensor": "image", "type": kind, "args": args})
	}
	image("rand_augment", fixture.Object{"operations": 1})
	image("random_crop", fixture.Object{"size": []int{7, 6}})
	image("random_flip_left_right", fixture.Object{})
	image("random_flip_up_down", fixture.Object{})
	image("random_resized_crop", fixture.Object{"size": []int{5, 5}, "scale": []float64{0.3, 1}})
	image("random_rotate90", fixture.Object{})
	image("random_brightness", fixture.Object{"max_delta": 0.3})
	image("random_contrast", fixture.Object{"lower": 0.5, "upper": 1.5})
	image("random_saturation", fixture.Object{"lower": 0.5, "upper": 1.5})
	image("random_hue", fixture.Object{"max_delta": 0.2})
	for kind, args := range map[string]fixture.Object{
		"random_gain": {"lower": 0.5, "upper": 1.5}, "random_noise": {"stddev": 0.1},
		"time_mask": {"masks": 1, "longest": 3}, "freq_mask": {"masks": 1, "longest": 2},
	} {
		list = append(list, fixture.Object{"tensor": "sound", "to_name": kind, "type": kind, "args": args})
	}
	slices.SortStableFunc(list, func(a, b fixture.Object) int { return len(fmt.Sprint(a["to_name"])) - len(fmt.Sprint(b["to_name"])) })
	return list
}

// A run with a step of every random type gives the same bits with 8 threads and Millrace's operations as with 1
// and without them, and after a resume. Types whose graphs are small are resumed at each of 20 places, and
// read in 4 shards.
func TestEveryRandomStep(t *testing.T) {
	testruntime.Need(t)
	steps := randomSteps()
	for _, kind := range catalog.Types {
		if kind.Random && !slices.ContainsFunc(steps, func(s fixture.Object) bool { return s["type"] == kind.Name }) {
			t.Errorf("the test has no step of type %s", kind.Name)
		}
	}
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "image", "dtype": "uint8", "shape": []int{8, 9, 3}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "little"}},
		{"name": "sound", "dtype": "float32", "shape": []int{6, 4}, "deserialize_type": "float"},
	}
	var records [][]byte
	for i := range int64(21) {
		pixels, samples := make([]byte, 8*9*3), make([]float32, 24)
		for k := range pixels {
			pixels[k] = byte(int64(k)*(i+3)*7 + i)
		}
		for k := range samples {
			samples[k] = float32(k+1) / float32(i+1)
		}
		records = append(records, example.Marshal([]example.Named{
			{Name: "id", Feature: fixture.Ints(i)}, {Name: "image", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{pixels}}},
			{Name: "sound", Feature: example.Feature{Kind: example.Float, Floats: samples}},
		}))
	}
	f.WriteRecords(t, "a.tfrecords", records[:9]...)
	f.WriteRecords(t, "b.tfrecords", records[9:]...)
	f.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}, {"from_name": "image", "to_name": "image"}, {"from_name": "sound", "to_name": "sound"}}
	f.Args["processing_steps"] = steps
	maps.Copy(f.Args, fixture.Object{"epochs": 1, "seed": 11, "target_batch_size": 1, "num_parallel_parses": 8, "shuffle": true, "shuffle_mode": "exact"})
	native := openAsUsersDo(t, f, true)
	want, states := textsOf(t, native, &loaders.RunOptions{SaveEvery: 1})
	if len(want) != 21 {
		t.Fatalf("%d rows", len(want))
	}
	if rest, _ := textsOf(t, native, &loaders.RunOptions{State: states[12]}); !cmp.Equal(want[13:], rest) {
		t.Fatalf("from batch 12 (-whole +rest)\n%s", cmp.Diff(want[13:], rest))
	}
	f.Args["num_parallel_parses"] = 1
	if general, _ := textsOf(t, openAsUsersDo(t, f, false), nil); !cmp.Equal(want, general) {
		t.Errorf("general (-native +general)\n%s", cmp.Diff(want, general))
	}
	l := openSequence(t, f)
	want, states = textsOf(t, l, &loaders.RunOptions{SaveEvery: 1})
	for at := range 20 {
		if rest, _ := textsOf(t, l, &loaders.RunOptions{State: states[at]}); !cmp.Equal(want[at+1:], rest) {
			t.Fatalf("from batch %d (-whole +rest)\n%s", at, cmp.Diff(want[at+1:], rest))
		}
	}
	var shards []string
	for i := range 4 {
		f.Args["shard"] = fixture.Object{"count": 4, "index": i}
		part, _ := textsOf(t, openSequence(t, f), nil)
		shards = append(shards, part...)
	}
	if !cmp.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(shards))) {
		t.Errorf("4 shards (-whole +shards)\n%s", cmp.Diff(want, shards))
	}
}

// openAsUsersDo opens a dataset with TensorFlow's optimizer, with or without Millrace's own operations. Random
// steps have the same values with it and without.
func openAsUsersDo(t *testing.T, f *fixture.Dataset, native bool) *loaders.Loader {
	t.Helper()
	f.Save(t)
	p, problems := loaders.Check(f.Config(), nil)
	if p == nil {
		t.Fatal(problems)
	}
	if !native {
		p.NativeLibrary = ""
	}
	l, err := loaders.OpenPlan(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

package loaders_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
)

// mixtureData returns a mixture of two datasets: one of 30 records with the ids 0 to
// 29 and weight 1, and one of 12 records with the ids 100 to 111 and weight 3.
func mixtureData(t *testing.T, args fixture.Object) (f, second *fixture.Dataset) {
	t.Helper()
	f, second = fixture.New(t), fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 20)...)
	f.WriteRecords(t, "b.tfrecords", fixture.Records(20, 30)...)
	second.WriteRecords(t, "c.tfrecords", fixture.Records(100, 112)...)
	second.Save(t)
	f.Args["mixture"] = []fixture.Object{
		{"dataset": f.Args["dataset"], "weight": 1}, {"dataset": second.Args["dataset"], "weight": 3},
	}
	delete(f.Args, "dataset")
	maps.Copy(f.Args, fixture.Object{"seed": 3, "epochs": 2, "shuffle": true, "shuffle_mode": "exact"})
	maps.Copy(f.Args, args)
	return f, second
}

// An epoch of a mixture ends when one dataset has no record left, or when all were read
// to their ends. Both engines draw the same examples, and can be resumed from any
// position.
func TestMixture(t *testing.T) {
	testruntime.Need(t)
	for until, repeated := range map[string]bool{"first": false, "all": true} {
		f, _ := mixtureData(t, fixture.Object{"until": until})
		l := openSequence(t, f)
		native, states := ids(t, l, &loaders.RunOptions{SaveEvery: 1})
		general := openGeneral(t, f)
		got, _ := ids(t, general, nil)
		if diff := cmp.Diff(native, got); diff != "" {
			t.Errorf("%s (-native +general)\n%s", until, diff)
		}
		size := len(native) / 2
		var counts [2]int
		for _, id := range native[:size] {
			counts[id/100]++
		}
		complete := counts[0] == 30 || counts[1] == 12
		if repeated {
			complete = counts[0] == 30 && counts[1] >= 12
		}
		if !complete || counts[0] > 30 {
			t.Errorf("%s: an epoch has %v records of the datasets", until, counts)
		}
		distinct := map[int64]bool{}
		for _, id := range native[:size] {
			distinct[id] = true
		}
		if repeats := size > len(distinct); repeats != repeated {
			t.Errorf("%s: %d examples, %d of them distinct", until, size, len(distinct))
		}
		if slices.Equal(native[:size], native[size:]) {
			t.Errorf("%s: two epochs are equal", until)
		}
		at := len(states) * 2 / 3
		if got, _ := ids(t, general, &loaders.RunOptions{State: states[at]}); !slices.Equal(got, native[2*(at+1):]) {
			t.Errorf("%s, from batch %d: got %v, want %v", until, at+1, got, native[2*(at+1):])
		}
	}
}

// The shares of the datasets match their weights, up to chance.
func TestMixtureWeights(t *testing.T) {
	testruntime.Need(t)
	f, _ := mixtureData(t, fixture.Object{"until": "all", "epochs": 1, "target_batch_size": 100})
	total, second := 0, 0
	for seed := range 4 {
		f.Args["seed"] = seed
		all, _ := ids(t, openSequence(t, f), nil)
		for _, id := range all {
			total++
			second += int(id / 100)
		}
	}
	if share := float64(second) / float64(total); math.Abs(share-0.75) > 0.07 { // 3.5 standard deviations
		t.Errorf("%d of %d examples are of the dataset with weight 3 of 4", second, total)
	}
}

// The shards of a mixture's epoch together are the whole epoch, each example once.
func TestMixtureShards(t *testing.T) {
	testruntime.Need(t)
	f, _ := mixtureData(t, fixture.Object{"epochs": 1})
	whole, _ := ids(t, openSequence(t, f), nil)
	var parts []int64
	for i := range 3 {
		f.Args["shard"] = fixture.Object{"count": 3, "index": i}
		part, _ := ids(t, openGeneral(t, f), nil)
		parts = append(parts, part...)
	}
	if !slices.Equal(parts, whole) {
		t.Errorf("got %v, want %v", parts, whole)
	}
}

// A disagreement between the manifests of a mixture is reported with the dataset and
// the feature, and so is a dataset that cannot be mixed.
func TestMixtureProblems(t *testing.T) {
	for want, change := range map[string]func(f, second *fixture.Dataset){
		`feature "xs" is float32 [3], stored as float in `: func(_, second *fixture.Dataset) {
			second.Manifest["features"].([]fixture.Object)[1]["shape"] = []int{3}
		},
		`feature "xs" is not in `: func(_, second *fixture.Dataset) {
			second.Manifest["features"] = second.Manifest["features"].([]fixture.Object)[:1]
		},
		`needs the places of records`: func(_, second *fixture.Dataset) { second.Manifest["compression"] = "gzip" },
		`must not stand beside mixture`: func(f, _ *fixture.Dataset) {
			f.Args["dataset"] = fixture.Object{"type": "dir", "args": fixture.Object{"data_dir": f.Data()}}
		},
		`needs shuffle_mode exact or block`: func(f, _ *fixture.Dataset) {
			delete(f.Args, "shuffle_mode")
			maps.Copy(f.Args, fixture.Object{"num_shuffle_buffer_elements": 1, "num_filenames_shuffle_buffer": 1, "num_mix_files": 1})
		},
		`counts the records of one dataset`: func(f, _ *fixture.Dataset) { f.Args["range"] = fixture.Object{"end": 5} },
		`must be above 0`: func(f, _ *fixture.Dataset) {
			f.Args["mixture"].([]fixture.Object)[0]["weight"] = 0
		},
	} {
		f, second := mixtureData(t, nil)
		change(f, second)
		f.Save(t)
		second.Save(t)
		if p, problems := loaders.Check(f.Config(), nil); p != nil || !strings.Contains(fmt.Sprint(problems), want) {
			t.Errorf("want %q: %v", want, problems)
		}
	}
	f, second := mixtureData(t, nil)
	second.WriteRecords(t, "c.tfrecords")
	f.Save(t)
	_, err := loaders.Open(f.Config(), nil)
	if !errors.Is(err, millrace.ErrConfig) || !strings.Contains(fmt.Sprint(err), "holds no records to draw from") {
		t.Errorf("an empty dataset: %v", err)
	}
}

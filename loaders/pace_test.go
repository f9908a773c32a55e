package loaders_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/spec"

	"github.com/google/go-cmp/cmp"
)

// Arguments that change only the speed may differ between a state and the run that
// continues from it. That also holds for states with tf.data's own data, which are
// saved for records in the files' order.
func TestStateFitsOtherPace(t *testing.T) {
	testruntime.Need(t)
	unshuffled := func(f *fixture.Dataset, args fixture.Object) *fixture.Dataset {
		shuffled(f)
		f.Args["shuffle"] = false
		f.Args["num_parallel_reads"] = 1
		maps.Copy(f.Args, args)
		return f
	}
	records := fixture.New(t)
	bad := fixture.New(t)
	for _, f := range []*fixture.Dataset{records, bad} {
		f.WriteRecords(t, "0.tfrecords", fixture.Records(0, 7)...)
		f.WriteRecords(t, "1.tfrecords", fixture.Records(10, 19)...)
	}
	bad.WriteRecords(t, "2.tfrecords", slices.Concat(fixture.Records(20, 22), [][]byte{[]byte("spoiled")}, fixture.Records(23, 29))...)
	for name, f := range map[string]*fixture.Dataset{
		"records":     unshuffled(records, nil),
		"bad records": unshuffled(bad, fixture.Object{"bad_records": fixture.Object{"skip": 1}}),
	} {
		t.Run(name, func(t *testing.T) {
			const every = 3
			want, states := textsOf(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: every})
			maps.Copy(f.Args, fixture.Object{"num_parallel_parses": 3, "num_read_buffer_bytes": 512, "num_prefetch": 0, "empty_files": "error"})
			for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
				got, again := textsOf(t, l, &loaders.RunOptions{State: states[every-1], SaveEvery: every})
				if diff := cmp.Diff(want[every:], got); diff != "" {
					t.Fatalf("%s (-whole +rest)\n%s", engine, diff)
				}
				rest, _ := textsOf(t, l, &loaders.RunOptions{State: again[every-1]})
				if diff := cmp.Diff(want[2*every:], rest); diff != "" {
					t.Fatalf("%s, from a state of that run (-whole +rest)\n%s", engine, diff)
				}
			}
		})
	}
}

// A state for other batches is refused, with the keys that differ and both of their
// values.
func TestStateNamesWhatDiffers(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	shuffled(f)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 20)...)
	_, states := textsOf(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: 1})
	maps.Copy(f.Args, fixture.Object{"target_batch_size": 3, "num_shuffle_buffer_elements": 9, "num_prefetch": 7, "epochs": nil})
	for _, err := range openSequence(t, f).Run(t.Context(), &loaders.RunOptions{State: states[1]}) {
		const want = "list of files: epochs was 2 and now is null, num_shuffle_buffer_elements was 10 and now is 9, target_batch_size was 4 and now is 3"
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Fatalf("error %v, want one that ends with %q", err, want)
		}
	}
}

// Each key that states ignore is an argument of some loader type.
func TestPaceKeysAreArguments(t *testing.T) {
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 2)...)
	f.Save(t)
	p, problems := loaders.Check(f.Config(), nil)
	if p == nil {
		t.Fatal(problems)
	}
	for _, key := range slices.Concat(spec.PaceKeys, spec.PlaceKeys) {
		if _, ok := p.Args[key]; !ok {
			t.Errorf("the type independent has no argument %s", key)
		}
	}
}

package loaders_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/permutation"
	"millrace/tfrecord/index"

	"github.com/google/go-cmp/cmp"
)

// orderSizes are how many records the files of orderData hold.
var orderSizes = []int64{7, 0, 12, 1, 31}

// orderData returns a dataset of 51 records with the ids 0 to 50, which are read in
// batches of 4.
func orderData(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	f, id := fixture.New(t), int64(0)
	for i, n := range orderSizes {
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(id, id+n)...)
		id += n
	}
	maps.Copy(f.Args, fixture.Object{"seed": 11, "target_batch_size": 4, "drop_remainder": false})
	maps.Copy(f.Args, args)
	return f
}

// exact returns arguments for exact shuffling over some epochs.
func exact(epochs int64, more fixture.Object) fixture.Object {
	args := fixture.Object{"shuffle": true, "shuffle_mode": "exact", "epochs": epochs}
	maps.Copy(args, more)
	return args
}

// ids returns the ids of the batches of a run.
func ids(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (all []int64, states [][]byte) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Tensor("id").Value().([]int64)...)
		states = append(states, b.State())
	}
	return all, states
}

// upTo returns the numbers from begin up to but without end.
func upTo(begin, end int64) (all []int64) {
	for i := begin; i < end; i++ {
		all = append(all, i)
	}
	return all
}

// Exact shuffling gives each epoch the order of its permutation, by the native
// operations and without them, with and without prefetching.
func TestExactShuffle(t *testing.T) {
	testruntime.Need(t)
	var want []int64
	for epoch := range int64(3) {
		order := permutation.New(51, permutation.Key{Seed: 11, Epoch: epoch})
		for i := range int64(51) {
			want = append(want, order.At(i))
		}
	}
	f := orderData(t, exact(3, fixture.Object{"num_prefetch": 3, "num_read_buffer_bytes": 100}))
	for name, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		got, _ := ids(t, l, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		epoch := slices.Clone(got[51:102])
		if slices.Sort(epoch); !slices.Equal(epoch, upTo(0, 51)) {
			t.Errorf("%s: an epoch has the records %v", name, epoch)
		}
	}
	if _, err := os.Stat(f.Path("4.tfrecords") + index.Suffix); err != nil {
		t.Errorf("a loader that needs the index has not written it: %v", err)
	}
}

// Block shuffling gives the same batches by the native operations and without them. It
// reads each record once in an epoch, and can be resumed from any position.
func TestBlockShuffle(t *testing.T) {
	testruntime.Need(t)
	args := exact(3, fixture.Object{"shuffle_mode": "block", "num_shuffle_buffer_elements": 20})
	f := orderData(t, args)
	native, states := ids(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: 5})
	general := openGeneral(t, f)
	got, _ := ids(t, general, nil)
	if diff := cmp.Diff(native, got); diff != "" {
		t.Errorf("(-native +general)\n%s", diff)
	}
	for epoch := range 3 {
		sorted := slices.Sorted(slices.Values(got[51*epoch : 51*(epoch+1)]))
		if !slices.Equal(sorted, upTo(0, 51)) || slices.Equal(got[51*epoch:51*(epoch+1)], upTo(0, 51)) {
			t.Errorf("epoch %d: %v", epoch, got[51*epoch:51*(epoch+1)])
		}
	}
	if got, _ := ids(t, general, &loaders.RunOptions{State: states[14]}); !slices.Equal(got, native[60:]) || len(states[14]) > 4096 {
		t.Errorf("from batch 15, a state of %d bytes: got %v, want %v", len(states[14]), got, native[60:])
	}
}

// Records with lists come in the same order by the native operations and without them:
// in padded batches, and in buckets, for which they are read one by one.
func TestExactShuffleOfLists(t *testing.T) {
	testruntime.Need(t)
	for name, more := range map[string]fixture.Object{
		"padded":  nil,
		"buckets": {"bucket_by_length": fixture.Object{"tensor": "pos", "boundaries": []int{2, 5}}},
	} {
		f := bucketDataset(t, "independent", exact(2, more))
		native, general := positionsOf(t, openSequence(t, f)), positionsOf(t, openGeneral(t, f))
		if diff := cmp.Diff(native, general); diff != "" || len(native) == 0 {
			t.Errorf("%s: %d batches (-native +general)\n%s", name, len(native), diff)
		}
	}
}

// positionsOf returns the padded positions of every batch.
func positionsOf(t *testing.T, l *loaders.Loader) (batches [][]int64) {
	t.Helper()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, slices.Clone(b.Tensor("pos").Value().([][]int64)[0]))
	}
	return batches
}

// Without shuffling, records that are read by their positions come in the order of the
// files.
func TestRange(t *testing.T) {
	testruntime.Need(t)
	for _, tt := range []struct {
		of   fixture.Object
		want []int64
	}{
		{fixture.Object{"start": 5, "end": 22}, upTo(5, 22)},
		{fixture.Object{"start": 48}, upTo(48, 51)},
		{fixture.Object{"end": 51}, upTo(0, 51)},
		{fixture.Object{"start": 7, "end": 7}, nil},
	} {
		f := orderData(t, fixture.Object{"epochs": 2, "range": tt.of})
		for _, l := range []*loaders.Loader{openSequence(t, f), openGeneral(t, f)} {
			if got, _ := ids(t, l, nil); !slices.Equal(got, append(slices.Clone(tt.want), tt.want...)) {
				t.Errorf("%v: got %v", tt.of, got)
			}
		}
	}
	for of, want := range map[string]string{"end": "ends at record 52", "start": "starts at record 52"} {
		f := orderData(t, fixture.Object{"range": fixture.Object{of: 52}})
		f.Save(t)
		if _, err := loaders.Open(f.Config(), nil); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", of, err)
		}
	}
}

// The shards of each epoch together are the whole epoch, each record once. Their sizes
// differ by one at most.
func TestShards(t *testing.T) {
	testruntime.Need(t)
	for _, shards := range []int64{2, 5, 60} {
		epochs := make([][]int64, 2)
		least, most := int64(51), int64(0)
		for i := range shards {
			if shards == 60 && i > 2 && i < 49 {
				epochs[0], epochs[1] = append(epochs[0], i), append(epochs[1], i) // one record each
				continue
			}
			f := orderData(t, exact(2, fixture.Object{"shard": fixture.Object{"count": shards, "index": i}}))
			if shards == 60 {
				f.Args["shuffle"], f.Args["shuffle_mode"] = false, "buffer"
			}
			got, _ := ids(t, openGeneral(t, f), nil)
			n := int64(len(got)) / 2
			least, most = min(least, n), max(most, n)
			epochs[0], epochs[1] = append(epochs[0], got[:n]...), append(epochs[1], got[n:]...)
		}
		if most-least > 1 {
			t.Errorf("%d shards have %d to %d records", shards, least, most)
		}
		for i, epoch := range epochs {
			if slices.Sort(epoch); !slices.Equal(epoch, upTo(0, 51)) {
				t.Errorf("%d shards, epoch %d: %v", shards, i, epoch)
			}
		}
	}
}

// A state is a position, and small: it also fits the other engine, other buffers and
// other threads.
func TestPositions(t *testing.T) {
	testruntime.Need(t)
	f := orderData(t, exact(2, fixture.Object{"num_prefetch": 4}))
	want, states := ids(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: 1})
	maps.Copy(f.Args, fixture.Object{"num_prefetch": 0, "num_parallel_reads": 3, "num_parallel_parses": 2, "num_read_buffer_bytes": 1})
	others := []*loaders.Loader{openSequence(t, f), openGeneral(t, f)}
	for i, state := range states {
		if len(state) > 4096 {
			t.Errorf("state %d has %d bytes", i, len(state))
		}
		for _, l := range others {
			got, _ := ids(t, l, &loaders.RunOptions{State: state})
			if begin := min(4*(i+1), len(want)); !slices.Equal(got, want[begin:]) {
				t.Fatalf("from batch %d: got %v, want %v", i, got, want[begin:])
			}
		}
	}
}

// A state is refused if it is of changed data, of another config, or within an epoch of
// another shard. At the end of an epoch the number of shards may change.
func TestPositionIsChecked(t *testing.T) {
	testruntime.Need(t)
	half := func(count, i int64, more fixture.Object) *fixture.Dataset {
		args := exact(2, fixture.Object{"shard": fixture.Object{"count": count, "index": i}, "target_batch_size": 5})
		maps.Copy(args, more)
		return orderData(t, args)
	}
	f := half(2, 1, nil) // 25 records in each epoch: 5 batches
	_, states := ids(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: 1})
	third := openSequence(t, half(3, 2, nil))
	whole, _ := ids(t, third, nil)
	if got, _ := ids(t, third, &loaders.RunOptions{State: states[4]}); !slices.Equal(got, whole[17:]) {
		t.Errorf("at the end of an epoch, with more shards: got %v, want %v", got, whole[17:])
	}
	rewritten := half(2, 1, nil)
	rewritten.WriteRecords(t, "0.tfrecords", fixture.Records(100, 107)...)
	for name, tt := range map[string]struct {
		l    *loaders.Loader
		want string
	}{
		"shard":  {third, "index 1 of 2, and this loader reads that with index 2 of 3"},
		"seed":   {openSequence(t, half(2, 1, fixture.Object{"seed": 12})), "seed 11"},
		"range":  {openSequence(t, half(2, 1, fixture.Object{"range": fixture.Object{"end": 51}})), "another loader config"},
		"epochs": {openSequence(t, half(2, 1, fixture.Object{"epochs": 3})), "another loader config"},
		"data":   {openSequence(t, rewritten), "data files have changed"},
	} {
		for _, err := range tt.l.Run(t.Context(), &loaders.RunOptions{State: states[2]}) {
			if !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%s: error %v, want %q", name, err, tt.want)
			}
		}
	}
}

// An error names a damaged record, or one that does not match the manifest. The batches
// before it are delivered.
func TestExactShuffleOfBadRecord(t *testing.T) {
	testruntime.Need(t)
	bad := permutation.New(51, permutation.Key{Seed: 11}).At(9) // a record of the third batch
	for name, change := range map[string]func(record []byte) []byte{
		"feature": func([]byte) []byte { return []byte("\x0a\x00") },
		"empty":   func([]byte) []byte { return nil },
	} {
		f, id := orderData(t, exact(1, nil)), int64(0)
		file, ordinal := "", bad
		for i, n := range orderSizes {
			if bad >= id && bad < id+n {
				file, ordinal = fmt.Sprint(i, ".tfrecords"), bad-id
				records := fixture.Records(id, id+n)
				records[ordinal] = change(records[ordinal])
				f.WriteRecords(t, file, records...)
			}
			id += n
		}
		for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
			batches := 0
			var last error
			for b, err := range l.Batches(t.Context()) {
				if last = err; b != nil {
					batches++
				}
			}
			var e *millrace.Error
			if !errors.As(last, &e) || e.Class != millrace.ErrSchema || e.File != f.Path(file) || e.Record != ordinal || batches != 2 {
				t.Errorf("%s, %s: %d batches, then %v; want record %d of %s", name, engine, batches, last, ordinal, file)
			}
		}
	}
}

// A forged index, with the lengths of two records exchanged, never gives a wrong
// record: the error names the record.
func TestExactShuffleByForeignIndex(t *testing.T) {
	testruntime.Need(t)
	f := orderData(t, exact(1, fixture.Object{"target_batch_size": 1}))
	for i := range orderSizes {
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords")) // no records
	}
	f.WriteRecords(t, "0.tfrecords", fixture.Records(100, 160)...)
	path := f.Path("0.tfrecords")
	if _, err := index.Scan(t.Context(), []string{path}, &index.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	const short, head = 27, 80 // the id 127 takes a byte less than 128
	b, err := os.ReadFile(path + index.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	lengths := b[head+4*short:]
	for i := range 4 {
		lengths[i], lengths[4+i] = lengths[4+i], lengths[i]
	}
	sum := sha256.Sum256(b[:len(b)-sha256.Size])
	if err := os.WriteFile(path+index.Suffix, append(b[:len(b)-sha256.Size], sum[:]...), 0o644); err != nil {
		t.Fatal(err)
	}
	order := permutation.New(60, permutation.Key{Seed: 11})
	for name, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		at := int64(0)
		for b, err := range l.Batches(t.Context()) {
			record := order.At(at)
			at++
			if err == nil {
				if id := b.Tensor("id").Value().([]int64)[0]; id != 100+record || record == short || record == short+1 {
					t.Errorf("%s: record %d has the id %d", name, record, id)
				}
				continue
			}
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrCorrupt || e.File != path || e.Record != record || record != short && record != short+1 {
				t.Errorf("%s, record %d: %v", name, record, err)
			}
		}
		if at == 60 {
			t.Errorf("%s: all records are read", name)
		}
	}
}

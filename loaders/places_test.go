package loaders_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/engine"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// placeOf returns the place of a record of orderData, by its id.
func placeOf(id int64) string {
	for file, n := range orderSizes {
		if id < n {
			return fmt.Sprintf("%d.tfrecords:%d", file, id)
		}
		id -= n
	}
	return "nowhere"
}

// placesOf returns the ids of each batch of a run as places, the places that the
// batches give, and the states.
func placesOf(t *testing.T, l *loaders.Loader, o loaders.RunOptions) (want, got [][]string, states [][]byte) {
	t.Helper()
	o.Places = true
	for b, err := range l.Run(t.Context(), &o) {
		if err != nil {
			t.Fatal(err)
		}
		var ids, places []string
		for _, id := range b.Tensor("id").Value().([]int64) {
			ids = append(ids, placeOf(id))
		}
		for _, p := range b.Places() {
			places = append(places, fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Record))
		}
		want, got, states = append(want, ids), append(got, places), append(states, b.State())
	}
	if len(want) == 0 {
		t.Fatal("there is no batch")
	}
	return want, got, states
}

// checkPlaces compares the places that batches give with the ids of their records, with
// both engines, from the start and from a state.
func checkPlaces(t *testing.T, f *fixture.Dataset) {
	t.Helper()
	for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		whole, got, states := placesOf(t, l, loaders.RunOptions{SaveEvery: 4}) // 4 batches in a run of the session, where they are joined
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Fatalf("%s (-ids +places)\n%s", engine, diff)
		}
		at := (len(states)/2/4 + 1) * 4 // after the first of two epochs
		if len(states) < at {
			at = 4
		}
		_, got, _ = placesOf(t, l, loaders.RunOptions{State: states[at-1]})
		if diff := cmp.Diff(whole[at:], got); diff != "" {
			t.Fatalf("%s, from batch %d (-ids +places)\n%s", engine, at, diff)
		}
	}
}

// Batches give the file and the number of the record of each row, in any order of the
// records: in files of several sizes, one of them empty, and across the ends of epochs.
func TestPlaces(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"in order":           {"epochs": 2},
		"joined":             {"target_batch_size": 2, "num_prefetch": 30, "drop_remainder": true},
		"shard":              {"epochs": 2, "shard": fixture.Object{"count": 3, "index": 1}},
		"range":              {"range": fixture.Object{"start": 5, "end": 30}},
		"exact":              exact(2, nil),
		"part":               exact(2, fixture.Object{"shard": fixture.Object{"count": 2, "index": 1}, "range": fixture.Object{"start": 3}}),
		"buffers":            buffers(fixture.Object{"num_parallel_reads": 4, "num_parallel_parses": 3, "num_prefetch": 5, "drop_remainder": true}),
		"compressed buffers": buffers(nil),
		"block":              exact(2, fixture.Object{"shuffle_mode": "block", "num_shuffle_buffer_elements": 20}),
	} {
		t.Run(name, func(t *testing.T) {
			f := orderData(t, args)
			if strings.HasPrefix(name, "compress") {
				f.Manifest["compression"] = "gzip"
				for i, id := 0, int64(0); i < len(orderSizes); i++ {
					f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(id, id+orderSizes[i])...)
					id += orderSizes[i]
				}
			}
			checkPlaces(t, f)
		})
	}
}

// Records that are left out have no rows. The records after them keep their own places,
// in later epochs too.
func TestPlacesWithoutBadRecords(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"in order": {"epochs": 3}, "exact": exact(3, nil), "checked": {"epochs": 2, "check_finite": true},
	} {
		t.Run(name, func(t *testing.T) {
			f := orderData(t, args)
			f.Args["bad_records"] = fixture.Object{"skip": 20}
			for _, file := range []int{0, 2, 3, 4} {
				records := fixture.Records(orderFirst(file), orderFirst(file)+orderSizes[file])
				for i := range records {
					if i%5 == 0 || i == 11 {
						records[i] = corrupt.Flip(records[i], 0)
					}
				}
				f.WriteRecords(t, fmt.Sprint(file, ".tfrecords"), records...)
			}
			checkPlaces(t, f)
		})
	}
}

// buffers returns arguments for shuffling two epochs in buffers.
func buffers(more fixture.Object) fixture.Object {
	args := maps.Clone(shuffledArgs)
	args["epochs"] = 2
	maps.Copy(args, more)
	return args
}

// orderFirst returns the id of the first record of a file of orderData.
func orderFirst(file int) (id int64) {
	for _, n := range orderSizes[:file] {
		id += n
	}
	return id
}

// The places in a mixture refer to the files of all its datasets.
func TestPlacesInMixture(t *testing.T) {
	testruntime.Need(t)
	f, _ := mixtureData(t, fixture.Object{"until": "all"})
	for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		for b, err := range l.Run(t.Context(), &loaders.RunOptions{Places: true}) {
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range b.Tensor("id").Value().([]int64) {
				file, first := "a.tfrecords", int64(0)
				switch {
				case id >= 100:
					file, first = "c.tfrecords", 100
				case id >= 20:
					file, first = "b.tfrecords", 20
				}
				if p := b.Places()[i]; filepath.Base(p.File) != file || p.Record != id-first {
					t.Fatalf("%s: record %d is at %v, want number %d of %s", engine, id, p, id-first, file)
				}
			}
		}
	}
}

// The place of a window is that of its first record.
func TestPlacesOfWindows(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"apart": {"epochs": 2}, "gaps": {"stride": 6}, "padded, overlapping": {"tail": "pad", "stride": 3}, "exact": exact(2, fixture.Object{"stride": 2}),
		"range": {"range": fixture.Object{"start": 2, "end": 10}}, "buffers": buffers(fixture.Object{"stride": 3}),
	} {
		f := wavesData(t, args)
		for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
			for b, err := range l.Run(t.Context(), &loaders.RunOptions{Places: true}) {
				if err != nil {
					t.Fatal(err)
				}
				for i, window := range b.Tensor("pos").Value().([][]int64) {
					file, record := 0, (window[0]-1)/3 // the files have 7 and 4 records
					if record >= 7 {
						file, record = 1, record-7
					}
					if p := b.Places()[i]; p.File != f.Path(fmt.Sprint(file, ".tfrecords")) || p.Record != record {
						t.Fatalf("%s, %s: the window of %v is at %v, want record %d of file %d", name, engine, window, p, record, file)
					}
				}
			}
		}
	}
}

// Windows of two records with lists of any length begin at every second record of a
// file. A run from a state gives the same places.
func TestPlacesOfDiscreteWindows(t *testing.T) {
	testruntime.Need(t)
	f := newSequence(t, "discrete_sequence", newSequenceData([][]int{{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3, 5}}))
	maps.Copy(f.Args, fixture.Object{"min_window": 2, "max_window": 2})
	want := []string{"00.tfrecords:0", "00.tfrecords:2", "01.tfrecords:0", "01.tfrecords:2", "01.tfrecords:4"}
	for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		run := func(o *loaders.RunOptions) (got []string, state []byte) {
			for b, err := range l.Run(t.Context(), o) {
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range b.Places() {
					got = append(got, fmt.Sprint(filepath.Base(p.File), ":", p.Record))
				}
				if state == nil {
					state = b.State()
				}
			}
			return got, state
		}
		got, state := run(&loaders.RunOptions{Places: true, SaveEvery: 1})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", engine, diff)
		}
		rest, _ := run(&loaders.RunOptions{Places: true, State: state})
		if n := len(rest); n == 0 || !cmp.Equal(want[len(want)-n:], rest) {
			t.Errorf("%s, behind the first batch: %v", engine, rest)
		}
	}
}

// Where places are not known, a run that asks for them ends before the first batch.
// Other runs give none.
func TestPlacesNotKnown(t *testing.T) {
	testruntime.Need(t)
	sloppy := maps.Clone(shuffledArgs)
	sloppy["sloppy_interleave"], sloppy["num_parallel_reads"] = true, 2
	for key, args := range map[string]fixture.Object{
		"args.bad_records": buffers(fixture.Object{"bad_records": fixture.Object{"skip": 1}}), "args.sloppy_interleave": sloppy,
	} {
		open := openings["native"]
		if key == "args.sloppy_interleave" { // native operations compute the order all the same
			open = openGeneral
		}
		for b, err := range open(t, orderData(t, args)).Run(t.Context(), &loaders.RunOptions{Places: true}) {
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrConfig || e.Key != key || !strings.Contains(e.Msg, "places of rows are not known") {
				t.Errorf("%s: got %v, %v", key, b, err)
			}
		}
	}
	for b, err := range openSequence(t, orderData(t, nil)).Batches(t.Context()) {
		if err != nil || b.Places() != nil {
			t.Errorf("nobody asked for places: %v, %v", b, err)
		}
	}
}

// sloppy_interleave changes nothing where the order is computed: the batches, places and states are the
// same.
func TestSloppyOrderIsComputed(t *testing.T) {
	testruntime.Need(t)
	var want []string
	for _, sloppy := range []bool{false, true} {
		args := maps.Clone(shuffledArgs)
		args["sloppy_interleave"], args["num_parallel_reads"], args["seed"] = sloppy, 2, 3
		l := openSequence(t, orderData(t, args))
		var texts []string
		for b, err := range l.Run(t.Context(), &loaders.RunOptions{Places: true}) {
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, textOf(t, b))
		}
		if want == nil {
			want = texts
		}
		if engine.AnyOrder(l.Plan().Engine()) || len(texts) == 0 || !cmp.Equal(want, texts) {
			t.Errorf("sloppy_interleave %v: any order %v (-false +true)\n%s", sloppy, engine.AnyOrder(l.Plan().Engine()), cmp.Diff(want, texts))
		}
	}
}

// bucketPlaces returns the places that the batches of a run give, and the places of the
// first records of their rows. A row without positions may be any such record.
func bucketPlaces(t *testing.T, l *loaders.Loader, o loaders.RunOptions) (want, got [][]string, states [][]byte) {
	t.Helper()
	records, empty := map[int64]string{}, map[string]bool{}
	n := int64(0)
	for file, lengths := range bucketData {
		for i, length := range lengths {
			place := fmt.Sprintf("%02d.tfrecords:%d", file, i)
			records[n], empty[place] = place, length == 0
			n += int64(length)
		}
	}
	o.Places = true
	for b, err := range l.Run(t.Context(), &o) {
		if err != nil {
			t.Fatal(err)
		}
		var rows, places []string
		for i, p := range b.Places() {
			place := fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Record)
			row := b.Tensor("pos").Value().([][]int64)[i]
			if (len(row) == 0 || row[0] < 0) && empty[place] {
				rows = append(rows, place)
			} else {
				rows = append(rows, records[row[0]])
			}
			places = append(places, place)
		}
		want, got, states = append(want, rows), append(got, places), append(states, b.State())
	}
	return want, got, states
}

// Buckets change the order, and the places of their batches are right: with shuffling
// in buffers too, and from a state that holds records.
func TestPlacesInBuckets(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"in order": {"epochs": 3}, "exact": exact(3, nil), "buffers": buffers(fixture.Object{"epochs": 3}),
		"shard": {"epochs": 2, "shard": fixture.Object{"count": 2, "index": 1}},
	} {
		f := bucketDataset(t, "independent", args)
		f.Args["target_batch_size"] = 4
		f.Args["bucket_by_length"] = fixture.Object{"tensor": "pos", "boundaries": []int{3, 8}}
		for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
			want, places, states := bucketPlaces(t, l, loaders.RunOptions{SaveEvery: 1})
			if diff := cmp.Diff(want, places); len(want) < 4 || diff != "" {
				t.Errorf("%s, %s: (-rows +places)\n%s", name, engine, diff)
			}
			for at := range states {
				_, rest, _ := bucketPlaces(t, l, loaders.RunOptions{State: states[at]})
				if diff := cmp.Diff(places[at+1:], rest, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s, %s, from batch %d (-whole +rest)\n%s", name, engine, at+1, diff)
				}
			}
		}
	}
}

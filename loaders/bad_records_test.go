package loaders_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/quarantine"
	"millrace/observe"
	"millrace/tfrecord/example"
	"millrace/tfrecord/index"

	"github.com/google/go-cmp/cmp"
)

// Three files hold the records 0 to 29, ten each, except for these bad ones. The data
// of record 3 fail their checksum, record 11 does not parse, 12 lacks a feature, and 29
// has a feature of another size.
var badIDs = map[int64][]byte{
	3:  fixture.Record(3),
	11: []byte("\xff\xfe\x00garbage"),
	12: example.Marshal([]example.Named{named("id", fixture.Ints(12))}),
	29: example.Marshal([]example.Named{named("id", fixture.Ints(29)), named("xs", fixture.Floats(1, 2, 3))}),
}

// badData returns a dataset of the records 0 to 29. With bad the records of badIDs are
// bad; without it they are missing.
func badData(t *testing.T, bad bool, args fixture.Object) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	for f := range int64(3) {
		var file bytes.Buffer
		for id := 10 * f; id < 10*f+10; id++ {
			record, isBad := badIDs[id]
			switch {
			case !isBad:
				file.Write(corrupt.Frame(fixture.Record(id)))
			case bad && id == 3:
				file.Write(corrupt.Flip(corrupt.Frame(record), 8*14))
			case bad:
				file.Write(corrupt.Frame(record))
			}
		}
		d.Write(t, fmt.Sprint(f, ".tfrecords"), file.Bytes())
	}
	maps.Copy(d.Args, fixture.Object{"seed": 7, "target_batch_size": 4, "bad_records": fixture.Object{"skip": 4}})
	maps.Copy(d.Args, args)
	return d
}

// openBad opens a dataset with a ledger, natively or not.
func openBad(t *testing.T, d *fixture.Dataset, isNative bool, ledger string) *loaders.Loader {
	t.Helper()
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), &loaders.CheckOptions{Quarantine: ledger})
	if plan == nil {
		t.Fatal(problems)
	}
	if !isNative {
		plan.NativeLibrary = ""
	}
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// batchesOf returns the ids of each batch of a run.
func batchesOf(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (batches [][]int64, states [][]byte) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, slices.Clone(b.Tensor("id").Value().([]int64)))
		states = append(states, bytes.Clone(b.State()))
	}
	return batches, states
}

var shuffledArgs = fixture.Object{
	"shuffle": true, "num_shuffle_buffer_elements": 8, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2,
}

// A bad record is left out as if it were not there: its neighbours stay, batches are
// full, and both engines give the same batches.
func TestBadRecordsAreLeftOut(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"in order": {"epochs": 2},
		"dropped":  {"epochs": 2, "drop_remainder": true},
		"shuffled": shuffledArgs,
	} {
		clean, _ := batchesOf(t, openBad(t, badData(t, false, args), true, ""), nil)
		d := badData(t, true, args)
		for _, isNative := range []bool{true, false} {
			got, _ := batchesOf(t, openBad(t, d, isNative, ""), nil)
			if diff := cmp.Diff(clean, got); diff != "" {
				t.Errorf("%s, native %v (-want +got)\n%s", name, isNative, diff)
			}
		}
	}
}

// Exact shuffling leaves out the same records, can be resumed from each of its states,
// and names no record twice.
func TestBadRecordsByPlace(t *testing.T) {
	testruntime.Need(t)
	d := badData(t, true, fixture.Object{"shuffle": true, "shuffle_mode": "exact", "epochs": 2})
	var first [][]int64
	for _, isNative := range []bool{true, false} {
		l := openBad(t, d, isNative, "")
		got, states := batchesOf(t, l, &loaders.RunOptions{SaveEvery: 1})
		all := slices.Concat(got...)
		if slices.Sort(all); len(all) != 52 || len(slices.Compact(all)) != 26 {
			t.Fatalf("two epochs have the records %v", all)
		}
		if first == nil {
			first = got
		}
		if !cmp.Equal(first, got) {
			t.Errorf("the engines differ:\n%v\n%v", first, got)
		}
		for i, state := range states {
			if len(state) > 4096 {
				t.Errorf("a state of %d bytes", len(state))
			}
			rest, _ := batchesOf(t, l, &loaders.RunOptions{State: state})
			if diff := cmp.Diff(slices.Concat(got[i+1:]...), slices.Concat(rest...)); diff != "" {
				t.Errorf("after batch %d (-want +got)\n%s", i, diff)
			}
		}
	}
}

// The ledger names each bad record, with the bytes of its data, and only once however
// often runs meet it. A listener gets one event for it in each run.
func TestLedger(t *testing.T) {
	testruntime.Need(t)
	d := badData(t, true, fixture.Object{"epochs": 2})
	path := filepath.Join(t.TempDir(), "bad.ndjson")
	l := openBad(t, d, true, path)
	heard := 0
	o := &loaders.RunOptions{SaveEvery: 1, Observe: &observe.Listener{LeftOut: func(observe.LeftOut) { heard++ }}}
	_, states := batchesOf(t, l, o)
	batchesOf(t, l, &loaders.RunOptions{State: states[2]})
	batchesOf(t, openBad(t, d, false, path), nil)
	entries, err := quarantine.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		data, err := os.ReadFile(e.File)
		if err != nil {
			t.Fatal(err)
		}
		if n := binary.LittleEndian.Uint64(data[e.Offset:]); int64(n) != e.Length {
			t.Errorf("%v: the record has %d bytes", e, n)
		}
		got = append(got, fmt.Sprintf("%s %d %s %q", filepath.Base(e.File), e.Ordinal, e.Class, e.Feature))
	}
	want := []string{
		`0.tfrecords 3 corrupt data ""`, `1.tfrecords 1 corrupt data ""`,
		`1.tfrecords 2 schema "xs"`, `2.tfrecords 9 schema "xs"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if heard != 4 {
		t.Errorf("a listener heard of %d records", heard)
	}
}

// One bad record more than allowed ends the run. The batches before it are still
// delivered, and the error names it.
func TestTooManyBadRecords(t *testing.T) {
	testruntime.Need(t)
	for _, skip := range []any{3, "10%", 0} {
		d := badData(t, true, fixture.Object{"bad_records": fixture.Object{"skip": skip}, "target_batch_size": 1})
		for _, isNative := range []bool{true, false} {
			var err error
			last := int64(-1)
			for b, e := range openBad(t, d, isNative, "").Batches(t.Context()) {
				if err = e; err == nil {
					last = b.Tensor("id").Value().([]int64)[0]
				}
			}
			file, record, before, class := "2.tfrecords", int64(9), int64(28), millrace.ErrSchema
			if skip == 0 {
				file, record, before, class = "0.tfrecords", 3, 2, millrace.ErrCorrupt
			}
			var e *millrace.Error
			if !errors.As(err, &e) || filepath.Base(e.File) != file || e.Record != record || !errors.Is(err, class) ||
				!errors.Is(err, quarantine.ErrTooMany) || !strings.Contains(e.Msg, "args.bad_records") {
				t.Errorf("skip %v, native %v: %v", skip, isNative, err)
			}
			if last != before {
				t.Errorf("skip %v, native %v: the last record before the error is %d", skip, isNative, last)
			}
		}
	}
}

// damageHeader flips a bit in the length of record 4 of a file, and keeps the file's
// modification time.
func damageHeader(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := len(slices.Concat(corrupt.Split(data)[:4]...))
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// After a header that fails its checksum, reading continues at the place that the index
// gives. Without an index the rest of the file is left out, and the ledger says how
// much.
func TestDamagedHeader(t *testing.T) {
	testruntime.Need(t)
	for _, indexed := range []bool{true, false} {
		for name, args := range map[string]fixture.Object{"in order": {}, "shuffled": shuffledArgs, "by place": {"range": fixture.Object{"start": 0}}} {
			d := badData(t, false, args)
			if indexed {
				if _, err := index.Scan(t.Context(), []string{d.Path("1.tfrecords")}, &index.Options{Write: true}); err != nil {
					t.Fatal(err)
				}
			}
			damageHeader(t, d.Path("1.tfrecords")) // record 16
			size := mustStat(t, d.Path("1.tfrecords"))
			for _, isNative := range []bool{true, false} {
				ledger := filepath.Join(t.TempDir(), "ledger")
				got, _ := batchesOf(t, openBad(t, d, isNative, ledger), nil)
				all := slices.Concat(got...)
				slices.Sort(all)
				want := slices.DeleteFunc(upTo(0, 30), func(id int64) bool {
					return badIDs[id] != nil || id == 16 || !indexed && id > 16 && id < 20
				})
				if diff := cmp.Diff(want, all); diff != "" {
					t.Errorf("%s, indexed %v, native %v (-want +got)\n%s", name, indexed, isNative, diff)
				}
				entries, err := quarantine.Read(ledger)
				if err != nil || len(entries) != 1 || entries[0].RestOfFile == indexed || entries[0].Ordinal != 4 {
					t.Fatalf("%s, indexed %v: the ledger has %v, %v", name, indexed, entries, err)
				}
				if e := entries[0]; !indexed && e.Offset+e.Length != size {
					t.Errorf("the rest is said to be %d bytes from %d on, of %d", e.Length, e.Offset, size)
				}
				checkExtract(t, entries[0])
			}
		}
	}
}

// checkExtract checks the copy of a record whose header is damaged: its data, or all that
// follows in the file.
func checkExtract(t *testing.T, e quarantine.Entry) {
	t.Helper()
	file, err := os.ReadFile(e.File)
	if err != nil {
		t.Fatal(err)
	}
	want := file[e.Offset:]
	if !e.RestOfFile {
		want = want[12 : 12+e.Length]
	}
	var out bytes.Buffer
	if _, err := quarantine.Extract(&out, []quarantine.Entry{e}); err != nil || !bytes.Equal(out.Bytes(), corrupt.Frame(want)) {
		t.Errorf("the copy of %+v has % x (%v)", e, out.Bytes(), err)
	}
}

func mustStat(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

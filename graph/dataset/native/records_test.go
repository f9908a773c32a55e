package native_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"
	"millrace/tfrecord"

	"github.com/google/go-cmp/cmp"
)

// stored returns one file of records in every form, by the form's name.
func stored(t testing.TB, file []byte) map[string]string {
	t.Helper()
	half := len(corrupt.Frame(corrupt.Split(file)[:5]...))
	return map[string]string{
		"":     writeFile(t, file),
		"GZIP": writeFile(t, corrupt.Members(file[:half], nil, file[half:])),
		"ZLIB": writeFile(t, corrupt.Zlib(file)),
	}
}

// TestRecords reads files in every form, once and again from a state in the
// middle.
func TestRecords(t *testing.T) {
	needLibrary(t)
	want := []any{}
	for _, record := range corrupt.Examples(10) {
		want = append(want, string(record))
	}
	for compression, path := range stored(t, corrupt.File()) {
		for _, name := range []string{path, "file://" + path, "file://localhost" + path} {
			s := newScope(t)
			o := &native.RecordsOptions{Compression: compression}
			d := native.Records(s, s.Const([]string{name, path}), s.Const([]int64{10, -1}), o)
			if diff := cmp.Diff(append(want[:10:10], want...), all(t, d)); diff != "" {
				t.Errorf("%q %s (-want +got)\n%s", compression, name, diff)
			}
			one := native.Records(s, s.Const(name), s.Const([]int64{}), o)
			if diff := cmp.Diff(want, all(t, one)); diff != "" {
				t.Errorf("%s %s, a scalar (-want +got)\n%s", compression, name, diff)
			}
		}
	}
}

// TestRecordsOfEveryMutation cuts files at every byte and flips bits of them. The
// records before the fault are delivered, followed by an error or, if the file is still
// a whole one, by the end.
func TestRecordsOfEveryMutation(t *testing.T) {
	needLibrary(t)
	const records = 4 // few, since every mutation is tried
	file := corrupt.Frame(corrupt.Examples(records)...)
	for compression, whole := range map[string][]byte{"": file, "GZIP": corrupt.Gzip(file), "ZLIB": corrupt.Zlib(file)} {
		path := writeFile(t, whole)
		s := newScope(t)
		read := rereader(t, native.Records(s, s.Const(path), s.Const(int64(records)), &native.RecordsOptions{Compression: compression}))
		check := func(what string, data []byte) {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := read()
			if err == nil && len(got) != records {
				t.Errorf("%q %s: %d records and no error", compression, what, len(got))
			}
			for i, record := range got {
				if record != string(corrupt.Example(i)) {
					t.Errorf("%q %s: record %d is not what was written", compression, what, i)
				}
			}
			var placed *millrace.Error
			if err != nil && (!errors.As(err, &placed) || placed.File != path) {
				t.Errorf("%q %s: %v does not name the file", compression, what, err)
			}
		}
		for n := range len(whole) {
			check(fmt.Sprintf("cut to %d", n), whole[:n])
		}
		for bit := 0; bit < 8*len(whole); bit += 5 {
			check(fmt.Sprintf("bit %d", bit), corrupt.Flip(whole, bit))
		}
	}
}

// rereader returns a function that reads a dataset of strings from its first
// element up to an error or the end.
func rereader(t testing.TB, d *dataset.Dataset) func() ([]any, error) {
	t.Helper()
	it := d.Iterator("it")
	next := it.Element
	sess, err := tfbridge.NewSession(d.Scope().Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return func() (elements []any, err error) {
		if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
			return nil, err
		}
		for {
			element, err := sess.Run(nil, next, nil)
			if errors.Is(err, tfbridge.OutOfRange) {
				return elements, nil
			}
			if err != nil {
				return elements, err
			}
			elements = append(elements, element[0].Value())
			element[0].Close()
		}
	}
}

// TestRecordThatClaimsTooMuch overwrites a file after its dataset was made, as a user
// might after a check.
func TestRecordThatClaimsTooMuch(t *testing.T) {
	needLibrary(t)
	for _, n := range []uint64{256<<20 + 1, 1 << 32, 1 << 36, 1 << 40, math.MaxInt64 - 4, math.MaxUint64, math.MaxUint64 - 4, math.MaxUint64 - 12} {
		bomb := append(corrupt.Frame(corrupt.Example(0)), corrupt.Header(n)...)
		for compression, data := range map[string][]byte{"": bomb, "GZIP": corrupt.Gzip(bomb), "ZLIB": corrupt.Zlib(bomb)} {
			path := writeFile(t, nil)
			s := newScope(t)
			d := dataset.TFRecords(s, s.Const(path), &dataset.TFRecordsOptions{Compression: compression})
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := tryAll(t, d)
			var e *millrace.Error
			if !errors.As(err, &e) || !errors.Is(err, millrace.ErrLimit) || e.Record != 1 || e.File != path {
				t.Errorf("%q, %d bytes: got %v", compression, n, err)
			}
		}
	}
}

// TestPlaceTravels finds the location of a bad record, whatever datasets stand between
// the operation that reads it and the one that decodes it.
func TestPlaceTravels(t *testing.T) {
	needLibrary(t)
	bad := corrupt.Examples(10)
	bad[7] = corrupt.Example(7)[:3]
	names := []string{writeFile(t, corrupt.File()), writeFile(t, corrupt.Frame(bad...))}
	index, err := tfrecord.Scan(t.Context(), names[1], nil)
	if err != nil || index.Records != 10 {
		t.Fatal(index, err)
	}
	want := millrace.Error{File: names[1], Record: 7, Offset: int64(len(corrupt.Frame(bad[:7]...)))}
	for name, decode := range map[string]func(d *dataset.Dataset, files out) *dataset.Dataset{
		"parse": func(d *dataset.Dataset, files out) *dataset.Dataset {
			return native.Parse(d, 3, corruptFeatures(), &native.ParseOptions{DecodeOptions: native.DecodeOptions{PlacedFiles: files}})
		},
		"map": func(d *dataset.Dataset, files out) *dataset.Dataset {
			return d.Batch(3, false).Map("decode", func(s *graph.Scope, args outs) outs {
				return native.Decode(s, args[0], corruptFeatures(), &native.DecodeOptions{PlacedFiles: s.Const(names)})
			}, &dataset.MapOptions{Parallel: 2})
		},
	} {
		s := newScope(t)
		files := dataset.FromSlices(s, s.Const(names), s.Const([]int64{10, 10}), s.Const([]int64{0, 1}))
		d := files.Interleave("read", func(s *graph.Scope, args outs) *dataset.Dataset {
			return native.Records(s, args[0], args[1], &native.RecordsOptions{Placed: true, FirstFile: args[2]})
		}, &dataset.InterleaveOptions{CycleLength: 2, BlockLength: 1, Parallel: 2})
		inTurn := native.Records(s, s.Const(names), s.Const([]int64{10, 10}), &native.RecordsOptions{Placed: true})
		for _, d := range []*dataset.Dataset{d, inTurn} {
			d = decode(d.Shuffle(16, &dataset.ShuffleOptions{Seed: 1}), s.Const(names))
			_, err := tryAll(t, d.Prefetch(2))
			var got *millrace.Error
			if !errors.As(err, &got) || !errors.Is(err, millrace.ErrSchema) {
				t.Fatalf("%s: got %v", name, err)
			}
			if got.File != want.File || got.Record != want.Record || got.Offset != want.Offset {
				t.Errorf("%s: got %v, want record %d of %s", name, got, want.Record, want.File)
			}
		}
	}
}

// TestDecodeNamesTheFeature checks that an error names the feature and the location of
// a record that lacks it.
func TestDecodeNamesTheFeature(t *testing.T) {
	needLibrary(t)
	path := writeFile(t, corrupt.File())
	s := newScope(t)
	features := append(corruptFeatures(), native.Feature{Key: "a=b&c\x00é", Kind: native.Int})
	d := native.Examples(s, s.Const([]string{path}), s.Const([]int64{10}), features, &native.ExamplesOptions{Epochs: 1})
	_, err := tryAll(t, d)
	var got *millrace.Error
	if !errors.As(err, &got) || got.Feature != features[2].Key || got.Record != 0 || got.Offset != 0 || got.Code != int(tfbridge.InvalidArgument) {
		t.Errorf("got %#v", got)
	}
}

// TestEpochsOfNothing checks that epochs without records end at once, however many
// there are.
func TestEpochsOfNothing(t *testing.T) {
	needLibrary(t)
	empty := writeFile(t, nil)
	for _, names := range [][]string{{}, {empty}, {empty, empty}} {
		for _, count := range []int64{-1, 0} {
			counts := bytes.Repeat([]byte{0}, len(names))
			numbers := make([]int64, len(counts))
			for i := range numbers {
				numbers[i] = count
			}
			for _, epochs := range []int64{1, math.MaxInt32, 1 << 40, math.MaxInt64} {
				d := nativeFiles(t, names, numbers, &native.ExamplesOptions{Epochs: epochs})
				if got := all(t, d); len(got) > 0 {
					t.Errorf("%d files, %d epochs: %d batches", len(names), epochs, len(got))
				}
			}
			if _, err := tryAll(t, nativeFiles(t, names, numbers, nil)); !errors.Is(err, tfbridge.FailedPrecondition) {
				t.Errorf("%d files without end: %v", len(names), err)
			}
		}
	}
	short := writeFile(t, corrupt.File())
	s := newScope(t)
	d := native.Windows(s, s.Const([]string{short}), s.Const([]int64{10}), []native.Feature{{Key: "vals", Kind: native.Float, Shape: []int64{3}}},
		&native.WindowsOptions{Min: 31, Max: 31, Epochs: math.MaxInt64})
	if got := all(t, d); len(got) > 0 {
		t.Errorf("%d windows of files that are too short", len(got))
	}
}

// TestRecordsOfAnotherKind checks that files of another kind are errors, and do not
// hang.
func TestRecordsOfAnotherKind(t *testing.T) {
	needLibrary(t)
	dir := t.TempDir()
	for name, path := range map[string]string{"missing": filepath.Join(dir, "x"), "folder": dir, "scheme": "nosuchscheme://x/y"} {
		s := newScope(t)
		_, err := tryAll(t, native.Records(s, s.Const(path), s.Const([]int64{}), nil))
		var got *millrace.Error
		if !errors.As(err, &got) || got.File != path || !errors.Is(err, millrace.ErrIO) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

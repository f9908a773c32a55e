package build_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// newExamples returns a dataset of plain Examples, as many in each file as counts
// says. All are numbered: record n has "x", the numbers from 4n on as two rows of
// two; "small", n as an int8; "code", n and n+1 in the upper half of a uint32, as
// big-endian bytes; and "tokens", n%3 rows of n and -n. The loader reads the named
// features.
func newExamples(t *testing.T, kind string, names []string, args fixture.Object, counts ...int) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.Type = kind
	d.Manifest["features"] = []fixture.Object{
		{"name": "x", "dtype": "float32", "shape": []int{2, 2}, "deserialize_type": "float"},
		{"name": "small", "dtype": "int8", "shape": []int{1}, "deserialize_type": "int"},
		{"name": "code", "dtype": "uint32", "shape": []int{2}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big"}},
		{"name": "tokens", "dtype": "int32", "shape": []int{-1, 2}, "deserialize_type": "int"},
	}
	var primaries []fixture.Object
	for _, name := range names {
		primaries = append(primaries, fixture.Object{"from_name": name, "to_name": name})
	}
	d.Args["primary_features"], d.Args["seed"], d.Args["target_batch_size"] = primaries, 3, 3
	if maps.Copy(d.Args, args); kind == "chunked_sequence" {
		delete(d.Args, "target_batch_size")
		delete(d.Args, "drop_remainder")
	}
	n := 0
	for i, count := range counts {
		var records [][]byte
		for range count {
			records = append(records, numbered(n))
			n++
		}
		d.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), records...)
	}
	d.Save(t)
	return d
}

// numbered returns record n of [newExamples].
func numbered(n int) []byte {
	var code []byte
	for i := range uint32(2) {
		code = binary.BigEndian.AppendUint32(code, 0xf0000000+uint32(n)+i)
	}
	var tokens []int64
	for range n % 3 {
		tokens = append(tokens, int64(n), int64(-n))
	}
	at := float32(4 * n)
	return example.Marshal([]example.Named{
		{Name: "x", Feature: fixture.Floats(at, at+1, at+2, at+3)},
		{Name: "small", Feature: fixture.Ints(int64(n))},
		{Name: "code", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{code}}},
		{Name: "tokens", Feature: fixture.Ints(tokens...)},
	})
}

// agree compares the results of both engines for a dataset, and looks for texts in
// them.
func agree(t *testing.T, d *fixture.Dataset, wants ...string) {
	t.Helper()
	general := dumpOf(t, d, false)
	if diff := cmp.Diff(dumpOf(t, d, true), general); diff != "" {
		t.Errorf("(-native +general)\n%s", diff)
	}
	for _, want := range wants {
		if !strings.Contains(general, want) {
			t.Errorf("no %s in\n%s", want, general)
		}
	}
}

// stepOf is a processing step that slices a tensor.
func stepOf(tensor, slice string) fixture.Object {
	return fixture.Object{"tensor": tensor, "type": "slice", "args": fixture.Object{"slice": slice}}
}

// The contents of plain Examples become the same batches with Millrace's own operations
// and without, whatever is cut from them.
func TestEnginesAgreeOnExamples(t *testing.T) {
	testruntime.Need(t)
	all := []string{"tokens", "x", "code", "small"}
	fixed := all[1:]
	measured := measureOf("n", "lengths", "tokens", 0)
	for _, tt := range []struct {
		name, kind string
		features   []string
		args       fixture.Object
		wants      []string
	}{
		{"parsed in groups", "independent", fixed, fixture.Object{
			"secondary_features": []fixture.Object{measureOf("rows", "mask", "x", 0), measureOf("columns", "lengths", "x", 1)},
			"processing_steps":   []fixture.Object{stepOf("x", "[:, 1:]")},
		}, []string{
			`"code": {"dtype": "uint32", "shape": [3, 2], "values": [4026531840, 4026531841, 4026531841, 4026531842, 4026531842, 4026531843]}`,
			`"x": {"dtype": "float32", "shape": [3, 2, 1], "values": [1, 3, 5, 7, 9, 11]}`,
			`"rows": {"dtype": "bool", "shape": [3, 2], "values": [true, true, true, true, true, true]}`,
			`"columns": {"dtype": "int64", "shape": [3], "values": [1, 1, 1]}`,
		}},
		{"as stored", "independent", []string{"x"}, fixture.Object{"epochs": nil, "target_batch_size": 10},
			[]string{`"shape": [10, 2, 2], "values": [40, 41, 42, 43, 44, 45, 46, 47, 0, 1, 2, 3,`}},
		{"bytes alone", "independent", []string{"code"}, fixture.Object{"drop_remainder": true, "target_batch_size": 10},
			[]string{`{"code": {"dtype": "uint32", "shape": [10, 2], "values": [4026531840, 4026531841, 4026531841,`}},
		{"any number of values", "independent", all, fixture.Object{
			"padding": []fixture.Object{{"tensor": "tokens", "shape": []int{-1, 3}, "value": 7}}, "secondary_features": []fixture.Object{measured},
		}, []string{
			`"tokens": {"dtype": "int32", "shape": [3, 2, 3], "values": [7, 7, 7, 7, 7, 7, 1, -1, 7, 7, 7, 7, 2, -2, 7, 2, -2, 7]}`,
			`"n": {"dtype": "int64", "shape": [3], "values": [0, 1, 2]}`,
		}},
		{"in buckets", "independent", all, fixture.Object{
			"padding": true, "bucket_by_length": fixture.Object{"tensor": "tokens", "axis": 0, "boundaries": []int{1, 2}},
		}, []string{`"small": {"dtype": "int8", "shape": [3, 1], "values": [2, 5, 8]}`}},
	} {
		t.Run(tt.name, func(t *testing.T) { agree(t, newExamples(t, tt.kind, tt.features, tt.args, 7, 2, 3), tt.wants...) })
	}
}

// A record that does not match the manifest ends the batches after those before it, and
// none of its values is delivered: one without a feature, one with too few values of a
// feature, and one with a number that its type does not hold.
func TestEnginesRefuseExamples(t *testing.T) {
	testruntime.Need(t)
	id := func(features ...example.Named) []byte { return example.Marshal(features) }
	small := example.Named{Name: "small", Feature: fixture.Ints(5)}
	wrong := map[string]string{"too few": "tokens", "no fit": "small"}
	for name, bad := range map[string][]byte{
		"missing": id(small),
		"too few": id(small, example.Named{Name: "tokens", Feature: fixture.Ints(1, 2, 3)}),
		"no fit":  id(example.Named{Name: "small", Feature: fixture.Ints(-1)}, example.Named{Name: "tokens", Feature: fixture.Ints()}),
	} {
		d := newExamples(t, "", []string{"small", "tokens"}, fixture.Object{"target_batch_size": 1, "padding": true})
		features := d.Manifest["features"].([]fixture.Object)
		features[1]["dtype"], features[1]["checked_cast"] = "uint64", true
		d.Save(t)
		d.WriteRecords(t, "0.tfrecords", numbered(1), bad, numbered(2))
		agree(t, d, `"small": {"dtype": "uint64", "shape": [1, 1], "values": [1]}`, "record 1 (offset")
		if got := strings.Count(dumpOf(t, d, false), `"small": {`); got != 1 {
			t.Errorf("%s: %d batches, want 1", name, got)
		}
		for _, native := range []bool{false, true} {
			if got, err := process(t, checked(t, d, native), bad); name != "missing" && (err == nil || !strings.Contains(err.Error(), wrong[name])) {
				t.Errorf("%s, native %v: got %s, %v; want the feature named", name, native, got, err)
			}
		}
	}
}

// Compressed files give the same batches as plain ones.
func TestEnginesAgreeOnCompressedFiles(t *testing.T) {
	testruntime.Need(t)
	window := fixture.Object{"min_window": 3, "max_window": 3}
	shuffled := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2}
	for _, d := range []*fixture.Dataset{
		newExamples(t, "", []string{"x", "code"}, nil, 3, 2),
		newExamples(t, "", []string{"x", "code"}, shuffled, 3, 2),
		newExamples(t, "continuous_sequence", []string{"x"}, window, 3, 2),
		newLists(t, "independent", fixture.Object{"padding": true}, []int{2, 1}, []int{3}),
	} {
		plain := dumpOf(t, d, true)
		compress(t, d)
		agree(t, d, plain)
	}
}

// A bad record ends the windows after those before it. They are found by parsing the
// records one by one, so each window is cut from several blocks, but still has the size
// that the seed draws.
func TestEnginesAgreeOnWindowsBeforeABadRecord(t *testing.T) {
	testruntime.Need(t)
	d := newExamples(t, "continuous_sequence", []string{"x"}, fixture.Object{"min_window": 1, "max_window": 5, "padding": true, "target_batch_size": 1})
	records := [][]byte{}
	for n := range 7 {
		records = append(records, numbered(n))
	}
	d.WriteRecords(t, "0.tfrecords", append(records, example.Marshal(nil))...)
	agree(t, d, "record 7 (offset", `"shape": [1, 4, 2], "values": [10, 11, 12, 13, 14, 15, 16, 17]`)
}

// Windows of plain Examples are the same with Millrace's own operations and without.
func TestEnginesAgreeOnWindows(t *testing.T) {
	testruntime.Need(t)
	for _, tt := range []struct {
		name, kind string
		features   []string
		args       fixture.Object
		wants      []string
	}{
		{"windows of rows", "continuous_sequence", []string{"x"}, fixture.Object{"min_window": 1, "max_window": 4, "padding": true},
			[]string{`{"x": {"dtype": "float32", "shape": [3, 4, 2], "values": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 0, 14, 15, 16, 17, 0, 0, 0, 0]}`}},
		{"equal windows", "continuous_sequence", []string{"x"}, fixture.Object{"min_window": 3, "max_window": 3, "stride": 2, "target_batch_size": 2},
			[]string{`"shape": [2, 3, 2], "values": [0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9]`}},
		{"shuffled", "continuous_sequence", []string{"x"}, fixture.Object{"min_window": 3, "max_window": 3, "target_batch_size": 2, "epochs": 2,
			"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2}, nil},
		{"windows of records", "discrete_sequence", []string{"small", "x"}, fixture.Object{"min_window": 2, "max_window": 2, "tail": "keep", "padding": true,
			"secondary_features": []fixture.Object{measureOf("rows", "lengths", "x", 0)}},
			[]string{`{"small": {"dtype": "int8", "shape": [2, 2], "values": [7, 8, 9, 10]}`, `"rows": {"dtype": "int64", "shape": [2], "values": [4, 4]}`}},
		{"in another order", "discrete_sequence", []string{"x", "code"}, fixture.Object{"min_window": 1, "max_window": 2, "padding": true},
			[]string{`{"x": {"dtype": "float32", "shape": [3, `}},
		{"windows in buckets", "continuous_sequence", []string{"x"}, fixture.Object{"min_window": 1, "max_window": 4, "padding": true,
			"processing_steps": []fixture.Object{stepOf("x", "[1:]")},
			"bucket_by_length": fixture.Object{"tensor": "x", "axis": 0, "boundaries": []int{1, 3}}},
			[]string{`{"x": {"dtype": "float32", "shape": [3, 1, 2], "values": [16, 17, 20, 21, 30, 31]}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newExamples(t, tt.kind, tt.features, tt.args, 7, 2, 3)
			agree(t, d, tt.wants...)
		})
	}
}

// measureOf is a secondary feature that measures a tensor.
func measureOf(name, kind, tensor string, axis int) fixture.Object {
	return fixture.Object{"to_name": name, "type": kind, "args": fixture.Object{"tensor": tensor, "axis": axis}}
}

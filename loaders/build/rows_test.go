package build_test

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord"

	"github.com/google/go-cmp/cmp"
)

// compress writes the data files of a dataset again in compressed form.
func compress(t *testing.T, d *fixture.Dataset) {
	t.Helper()
	files, err := filepath.Glob(d.Path("*.tfrecords"))
	if err != nil {
		t.Fatal(err)
	}
	d.Manifest["compression"] = "gzip"
	for _, path := range files {
		r, err := tfrecord.OpenFile(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var records [][]byte
		for data, err := r.Next(); err != io.EOF; data, err = r.Next() {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, slices.Clone(data))
		}
		r.Close()
		d.WriteRecords(t, filepath.Base(path), records...)
	}
	d.Save(t)
}

// only are arguments for some of the features.
func only(args fixture.Object, names ...string) fixture.Object {
	var primaries []fixture.Object
	for _, name := range names {
		primaries = append(primaries, fixture.Object{"from_name": name, "to_name": name})
	}
	all := fixture.Object{"primary_features": primaries}
	maps.Copy(all, args)
	return all
}

// allOutputs are arguments for all outputs of a chunked_sequence about rows.
func allOutputs(args fixture.Object) fixture.Object {
	all := fixture.Object{"with_seq_tag": true, "with_seq_idx": true, "with_chunk_start": true, "with_sizes": true, "with_epoch_end": true}
	maps.Copy(all, args)
	return all
}

// Rows of sequences are the same with Millrace's own operations and without: cut
// from files in one operation or in several, shuffled, in parts, sliced, padded.
func TestEnginesAgreeOnRows(t *testing.T) {
	testruntime.Need(t)
	files := [][]int{{3, 1, 2, 4}, {2, 2}, {6, 1}}
	for _, tt := range []struct {
		name  string
		args  fixture.Object
		wants []string
	}{
		{"cut with the files", only(fixture.Object{"batch_size": 12, "chunk_size": 3, "chunk_step": 2, "tail": "drop", "with_seq_tag": "tag", "with_chunk_start": true}, "pair", "id"), []string{
			`"seq_tag": {"dtype": "string", "shape": [4], "values": ["dGFnMA==", "dGFnMw==", "dGFnNg==", "dGFnNg=="]}`,
			`"chunk_start": {"dtype": "int32", "shape": [4], "values": [0, 0, 0, 2]}`,
		}},
		{"shuffled by two", allOutputs(fixture.Object{"batch_size": 20, "chunk_size": 3, "chunk_step": 1, "context_window": 1, "shuffle_chunks": 2, "epochs": 2}), []string{
			`"chunk_start": {"dtype": "int32", "shape": [4], "values": [1, 0, 0, 0]}`,
			`"pair/size0": {"dtype": "int32", "shape": [4], "values": [4, 5, 3, 4]}`,
			`"epoch_end": {"dtype": "bool", "shape": [4], "values": [false, false, false, true]}`,
		}},
		{"whole", allOutputs(fixture.Object{"batch_size": 12, "max_seqs": 2, "with_seq_tag": "tag", "seq_ordering": "sorted", "shuffle_seqs": 2}),
			[]string{`"seq_idx": {"dtype": "int32", "shape": [2], "values": [1, 2]}`}},
		{"sliced", only(measures(fixture.Object{"batch_size": 8, "processing_steps": []fixture.Object{stepOf("pos", "[1:]"), stepOf("pair", "[:, 1]")},
			"padding":            []fixture.Object{{"tensor": "pos", "value": -1}, {"tensor": "pair", "value": 9}},
			"secondary_features": []fixture.Object{measureOf("n", "lengths", "pos", 0)}}), "pos", "pair"), []string{
			`"pair": {"dtype": "float32", "shape": [2, 4], "values": [-4, -5, 9, 9, -6, -7, -8, -9]}, "n": {"dtype": "int64", "shape": [2], "values": [1, 3]}`,
		}},
		{"one element", only(fixture.Object{"batch_size": 8, "sequence_features": []string{"pos"}, "processing_steps": []fixture.Object{stepOf("pair", "[0]")}}, "pair", "pos"),
			[]string{`"pair": {"dtype": "float32", "shape": [2, 2], "values": [0, -0, 3, -3]}`}},
		{"in parts", allOutputs(fixture.Object{"batch_size": 6, "partition_epoch": 3, "epochs": 4}),
			[]string{`"seq_tag": {"dtype": "string", "shape": [1], "values": ["Mi50ZnJlY29yZHM6MA=="]}, "seq_idx": {"dtype": "int32", "shape": [1], "values": [0]}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newLists(t, "chunked_sequence", tt.args, files...)
			agree(t, d, tt.wants...)
		})
	}
}

// Sequences of one length are cut, too, and their frames padded. Data that give no rows
// give the same error. The parts of compressed data, which are read in order, are those
// of plain data.
func TestEnginesAgreeOnOtherRows(t *testing.T) {
	testruntime.Need(t)
	fixed := newExamples(t, "chunked_sequence", []string{"x", "small"}, fixture.Object{"batch_size": 8, "chunk_size": 2, "chunk_step": 1, "sequence_features": []string{"x"},
		"padding": []fixture.Object{{"tensor": "x", "shape": []int{-1, 3}, "value": 7}}}, 3, 1)
	agree(t, fixed, `"x": {"dtype": "float32", "shape": [4, 2, 3], "values": [0, 1, 7, 2, 3, 7, 2, 3, 7, 7, 7, 7, 4, 5, 7, 6, 7, 7, 6, 7, 7, 7, 7, 7]}`)
	two := []fixture.Object{{"tensor": "pair", "shape": []int{2, 2}}}
	for want, args := range map[string]fixture.Object{
		"args.tail: the data give no chunk: no sequence has 7 frames":    {"batch_size": 12, "chunk_size": 7, "tail": "drop"},
		`tensor "pair": a row of 3 frames is larger than its padding, 2`: {"batch_size": 12, "padding": two},
		"the sequences pair and pos have 2 and 1 frame":                  {"batch_size": 12, "chunk_size": 3, "processing_steps": []fixture.Object{stepOf("pos", "[1:]")}},
	} {
		agree(t, newLists(t, "chunked_sequence", only(args, "pair", "pos"), []int{2, 3}), want)
	}
	parts := newLists(t, "chunked_sequence", allOutputs(fixture.Object{"batch_size": 6, "partition_epoch": 3, "epochs": 4}), []int{3, 1, 2, 4}, []int{2, 2})
	plain := dumpOf(t, parts, true)
	compress(t, parts)
	if diff := cmp.Diff(plain, dumpOf(t, parts, true)); diff != "" {
		t.Errorf("(-plain +compressed)\n%s", diff)
	}
}

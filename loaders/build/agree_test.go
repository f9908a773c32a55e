package build_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// newLists returns a dataset of SequenceExamples with two lists of some lengths: "pos",
// numbers that continue through all files, and "pair", each number with its negative;
// and with "id" and "tag". The loader reads all but the tag.
func newLists(t *testing.T, kind string, args fixture.Object, files ...[]int) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.Type, d.Manifest["allow_var_len"] = kind, true
	d.Manifest["features"] = []fixture.Object{
		{"name": "pos", "dtype": "int32", "shape": []int{}, "deserialize_type": "int", "var_len": true},
		{"name": "id", "dtype": "int64", "shape": []int{1}, "deserialize_type": "int", "var_len": false},
		{"name": "pair", "dtype": "float32", "shape": []int{2}, "deserialize_type": "float", "var_len": true},
		{"name": "tag", "dtype": "string", "shape": []int{}, "deserialize_type": "string", "var_len": false},
	}
	names := []string{"pair", "pos", "id"}
	if kind == "continuous_sequence" {
		names = names[:2] // whose records have as many of each
	}
	var primaries []fixture.Object
	for _, name := range names {
		primaries = append(primaries, fixture.Object{"from_name": name, "to_name": name})
	}
	d.Args["primary_features"], d.Args["seed"] = primaries, 3
	if maps.Copy(d.Args, args); kind == "chunked_sequence" {
		delete(d.Args, "target_batch_size")
		delete(d.Args, "drop_remainder")
	}
	n, id := 0, int64(0)
	for i, lengths := range files {
		var records [][]byte
		for _, length := range lengths {
			pos, pair := example.NamedList{Name: "pos"}, example.NamedList{Name: "pair"}
			for range length {
				pos.Features = append(pos.Features, fixture.Ints(int64(n)))
				pair.Features = append(pair.Features, fixture.Floats(float32(n), -float32(n)))
				n++
			}
			tag := example.Feature{Kind: example.Bytes, Bytes: [][]byte{fmt.Append(nil, "tag", id)}}
			context := []example.Named{{Name: "id", Feature: fixture.Ints(id)}, {Name: "tag", Feature: tag}}
			records = append(records, example.MarshalSequence(context, []example.NamedList{pos, pair}))
			id++
		}
		d.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), records...)
	}
	d.Save(t)
	return d
}

// measures are arguments for lengths and masks of lists and of what is within them.
func measures(args fixture.Object, more ...fixture.Object) fixture.Object {
	measure := func(name, kind, tensor string, axis int) fixture.Object {
		return fixture.Object{"to_name": name, "type": kind, "args": fixture.Object{"tensor": tensor, "axis": axis}}
	}
	all := fixture.Object{
		"secondary_features": append([]fixture.Object{
			measure("n", "lengths", "pos", 0), measure("two", "lengths", "pair", 1), measure("has", "mask", "pair", 0), measure("has2", "mask", "pair", 1),
			{"to_name": "like", "type": "const", "args": fixture.Object{"shape": "pos", "dtype": "int8", "value": 4}},
			{"to_name": "fixed", "type": "const", "args": fixture.Object{"shape": []int{2}, "dtype": "float32", "value": 0.5}},
		}, more...),
		"padding":           []fixture.Object{{"tensor": "pos", "value": -1}, {"tensor": "pair", "shape": []int{-1, 3}, "value": 9}},
		"target_batch_size": 3,
	}
	maps.Copy(all, args)
	return all
}

// dumpOf returns the batches of a dataset as text, with Millrace's own operations or
// without, or the final error.
func dumpOf(t *testing.T, d *fixture.Dataset, native bool) string {
	t.Helper()
	return textOf(dump(t, checked(t, d, native), 9))
}

// countsOf is dumpOf with the number of elements of each padded tensor.
func countsOf(t *testing.T, d *fixture.Dataset, native bool) string {
	t.Helper()
	p, _ := loaders.MeasurePadding(checked(t, d, native))
	return textOf(dump(t, p, 9))
}

// textOf returns batches as text, with the error that ended them.
func textOf(batches []byte, err error) string {
	if err != nil {
		return string(batches) + err.Error()
	}
	return string(batches)
}

// Millrace's own operations and TensorFlow's give the same batches of every type
// of loader, with lengths, masks and numbers of elements; these have the values that
// follow from the lengths of the lists.
func TestEnginesAgree(t *testing.T) {
	testruntime.Need(t)
	window := func(least, most int, more fixture.Object) fixture.Object {
		args := fixture.Object{"min_window": least, "max_window": most}
		maps.Copy(args, more)
		return measures(args)
	}
	records := fixture.Object{"to_name": "parts", "type": "lengths", "args": fixture.Object{"tensor": "pos", "of": "records"}}
	whole := fixture.Object{"to_name": "ids", "type": "lengths", "args": fixture.Object{"tensor": "id", "of": "records"}}
	bucket := measures(fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "axis": 0, "boundaries": []int{2, 4}}})
	files := [][]int{{3, 1, 2, 4, 0, 5}, {2, 2, 2, 2}, {6, 1}}
	for _, tt := range []struct {
		name, kind string
		args       fixture.Object
		want       string // text of the batches
	}{
		{"lists", "independent", measures(nil), `"n": {"dtype": "int64", "shape": [3], "values": [3, 1, 2]}`},
		{"lists in buckets", "independent", bucket, `"n": {"dtype": "int64", "shape": [3], "values": [1, 2, 0]}`},
		{"sliced lists", "independent", measures(fixture.Object{"processing_steps": []fixture.Object{stepOf("pos", "[0:2]"), stepOf("pair", "[-2:]")}}),
			`"pos": {"dtype": "int32", "shape": [3, 2], "values": [0, 1, 3, -1, 4, 5]}`},
		{"windows", "continuous_sequence", window(1, 4, nil), `"two": {"dtype": "int64", "shape": [3], "values": [2, 2, 2]}`},
		{"overlapping windows", "continuous_sequence", window(1, 4, fixture.Object{"stride": 2}), `"dtype": "bool"`},
		{"equal windows", "continuous_sequence", window(3, 3, fixture.Object{"tail": "pad"}), `"n": {"dtype": "int64", "shape": [3], "values": [3, 3, 3]}`},
		{"windows of records", "discrete_sequence", func() fixture.Object {
			args := measures(fixture.Object{"min_window": 2, "max_window": 2, "tail": "keep"}, records, whole)
			return args
		}(), `"parts": {"dtype": "int64", "shape": [3, 2], "values": [3, 1, 2, 4, 0, 5]}`},
		{"chunks", "chunked_sequence", func() fixture.Object {
			args := measures(fixture.Object{"batch_size": 8, "chunk_size": 3, "chunk_step": 2})
			delete(args, "target_batch_size")
			return args
		}(), `"elements of pair": {"dtype": "int64", "shape": [2], "values": [6, 2]}, "elements of pos": {"dtype": "int64", "shape": [2], "values": [3, 1]}, "elements of has": {"dtype": "int64", "shape": [2], "values": [3, 1]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newLists(t, tt.kind, tt.args, files...)
			general := countsOf(t, d, false)
			if diff := cmp.Diff(countsOf(t, d, true), general); diff != "" {
				t.Errorf("(-native +general)\n%s", diff)
			}
			if !strings.Contains(general, tt.want) {
				t.Errorf("no %s in\n%s", tt.want, general)
			}
		})
	}
}

// The error that ends a batch gives the tensor, step and shapes, whichever operations
// found it.
func TestErrorsOfBatches(t *testing.T) {
	testruntime.Need(t)
	step := func(text string) fixture.Object {
		return fixture.Object{"padding": true, "target_batch_size": 3,
			"processing_steps": []fixture.Object{{"tensor": "pos", "type": "slice", "args": fixture.Object{"slice": text}}}}
	}
	for want, args := range map[string]fixture.Object{
		`tensor "pair": examples of one batch differ in shape: [2 2] and [4 2]; set args.padding`: {
			"target_batch_size": 3, "primary_features": []fixture.Object{{"from_name": "pair", "to_name": "pair"}}},
		`tensor "pos": slice "[2]": index 2 is out of range for dimension 0 of shape [2]`:   step("[2]"),
		`tensor "pos": slice "[-3]": index -3 is out of range for dimension 0 of shape [2]`: step("[-3]"),
		`tensor "pair": shape [4 2] is larger than its padding [3 2] in dimension 0`: {
			"target_batch_size": 3, "padding": []fixture.Object{{"tensor": "pair", "shape": []int{3, 2}}}},
		`tensor "pos": shape [3] is larger than its padding [0] in dimension 0`: {
			"target_batch_size": 3, "padding": []fixture.Object{{"tensor": "pos", "shape": []int{0}}}},
	} {
		d := newLists(t, "independent", args, []int{3, 3, 3, 4, 2})
		for _, native := range []bool{false, true} {
			if got := dumpOf(t, d, native); !strings.Contains(got, want) {
				t.Errorf("native %v: no %s in\n%s", native, want, got)
			}
		}
	}
}

// Building in a graph that has failed before returns that error, with the config,
// whatever is built: no stage uses an input that does not exist.
func TestBuildInAFailedGraph(t *testing.T) {
	testruntime.Need(t)
	window := fixture.Object{"min_window": 1, "max_window": 2, "padding": true}
	equal := fixture.Object{"min_window": 2, "max_window": 2, "tail": "pad", "shuffle": true, "num_shuffle_buffer_elements": 2, "num_filenames_shuffle_buffer": 1, "num_mix_files": 1}
	for _, d := range []*fixture.Dataset{
		newLists(t, "independent", fixture.Object{"padding": true}, []int{1}),
		newLists(t, "independent", fixture.Object{"padding": true, "bucket_by_length": fixture.Object{"tensor": "pos", "axis": 0, "boundaries": []int{2}}}, []int{1}),
		newLists(t, "continuous_sequence", window, []int{3}),
		newLists(t, "discrete_sequence", window, []int{3}),
		newLists(t, "continuous_sequence", equal, []int{3}),
		newLists(t, "chunked_sequence", allOutputs(fixture.Object{"batch_size": 4, "chunk_size": 2, "shuffle_chunks": 2, "partition_epoch": 2}), []int{3}),
		newExamples(t, "independent", []string{"code", "tokens"}, fixture.Object{"padding": true}, 1),
		newExamples(t, "independent", []string{"code", "small"}, nil, 1),
		newExamples(t, "continuous_sequence", []string{"x"}, window, 3),
		newExamples(t, "chunked_sequence", []string{"x", "small"}, fixture.Object{"batch_size": 4}, 3),
	} {
		for _, native := range []bool{false, true} {
			buildInAFailedGraph(t, checked(t, d, native))
		}
	}
}

func buildInAFailedGraph(t *testing.T, p *loaders.Plan) {
	t.Helper()
	scan, err := p.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	s.UpdateErr("before", errors.New("it failed"))
	parts, err := loaders.Build(s, p, scan)
	var e *millrace.Error
	if parts != nil || !errors.As(err, &e) || e.Class != millrace.ErrInternal || e.Loader != p.Path || !strings.Contains(err.Error(), "it failed") {
		t.Errorf("%s: got %v, %v", p.Path, parts, err)
	}
}

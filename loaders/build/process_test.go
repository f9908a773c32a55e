package build_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/loaders/build"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// checked returns the plan of a dataset, with Millrace's own operations or without.
func checked(t *testing.T, d *fixture.Dataset, native bool) *loaders.Plan {
	t.Helper()
	p, problems := loaders.Check(d.Config(), nil)
	if p == nil {
		t.Fatal(problems)
	}
	if !native {
		p.NativeLibrary = ""
	}
	return p
}

// process returns what a plan makes of records that come from no file, as text, or
// the error that explains why it does not.
func process(t *testing.T, p *loaders.Plan, records ...[]byte) (text string, problem error) {
	t.Helper()
	s := graph.NewScope()
	defer s.Graph().Close()
	in := s.Placeholder(tfbridge.String, tfbridge.MakeShape(-1))
	made, err := build.Process(s, p, in)
	if err != nil {
		return "", err
	}
	session, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	fed, err := tfbridge.NewTensor(stringsOf(records))
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	var fetches []tfbridge.Output
	for _, x := range made.Tensors {
		fetches = append(fetches, x.Output)
	}
	got, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{in: fed}, fetches, nil)
	if failed := (*tfbridge.Error)(nil); errors.As(err, &failed) {
		return "", cmp.Or(made.FailedAssertion(failed), err)
	}
	for _, mark := range []string{"", tfbridge.CheckMark(99) + "]", tfbridge.CheckMark(0) + "]"} {
		if e := made.FailedAssertion(&tfbridge.Error{Msg: "[" + mark}); e != nil {
			t.Errorf("the failure %q of another graph is explained: %v", mark, e)
		}
	}
	var columns []output.Column
	for i, x := range got {
		defer x.Close()
		columns = append(columns, columnOf(t, made.Tensors[i].Name, x))
	}
	all, err := output.AppendBatch(nil, columns)
	if err != nil {
		t.Fatal(err)
	}
	return string(all), nil
}

func stringsOf(records [][]byte) (all []string) {
	for _, r := range records {
		all = append(all, string(r))
	}
	return all
}

// Records that come from no file become the tensors that a loader of files makes of
// them: those of fixed shape, and rows of any length, padded to the longest. A
// failure names the tensor and the loader.
func TestProcessRecords(t *testing.T) {
	testruntime.Need(t)
	list := func(n ...int64) []byte {
		pos := example.NamedList{Name: "pos"}
		for _, x := range n {
			pos.Features = append(pos.Features, fixture.Ints(x))
		}
		id := []example.Named{{Name: "id", Feature: fixture.Ints(5)}}
		return example.MarshalSequence(id, []example.NamedList{pos, {Name: "pair"}})
	}
	fixed := newExamples(t, "", []string{"code", "small"}, fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 1, "num_mix_files": 1,
		"secondary_features": []fixture.Object{{"to_name": "one", "type": "const", "args": fixture.Object{"shape": []int{}, "dtype": "int8", "value": 1}}}}, 1)
	listed := func(args fixture.Object) *fixture.Dataset {
		return newLists(t, "independent", only(args, "pos"), []int{1})
	}
	longest := listed(fixture.Object{"padding": []fixture.Object{{"tensor": "pos", "value": -1}}})
	short := listed(fixture.Object{"padding": []fixture.Object{{"tensor": "pos", "shape": []int{2}}}})
	unpadded := listed(nil)
	for _, native := range []bool{false, true} {
		for _, tt := range []struct {
			from          *fixture.Dataset
			records       [][]byte
			want, problem string
		}{
			{fixed, [][]byte{numbered(6), numbered(2), numbered(9)},
				`{"code": {"dtype": "uint32", "shape": [3, 2], "values": [4026531846, 4026531847, 4026531842, 4026531843, 4026531849, 4026531850]}, ` +
					`"small": {"dtype": "int8", "shape": [3, 1], "values": [6, 2, 9]}, "one": {"dtype": "int8", "shape": [3], "values": [1, 1, 1]}}` + "\n", ""},
			{longest, [][]byte{list(1, 2, 3), list(), list(4)}, `{"pos": {"dtype": "int32", "shape": [3, 3], "values": [1, 2, 3, -1, -1, -1, 4, -1, -1]}}` + "\n", ""},
			{short, [][]byte{list(1), list(1, 2)}, `{"pos": {"dtype": "int32", "shape": [2, 2], "values": [1, 0, 1, 2]}}` + "\n", ""},
			{short, [][]byte{list(1), list(1, 2, 3)}, "", `tensor "pos": shape [3] is larger than its padding [2] in dimension 0`},
			{unpadded, [][]byte{list(1, 2), list(3)}, "", `tensor "pos": examples of one batch differ in shape: [1] and [2]; set args.padding`},
		} {
			got, err := process(t, checked(t, tt.from, native), tt.records...)
			if got != tt.want {
				t.Errorf("native %v:\n got %s\nwant %s", native, got, tt.want)
			}
			if e := (*millrace.Error)(nil); tt.problem != "" && (!errors.As(err, &e) || e.Loader != tt.from.Config() || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("native %v:\n got %v\nwant %s", native, err, tt.problem)
			}
		}
	}
}

// A plan that cannot process single records says why, and which key to change.
func TestProcessRefusals(t *testing.T) {
	testruntime.Need(t)
	windows := newLists(t, "continuous_sequence", fixture.Object{"min_window": 2, "max_window": 2}, []int{3})
	for _, d := range []*fixture.Dataset{windows, newLists(t, "chunked_sequence", fixture.Object{"batch_size": 4}, []int{3})} {
		_, err := process(t, checked(t, d, true))
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrConfig || e.File != d.Config() || e.Key != "type" || !strings.Contains(err.Error(), d.Type+" loader cuts") {
			t.Errorf("%s: got %v", d.Type, err)
		}
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	s.UpdateErr("before", errors.New("it failed"))
	_, err := build.Process(s, checked(t, newExamples(t, "", []string{"x"}, nil, 1), true), s.Placeholder(tfbridge.String, tfbridge.MakeShape(-1)))
	if !errors.Is(err, millrace.ErrInternal) || !strings.Contains(err.Error(), "it failed") {
		t.Errorf("in a graph that has failed: got %v", err)
	}
}

// Models in the steps answer requests: the rows of a request are the batch that they see.
func TestProcessModels(t *testing.T) {
	testruntime.Need(t)
	models, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	call := func(model, per string, inputs, outputs fixture.Object) fixture.Object {
		return fixture.Object{"type": "savedmodel", "args": fixture.Object{"dir": filepath.Join(models, model), "per": per, "inputs": inputs, "outputs": outputs}}
	}
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{{"name": "x", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"}}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "x", "to_name": "x"}}
	var records [][]byte
	for i := range 2 {
		v := float32(i)
		records = append(records, example.Marshal([]example.Named{{Name: "x", Feature: fixture.Floats(v, v+1, -v)}}))
	}
	f.WriteRecords(t, "a.tfrecords", records...)
	f.Args["processing_steps"] = []fixture.Object{
		call("linear", "example", fixture.Object{"x": "x"}, fixture.Object{"y": "one"}),
		call("linear", "batch", fixture.Object{"x": "x"}, fixture.Object{"y": "y"}),
		{"type": "drop", "tensor": "x"},
	}
	f.Save(t)
	want := `{"one": {"dtype": "float32", "shape": [2, 2], "values": [2.5, 0, 5.25, -4.5]}, "y": {"dtype": "float32", "shape": [2, 2], "values": [2.5, 0, 5.25, -4.5]}}` + "\n"
	for _, native := range []bool{false, true} {
		if got, err := process(t, checked(t, f, native), records...); got != want || err != nil {
			t.Errorf("native %v:\n got %s, %v\nwant %s", native, got, err, want)
		}
	}
}

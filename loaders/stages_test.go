package loaders_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// built builds a dataset's graph from TensorFlow's operations alone.
func built(t *testing.T, d *fixture.Dataset) *loaders.Pipeline {
	t.Helper()
	d.Save(t)
	p, problems := loaders.Check(d.Config(), nil)
	if p == nil {
		t.Fatal(problems)
	}
	p.NativeLibrary = "" // its operations combine several stages
	scan, err := p.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	pipe, err := loaders.Build(s, p, scan)
	if err != nil {
		t.Fatal(err)
	}
	return pipe
}

// stagesOf prints the dataset operations of a graph in order, with those
// inputs that are constants.
func stagesOf(t *testing.T, d *fixture.Dataset) (stages []string, tensors []loaders.NamedOutput) {
	t.Helper()
	pipe := built(t, d)
	for _, op := range graphOf(pipe).Operations() {
		if strings.Contains(op.Type(), "Dataset") && !strings.HasPrefix(op.Type(), "TensorSlice") {
			stages = append(stages, op.Type()+constantsOf(t, &op))
		}
	}
	return stages, pipe.Tensors
}

// graphOf returns the graph that a pipeline is in.
func graphOf(pipe *loaders.Pipeline) *tfbridge.Graph { return pipe.Tensors[0].Output.Op.Graph() }

func constantsOf(t *testing.T, op *tfbridge.Operation) (text string) {
	t.Helper()
	for _, in := range op.Inputs() {
		if in.Op.Type() != "Const" || in.DataType() == tfbridge.Resource {
			continue
		}
		v, err := in.Op.Attr("value")
		if err != nil {
			t.Fatal(err)
		}
		if x, ok := v.(*tfbridge.Tensor); ok {
			text += fmt.Sprint(" ", x.Value())
			x.Close()
		}
	}
	return text
}

// The values of a config are in the graph's nodes, and the whole path of an element is
// in the graph.
func TestStages(t *testing.T) {
	testruntime.Need(t)
	base := func(t *testing.T) *fixture.Dataset {
		d := fixture.New(t)
		d.Args["num_prefetch"], d.Args["num_read_buffer_bytes"] = 3, 4096
		return d
	}
	write := func(t *testing.T, d *fixture.Dataset) {
		for i := range int64(3) {
			d.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(4*i, 4*i+4)...)
		}
	}
	t.Run("in order", func(t *testing.T) {
		d := base(t)
		d.Manifest["compression"] = "gzip"
		write(t, d)
		got, tensors := stagesOf(t, d)
		want := []string{"FlatMapDataset", "RepeatDataset 1"}
		if diff := cmp.Diff(want, got[:min(2, len(got))]); diff != "" {
			t.Errorf("reading (-want +got)\n%s", diff)
		}
		ops := map[string]int{}
		for _, n := range nodesOf(t, d) {
			ops[n.GetOp()]++
		}
		if ops["MillraceGoPure"] != 1 || ops["TFRecordDataset"] != 0 || ops["AssertCardinalityDataset"] != 1 {
			t.Errorf("operations: %v, want Go to read the files", ops)
		}
		if end := strings.Join(got[len(got)-3:], "; "); !strings.Contains(end, "PrefetchDataset 3") {
			t.Errorf("no prefetch at the end of %q", got)
		}
		if tensors[0].Output.Shape().Size(0) != -1 {
			t.Errorf("batch dimension of %s", tensors[0].Output.Shape())
		}
	})
	t.Run("endless", func(t *testing.T) {
		d := base(t)
		d.Args["epochs"] = nil
		write(t, d)
		got, tensors := stagesOf(t, d)
		if !strings.Contains(strings.Join(got, "; "), "RepeatDataset -1") {
			t.Errorf("no endless repeat in %q", got)
		}
		if tensors[0].Output.Shape().Size(0) != 2 {
			t.Errorf("batch dimension of %s, want 2", tensors[0].Output.Shape())
		}
	})
	t.Run("shuffled", func(t *testing.T) {
		d := base(t)
		d.Args["shuffle"], d.Args["num_shuffle_buffer_elements"], d.Args["num_filenames_shuffle_buffer"], d.Args["num_mix_files"] = true, 7, 5, 9
		d.Args["num_parallel_reads"], d.Args["num_interleave_in_buffer_elements"], d.Args["num_interleave_out_buffer_elements"] = 2, 4, 6
		d.Args["num_parallel_parses"], d.Args["seed"] = 8, 11
		write(t, d)
		for _, sloppy := range []bool{false, true} {
			d.Args["sloppy_interleave"] = sloppy
			// The body of a function is an epoch. With three files no more than three
			// are read in turns, although the config says nine.
			want := []string{
				"AssertCardinalityDataset",
				"MillraceGoPure",
				"ParallelInterleaveDatasetV4 cycle_length=3 block_length=1 buffer_output_elements=6 prefetch_input_elements=4 num_parallel_calls=2" + deterministic(!sloppy),
				"ParallelMapDatasetV2 num_parallel_calls=8" + deterministic(!sloppy),
				"ShuffleDataset buffer_size=5 seed=11",
				"ShuffleDataset buffer_size=7 seed=11",
			}
			if !sloppy { // the rest of an interrupted epoch: numbers are shuffled, and Go reads the records
				want = append(want, "MillraceGoPure", "ShuffleDataset buffer_size=5 seed=11", "ShuffleDataset buffer_size=7 seed=11")
				slices.Sort(want)
			}
			var got []string
			for _, n := range nodesOf(t, d) {
				for _, op := range want {
					if name, _, _ := strings.Cut(op, " "); name == n.GetOp() {
						got = append(got, n.String())
						break
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sloppy_interleave %v: nodes (-want +got)\n%s", sloppy, diff)
			}
		}
	})
}

// The manifest and the list are used as they were when the loader was opened; later
// changes have no effect (A16, D07).
func TestFilesAreReadOnce(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.Args["epochs"] = 2
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
	list := d.Dir + "/files.txt"
	if err := os.WriteFile(list, []byte(d.Path("a.tfrecords")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	manifest := d.Path("__manifest__.json")
	d.Args["dataset"] = fixture.Object{"type": "list", "args": fixture.Object{"manifest_file": manifest, "list_file": list}}
	d.Save(t)
	l, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range []string{manifest, list, d.Config()} {
		if err := os.WriteFile(path, []byte("something else"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var ids []int64
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, column[int64](t, b, "id")...)
	}
	if diff := cmp.Diff(append(count(4), count(4)...), ids); diff != "" {
		t.Errorf("ids (-want +got)\n%s", diff)
	}
}

package portable_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/cases"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/loaders/engine"
	"millrace/loaders/portable"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// importEnv names the graphs that a child of the tests imports, and prints the batches of.
const importEnv = "MILLRACE_TEST_IMPORT"

func TestMain(m *testing.M) {
	if list := os.Getenv(importEnv); list != "" {
		if err := printBatches(context.Background(), filepath.SplitList(list)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(tfmain.RunMixed(m))
}

// most is how many batches of a graph are compared.
const most = 16

// printBatches imports graphs that another process has built, and prints their batches.
func printBatches(ctx context.Context, paths []string) error {
	for _, path := range paths {
		g, err := portable.Read(path)
		if err != nil {
			return err
		}
		text, err := imported(ctx, g)
		if err != nil {
			text = append(text, "failed: "+err.Error()+"\n"...)
		}
		if _, err := fmt.Printf("%s==\n", text); err != nil {
			return err
		}
	}
	return nil
}

// imported returns the batches of a graph as `millrace dump` prints them.
func imported(ctx context.Context, g *portable.Graph) (text []byte, err error) {
	in := tfbridge.NewGraph()
	defer in.Close()
	if err := in.Import(g.Def, ""); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(g.Dataset, ":")
	var specs []graph.Spec
	for _, x := range g.Tensors {
		d, ok := dtype.Parse(x.DType)
		if !ok {
			return nil, fmt.Errorf("data type %q", x.DType)
		}
		specs = append(specs, graph.Spec{DType: d, Shape: tfbridge.MakeShape(x.Shape...)})
	}
	d := dataset.FromVariant(graph.NewScopeWithGraph(in), in.Operation(name).Output(0), specs)
	n := 0
	for batch, err := range d.All(ctx, nil) {
		if err != nil {
			return text, err
		}
		var columns []output.Column
		for i, x := range batch {
			c, err := columnOf(g.Tensors[i].Name, x)
			if err != nil {
				return text, err
			}
			columns = append(columns, c)
		}
		if text, err = output.AppendBatch(text, columns); err != nil {
			return text, err
		}
		if n++; n == most {
			break
		}
	}
	return text, nil
}

// columnOf copies a tensor for the output.
func columnOf(name string, x *tfbridge.Tensor) (c output.Column, err error) {
	c = output.Column{Name: name, DType: x.DataType(), Shape: x.Shape()}
	if c.DType == dtype.String {
		c.Strings, err = x.Strings()
	} else {
		c.Data, err = x.Bytes()
	}
	return c, err
}

// inGo returns the batches that Go reads, in the order of a graph's tensors.
func inGo(t *testing.T, p *loaders.Plan, g *portable.Graph) (text []byte) {
	t.Helper()
	return inGoFrom(t, p, g, nil)
}

// inGoFrom is inGo from a state on.
func inGoFrom(t *testing.T, p *loaders.Plan, g *portable.Graph, state []byte) (text []byte) {
	t.Helper()
	l, err := loaders.OpenPlan(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := 0
	for b, err := range l.Run(t.Context(), &loaders.RunOptions{State: state}) {
		if err != nil {
			return append(text, "failed: "+err.Error()+"\n"...)
		}
		var columns []output.Column
		for _, x := range g.Tensors {
			c, err := columnOf(x.Name, b.Tensor(x.Name))
			if err != nil {
				t.Fatal(err)
			}
			columns = append(columns, c)
		}
		if text, err = output.AppendBatch(text, columns); err != nil {
			t.Fatal(err)
		}
		if n++; n == most {
			break
		}
	}
	return text
}

var (
	everyCase = flag.Bool("every-case", false, "compare every case, and not a few of each kind")
	python    = flag.String("python", "", "compare with the batches that package millrace of python/ reads, too, with this `PROGRAM`")
)

// someCases have what graphs are made of: casts, constants, steps, measures, padding, lists,
// windows and chunks.
var someCases = []string{
	"rand-006", "seq-empty-lists", "raw-special", "shuffle-pipeline", "cont-slice", "disc-random-own",
	"chunk-rand-003", "chunk-with-sizes",
}

// planOfCase plans a case; nil if its config is refused. why says why a planned case is not
// compared.
func planOfCase(t *testing.T, name string) (p *loaders.Plan, why string) {
	t.Helper()
	dir, seed := cases.Prepare(t, name), int64(7)
	o := &loaders.CheckOptions{Seed: &seed}
	if path := cases.Model(dir); path != "" {
		if o.Model, _ = spec.ReadModelNames(path); o.Model == nil {
			return nil, ""
		}
	}
	if p, _ = loaders.Check(filepath.Join(dir, "loader.json"), o); p != nil && p.Sloppy {
		why = "sloppy_interleave leaves the order open"
	}
	if name == "chunk-err-no-chunks" {
		why = "a run in Go reports at the end that there was no chunk, and a graph ends"
	}
	return p, why
}

// graphOf writes the graph of a plan; nil if the data are refused before there is a graph.
func graphOf(t *testing.T, p *loaders.Plan, path string) *portable.Graph {
	t.Helper()
	scan, err := loaders.Prepare(t.Context(), p, nil)
	if err != nil {
		return nil
	}
	g, err := portable.New(t.Context(), p, scan, nil)
	var early *millrace.Error
	if errors.As(err, &early) && early.Class != millrace.ErrModel && early.Class != millrace.ErrInternal {
		return nil // checks find what a run would
	}
	if list := engine.InGo(p.Engine()); len(list) > 0 {
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrModel || !strings.Contains(e.Msg, list[0].Why) {
			t.Errorf("%s: a plan with %v gives %v", p.Path, list, err)
		}
		return nil
	}
	if err == nil {
		err = g.Write(path, nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", p.Path, err)
	}
	return g
}

// orders are the arguments of loaders in the orders that records come in.
func orders() map[string]fixture.Object {
	shuffled := func(mode string, more fixture.Object) fixture.Object {
		args := fixture.Object{"shuffle": true, "shuffle_mode": mode, "epochs": 3}
		maps.Copy(args, more)
		return args
	}
	return map[string]fixture.Object{
		"exact":   shuffled("exact", nil),
		"dropped": shuffled("exact", fixture.Object{"drop_remainder": true}),
		"block":   shuffled("block", fixture.Object{"num_shuffle_buffer_elements": 20}),
		"buffer":  {"shuffle": true, "num_shuffle_buffer_elements": 9, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2, "epochs": 3},
		"shard":   shuffled("exact", fixture.Object{"shard": fixture.Object{"index": 1, "count": 3}}),
		"range":   {"range": fixture.Object{"start": 5, "end": 29}, "epochs": 2},
		"endless": shuffled("exact", fixture.Object{"epochs": nil}),

		"within":         shuffled("exact", fixture.Object{"batch_within_epoch": true, "target_batch_size": 20}),
		"within dropped": shuffled("exact", fixture.Object{"batch_within_epoch": true, "target_batch_size": 20, "drop_remainder": true}),
		"within files":   {"epochs": 3, "batch_within_epoch": true, "target_batch_size": 20},

		"skip":       shuffled("exact", fixture.Object{"bad_records": fixture.Object{"skip": 3}}),
		"duplicates": {"duplicate_features": "error", "epochs": 2},
		"finite":     shuffled("block", fixture.Object{"num_shuffle_buffer_elements": 20, "check_finite": true}),
	}
}

// planOfOrder plans a loader of 51 records with the ids 0 to 50.
func planOfOrder(t *testing.T, args fixture.Object) *loaders.Plan {
	t.Helper()
	f, id := fixture.New(t), int64(0)
	for i, n := range []int64{7, 0, 12, 1, 31} {
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(id, id+n)...)
		id += n
	}
	maps.Copy(f.Args, fixture.Object{"seed": 11, "target_batch_size": 4, "drop_remainder": false})
	maps.Copy(f.Args, args)
	f.Save(t)
	p, problems := loaders.Check(f.Config(), nil)
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

// refusals are the reasons for which cases are not compared, and how many there are.
var refusals = map[string]int{
	"sloppy_interleave leaves the order open":                                  4,
	"a run in Go reports at the end that there was no chunk, and a graph ends": 1,
}

// A graph gives the batches of its loader in another process, and so does Go without the
// native operations: three ways, one result.
func TestSameBatches(t *testing.T) {
	testruntime.Need(t)
	plans, refused := map[string]*loaders.Plan{}, map[string]int{}
	names := someCases
	if *everyCase {
		names = cases.All(t)
	}
	for _, name := range names {
		switch p, why := planOfCase(t, name); {
		case why != "":
			refused[why]++
		case p != nil && p.NativeLibrary != "":
			plans[name] = p
		}
	}
	if *everyCase && !maps.Equal(refused, refusals) {
		t.Errorf("cases without a graph: %v, want %v", refused, refusals)
	}
	for name, args := range orders() {
		plans[name] = planOfOrder(t, args)
	}
	if n := compareGraphs(t, plans); n < len(orders())+len(someCases)/2 {
		t.Errorf("only %d graphs were written", n)
	}
}

// compareGraphs compares the batches of the graphs of plans in another process with those that
// Go reads, natively and not. It returns how many graphs there are.
func compareGraphs(t *testing.T, plans map[string]*loaders.Plan) int {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	var want [][]byte
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		p := plans[name]
		path := filepath.Join(dir, name+".pb")
		g := graphOf(t, p, path)
		if g == nil {
			continue
		}
		text := inGo(t, p, g)
		paths, want = append(paths, path), append(want, text)
		fed := *p
		if fed.NativeLibrary = ""; !bytes.Equal(sound(inGo(t, &fed, g)), sound(text)) {
			t.Errorf("%s: the engines differ", name)
		}
		if err := os.WriteFile(path+".txt", text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range inChild(t, paths) {
		if n := bytes.Count(want[i], []byte("\n")); !bytes.Equal(sound(got), sound(want[i])) {
			t.Errorf("%s: %d batches\n got %.300s\nwant %.300s", filepath.Base(paths[i]), n, got, want[i])
		}
	}
	comparePython(t, dir)
	return len(paths)
}

// comparePython has Python compare the graphs in a folder with the texts beside them.
func comparePython(t *testing.T, dir string) {
	t.Helper()
	if *python == "" {
		return
	}
	library, err := native.Library()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..", "python")
	child := exec.CommandContext(t.Context(), *python, filepath.Join(root, "tests", "compare_graphs.py"), library, dir)
	child.Env = append(os.Environ(), "PYTHONPATH="+root, "TF_CPP_MIN_LOG_LEVEL=2", "CUDA_VISIBLE_DEVICES=")
	out, err := child.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("python: %v", err)
	}
}

// sound returns the batches before a failure, and that there is one.
func sound(text []byte) []byte {
	batches, _, failed := bytes.Cut(text, []byte("failed: "))
	return fmt.Append(bytes.Clone(batches), failed) // a copy: text stays as it is
}

// A graph continues from a state of a run here, and a run here from a state that was computed.
func TestStates(t *testing.T) {
	testruntime.Need(t)
	all := orders()
	for _, name := range []string{"exact", "buffer", "shard", "range", "endless"} {
		p := planOfOrder(t, all[name])
		scan, err := loaders.Prepare(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := portable.New(t.Context(), p, scan, nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(inGo(t, p, whole), []byte("\n"))
		for _, n := range []int64{0, 8} {
			state, err := portable.State(p, scan, n)
			if err != nil {
				t.Fatal(err)
			}
			if saved := savedState(t, p, n); saved != nil && !bytes.Equal(saved, state) {
				t.Errorf("%s after %d batches:\ncomputed %s\n   saved %s", name, n, state, saved)
			}
			g, err := portable.New(t.Context(), p, scan, &portable.Options{State: state})
			if err != nil {
				t.Fatal(err)
			}
			got, err := imported(t.Context(), g)
			want := bytes.Join(lines[min(int(n), len(lines)-1):], nil)
			if err != nil || !bytes.HasPrefix(got, want) || whole.Batches >= 0 && g.Batches != whole.Batches-n {
				t.Errorf("%s from batch %d of %d: %v\n got %.200s\nwant %.200s", name, n, g.Batches, err, got, want)
			}
		}
	}
}

// A graph of any plan continues from a state of a run here. Where a state follows from the number
// of batches, a run here continues from it.
func TestStatesOfEveryKind(t *testing.T) {
	testruntime.Need(t)
	plans := skippingPlans(t, func(string) bool { return false })
	for name, args := range orders() {
		plans["sound "+name] = planOfOrder(t, args)
	}
	plans["sound files"] = planOfOrder(t, fixture.Object{"epochs": 2, "drop_remainder": true})
	computed := 0
	for name, p := range plans {
		scan, err := loaders.Prepare(t.Context(), p, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		g, err := portable.New(t.Context(), p, scan, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		lines := bytes.SplitAfter(inGo(t, p, g), []byte("\n"))
		for _, n := range []int64{5} {
			want := bytes.Join(lines[n:], nil)
			rest, err := portable.New(t.Context(), p, scan, &portable.Options{State: savedState(t, p, n)})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, err := imported(t.Context(), rest); err != nil || !bytes.HasPrefix(got, want) {
				t.Errorf("%s from batch %d: %v\n got %.200s\nwant %.200s", name, n, err, got, want)
			}
			state, err := portable.State(p, scan, n)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if state == nil {
				continue
			}
			computed++
			if got := inGoFrom(t, p, g, state); !bytes.HasPrefix(got, want) {
				t.Errorf("%s in Go from batch %d:\n got %.200s\nwant %.200s", name, n, got, want)
			}
		}
	}
	if computed < len(orders()) {
		t.Errorf("only %d states were computed", computed)
	}
}

// savedState returns the state that a run here saves after n batches.
func savedState(t *testing.T, p *loaders.Plan, n int64) []byte {
	t.Helper()
	if n == 0 {
		return nil
	}
	l, err := loaders.OpenPlan(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for b, err := range l.Run(t.Context(), &loaders.RunOptions{SaveEvery: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if n--; n == 0 {
			return b.State()
		}
	}
	return nil
}

// Records are checked when a graph is written: a bad one is the error of a run, unless a run
// would skip it.
func TestRecordsAreCheckedBefore(t *testing.T) {
	testruntime.Need(t)
	nan := example.Marshal([]example.Named{{Name: "id", Feature: fixture.Ints(2)}, {Name: "xs", Feature: fixture.Floats(1, float32(math.NaN()))}})
	for _, tt := range []struct {
		args fixture.Object
		want string // "": the graph is written
	}{
		{fixture.Object{"check_finite": true}, "record 1 (offset"},
		{fixture.Object{"check_finite": true, "bad_records": fixture.Object{"skip": 1}}, ""},
		{fixture.Object{"check_finite": true, "bad_records": fixture.Object{"skip": 0}}, "which is not finite"},
		{fixture.Object{"duplicate_features": "error"}, ""},
	} {
		f := fixture.New(t)
		f.WriteRecords(t, "a.tfrecords", fixture.Record(1))
		f.WriteRecords(t, "b.tfrecords", fixture.Record(1), nan)
		maps.Copy(f.Args, tt.args)
		f.Save(t)
		p, problems := loaders.Check(f.Config(), nil)
		if p == nil {
			t.Fatal(problems)
		}
		scan, err := loaders.Prepare(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = portable.New(t.Context(), p, scan, nil)
		if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) || tt.want != "" && !strings.Contains(got, "b.tfrecords") {
			t.Errorf("%v: got %v, want %q of b.tfrecords", tt.args, err, tt.want)
		}
	}
}

// inChild returns the batches of graphs that another process imports.
func inChild(t *testing.T, paths []string) [][]byte {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), importEnv+"="+strings.Join(paths, string(filepath.ListSeparator)))
	child.Stderr = os.Stderr
	out, err := child.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.Split(out, []byte("==\n"))
	if len(all) != len(paths)+1 {
		t.Fatalf("%d graphs gave %d outputs", len(paths), len(all)-1)
	}
	return all[:len(paths)]
}

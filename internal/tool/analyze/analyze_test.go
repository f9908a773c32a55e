package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The rank of each quantile is right within 0.1%, for data in any order and merged from parts, and
// the sketch stays small.
func TestQuantiles(t *testing.T) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	for name, order := range map[string][]int{"sorted": nil, "random": r.Perm(n)} {
		var parts8 [8]sketch
		for i := range n {
			x := i
			if order != nil {
				x = order[i]
			}
			parts8[i/64%8].add(float64(x))
		}
		all := &parts8[0]
		for i := 1; i < 8; i++ {
			all.merge(&parts8[i])
		}
		for i, x := range all.quantiles(parts) {
			if off := math.Abs(x/n - parts[i]); off > 0.001 {
				t.Errorf("%s: quantile %v is off by %.5f of the ranks", name, parts[i], off)
			}
		}
		held := 0
		for _, level := range all.levels {
			held += len(level)
		}
		if held > 5*sketchSize {
			t.Errorf("%s: the sketch holds %d values", name, held)
		}
	}
}

// Values that come together give the sketch that they give one by one.
func TestSketchOfMany(t *testing.T) {
	var alone, together sketch
	r := rand.New(rand.NewPCG(3, 4))
	for total := 0; total < 8_000_000; {
		list := make([]float64, 1+r.IntN(300))
		for i := range list {
			list[i] = r.Float64()
			alone.add(list[i])
		}
		together.addAll(list)
		total += len(list)
	}
	if !cmp.Equal(alone.levels, together.levels) || alone.sampled != together.sampled || alone.sampled == 0 || alone.block != together.block {
		t.Errorf("sampled %d and %d, block %d and %d", alone.sampled, together.sampled, alone.block, together.block)
	}
}

// Values are sorted by their bits as by themselves.
func TestSketchSorts(t *testing.T) {
	list := []float64{3, -1, math.Inf(1), 0, -2e300, 5e-324, math.MaxFloat64, -5e-324, math.Inf(-1), -1, 7}
	want := slices.Sorted(slices.Values(list))
	new(sketch).sort(list)
	if !cmp.Equal(want, list) {
		t.Errorf("got %v, want %v", list, want)
	}
}

// Means and deviations do not depend on the order, and survive a large offset.
func TestMoments(t *testing.T) {
	var forward, backward moments
	for i := range 100_000 {
		forward.add(1e9 + float64(i%10))
		backward.add(1e9 + float64((99_999-i)%10))
	}
	if forward.mean() != 1e9+4.5 || math.Abs(forward.std()-math.Sqrt(8.25)) > 1e-9 {
		t.Errorf("mean %v, std %v; want %v and %v", forward.mean(), forward.std(), 1e9+4.5, math.Sqrt(8.25))
	}
	if forward.std() != backward.std() || forward.mean() != backward.mean() {
		t.Error("the order changes the result")
	}
}

// Distinct values are counted within 3%.
func TestDistinct(t *testing.T) {
	for _, n := range []int64{1, 4096, 5000, 300_000} {
		var a, b distinct
		for i := range n {
			a.add(math.Float64bits(float64(i)))
			b.add(math.Float64bits(float64(i / 2)))
		}
		b.merge(&a)
		for _, d := range []*distinct{&a, &b} {
			got, exact := d.value()
			if math.Abs(float64(got-n)) > 0.03*float64(n) || exact != (n <= mostExact) {
				t.Errorf("%d for %d values, exact: %v", got, n, exact)
			}
		}
	}
}

// Words beyond what fits are dropped, the rare ones first, and the counts say so.
func TestManyWords(t *testing.T) {
	const most = 1 << 14
	w := newWords(most)
	for i := range most + most/2 {
		w.add(fmt.Sprint("rare ", i))
		if i%2 == 0 {
			w.add("the")
		}
	}
	list, dropped := w.sorted()
	if len(list) > most || list[0].Text != "the" || dropped == 0 || list[0].Count != (most+most/2)/2 {
		t.Errorf("%d words, dropped %d, first %v", len(list), dropped, list[0])
	}
}

// An analysis of a config sees each tensor as it is before the step that needs the statistics: all of
// its values, without padding. A second analysis writes the same bytes.
func TestRun(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "xs", "dtype": "float32", "shape": []int{2}, "deserialize_type": "float"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
	}
	var records [][]byte
	for i := range 200 {
		text := []string{"The cat", "the", "", "a dog the"}[i%4]
		records = append(records, example.Marshal([]example.Named{
			{Name: "xs", Feature: fixture.Floats(float32(i), -3)}, {Name: "text", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(text)}}},
		}))
	}
	f.WriteRecords(t, "a.tfrecords", records...)
	f.Args["primary_features"] = []fixture.Object{{"from_name": "xs", "to_name": "xs"}, {"from_name": "text", "to_name": "text"}}
	from := fixture.Object{"from": "not there.json", "tensor": "xs"}
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "scale", "tensor": "xs", "args": fixture.Object{"factor": 2}},
		{"type": "random_noise", "tensor": "xs", "args": fixture.Object{"stddev": 1}},
		{"type": "normalize", "tensor": "xs", "args": fixture.Object{"mean": from, "std": from}},
		{"type": "clip", "tensor": "xs", "args": fixture.Object{"min": 0, "max": 1}},
		{"type": "lower", "tensor": "text"},
		{"type": "split", "tensor": "text", "to_name": "words"},
		{"type": "lookup", "tensor": "words", "args": fixture.Object{"vocabulary": "not there.txt"}},
		{"type": "drop", "tensor": "text"},
	}
	f.Args["padding"], f.Args["shuffle"], f.Args["num_shuffle_buffer_elements"] = []fixture.Object{{"tensor": "words", "shape": []int{2}}}, true, 10
	f.Args["num_filenames_shuffle_buffer"], f.Args["num_mix_files"], f.Args["epochs"], f.Args["num_parallel_reads"] = 1, 1, nil, 1
	f.Save(t)
	found := analyzed(t, f.Config())
	xs := found.Tensors["xs"]
	if xs == nil || found.Examples != 200 || !cmp.Equal(xs.Mean, []float64{199, -6}) || math.Abs(xs.Std[0]-math.Sqrt(4*(200*200-1)/12.)) > 1e-9 || xs.Std[1] != 0 {
		t.Fatalf("got %+v of %d examples", xs, found.Examples)
	}
	if *xs.All.Least != -6 || *xs.All.Most != 398 || xs.All.Zeros != 1 || xs.Distinct != 201 || xs.Values != 400 || xs.Lengths != nil {
		t.Errorf("got %+v, %+v", xs, xs.All)
	}
	words := found.Tensors["words"]
	want := []Word{{"the", 150}, {"a", 50}, {"cat", 50}, {"dog", 50}}
	if diff := cmp.Diff(want, words.words); diff != "" || words.Empty != 50 || words.Values != 300 || *words.Lengths.Most != 3 {
		t.Errorf("%d empty, %d values (-want +got)\n%s", words.Empty, words.Values, diff)
	}
	first, _ := json.Marshal(found)
	second, _ := json.Marshal(analyzed(t, f.Config()))
	if !bytes.Equal(first, second) || !slices.Contains(found.names(), "text") {
		t.Errorf("twice other bytes, or the dropped tensor is missing:\n%s\n%s", first, second)
	}
}

func (s *Statistics) names() (list []string) {
	for name := range s.Tensors {
		list = append(list, name)
	}
	return list
}

// analyzed analyzes a config.
func analyzed(t *testing.T, path string) *Statistics {
	t.Helper()
	replace, skipped, err := Replacements(path, nil)
	if err != nil || len(skipped) != 2 {
		t.Fatal(skipped, err)
	}
	checked, problems := loaders.Check(path, &loaders.CheckOptions{Replace: replace})
	if checked == nil {
		t.Fatal(problems)
	}
	plan, err := Plan(checked)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	found, err := Run(t.Context(), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

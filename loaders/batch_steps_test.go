package loaders_test

import (
	"math"
	"strings"
	"testing"

	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// mixedData returns ten records: an image of 6 by 4 pixels with the number of the record from 1
// everywhere, and that number as a class.
func mixedData(t *testing.T, args fixture.Object, batchSteps ...fixture.Object) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "image", "dtype": "float32", "shape": []int{6, 4, 1}, "deserialize_type": "float"},
		{"name": "class", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	}
	var records [][]byte
	for i := range int64(10) {
		pixels := make([]float32, 24)
		for k := range pixels {
			pixels[k] = float32(i + 1)
		}
		records = append(records, example.Marshal([]example.Named{
			{Name: "image", Feature: example.Feature{Kind: example.Float, Floats: pixels}}, {Name: "class", Feature: fixture.Ints(i)},
		}))
	}
	f.WriteRecords(t, "a.tfrecords", records[:4]...)
	f.WriteRecords(t, "b.tfrecords", records[4:]...)
	f.Args["primary_features"] = []fixture.Object{{"from_name": "image", "to_name": "image"}, {"from_name": "class", "to_name": "class"}}
	f.Args["processing_steps"] = []fixture.Object{{"type": "one_hot", "tensor": "class", "to_name": "label", "args": fixture.Object{"depth": 10}}}
	f.Args["epochs"], f.Args["seed"], f.Args["target_batch_size"] = 2, 5, 4
	if len(batchSteps) > 0 {
		f.Args["batch_steps"] = batchSteps
	}
	for key, value := range args {
		f.Args[key] = value
	}
	return f
}

// betas returns the shares that rows draw in an epoch by the rule of docs/config.md, for the
// step with a number.
func betas(t *testing.T, epoch, step uint64, alpha float32) []float32 {
	t.Helper()
	s := graph.NewScope()
	defer s.Graph().Close()
	var fetches []tfbridge.Output
	for position := range int64(10) {
		pair := []int64{int64(finalize(finalize(finalize(5)^epoch) ^ step)), position}
		fetches = append(fetches, s.Op1("StatelessRandomGammaV2", map[string]any{"dtype": tfbridge.Float}, s.Const([]int32{2}), s.Const(pair), s.Const(alpha)))
	}
	got, err := graph.Exec(t.Context(), s, fetches, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var shares []float32
	for _, x := range got {
		g, err := tfbridge.View[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		shares = append(shares, g[0]/(g[0]+g[1]))
		x.Close()
	}
	return shares
}

// mixup mixes each row with the next one by a share that the row's position and epoch decide, in images and
// labels alike, with both engines.
func TestMixup(t *testing.T) {
	testruntime.Need(t)
	step := fixture.Object{"type": "mixup", "tensors": []string{"image", "label"}, "args": fixture.Object{"alpha": 0.4}}
	exact := fixture.Object{"shuffle": true, "shuffle_mode": "exact", "num_parallel_parses": 3}
	for name, args := range map[string]fixture.Object{"in order": {}, "exact": exact, "padded": {"padding": true}} {
		for engine, open := range openings {
			rows, epochs := int64(0), [2][]float32{betas(t, 0, 1, 0.4), betas(t, 1, 1, 0.4)}
			for b, err := range open(t, mixedData(t, args, step)).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if names := strings.Join(b.Names(), " "); names != "image class label" {
					t.Fatalf("tensors %q", names)
				}
				classes, labels, pixels := column[int64](t, b, "class"), column[float32](t, b, "label"), column[float32](t, b, "image")
				for i, class := range classes {
					next := classes[(i+1)%len(classes)]
					share := epochs[(rows+int64(i))/10][class]
					want := make([]float32, 10)
					want[class] += share
					want[next] += 1 - share
					for k := range want {
						if math.Abs(float64(want[k]-labels[10*i+k])) > 1e-6 {
							t.Fatalf("%s, %s: row %d of class %d, label %v, want %v", name, engine, i, class, labels[10*i:10*i+10], want)
						}
					}
					if pixel := share*float32(class+1) + (1-share)*float32(next+1); math.Abs(float64(pixel-pixels[24*i+7])) > 1e-5 {
						t.Fatalf("%s, %s: pixel %v, want %v", name, engine, pixels[24*i+7], pixel)
					}
				}
				rows += b.Rows()
			}
			if rows != 20 {
				t.Errorf("%s, %s: %d rows", name, engine, rows)
			}
		}
	}
}

// cutmix replaces a rectangle, and its label says how much of it is left; shuffle_rows moves rows as a
// whole. Both give the same with both engines, and from every state; in mode eval neither happens.
func TestCutmixAndShuffledRows(t *testing.T) {
	testruntime.Need(t)
	steps := []fixture.Object{{"type": "cutmix", "tensors": []string{"image", "label"}, "args": fixture.Object{"alpha": 1}}, {"type": "shuffle_rows"}}
	var want []string
	moved, cut := false, false
	for engine, open := range openings {
		l := open(t, mixedData(t, nil, steps...))
		got, _ := textsOf(t, l, nil)
		if want == nil {
			want = got
			checkResumed(t, engine, l)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-first +this)\n%s", engine, diff)
		}
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			classes, labels, pixels := column[int64](t, b, "class"), column[float32](t, b, "label"), column[float32](t, b, "image")
			for i, class := range classes {
				moved = moved || i > 0 && class < classes[i-1] && class != 0
				own, first, last := 0, 24, -1
				for k, x := range pixels[24*i : 24*i+24] {
					if x == float32(class+1) {
						own++
					} else {
						first, last = min(first, k), max(last, k)
					}
				}
				cut = cut || own < 24 && own > 0
				if math.Abs(float64(labels[10*i+int(class)])-float64(own)/24) > 1e-6 {
					t.Fatalf("%s: %d of 24 pixels are of class %d, the label is %v", engine, own, class, labels[10*i:10*i+10])
				}
				if last >= 0 && 24-own != (last/4-first/4+1)*(last%4-first%4+1) {
					t.Errorf("%s: what was replaced is not a rectangle: %v", engine, pixels[24*i:24*i+24])
				}
			}
		}
	}
	if !moved || !cut {
		t.Errorf("no row was moved (%v) or no image was cut (%v)", moved, cut)
	}
	eval, _ := textsOf(t, openSequence(t, mixedData(t, fixture.Object{"mode": "eval"}, steps...)), nil)
	plain, _ := textsOf(t, openSequence(t, mixedData(t, nil)), nil)
	if !cmp.Equal(eval, plain) {
		t.Error("batch steps are carried out in mode eval")
	}
}

// Wrong batch steps are found before the data are read.
func TestWrongBatchSteps(t *testing.T) {
	for want, step := range map[string]fixture.Object{
		`mixup mixes floating-point numbers, and "class" is int64`:                    {"type": "mixup", "tensors": []string{"image", "class"}, "args": fixture.Object{"alpha": 1}},
		`cutmix takes an image of shape [height, width, channels] first, and "label"`: {"type": "cutmix", "tensors": []string{"label", "image"}, "args": fixture.Object{"alpha": 1}},
		`no tensor named "imag"; did you mean "image"?`:                               {"type": "mixup", "tensors": []string{"imag"}, "args": fixture.Object{"alpha": 1}},
		`missing key "tensors"`:                      {"type": "mixup", "args": fixture.Object{"alpha": 1}},
		`missing key "alpha"`:                        {"type": "mixup", "tensors": []string{"image"}},
		`did you mean "cutmix"?`:                     {"type": "cutmx", "tensors": []string{"image"}},
		`shuffle_rows moves the rows of all tensors`: {"type": "shuffle_rows", "tensors": []string{"image"}},
		`"image" is there twice`:                     {"type": "mixup", "tensors": []string{"image", "image"}, "args": fixture.Object{"alpha": 1}},
	} {
		f := mixedData(t, nil, step)
		f.Save(t)
		if p, problems := loaders.Check(f.Config(), nil); p != nil || !strings.Contains(problems.Error(), want) || !strings.Contains(problems.Error(), "args.batch_steps[0]") {
			t.Errorf("got %v\nwant %s", problems, want)
		}
	}
}

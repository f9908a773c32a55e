package preview_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/internal/tool/preview"
	"millrace/loaders"
	"millrace/tfrecord/example"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// A page shows images, sounds, matrices and texts as these, what random steps change more than
// once, and no more examples than are asked for. What the data hold is no HTML.
func TestPage(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "photo", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "sound", "dtype": "float32", "shape": []int{1000}, "deserialize_type": "float"},
	}
	var photo bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, 6, 4))
	for i := range m.Pix {
		m.Pix[i] = uint8(10 * i)
	}
	if err := png.Encode(&photo, m); err != nil {
		t.Fatal(err)
	}
	wave := make([]float32, 1000)
	for i := range wave {
		wave[i] = float32(math.Sin(float64(i) / 5))
	}
	bytesOf := func(s []byte) example.Feature { return example.Feature{Kind: example.Bytes, Bytes: [][]byte{s}} }
	record := example.Marshal([]example.Named{
		{Name: "photo", Feature: bytesOf(photo.Bytes())}, {Name: "text", Feature: bytesOf([]byte("<script>alert(1)</script>"))},
		{Name: "sound", Feature: example.Feature{Kind: example.Float, Floats: wave}},
	})
	f.WriteRecords(t, "a.tfrecords", record, record, record)
	f.Args["primary_features"] = []fixture.Object{{"from_name": "photo", "to_name": "photo"}, {"from_name": "text", "to_name": "text"}, {"from_name": "sound", "to_name": "sound"}}
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "decode_image", "tensor": "photo", "to_name": "image"},
		{"type": "random_crop", "tensor": "image", "args": fixture.Object{"size": []int{3, 3}}},
		{"type": "stft", "tensor": "sound", "to_name": "spectrogram", "args": fixture.Object{"frame_length": 64, "frame_step": 32}},
	}
	f.Args["seed"], f.Args["padding"] = 1, true
	f.Save(t)
	plan, problems := loaders.Check(f.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	page, err := preview.Read(t.Context(), plan, &preview.Options{Examples: 2, Draws: 6})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Examples) != 2 || len(page.Steps) != 3 {
		t.Fatalf("%d examples and %d steps", len(page.Examples), len(page.Steps))
	}
	for _, x := range page.Examples[0].Tensors {
		first := x.Draws[0]
		wantImage, wantSound := x.Name != "text" && x.Name != "sound", x.Name == "sound"
		if (first.Image != "") != wantImage || (first.Sound != "") != wantSound || (len(x.Draws) > 1) != (x.Name == "image") {
			t.Errorf("%s: %d draws, image %v, sound %v, text %q", x.Name, len(x.Draws), first.Image != "", first.Sound != "", first.Text)
		}
	}
	var html strings.Builder
	if err := page.Write(&html); err != nil {
		t.Fatal(err)
	}
	if text := html.String(); strings.Contains(text, "<script>") || !strings.Contains(text, "&lt;script&gt;") || strings.Count(text, `src="data:image/png;base64,`) < 6 {
		t.Errorf("the page is\n%.3000s", text)
	}
}

// A step is shown by itself: what it reads and writes, for each example, and null for examples that a
// filter does not keep. The steps before it are carried out, those after it are not.
func TestStep(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "scale", "tensor": "id", "args": fixture.Object{"offset": 10}},
		{"type": "cast", "tensor": "id", "to_name": "real", "args": fixture.Object{"dtype": "float32"}},
		{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{{"tensor": "id", "op": "in", "value": []int{10, 12}}}}},
		{"type": "constant", "to_name": "one", "args": fixture.Object{"dtype": "int32", "value": 1}},
		{"type": "drop", "tensor": "id"},
		{"type": "scale", "tensor": "real", "when": "eval", "args": fixture.Object{"factor": 2}},
	}
	f.Args["shuffle"], f.Args["shuffle_mode"], f.Args["seed"] = true, "exact", 3
	f.Save(t)
	plan, problems := loaders.Check(f.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	for index, want := range []string{
		"[0]>[10] [1]>[11] [2]>[12] [3]>[13]", "[10]>[10] [11]>[11] [12]>[12] [13]>[13]", "[10]>[10] [11]> [12]>[12] [13]>", ">[1] >[1]", "[10]>[10] [12]>[12]",
	} {
		step, err := preview.StepOf(plan, index)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = step.Pairs(t.Context(), 0, nil, func(before, after *loaders.Batch) error {
			text := func(b *loaders.Batch) string {
				if b == nil {
					return ""
				}
				return fmt.Sprint(b.Tensor(b.Names()[0]).Value())
			}
			got = append(got, text(before)+">"+text(after))
			return nil
		})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, %v\nwant %s", step, got, err, want)
		}
	}
	if _, err := preview.StepOf(plan, 5); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("a step of the other mode: got %v", err)
	}
}

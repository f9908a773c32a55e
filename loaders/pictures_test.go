package loaders_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// picture returns a PNG of one colour.
func picture(t *testing.T, width, height int, gray uint8) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = color.Gray{Y: gray}.Y
	}
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pictures returns a dataset of images, and steps that decode, crop and flip them.
func pictures(t *testing.T, images ...[]byte) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{{"name": "image", "dtype": "string", "shape": []int{}, "deserialize_type": "string"}}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "image", "to_name": "image"}}
	f.Args["processing_steps"] = []fixture.Object{
		{"tensor": "image", "type": "decode_image", "args": fixture.Object{"channels": 1}},
		{"tensor": "image", "type": "random_crop", "args": fixture.Object{"size": []int{2, 2}}},
		{"tensor": "image", "type": "random_flip_left_right"},
		{"tensor": "image", "type": "center_crop", "when": "eval", "args": fixture.Object{"size": []int{3, 1}}},
	}
	f.Args["seed"], f.Args["target_batch_size"] = 1, 2
	var records [][]byte
	for _, data := range images {
		records = append(records, example.Marshal([]example.Named{{Name: "image", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{data}}}}))
	}
	f.WriteRecords(t, "a.tfrecords", records...)
	return f
}

// Images of several sizes are decoded, cropped and batched with both engines, by the steps of the
// mode.
func TestPictures(t *testing.T) {
	testruntime.Need(t)
	f := pictures(t, picture(t, 3, 5, 7), picture(t, 2, 2, 9), picture(t, 8, 4, 1))
	native, _ := textsOf(t, openSequence(t, f), nil)
	general, _ := textsOf(t, openGeneral(t, f), nil)
	if diff := cmp.Diff(native, general); diff != "" || len(native) != 2 || !strings.Contains(native[0], "[2 2 2 1]") {
		t.Errorf("(-native +general)\n%s\n%s", diff, native)
	}
	f = pictures(t, picture(t, 3, 5, 7))
	f.Args["mode"] = "eval"
	if got, _ := textsOf(t, openSequence(t, f), nil); len(got) != 1 || !strings.Contains(got[0], "[1 3 1 1]") {
		t.Errorf("in mode eval: %s", got)
	}
}

// What a step cannot be carried out on is an error with file, record and step, and ends no
// process: bytes that are not an image, bytes that would end TensorFlow, an image that is smaller
// than a crop.
func TestPicturesOfNoUse(t *testing.T) {
	testruntime.Need(t)
	good := picture(t, 3, 3, 7)
	for _, tt := range []struct {
		bad  []byte
		key  string
		want string
	}{
		{[]byte("no image"), "args.processing_steps[0]", "the step decode_image cannot be carried out: "},
		{corrupt.TopDownBMP(), "", ""},
		{picture(t, 1, 9, 7), "args.processing_steps[1]", "the step random_crop cannot be carried out: "},
	} {
		f := pictures(t, good, good, good, tt.bad, good)
		for _, l := range []*loaders.Loader{openSequence(t, f), openGeneral(t, f)} {
			batches, err := 0, error(nil)
			for _, e := range l.Batches(t.Context()) {
				if err = e; e == nil {
					batches++
				}
			}
			var e *millrace.Error
			if tt.want == "" {
				continue // TensorFlow decodes it to uint8; that it survives is enough
			}
			if !errors.As(err, &e) || e.Record != 3 || e.File != f.Path("a.tfrecords") || e.Key != tt.key || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d batches, got %v\nwant record 3, %s: %s", batches, err, tt.key, tt.want)
			}
		}
	}
}

// "decode_limit" bounds what one step makes of one image: the next one is an error of class ErrLimit,
// or a bad record, with both engines.
func TestDecodeLimitOfSteps(t *testing.T) {
	testruntime.Need(t)
	f := pictures(t, picture(t, 3, 5, 7), picture(t, 30, 50, 7), picture(t, 3, 5, 9))
	f.Args["epochs"], f.Args["target_batch_size"] = 1, 1
	for _, tt := range []struct {
		args fixture.Object
		rows int
	}{
		{fixture.Object{}, 3},
		{fixture.Object{"decode_limit": 20000}, 3},
		{fixture.Object{"decode_limit": 1000}, 1},
		{fixture.Object{"decode_limit": 1000, "bad_records": fixture.Object{"skip": 1}}, 2},
	} {
		delete(f.Args, "bad_records")
		maps.Copy(f.Args, tt.args)
		for engine, open := range openings {
			rows, failed := 0, error(nil)
			for b, err := range open(t, f).Batches(t.Context()) {
				if failed = err; err == nil {
					rows += int(b.Rows())
				}
			}
			if rows != tt.rows || (rows == 1) != errors.Is(failed, millrace.ErrLimit) {
				t.Errorf("%s, %v: %d rows, then %v; want %d", engine, tt.args, rows, failed, tt.rows)
			}
		}
	}
}

// photo returns an image of many colours in a format.
func photo(t *testing.T, width, height int, encode func(w io.Writer, m image.Image) error) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{uint8(x * 7), uint8(y * 5), uint8(x * y), 255})
		}
	}
	var out bytes.Buffer
	if err := encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Where only a step that cuts reads a decoded image, no more of a JPEG is decoded than the part. The
// values equal the part of the image decoded as a whole, for all formats and steps, and a plan says so.
func TestDecodedParts(t *testing.T) {
	testruntime.Need(t)
	encoders := []func(w io.Writer, m image.Image) error{
		func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) },
		func(w io.Writer, m image.Image) error {
			gray := image.NewGray(m.Bounds())
			draw.Draw(gray, m.Bounds(), m, image.Point{}, draw.Src)
			return jpeg.Encode(w, gray, &jpeg.Options{Quality: 30})
		},
		png.Encode,
		func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) },
	}
	var images [][]byte
	for i := range 40 {
		images = append(images, photo(t, 16+i*5%61, 16+i*11%47, encoders[i%len(encoders)]))
	}
	for _, cut := range []fixture.Object{
		{"type": "random_resized_crop", "args": fixture.Object{"size": []int{9, 7}}},
		{"type": "center_crop", "args": fixture.Object{"size": []int{11, 13}}},
	} {
		texts := map[string][]string{}
		for _, form := range []string{"part", "whole"} {
			f := pictures(t, images...)
			decode := fixture.Object{"tensor": "image", "type": "decode_image"}
			cut := fixture.Object{"tensor": "image", "type": cut["type"], "args": cut["args"]}
			steps := []fixture.Object{decode, cut}
			if form == "whole" { // the decoded image is read twice
				cut["to_name"] = "part"
				steps = append(steps, fixture.Object{"tensor": "image", "type": "drop"}, fixture.Object{"tensor": "part", "type": "rename", "to_name": "image"})
			}
			f.Args["processing_steps"] = steps
			l := openSequence(t, f)
			if says := strings.Contains(l.Plan().Explain(), "of a JPEG no more than the part"); says != (form == "part") {
				t.Errorf("%s: the plan says so: %v\n%s", form, says, l.Plan().Explain())
			}
			texts[form], _ = textsOf(t, l, nil)
		}
		large := photo(t, 200, 200, encoders[0])
		f := pictures(t, large, large[:len(large)-2])
		f.Args["processing_steps"] = []fixture.Object{{"tensor": "image", "type": "decode_image"}, {"tensor": "image", "type": cut["type"], "args": cut["args"]}}
		for _, err := range openSequence(t, f).Batches(t.Context()) {
			var e *millrace.Error
			if !errors.As(err, &e) || e.Record != 1 || e.Key != "args.processing_steps[0]" {
				t.Errorf("%v, a JPEG without its end: got %v, want an error of record 1 and step 0", cut["type"], err)
			}
		}
		if diff := cmp.Diff(texts["whole"], texts["part"]); diff != "" || len(texts["part"]) != len(images)/2 {
			t.Errorf("%v: %d batches (-whole +part)\n%.2000s", cut["type"], len(texts["part"]), diff)
		}
	}
}

package loaders_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"image"
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

	"github.com/google/go-cmp/cmp"
)

// cmykJPEG is a JPEG of 4 channels, 9 by 7 pixels, and progressiveJPEG a progressive one of 21 by 17
// pixels with half of the colours: formats that Go's encoder does not write.
const (
	cmykJPEG        = "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZMTlJTUjI+WmFaUGBKUVJP/8AAFAgABwAJBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwDktFi+7XK+HdCXU9uQDn1rlP7CX0FenV0nlV13/CvIv7ifpR/YS+gor//Z"
	progressiveJPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wgARCAARABUDASIAAhEBAxEB/8QAGAABAAMBAAAAAAAAAAAAAAAAAAMEBQL/xAAXAQADAQAAAAAAAAAAAAAAAAACBAUA/9oADAMBAAIQAxAAAAHK0ebhlTSMnBaJlDLDKv8A/8QAHRAAAgIBBQAAAAAAAAAAAAAAAQMAAhESIzIzQ//aAAgBAQABBQJCdcqukaupsobQjBm6+kcvD//EABoRAAMAAwEAAAAAAAAAAAAAAAABAgMEMRH/2gAIAQMBAT8Bw02zLbq2/TX6Rw//xAAbEQACAgMBAAAAAAAAAAAAAAAAAQIEAxEhMf/aAAgBAgEBPwHJXeyNXhP1iP/EACEQAAIBAgYDAAAAAAAAAAAAAAABEQIhAxIiUmFygpGx/9oACAEBAAY/AiyzERT6kS3CtbkeiSnqzyXwwz//xAAfEAABAwQDAQAAAAAAAAAAAAABABExIUFRYYGhwfD/2gAIAQEAAT8hoKLT0mAOUIA2A8uwWN3HAEoHshUCAGTtEeFqQ7d0X0cBQoeni//aAAwDAQACAAMAAAAQVCgB/8QAGxEAAgMAAwAAAAAAAAAAAAAAALEBITERQYH/2gAIAQMBAT8Q0tHO3qrs29Y+XJ//xAAaEQEAAgMBAAAAAAAAAAAAAAABALERQVFx/9oACAECAQE/EHLkQJmWLm3rc//EAB8QAQACAgICAwAAAAAAAAAAAAERIQAxQVEQYXGBsf/aAAgBAQABPxDuE4euenjEzYvXx7w6c47W+B1xkROSdghNprZ9TgGowc2Io2rANfqdFwW1QmAEoKOpd+ehZhf/2Q=="
)

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// imageStep returns a step on the image, with arguments or none.
func imageStep(kind string, args fixture.Object) fixture.Object {
	s := fixture.Object{"tensor": "image", "type": kind}
	if args != nil {
		s["args"] = args
	}
	return s
}

// gray encodes an image without its colours.
func gray(encode func(w io.Writer, m image.Image) error) func(w io.Writer, m image.Image) error {
	return func(w io.Writer, m image.Image) error {
		g := image.NewGray(m.Bounds())
		draw.Draw(g, m.Bounds(), m, image.Point{}, draw.Src)
		return encode(w, g)
	}
}

// Runs of steps on images are carried out for a batch by one operation. The values equal
// TensorFlow's operations, one example at a time, for all formats, sizes and orders of the records, and
// where a run continues.
func TestImagesOfABatch(t *testing.T) {
	testruntime.Need(t)
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, &jpeg.Options{Quality: 70}) }
	asGIF := func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }
	encoders := []func(w io.Writer, m image.Image) error{asJPEG, png.Encode, gray(asJPEG), asGIF, asJPEG}
	images := [][]byte{decoded(t, cmykJPEG), decoded(t, progressiveJPEG)}
	for i := range 31 {
		images = append(images, photo(t, 1+i*29%83, 1+i*47%79, encoders[i%len(encoders)]))
	}
	size := func(h, w int) fixture.Object { return fixture.Object{"size": []int{h, w}} }
	mean := fixture.Object{"mean": []float64{124, 116.5, 104}, "std": []float64{58.4, 57.1, 57.375}}
	for name, steps := range map[string][]fixture.Object{
		"training": {imageStep("decode_image", nil), imageStep("random_resized_crop", size(24, 23)), imageStep("random_flip_left_right", nil),
			imageStep("random_brightness", fixture.Object{"max_delta": 31.7}), imageStep("normalize", mean)},
		"evaluation": {imageStep("decode_image", nil), imageStep("resize", size(26, 33)), imageStep("center_crop", size(23, 20)),
			imageStep("scale", fixture.Object{"factor": 1 / 127.5, "offset": -1})},
		"mirrored twice": {imageStep("decode_image", nil), imageStep("random_resized_crop", fixture.Object{"size": []int{9, 40}, "scale": []float64{0.5, 1}, "ratio": []float64{0.2, 6}}),
			imageStep("random_flip_up_down", nil), imageStep("normalize", fixture.Object{"mean": 3.7, "std": 0.3}), imageStep("random_flip_left_right", nil), imageStep("random_flip_up_down", nil),
			imageStep("clip", fixture.Object{"min": -300, "max": 500}), imageStep("cast", fixture.Object{"dtype": "float16"})},
		"larger": {imageStep("decode_image", nil), imageStep("resize", size(100, 90))},
	} {
		t.Run(name, func(t *testing.T) {
			f := pictures(t, images...)
			f.Args["processing_steps"], f.Args["target_batch_size"], f.Args["epochs"] = steps, 4, 2
			if name == "training" {
				maps.Copy(f.Args, fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 9, "num_filenames_shuffle_buffer": 1, "num_mix_files": 1})
			}
			l := openSequence(t, f)
			if plan := l.Plan().Explain(); !strings.Contains(plan, "by one operation") {
				t.Fatalf("the plan does not batch images:\n%s", plan)
			}
			got, states := textsOf(t, l, &loaders.RunOptions{SaveEvery: 1})
			want, _ := textsOf(t, openGeneral(t, f), nil)
			if diff := cmp.Diff(want, got); diff != "" || len(got) != 17 {
				t.Fatalf("%d batches (-general +native)\n%.3000s", len(got), diff)
			}
			for _, at := range []int{0, 7, 12} {
				if rest, _ := textsOf(t, l, &loaders.RunOptions{State: states[at]}); !cmp.Equal(got[at+1:], rest) {
					t.Errorf("from batch %d (-whole +rest)\n%.3000s", at, cmp.Diff(got[at+1:], rest))
				}
			}
		})
	}
}

// Steps that the operation cannot carry out, or between which another one reads the image, leave
// images to TensorFlow's operations.
func TestImagesOneAtATime(t *testing.T) {
	testruntime.Need(t)
	size := fixture.Object{"size": []int{6, 5}}
	named := func(s fixture.Object, key, name string) fixture.Object { s[key] = name; return s }
	for name, steps := range map[string][]fixture.Object{
		"another method":    {imageStep("decode_image", nil), imageStep("resize", fixture.Object{"size": []int{6, 5}, "method": "bicubic"})},
		"another random":    {imageStep("decode_image", nil), imageStep("resize", size), imageStep("random_contrast", fixture.Object{"lower": 0.2, "upper": 1.5})},
		"brighter at last":  {imageStep("decode_image", nil), imageStep("resize", size), imageStep("scale", fixture.Object{"factor": 2}), imageStep("random_brightness", fixture.Object{"max_delta": 0.2})},
		"read twice":        {imageStep("decode_image", nil), named(imageStep("resize", size), "to_name", "small"), named(imageStep("random_crop", size), "to_name", "part"), imageStep("drop", nil)},
		"made elsewhere":    {imageStep("decode_image", nil), named(imageStep("resize", size), "to_name", "small"), imageStep("cast", fixture.Object{"dtype": "float32"}), imageStep("drop", nil)},
		"cut after mirrors": {imageStep("decode_image", nil), imageStep("resize", size), imageStep("random_flip_up_down", nil), imageStep("center_crop", fixture.Object{"size": []int{3, 4}})},
		"as many channels":  {imageStep("decode_image", fixture.Object{"channels": 0}), imageStep("resize", size)},
	} {
		f := pictures(t, photo(t, 8, 9, png.Encode), photo(t, 19, 7, png.Encode), photo(t, 6, 6, png.Encode))
		f.Args["processing_steps"] = steps
		if name == "as many channels" || name == "read twice" {
			f.Args["target_batch_size"] = 1
		}
		l := openSequence(t, f)
		got, _ := textsOf(t, l, nil)
		want, _ := textsOf(t, openGeneral(t, f), nil)
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 || strings.Contains(l.Plan().Explain(), "normalized by one operation") {
			t.Errorf("%s: (-general +native)\n%.2000s\n%s", name, diff, l.Plan().Explain())
		}
	}
}

// A record that the operation cannot make an image of is named, with the step, as with other
// operations, and skipped where bad records are.
func TestImagesOfABatchRefused(t *testing.T) {
	testruntime.Need(t)
	good := photo(t, 30, 20, png.Encode)
	cut := photo(t, 30, 20, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })
	for _, bad := range [][]byte{[]byte("no image"), {}, corrupt.PNG(60000, 60000), cut[:len(cut)/2]} {
		f := pictures(t, good, good, good, bad, good)
		f.Args["processing_steps"] = []fixture.Object{
			{"tensor": "image", "type": "decode_image"}, {"tensor": "image", "type": "random_resized_crop", "args": fixture.Object{"size": []int{4, 4}}},
		}
		f.Args["epochs"] = 1
		var said []string
		for _, l := range []*loaders.Loader{openSequence(t, f), openGeneral(t, f)} {
			rows, failed := int64(0), error(nil)
			for b, err := range l.Batches(t.Context()) {
				if failed = err; err == nil {
					rows += b.Rows()
				}
			}
			var e *millrace.Error
			if !errors.As(failed, &e) || e.Record != 3 || e.Key != "args.processing_steps[0]" || rows != 2 {
				t.Errorf("%.20q: %d rows, then %v; want record 3", bad, rows, failed)
			}
			said = append(said, fmt.Sprint(failed))
		}
		if said[0] != said[1] {
			t.Errorf("other words:\n%s\n%s", said[0], said[1])
		}
		f.Args["bad_records"] = fixture.Object{"skip": 1}
		got, _ := textsOf(t, openSequence(t, f), nil)
		if want, _ := textsOf(t, openGeneral(t, f), nil); !cmp.Equal(want, got) || len(got) != 2 {
			t.Errorf("%.20q is skipped (-general +native)\n%s", bad, cmp.Diff(want, got))
		}
	}
}

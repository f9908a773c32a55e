package image_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/image"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// encoded returns a picture of 5 by 6 pixels as a PNG and as a JPEG, and its pixels.
func encoded(t *testing.T) (png, jpeg string, pixels [][][]uint8) {
	t.Helper()
	s := source{graphtest.NewScope(t), false}
	got, err := graph.Exec(t.Context(), s.Scope, []tfbridge.Output{s.rgb().EncodePNG(-1), s.rgb().EncodeJPEG(nil), s.rgb().Output()}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range got {
		defer v.Close()
	}
	return got[0].Value().(string), got[1].Value().(string), got[2].Value().([][][]uint8)
}

// Three operations read pictures from Examples. A PNG is lossless.
func TestImagesOfExamples(t *testing.T) {
	png, jpeg, pixels := encoded(t)
	record := string(example.Marshal([]example.Named{
		{Name: "png", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(png)}}},
		{Name: "jpeg", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(jpeg)}}},
	}))
	s := graphtest.NewScope(t)
	features := &graph.ExampleFeatures{Dense: []graph.DenseFeature{
		{Key: "jpeg", DType: tfbridge.String, Shape: tfbridge.ScalarShape()},
		{Key: "png", DType: tfbridge.String, Shape: tfbridge.ScalarShape()},
	}}
	d := dataset.FromSlices(s, s.Const([]string{record, record})).Batch(1, true).ParseExample(features, nil).Unbatch().
		Map("decode", func(s *graph.Scope, in []tfbridge.Output) []tfbridge.Output {
			photo := image.Decode(s, in[0], &image.DecodeOptions{Channels: 3})
			drawing := image.Decode(s, in[1], nil)
			return []tfbridge.Output{photo.Resize(4, 3, nil).Output(), drawing.Output()}
		}, nil).Batch(2, true)
	if got, want := fmt.Sprint(d.Specs()), "[float32[2, 4, 3, 3] uint8[2, ?, ?, ?]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	batches := 0
	for element, err := range d.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		batches++
		if diff := cmp.Diff([][][][]uint8{pixels, pixels}, element[1].Value()); diff != "" {
			t.Errorf("the PNG (-want +got)\n%s", diff)
		}
		if got := fmt.Sprint(element[0].Shape()); got != "[2 4 3 3]" {
			t.Errorf("the JPEG resized has shape %s", got)
		}
	}
	if batches != 1 {
		t.Errorf("%d batches, want 1", batches)
	}
}

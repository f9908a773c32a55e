package image_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/image"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

func Example() {
	s := graph.NewScope()
	defer s.Graph().Close()
	white := s.Const([][][]uint8{{{255, 255, 255}, {0, 0, 0}}})
	grey := image.New(s, white).RGBToGrayscale().Resize(1, 4, &image.ResizeOptions{Method: image.NearestNeighbor})
	value, err := grey.Tensor().Eval(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer value.Close()
	fmt.Println(value.Value())
	// Output: [[[255] [255] [0] [0]]]
}

// recorded holds Python's results.
type recorded struct {
	DType  string
	Shape  []int64
	Values []float64
}

// The pixel values of the recorded image.
func pixel(n int) uint8 { return uint8(n * 7919 % 256) }

// source makes the recorded image.
type source struct {
	*graph.Scope
	unknown bool // its size is unknown while building
}

func (s source) rgb() image.Image {
	values := make([]uint8, 6*5*3)
	for n := range values {
		values[n] = pixel(n)
	}
	x := graph.Reshape(s.Scope, s.Const(values), s.Const([]int64{6, 5, 3}))
	if s.unknown {
		x = graph.PlaceholderWithDefault(s.Scope, x, tfbridge.MakeShape(-1, -1, 3))
	}
	return image.New(s.Scope, x)
}

func (s source) float() image.Image { return s.rgb().ConvertDType(tfbridge.Float, false) }

func (s source) grey() image.Image {
	return image.New(s.Scope, s.float().Tensor().Subscript(graph.Whole(), graph.Whole(), graph.Until(1)).Output())
}

func (s source) seed() tfbridge.Output { return s.Const([]int64{1, 2}) }

// batch returns four images.
func (s source) batch() image.Image {
	x := s.rgb().Tensor()
	inverted := graph.NewTensor(s.Scope, s.Const(uint8(255))).Sub(x)
	return image.New(s.Scope, x.Stack(0, inverted, x.FloorDiv(2), x.FloorDiv(3)).Output())
}

func (s source) kernel(shape ...int64) tfbridge.Output {
	return graph.Reshape(s.Scope, s.Const([]float32{0.5, -1, 2, 0.25}), s.Const(shape))
}

func TestParity(t *testing.T) {
	type I = image.Image
	text, err := os.ReadFile(filepath.Join("testdata", "parity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]recorded
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(source) I{
		"u8 to float":   func(s source) I { return s.rgb().ConvertDType(tfbridge.Float, false) },
		"u8 to u16":     func(s source) I { return s.rgb().ConvertDType(tfbridge.Uint16, false) },
		"u8 to i16":     func(s source) I { return s.rgb().ConvertDType(tfbridge.Int16, false) },
		"float to half": func(s source) I { return s.float().ConvertDType(tfbridge.Half, false) },
		"float to u8": func(s source) I {
			return image.New(s.Scope, s.float().Tensor().Mul(1.5).Sub(0.2).Output()).ConvertDType(tfbridge.Uint8, true)
		},
		"u16 to u8": func(s source) I {
			return image.New(s.Scope, s.rgb().Tensor().Cast(tfbridge.Uint16).Mul(257).Output()).ConvertDType(tfbridge.Uint8, false)
		},
		"saturate": func(s source) I {
			return image.New(s.Scope, s.rgb().Tensor().Cast(tfbridge.Float).Mul(3).Sub(200).Output()).SaturateCast(tfbridge.Uint8)
		},
		"brightness":      func(s source) I { return s.rgb().AdjustBrightness(0.3) },
		"contrast":        func(s source) I { return s.rgb().AdjustContrast(1.7) },
		"hue":             func(s source) I { return s.rgb().AdjustHue(0.2) },
		"saturation":      func(s source) I { return s.rgb().AdjustSaturation(0.4) },
		"gamma":           func(s source) I { return s.rgb().AdjustGamma(2.2, 0.9) },
		"grey":            func(s source) I { return s.rgb().RGBToGrayscale() },
		"grey to rgb":     func(s source) I { return s.grey().GrayscaleToRGB() },
		"hsv":             func(s source) I { return s.float().RGBToHSV() },
		"rgb":             func(s source) I { return s.float().HSVToRGB() },
		"standardized":    func(s source) I { return s.rgb().PerImageStandardization() },
		"flip left right": func(s source) I { return s.rgb().FlipLeftRight() },
		"flip up down":    func(s source) I { return s.rgb().FlipUpDown() },
		"transpose":       func(s source) I { return s.rgb().Transpose() },
		"rot90":           func(s source) I { return s.rgb().Rot90(1) },
		"rot180":          func(s source) I { return s.rgb().Rot90(-2) },
		"rot270":          func(s source) I { return s.rgb().Rot90(-1) },
		"crop":            func(s source) I { return s.rgb().Crop(image.Rectangle{Top: 1, Left: 2, Height: 3, Width: 2}) },
		"pad":             func(s source) I { return s.rgb().Pad(image.Rectangle{Top: 1, Left: 2, Height: 8, Width: 9}) },
		"central crop":    func(s source) I { return s.rgb().CentralCrop(0.5) },
		"crop and resize": func(s source) I {
			return s.float().CropAndResize([]image.Box{{0.1, 0.2, 0.9, 0.8}, {0, 0, 1, 1}}, 3, 4)
		},
		"boxes": func(s source) I {
			return s.float().DrawBoundingBoxes([]image.Box{{0.1, 0.2, 0.9, 0.8}}, [][]float32{{1, 0, 0.5}})
		},
		"glimpse":         func(s source) I { return s.float().ExtractGlimpse(2, 2, image.Point{Y: 0.1, X: -0.2}) },
		"correlate":       func(s source) I { return s.grey().Correlate(s.kernel(2, 2, 1, 1), nil) },
		"correlate valid": func(s source) I { return s.grey().Correlate(s.kernel(2, 2, 1, 1), valid) },
		"dilate":          func(s source) I { return s.grey().Dilate(s.kernel(2, 2, 1), nil) },
		"erode":           func(s source) I { return s.grey().Erode(s.kernel(2, 2, 1), nil) },
	}
	for _, m := range []image.Method{image.Bilinear, image.NearestNeighbor, image.Bicubic, image.Area,
		image.Lanczos3, image.Lanczos5, image.Gaussian, image.MitchellCubic} {
		tests["resize "+string(m)] = func(s source) I { return s.rgb().Resize(4, 7, &image.ResizeOptions{Method: m}) }
		tests["resize antialias "+string(m)] = func(s source) I {
			return s.rgb().Resize(3, 2, &image.ResizeOptions{Method: m, Antialias: true})
		}
	}
	for _, n := range []int64{1, 2, 5} {
		named := func(what string) string { return fmt.Sprintf("random %s %d", what, n) }
		seed := func(s source) tfbridge.Output { return s.Const([]int64{n, 7}) }
		tests[named("flip left right")] = func(s source) I { return s.rgb().RandomFlipLeftRight(seed(s)) }
		tests[named("flip up down")] = func(s source) I { return s.float().RandomFlipUpDown(seed(s)) }
		tests[named("flips")] = func(s source) I { return s.batch().RandomFlipLeftRight(seed(s)) }
		tests[named("brightness")] = func(s source) I { return s.rgb().RandomBrightness(0.3, seed(s)) }
		tests[named("contrast")] = func(s source) I { return s.float().RandomContrast(0.5, 1.5, seed(s)) }
		tests[named("saturation")] = func(s source) I { return s.rgb().RandomSaturation(0.25, 3, seed(s)) }
		tests[named("hue")] = func(s source) I { return s.rgb().RandomHue(0.4, seed(s)) }
		tests[named("crop")] = func(s source) I { return s.rgb().RandomCrop(3, 2, seed(s)) }
		tests[named("crops")] = func(s source) I { return s.batch().RandomCrop(3, 2, seed(s)) }
	}
	for name, do := range tests {
		for _, unknown := range []bool{false, true} {
			if unknown && name == "pad" {
				continue // the operation needs the size
			}
			t.Run(fmt.Sprintf("%s, unknown %v", name, unknown), func(t *testing.T) {
				compare(t, do(source{graphtest.NewScope(t), unknown}), want[name])
			})
		}
	}
	if len(tests) != len(want) {
		t.Errorf("%d cases were recorded, %d are tested", len(want), len(tests))
	}
}

var valid = &image.FilterOptions{StrideY: 2, StrideX: 2, Padding: image.Valid}

// compare runs an image and compares it with Python's result.
func compare(t *testing.T, i image.Image, want recorded) {
	t.Helper()
	value, err := i.Tensor().Eval(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer value.Close()
	if got := value.DataType().String(); got != want.DType || fmt.Sprint(value.Shape()) != fmt.Sprint(want.Shape) {
		t.Fatalf("got %v %v, want %v %v", got, value.Shape(), want.DType, want.Shape)
	}
	s := graphtest.NewScope(t)
	wide := graph.NewTensor(s, s.Const(value)).Cast(tfbridge.Double).Reshape(-1)
	flat, err := wide.Eval(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer flat.Close()
	for n, got := range flat.Value().([]float64) {
		if w := want.Values[n]; math.Abs(got-w) > 1e-5*(1+math.Abs(w)) {
			t.Fatalf("value %d is %v, want %v", n, got, w)
		}
	}
}

// A part that is larger than the image is an error when the graph runs.
func TestRandomCropTooLarge(t *testing.T) {
	s := source{graphtest.NewScope(t), true}
	_, err := s.rgb().RandomCrop(7, 2, s.seed()).Tensor().Eval(t.Context(), nil)
	if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "the image is smaller than the part") {
		t.Errorf("got %v", err)
	}
}

// RandomSeed gives each element of a dataset another seed, and the same seeds in every
// session.
func TestRandomSeed(t *testing.T) {
	seeds := func(seed int64) [][]int64 {
		s := graphtest.NewScope(t)
		d := dataset.Range(s, 0, 5, 1).Map("seed", func(s *graph.Scope, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{image.RandomSeed(s, seed)}
		}, nil)
		got, err := dataset.ToSlice[[]int64](t.Context(), d, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := seeds(3)
	if fmt.Sprint(first) != fmt.Sprint(seeds(3)) {
		t.Error("the same number gave other seeds")
	}
	for i, seed := range first[1:] {
		if len(seed) != 2 || fmt.Sprint(seed) == fmt.Sprint(first[i]) {
			t.Errorf("the seeds are %v", first)
		}
	}
	if once, again := fmt.Sprint(seeds(0)), fmt.Sprint(seeds(0)); once == again {
		t.Errorf("0 gave the seeds %s twice", once)
	}
}

func ExampleImage_RandomFlipLeftRight() {
	s := graph.NewScope()
	defer s.Graph().Close()
	pixels := s.Const([][][][]uint8{{{{1}, {2}}}, {{{3}, {4}}}, {{{5}, {6}}}})
	seeds := dataset.Random(s, &dataset.RandomOptions{Seed: 1, Seed2: 3, Vary: true}).Batch(2, true)
	images := dataset.Zip(s, dataset.FromSlices(s, pixels), seeds).
		Map("flip", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{image.New(s, args[0]).RandomFlipLeftRight(args[1]).Output()}
		}, nil)
	for pixels, err := range dataset.Iterate[[][][]uint8](context.Background(), images, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pixels)
	}
	// Output:
	// [[[2] [1]]]
	// [[[3] [4]]]
	// [[[5] [6]]]
}

// Encoding and decoding a picture returns the same picture.
func TestEncodeDecode(t *testing.T) {
	s := source{graphtest.NewScope(t), false}
	file := filepath.Join(t.TempDir(), "it.png")
	png, err := graph.Exec(t.Context(), s.Scope, []tfbridge.Output{s.rgb().EncodePNG(-1), s.rgb().EncodeJPEG(&image.JPEGOptions{Quality: 50, Progressive: true})}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer png[0].Close()
	defer png[1].Close()
	if err := os.WriteFile(file, []byte(png[0].Value().(string)), 0o600); err != nil {
		t.Fatal(err)
	}
	same := image.ReadFile(s.Scope, file, nil).Tensor().Equal(s.rgb().Output()).All()
	grey := image.Decode(s.Scope, s.Const(png[1]), &image.DecodeOptions{Channels: 1, DType: tfbridge.Float})
	frames := image.Decode(s.Scope, s.Const(png[0]), &image.DecodeOptions{Animation: true})
	got, err := graph.Exec(t.Context(), s.Scope, []tfbridge.Output{same.Output(), grey.Output(), frames.Output()}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range got {
		defer v.Close()
	}
	if got[0].Value() != true {
		t.Error("a PNG came back as another image")
	}
	if dt := got[1].DataType(); dt != tfbridge.Float || fmt.Sprint(got[1].Shape()) != "[6 5 1]" {
		t.Errorf("a JPEG came back as %v %v", dt, got[1].Shape())
	}
}

// A batch is changed image by image.
func TestBatch(t *testing.T) {
	s := source{graphtest.NewScope(t), false}
	one := s.rgb()
	dark := image.New(s.Scope, one.Tensor().FloorDiv(4).Output())
	batch := image.New(s.Scope, one.Tensor().Stack(0, dark.Tensor()).Output())
	for name, do := range map[string]func(image.Image) image.Image{
		"standardize": image.Image.PerImageStandardization,
		"center":      image.Image.Center,
		"scale":       func(i image.Image) image.Image { return i.Scale(-1, 1) },
		"contrast":    func(i image.Image) image.Image { return i.AdjustContrast(1.5) },
		"transpose":   image.Image.Transpose,
		"resize":      func(i image.Image) image.Image { return i.Resize(3, 3, nil) },
		"crop":        func(i image.Image) image.Image { return i.CentralCrop(0.6) },
		"boxes": func(i image.Image) image.Image {
			return i.ConvertDType(tfbridge.Float, false).DrawBoundingBoxes([]image.Box{{0, 0, 1, 1}}, [][]float32{{1, 0, 0}})
		},
		"glimpse": func(i image.Image) image.Image {
			return i.ConvertDType(tfbridge.Float, false).ExtractGlimpse(2, 2, image.Point{})
		},
	} {
		together := do(batch).Tensor()
		apart := do(one).Tensor().Stack(0, do(dark).Tensor())
		close, err := together.Cast(tfbridge.Double).IsClose(apart.Cast(tfbridge.Double), 1e-5, 1e-5).All().Eval(t.Context(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if close.Value() != true {
			t.Errorf("%s: a batch differs from its images", name)
		}
		close.Close()
	}
}

func TestScaleAndCenter(t *testing.T) {
	s := source{graphtest.NewScope(t), false}
	scaled, flat := s.rgb().Scale(-1, 1).Tensor(), image.New(s.Scope, s.Zeros(tfbridge.Uint8, 2, 2, 3)).Scale(-1, 1).Tensor()
	got, err := graph.Exec(t.Context(), s.Scope, []tfbridge.Output{
		scaled.Min().Output(), scaled.Max().Output(), flat.Max().Output(), s.rgb().Center().Tensor().Mean().Abs().Output(),
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []float32{-1, 1, -1, 0} {
		if v := got[n].Value().(float32); math.Abs(float64(v-want)) > 1e-4 {
			t.Errorf("value %d is %v, want %v", n, v, want)
		}
		got[n].Close()
	}
}

func TestConvolveTurnsTheFilter(t *testing.T) {
	s := source{graphtest.NewScope(t), false}
	turned := s.Op1("ReverseV2", nil, s.kernel(2, 2, 1, 1), s.Const([]int32{0, 1}))
	same := s.grey().Convolve(turned, valid).Tensor().Equal(s.grey().Correlate(s.kernel(2, 2, 1, 1), valid).Output()).All()
	edges := s.grey().Correlate(image.SobelX(s.Scope), nil).Tensor().Add(s.grey().Correlate(image.SobelY(s.Scope), nil).Tensor())
	got, err := graph.Exec(t.Context(), s.Scope, []tfbridge.Output{same.Output(), edges.Output()}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Value() != true || fmt.Sprint(got[1].Shape()) != "[6 5 1]" {
		t.Errorf("got %v, edges of shape %v", got[0].Value(), got[1].Shape())
	}
	got[0].Close()
	got[1].Close()
}

func TestFailures(t *testing.T) {
	tests := map[string]struct {
		do   func(source) image.Image
		want string
	}{
		"no image":         {func(s source) image.Image { return image.New(s.Scope, s.Const([]uint8{1})).Resize(1, 1, nil) }, "3 dimensions"},
		"no size":          {func(s source) image.Image { return s.rgb().Resize(0, 1, nil) }, "0 by 1"},
		"no such method":   {func(s source) image.Image { return s.rgb().Resize(1, 1, &image.ResizeOptions{Method: "best"}) }, "best"},
		"no fraction":      {func(s source) image.Image { return s.rgb().CentralCrop(math.NaN()) }, "NaN"},
		"outside":          {func(s source) image.Image { return s.rgb().Crop(image.Rectangle{Top: 5, Height: 2, Width: 1}) }, "inside"},
		"negative":         {func(s source) image.Image { return s.rgb().Crop(image.Rectangle{Top: -1, Height: 2, Width: 1}) }, "Top:-1"},
		"too small to pad": {func(s source) image.Image { return s.rgb().Pad(image.Rectangle{Height: 3, Width: 9}) }, "inside"},
		"unknown to pad": {func(s source) image.Image {
			return source{s.Scope, true}.rgb().Pad(image.Rectangle{Height: 9, Width: 9})
		}, "not known"},
		"gamma": {func(s source) image.Image { return s.rgb().AdjustGamma(-1, 1) }, "negative"},
		"quality": {func(s source) image.Image {
			return image.New(s.Scope, s.rgb().EncodeJPEG(&image.JPEGOptions{Quality: 101}))
		}, "101"},
		"compression": {func(s source) image.Image { return image.New(s.Scope, s.rgb().EncodePNG(10)) }, "10"},
		"strings": {func(s source) image.Image {
			return image.New(s.Scope, s.Const([][][]string{{{"a"}}})).ConvertDType(tfbridge.Float, true)
		}, "string"},
		"bools": {func(s source) image.Image {
			return image.New(s.Scope, s.Const([][][]bool{{{true}}})).SaturateCast(tfbridge.Uint8)
		}, "bool"},
		"JPEG of floats":    {func(s source) image.Image { return image.New(s.Scope, s.float().EncodeJPEG(nil)) }, "use ConvertDType if they are from 0 to 1, or SaturateCast"},
		"PNG of floats":     {func(s source) image.Image { return image.New(s.Scope, s.float().EncodePNG(-1)) }, "must be of [uint8 uint16]"},
		"random brightness": {func(s source) image.Image { return s.rgb().RandomBrightness(-1, s.seed()) }, "maxDelta is -1"},
		"random hue":        {func(s source) image.Image { return s.rgb().RandomHue(0.6, s.seed()) }, "from 0 to 0.5"},
		"random grey hue":   {func(s source) image.Image { return s.grey().RandomHue(0.1, s.seed()) }, "RandomHue: the image has 1 channels"},
		"random contrast":   {func(s source) image.Image { return s.rgb().RandomContrast(1, 1, s.seed()) }, "above the lower"},
		"random saturation": {func(s source) image.Image { return s.rgb().RandomSaturation(-1, 1, s.seed()) }, "not be negative"},
		"random crop":       {func(s source) image.Image { return s.rgb().RandomCrop(0, 1, s.seed()) }, "0 by 1"},
		"random flip":       {func(s source) image.Image { return image.New(s.Scope, s.Const([]uint8{1})).RandomFlipUpDown(s.seed()) }, "3 dimensions"},
		"no boxes":          {func(s source) image.Image { return s.rgb().CropAndResize(nil, 1, 1) }, "0 boxes"},
		"hue of one colour": {func(s source) image.Image { return s.grey().AdjustHue(0.1) }, "AdjustHue"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := source{graphtest.NewScope(t), false}
			i := tt.do(s).FlipUpDown().Transpose().Rot90(3).AdjustBrightness(1).Scale(0, 1).PerImageStandardization()
			var classed *millrace.Error
			if err := i.Err(); !errors.As(err, &classed) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want one with %q", err, tt.want)
			}
			if i.Output().Op != nil {
				t.Error("there is an output after the failure")
			}
		})
	}
	var zero image.Image
	if err := zero.Resize(1, 1, nil).AdjustHue(1).Scale(0, 1).Err(); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("the zero Image: %v", err)
	}
}

// Bytes that are not an image are an error when the graph runs.
func TestDecodeJunk(t *testing.T) {
	s := graphtest.NewScope(t)
	if _, err := image.Decode(s, s.Const("no image"), nil).Tensor().Eval(t.Context(), nil); err == nil {
		t.Error("no error")
	}
	if _, err := image.ReadFile(s, filepath.Join(t.TempDir(), "none.png"), nil).Tensor().Eval(t.Context(), nil); !errors.Is(err, tfbridge.NotFound) {
		t.Errorf("no file: %v", err)
	}
}

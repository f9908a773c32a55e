package graph_test

import (
	"errors"
	"slices"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

const mebi = 1 << 20

// bombs lists bytes that an operation would decode to more than the limit, and bytes
// that are accepted.
var bombs = []struct {
	name, op string
	attrs    map[string]any
	limit    int64
	bytes    []byte
	passes   bool // whether the check accepts the bytes
}{
	{"PNG", "DecodePng", nil, 0, corrupt.PNG(20000, 20000), false},
	{"PNG of a few bytes", "DecodePng", nil, 0, corrupt.PNG(1, 1), true},
	{"PNG within a limit", "DecodePng", nil, 4, corrupt.PNG(1, 1), true},
	{"PNG beyond a limit", "DecodePng", nil, 3, corrupt.PNG(1, 1), false},
	{"PNG with texts", "DecodePng", nil, mebi, corrupt.PNG(1, 1, corrupt.PNGText(mebi), corrupt.PNGText(mebi)), false},
	{"PNG with a text", "DecodePng", nil, mebi, corrupt.PNG(1, 1, corrupt.PNGText(mebi/2)), true},
	{"JPEG", "DecodeJpeg", nil, 0, corrupt.JPEG(20000, 20000, false), false},
	{"JPEG made smaller", "DecodeJpeg", map[string]any{"ratio": 8}, 0, corrupt.JPEG(60000, 60000, true), false},
	{"JPEG cropped", "DecodeAndCropJpeg", nil, 0, corrupt.JPEG(60000, 60000, true), false},
	{"a small JPEG", "DecodeJpeg", nil, 0, corrupt.JPEG(1, 1, false), true},
	{"GIF", "DecodeGif", nil, 0, corrupt.GIF(100, 2000, 2000), false},
	{"a small GIF", "DecodeGif", nil, 0, corrupt.GIF(100, 1, 1), true},
	{"frames of a GIF that are not shown", "DecodeImage", map[string]any{"expand_animations": false}, 0, corrupt.GIF(2, 20000, 20000), false},
	{"JPEG XL", "DecodeImage", nil, 0, corrupt.JXL(1<<15, 1<<15, false), false},
	{"JPEG XL in a container", "DecodeJxl", nil, 0, corrupt.JXL(1, 1<<30, true), false},
	{"a small JPEG XL", "DecodeJxl", nil, 0, corrupt.JXL(1000, 1000, false), true},
	{"another format", "DecodeJpeg", nil, 0, corrupt.PNG(20000, 20000), false},
	{"image of floats", "DecodeImage", map[string]any{"dtype": tfbridge.Float}, 500 * mebi, corrupt.PNG(5000, 6000), false},
	{"gzip", "DecodeCompressed", map[string]any{"compression_type": "GZIP"}, mebi, corrupt.GzipNamed("", 2*mebi, 1), false},
	{"gzip of members", "DecodeCompressed", map[string]any{"compression_type": "GZIP"}, mebi, corrupt.GzipNamed("a", mebi/4, 5), false},
	{"gzip with a long name", "DecodeCompressed", map[string]any{"compression_type": "GZIP"}, mebi, corrupt.GzipNamed(string(slices.Repeat([]byte("n"), 2000)), 2*mebi, 1), false},
	{"zlib without an end", "DecodeCompressed", map[string]any{"compression_type": "ZLIB"}, mebi, corrupt.ZlibCut(2 * mebi), false},
	{"gzip within a limit", "DecodeCompressed", map[string]any{"compression_type": "GZIP"}, mebi, corrupt.GzipNamed("a", mebi/4, 4), true},
	{"sound", "DecodeWav", map[string]any{"desired_samples": 44100}, 0, corrupt.WAV(32767), false},
	{"sound of two channels", "DecodeWav", map[string]any{"desired_samples": 44100}, 0, corrupt.WAV(2), true},
	{"sound of the model's channels", "DecodeWav", map[string]any{"desired_samples": 44100, "desired_channels": 1}, 0, corrupt.WAV(32767), true},
}

// TestDecodeLimit runs models on bytes that an operation would decode to more than the
// limit: the run fails before anything is allocated. Smaller ones pass.
func TestDecodeLimit(t *testing.T) {
	for _, test := range bombs {
		t.Run(test.name, func(t *testing.T) {
			_, err := decode(t, test.op, test.attrs, test.bytes, &graph.ModelOptions{DecodeLimit: test.limit})
			var refused *tfbridge.RefusedBytes
			if got := errors.As(err, &refused); got == test.passes || got && !errors.Is(err, millrace.ErrLimit) {
				t.Errorf("%s: %v", test.op, err)
			}
		})
	}
}

// decode imports a model of one operation and runs it.
func decode(t *testing.T, op string, attrs map[string]any, b []byte, o *graph.ModelOptions) ([]int64, error) {
	t.Helper()
	s := graphtest.NewScope(t)
	x := s.Placeholder(tfbridge.String, tfbridge.MakeShape())
	inputs := []tfbridge.Input{x}
	if op == "DecodeAndCropJpeg" {
		inputs = append(inputs, s.Const([]int32{0, 0, 1, 1}))
	}
	y := s.Op1(op, attrs, inputs...)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	m, err := graph.ImportModel(writeGraph(t, s), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in, _ := m.Op(x.Op.Name(), 0)
	out, err := m.Op(y.Op.Name(), y.Index)
	if err != nil {
		t.Fatal(err)
	}
	fed, err := tfbridge.NewTensor(string(b))
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	got, err := m.Exec(t.Context(), []tfbridge.Output{out}, map[tfbridge.Output]*tfbridge.Tensor{in: fed})
	if err != nil {
		return nil, err
	}
	defer got[0].Close()
	return got[0].Shape(), nil
}

// TestDefaultsOfManyExamples gives a model many short Examples, whose dense features
// are made of default values: the limit counts these values, except where the
// serialized records are at least as large.
func TestDefaultsOfManyExamples(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Placeholder(tfbridge.String, tfbridge.MakeShape(-1))
	y := parseV2(s, x)
	file := writeGraph(t, s)
	m, err := graph.ImportModel(file, &graph.ModelOptions{DecodeLimit: 1200}) // an Example has 3 floats
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in, _ := m.Op(x.Op.Name(), 0)
	out, _ := m.Op(y[0].Op.Name(), y[0].Index)
	long := append([]byte{0x1a, 100}, make([]byte, 100)...) // an unknown field
	for _, test := range []struct {
		records int
		record  []byte
		want    error
	}{{100, nil, nil}, {101, nil, millrace.ErrLimit}, {101, long, nil}} {
		err := parse(t, m, in, []tfbridge.Output{out}, slices.Repeat([][]byte{test.record}, test.records)...)
		if !errors.Is(err, test.want) {
			t.Errorf("%d records of %d bytes: %v, want %v", test.records, len(test.record), err, test.want)
		}
	}
}

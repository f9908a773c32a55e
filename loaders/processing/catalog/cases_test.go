package catalog_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/jsonpos"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/loaders/processing/catalog"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// recorded is a tensor as written by testdata/record.py.
type recorded struct {
	DType   string
	Shape   []int64
	Data    []byte
	Zlib    []byte
	Strings [][]byte
}

// recordedCase is a step with its results from Python.
type recordedCase struct {
	Name  string
	Step  json.RawMessage
	In    []recorded
	Seed  []string // the pair of int64 of a random step
	Want  *recorded
	Fails string
}

// tensor returns the tensor.
func (r *recorded) tensor(t *testing.T) *tfbridge.Tensor {
	t.Helper()
	d, _ := processing.Loadable(r.DType)
	var x *tfbridge.Tensor
	var err error
	if r.DType == "string" {
		x, err = tfbridge.NewStringTensor(r.Shape, r.Strings)
	} else {
		x, err = tfbridge.ReadTensor(d, r.Shape, bytes.NewReader(r.bytes(t)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// bytes returns the bytes of numbers.
func (r *recorded) bytes(t *testing.T) []byte {
	if r.Zlib == nil {
		return r.Data
	}
	z, err := zlib.NewReader(bytes.NewReader(r.Zlib))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkedStep returns the step of a case, checked for tensors whose dimensions are known, or all
// unknown.
func checkedStep(t *testing.T, c *recordedCase, unknown bool) processing.Step {
	t.Helper()
	entry, err := jsonpos.Parse(c.Step)
	if err != nil {
		t.Fatal(err)
	}
	var step struct {
		Type string
		Args json.RawMessage
	}
	if err := json.Unmarshal(c.Step, &step); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(catalog.Types, func(x processing.Type) bool { return x.Name == step.Type })
	if i < 0 {
		t.Fatalf("no step %q", step.Type)
	}
	args := catalog.Types[i].Args()
	r := &decl.Reporter{File: "case", Class: millrace.ErrConfig, Limit: millrace.ErrLimit}
	r.Decode(entry.Key("args"), args)
	x := &processing.Context{Type: step.Type, Reporter: r, Entry: entry, Known: true}
	for _, in := range c.In {
		d, _ := processing.Loadable(in.DType)
		shape := slices.Clone(in.Shape)
		for k := range shape {
			if unknown {
				shape[k] = -1
			}
		}
		if shape == nil {
			shape = []int64{}
		}
		x.In = append(x.In, processing.Input{Tensor: processing.Tensor{Name: "x", DType: d, Shape: shape}})
	}
	checked := args.Check(x)
	if checked == nil && !unknown {
		t.Fatalf("refused: %v", r.Finish())
	}
	return checked
}

// fits reports whether a tensor has the data type and shape that the check promised.
func fits(promised processing.Tensor, x *tfbridge.Tensor) bool {
	shape := x.Shape()
	if promised.DType != x.DataType() || len(promised.Shape) != len(shape) {
		return false
	}
	for i, n := range promised.Shape {
		if n >= 0 && n != shape[i] {
			return false
		}
	}
	return true
}

// same reports whether a tensor equals Python's result, bit for bit.
func same(t *testing.T, c *recordedCase, x *tfbridge.Tensor) bool {
	t.Helper()
	want := c.Want
	if x.DataType().String() != want.DType || !slices.Equal(x.Shape(), want.Shape) {
		return false
	}
	if want.DType == "string" {
		got, err := x.Strings()
		if err != nil {
			t.Fatal(err)
		}
		return slices.EqualFunc(got, want.Strings, func(a string, b []byte) bool { return a == string(b) })
	}
	var got bytes.Buffer
	if _, err := x.WriteContentsTo(&got); err != nil {
		t.Fatal(err)
	}
	if d := x.DataType(); d == tfbridge.Half || d == tfbridge.Float || d == tfbridge.Double {
		return sameFloats(got.Bytes(), want.bytes(t), d, c.rounds())
	}
	return bytes.Equal(got.Bytes(), want.bytes(t))
}

// rounding are the steps whose kernels choose their instructions, and with them the last bits, by
// the processor: products of matrices, transforms, and functions that are approximated. On the
// processor that recorded the cases they gave the same bits.
var rounding = []string{"log", "log1p", "exp", "grayscale", "per_image_standardization", "stft", "mel", "mfcc", "random_noise", "random_contrast", "random_hue", "random_saturation"}

// rounds reports whether the processor decides about the last bits of a case.
func (c *recordedCase) rounds() bool {
	var step struct{ Type string }
	return json.Unmarshal(c.Step, &step) == nil && slices.Contains(rounding, step.Type)
}

// near reports whether two float32 differ by rounding.
func near(a, b []byte) bool {
	if len(a) != 4 {
		return false
	}
	x, y := math.Float32frombits(binary.LittleEndian.Uint32(a)), math.Float32frombits(binary.LittleEndian.Uint32(b))
	return math.Abs(float64(x-y)) <= 2e-6*(1+math.Abs(float64(y)))
}

// sameFloats compares numbers bit for bit, but takes any two that are NaN as equal: their sign
// depends on the position of a value in its vector, in Python too. With rounded it takes float32
// as equal that differ by rounding.
func sameFloats(a, b []byte, d tfbridge.DataType, rounded bool) bool {
	n := d.Size()
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i += n {
		x, y := a[i:i+n], b[i:i+n]
		if !bytes.Equal(x, y) && !(isNaN(x) && isNaN(y)) && !(rounded && near(x, y)) {
			return false
		}
	}
	return true
}

// isNaN reports whether the bytes of a number of floating point are NaN.
func isNaN(x []byte) bool {
	switch len(x) {
	case 2:
		h := binary.LittleEndian.Uint16(x)
		return h&0x7c00 == 0x7c00 && h&0x3ff != 0
	case 4:
		return math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(x))))
	}
	return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(x)))
}

// Every step gives the same bits as TensorFlow in Python, with the data type and shape
// that the check of the config gives. A step that may be built on batches gives the
// same result on a batch. Every type of step has cases.
func TestRecordedCases(t *testing.T) {
	testruntime.Need(t)
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []recordedCase
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			for i := range cases {
				t.Run(cases[i].Name, func(t *testing.T) { runCase(t, &cases[i]) })
				var step struct{ Type string }
				if err := json.Unmarshal(cases[i].Step, &step); err != nil {
					t.Fatal(err)
				}
				names[step.Type] = append(names[step.Type], cases[i].Name)
			}
		})
	}
	for _, x := range catalog.Types {
		if n := len(names[x.Name]); n < 4 && !fewCases[x.Name] {
			t.Errorf("%s has %d recorded cases", x.Name, n)
		}
	}
	for kind, wanted := range oddCases {
		for _, want := range wanted {
			if !slices.ContainsFunc(names[kind], func(name string) bool { return strings.HasPrefix(name, want) }) {
				t.Errorf("%s has no recorded case %q, only %q", kind, want, names[kind])
			}
		}
	}
}

// oddCases are how the names of cases begin that a decoder, or a step on text, must have.
var oddCases = map[string][]string{
	"decode_image":   {"16-bit png", "CMYK jpeg", "progressive jpeg", "animated gif", "palette png", "one pixel", "nothing", "half a png"},
	"decode_wav":     {"wav 24 bit", "wav one sample", "wav no samples", "wav nothing", "wav half"},
	"lower":          {"lower empty", "lower scalar"},
	"substr":         {"substr of invalid UTF-8", "substr of nothing"},
	"unicode_decode": {"decode 1", "decode 4"}, // the empty string, and invalid UTF-8
	"to_number":      {"number bad", "number none"},
}

// fewCases are the types of steps without recorded cases. Other tests cover them.
var fewCases = map[string]bool{"slice": true, "filter": true, "drop": true, "savedmodel": true}

func runCase(t *testing.T, c *recordedCase) {
	for _, unknown := range []bool{false, true} {
		step := checkedStep(t, c, unknown)
		if step == nil {
			continue // some steps need to know a dimension
		}
		s := graph.NewScope()
		defer s.Graph().Close()
		site := &processing.Site{Scope: s}
		if c.Seed != nil {
			site.Seed = s.Const(seedOf(t, c.Seed))
		}
		if p, ok := step.(processing.Prepared); ok {
			site.Prepared = p.Prepare(site)
		}
		feeds := map[tfbridge.Output]*tfbridge.Tensor{}
		var in []tfbridge.Output
		for _, x := range c.In {
			value := x.tensor(t)
			defer value.Close()
			dims := slices.Clone(x.Shape)
			for i := range dims {
				if unknown {
					dims[i] = -1
				}
			}
			in = append(in, s.Placeholder(value.DataType(), tfbridge.MakeShape(dims...)))
			feeds[in[len(in)-1]] = value
		}
		fetches := []tfbridge.Output{step.Build(site, in)}
		if processing.IsElementwise(step) {
			both := step.Build(site, []tfbridge.Output{graph.Pack(s, []tfbridge.Output{in[0], in[0]}, 0)})
			fetches = append(fetches, graph.Unpack(s, both, 2, 0)...)
		}
		if err := s.Err(); err != nil {
			t.Fatalf("build: %v", err)
		}
		run(t, c, step, runOf{s, feeds, fetches})
	}
}

// seedOf returns the pair of a random step.
func seedOf(t *testing.T, pair []string) []int64 {
	seed := make([]int64, len(pair))
	for i, text := range pair {
		var err error
		if seed[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return seed
}

// runOf is a graph built for a case.
type runOf struct {
	s       *graph.Scope
	feeds   map[tfbridge.Output]*tfbridge.Tensor
	fetches []tfbridge.Output
}

func run(t *testing.T, c *recordedCase, step processing.Step, r runOf) {
	t.Helper()
	session, err := tfbridge.NewSession(r.s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	got, err := session.Run(r.feeds, r.fetches, nil)
	if c.Want == nil {
		if err == nil {
			t.Errorf("no error, in Python %s", c.Fails)
		}
		for _, x := range got {
			x.Close()
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		defer x.Close()
		if !same(t, c, x) {
			t.Errorf("result %d of %s, %d in Python %s %v:\n got %v\nwant %v", i, x.DataType(), len(got), c.Want.DType, c.Want.Shape, x, c.Want.bytes(t))
		}
		if i == 0 && !fits(step.Out(), x) {
			t.Errorf("the check says %v, the result is %s %v", step.Out(), x.DataType(), x.Shape())
		}
	}
}

package output

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/dtype"
)

// numeric makes a column of fixed-size Go values.
func numeric[T any](name string, d dtype.DataType, shape []int64, values ...T) Column {
	data, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		panic(err)
	}
	return Column{Name: name, DType: d, Shape: shape, Data: data}
}

// text makes a column of strings.
func text(name string, shape []int64, values ...string) Column {
	return Column{Name: name, DType: dtype.String, Shape: shape, Strings: values}
}

// everything is a batch of two rows with every element type and with shapes
// of several ranks.
func everything() []Column {
	inf, nan := math.Inf(1), math.NaN()
	return []Column{
		numeric("bool", dtype.Bool, []int64{2}, true, false),
		numeric[int8]("int8", dtype.Int8, []int64{2}, -128, 127),
		numeric[int16]("int16", dtype.Int16, []int64{2}, -32768, 32767),
		numeric[int32]("int32", dtype.Int32, []int64{2, 2}, 1, -2, math.MinInt32, math.MaxInt32),
		numeric[int64]("int64", dtype.Int64, []int64{2}, math.MinInt64, math.MaxInt64),
		numeric[uint8]("uint8", dtype.Uint8, []int64{2}, 0, 255),
		numeric[uint16]("uint16", dtype.Uint16, []int64{2}, 1, 65535),
		numeric[uint32]("uint32", dtype.Uint32, []int64{2}, 1, math.MaxUint32),
		numeric[uint64]("uint64", dtype.Uint64, []int64{2}, 1, math.MaxUint64),
		numeric[uint16]("float16", dtype.Half, []int64{2}, 0x2e66, 0x7bff),
		numeric[uint16]("bfloat16", dtype.Bfloat16, []int64{2}, 0x3dcd, 0xff80),
		numeric[float32]("float32", dtype.Float, []int64{2, 1, 2}, 0.1, -0.5, 1e-9, 3),
		numeric("float64", dtype.Double, []int64{2, 2}, 0.1, inf, nan, -inf),
		numeric("complex64", dtype.Complex64, []int64{2}, complex64(complex(1, -2)), complex64(complex(0.1, 0))),
		numeric("complex128", dtype.Complex128, []int64{2, 1}, complex(1, 2), complex(0.1, inf)),
		text("string", []int64{2}, "a\x00b", "\xff"),
		text("strings", []int64{2, 2}, "", "bc", "d", "é"),
		numeric[float32]("nothing", dtype.Float, []int64{2, 0}),
	}
}

// rows are the rows of everything as NDJSON.
const rows = `{"bool":true,"int8":-128,"int16":-32768,"int32":[1,-2],"int64":-9223372036854775808,"uint8":0,"uint16":1,"uint32":1,"uint64":1,"float16":0.1,"bfloat16":0.1,"float32":[[0.1,-0.5]],"float64":[0.1,"Infinity"],"complex64":[1,-2],"complex128":[[1,2]],"string":"YQBi","strings":["","YmM="],"nothing":[]}
{"bool":false,"int8":127,"int16":32767,"int32":[-2147483648,2147483647],"int64":9223372036854775807,"uint8":255,"uint16":65535,"uint32":4294967295,"uint64":18446744073709551615,"float16":65500,"bfloat16":"-Infinity","float32":[[1e-09,3]],"float64":["NaN","-Infinity"],"complex64":[0.1,0],"complex128":[[0.1,"Infinity"]],"string":"/w==","strings":["ZA==","w6k="],"nothing":[]}
`

// save writes batches to a new file of a name and returns its path.
func save(t *testing.T, name string, batches ...[]Column) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, b := range batches {
		if err := f.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, path)
	return path
}

// onlyFile fails if the folder of path contains any other file; path itself may be
// missing.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestNDJSON(t *testing.T) {
	got, err := os.ReadFile(save(t, "out.ndjson", everything(), everything()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows+rows, string(got)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(string(got)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestStdout(t *testing.T) {
	var out bytes.Buffer
	f, err := Create(Stdout, &Options{Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Write(everything()); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if out.String() != rows {
		t.Errorf("got %s", out.String())
	}
	if f.Rows() != 2 || f.Bytes() != int64(len(rows)) {
		t.Errorf("%d rows in %d bytes", f.Rows(), f.Bytes())
	}
}

func TestAppendBatch(t *testing.T) {
	batch := []Column{
		numeric[int64]("b", dtype.Int64, []int64{2, 2}, 9007199254740993, -1, 0, math.MinInt64),
		numeric[float32]("a\"<é", dtype.Float, []int64{3}, 0.1, float32(math.NaN()), float32(math.Inf(-1))),
		numeric("c", dtype.Complex64, []int64{1}, complex64(complex(1, -2.5))),
		text("s", []int64{2}, "", "\x00\xff"),
		numeric("t", dtype.Bool, []int64{2}, true, false),
		numeric[uint8]("none", dtype.Uint8, []int64{0, 3}),
		numeric[float64]("scalar", dtype.Double, []int64{}, 2.5),
	}
	got, err := AppendBatch([]byte("before "), batch)
	if err != nil {
		t.Fatal(err)
	}
	want := `before {"b": {"dtype": "int64", "shape": [2, 2], "values": [9007199254740993, -1, 0, -9223372036854775808]}, ` +
		`"a\"<é": {"dtype": "float32", "shape": [3], "values": [0.1, "NaN", "-Infinity"]}, ` +
		`"c": {"dtype": "complex64", "shape": [1], "values": [[1,-2.5]]}, ` +
		`"s": {"dtype": "string", "shape": [2], "values": ["", "AP8="]}, ` +
		`"t": {"dtype": "bool", "shape": [2], "values": [true, false]}, ` +
		`"none": {"dtype": "uint8", "shape": [0, 3], "values": []}, ` +
		`"scalar": {"dtype": "float64", "shape": [], "values": [2.5]}}` + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

// TestNarrow reads the decimal of every float16 and bfloat16 back. Strings that are
// text are not in base64, and none of their control characters reach a terminal.
func TestText(t *testing.T) {
	c := text("word", []int64{3}, "mill", "é\"", "\x1b[31m")
	c.Text = true
	got, err := AppendBatch(nil, []Column{c})
	want := `{"word": {"dtype": "string", "shape": [3], "values": ["mill", "é\"", "\u001b[31m"]}}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	c.Strings[1] = "\xff"
	if _, err := AppendBatch(nil, []Column{c}); !errors.Is(err, millrace.ErrSchema) || !strings.Contains(err.Error(), `tensor "word": string 1 of the batch is not UTF-8: "\xff"`) {
		t.Errorf("got %v", err)
	}
}

func TestNarrow(t *testing.T) {
	for name, widen := range map[string]func(uint16) float32{"float16": half, "bfloat16": bfloat} {
		for bits := range 1 << 16 {
			v := float64(widen(uint16(bits)))
			dec := strings.Trim(string(appendNarrow(nil, uint16(bits), widen)), `"`)
			back, err := strconv.ParseFloat(dec, 64)
			if err != nil || !nearest(back, uint16(bits), widen) && !(math.IsNaN(v) && math.IsNaN(back)) {
				t.Fatalf("%s %#04x: %v is written as %s", name, bits, v, dec)
			}
			if digits := len(strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(dec), "0")); name == "float16" && math.Abs(v) > 1e-4 && !math.IsInf(v, 0) && digits > 5 {
				t.Fatalf("%s %#04x: %s is longer than it need be", name, bits, dec)
			}
		}
	}
}

// nearest reports whether, among all values of widen, the value of these bits is
// nearest to v.
func nearest(v float64, bits uint16, widen func(uint16) float32) bool {
	own := float64(widen(bits))
	if v == own {
		return true
	}
	for _, other := range []uint16{bits - 1, bits + 1} {
		w := float64(widen(other))
		if !math.IsNaN(w) && !math.IsInf(w, 0) && math.Abs(v-w) <= math.Abs(v-own) {
			return false
		}
	}
	return !math.IsNaN(own) && !math.IsInf(own, 0)
}

// readNPZ returns each array's element type and shape, and its bytes.
func readNPZ(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	header := regexp.MustCompile(`^\{'descr': '([^']*)', 'fortran_order': False, 'shape': \(([^)]*)\), \} *\n$`)
	got := map[string]string{}
	for _, member := range z.File {
		r, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		n := int(binary.LittleEndian.Uint16(data[8:]))
		m := header.FindStringSubmatch(string(data[10 : 10+n]))
		if string(data[:8]) != "\x93NUMPY\x01\x00" || (10+n)%64 != 0 || m == nil {
			t.Fatalf("%s: header %q", member.Name, data[:10+n])
		}
		got[member.Name] = fmt.Sprintf("%s (%s) %x", m[1], m[2], data[10+n:])
	}
	return got
}

func TestNPZ(t *testing.T) {
	got := readNPZ(t, save(t, "out.npz", everything(), everything()[:]))
	twice := func(s string) string { return s + s }
	want := map[string]string{
		"bool.npy":       "|b1 (4,) " + twice("0100"),
		"int8.npy":       "|i1 (4,) " + twice("807f"),
		"int16.npy":      "<i2 (4,) " + twice("0080ff7f"),
		"int32.npy":      "<i4 (4, 2) " + twice("01000000feffffff00000080ffffff7f"),
		"int64.npy":      "<i8 (4,) " + twice("0000000000000080ffffffffffffff7f"),
		"uint8.npy":      "|u1 (4,) " + twice("00ff"),
		"uint16.npy":     "<u2 (4,) " + twice("0100ffff"),
		"uint32.npy":     "<u4 (4,) " + twice("01000000ffffffff"),
		"uint64.npy":     "<u8 (4,) " + twice("0100000000000000ffffffffffffffff"),
		"float16.npy":    "<f2 (4,) " + twice("662eff7b"),
		"bfloat16.npy":   "<f4 (4,) " + twice("0000cd3d000080ff"),
		"float32.npy":    "<f4 (4, 1, 2) " + twice("cdcccc3d000000bf5f70893000004040"),
		"float64.npy":    "<f8 (4, 2) " + twice("9a9999999999b93f000000000000f07f010000000000f87f000000000000f0ff"),
		"complex64.npy":  "<c8 (4,) " + twice("0000803f000000c0cdcccc3d00000000"),
		"complex128.npy": "<c16 (4, 1) " + twice("000000000000f03f00000000000000409a9999999999b93f000000000000f07f"),
		"string.npy":     "|S3 (4,) " + twice("610062ff0000"),
		"strings.npy":    "|S2 (4, 2) " + twice("0000626364"+"00c3a9"),
		"nothing.npy":    "<f4 (4, 0) ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrays (-want +got):\n%s", diff)
	}
}

// Programs that unpack archives treat the names of members as paths.
func TestNPZNames(t *testing.T) {
	one := func(name string) []Column {
		return []Column{{Name: name, DType: dtype.Int8, Shape: []int64{1}, Data: []byte{7}}}
	}
	for _, name := range []string{"../x", "/x", "a/../../x", "a/..", "", `..\x`, "C:x", "a\x1b[2J", "a\u009b2J", "a\u202egnp"} {
		f, err := Create(filepath.Join(t.TempDir(), "out.npz"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err = f.Write(one(name)); err == nil {
			err = f.Commit()
		}
		if !errors.Is(err, millrace.ErrConfig) {
			t.Errorf("a member %q: %v", name, err)
		}
		f.Close()
	}
	for _, name := range []string{"a/b", "StatefulPartitionedCall:0", "..x", "日本"} {
		if got := readNPZ(t, save(t, "out.npz", one(name))); got[name+".npy"] == "" {
			t.Errorf("no member %q in %v", name, got)
		}
	}
}

func TestWithoutRows(t *testing.T) {
	hints := []dtype.TensorSpec{
		{Name: "x", DType: dtype.Float, Shape: dtype.MakeShape(3, -1)}, {Name: "s", DType: dtype.String, Shape: dtype.ScalarShape()},
		{Name: "unknown", DType: dtype.Int32}, {Name: "odd", DType: dtype.Qint8, Shape: dtype.ScalarShape()},
	}
	for _, f := range formats {
		path := filepath.Join(t.TempDir(), "out"+f.Extensions[0])
		out, err := Create(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		out.Expect(hints)
		defer out.Close()
		if err := out.Commit(); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		switch f.Name {
		case "NumPy":
			want := map[string]string{"x.npy": "<f4 (0, 3, 0) ", "s.npy": "|S1 (0,) "}
			if diff := cmp.Diff(want, readNPZ(t, path)); diff != "" {
				t.Errorf("arrays (-want +got):\n%s", diff)
			}
		case "Parquet":
			if got := readParquet(t, path); got != "x: list<element: list<element: float32>> | s: binary" {
				t.Errorf("got %s", got)
			}
		}
	}
}

func TestRefusedBatches(t *testing.T) {
	one := numeric[int32]("x", dtype.Int32, []int64{2}, 1, 2)
	tests := []struct {
		name, file string
		batches    [][]Column
		class      millrace.Class
		want       string
	}{
		{"scalar", "o.ndjson", [][]Column{{numeric[int32]("loss", dtype.Int32, nil, 1)}}, millrace.ErrModel, `tensor "loss": is one scalar for the whole batch`},
		{"rows", "o.ndjson", [][]Column{{one, numeric[int32]("y", dtype.Int32, []int64{3}, 1, 2, 3)}}, millrace.ErrModel, `tensor "y": has 3 rows, but "x" has 2`},
		{"twice", "o.ndjson", [][]Column{{one, one}}, millrace.ErrConfig, `tensor "x": two tensors of the output have the same name`},
		{"none", "o.ndjson", [][]Column{{}}, millrace.ErrModel, "there is no tensor to write"},
		{"dtype", "o.ndjson", [][]Column{{{Name: "q", DType: dtype.Qint8, Shape: []int64{1}, Data: []byte{1}}}}, millrace.ErrModel, "dtype qint8 cannot be written"},
		{"short", "o.ndjson", [][]Column{{{Name: "q", DType: dtype.Int32, Shape: []int64{1}, Data: []byte{1}}}}, millrace.ErrInternal, `tensor "q"`},
		{"rank", "o.ndjson", [][]Column{{one}, {numeric[int32]("x", dtype.Int32, []int64{1, 1}, 1)}}, millrace.ErrModel, "has rank 2 in this batch, but rank 1 in the batches before it"},
		{"another dtype", "o.ndjson", [][]Column{{one}, {numeric[int64]("x", dtype.Int64, []int64{1}, 1)}}, millrace.ErrInternal, "is int64, after batches with int32"},
		{"fewer", "o.ndjson", [][]Column{{one}, {}}, millrace.ErrModel, "no tensor"},
		{"npz lengths", "o.npz", [][]Column{{numeric[int8]("v", dtype.Int8, []int64{1, 2}, 1, 2)}, {numeric[int8]("v", dtype.Int8, []int64{1, 3}, 1, 2, 3)}},
			millrace.ErrConfig, `tensor "v": has rows of shape [3] after rows of shape [2]`},
		{"npz NUL", "o.npz", [][]Column{{text("s", []int64{1}, "a\x00")}}, millrace.ErrConfig, `tensor "s": the string "a\x00" ends in a NUL byte`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			f, err := Create(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, b := range test.batches {
				err = f.Write(b)
			}
			if err == nil || !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %v: %s", err, test.class, test.want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			onlyFile(t, filepath.Join(filepath.Dir(path), "nothing"))
		})
	}
}

func TestWideStrings(t *testing.T) {
	c := npyColumn{spec: dtype.TensorSpec{Name: "s"}, rows: 1 << 30, longest: 1 << 20, bytes: 1 << 31}
	if err := c.checkPadded(); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("got %v", err)
	}
	c = npyColumn{rows: math.MaxInt64 / 2, longest: 1 << 20, bytes: 1 << 31}
	if err := c.checkPadded(); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("got %v", err)
	}
	c = npyColumn{rows: 1000, longest: 1 << 10, bytes: 1}
	if err := c.checkPadded(); err != nil {
		t.Errorf("got %v", err)
	}
}

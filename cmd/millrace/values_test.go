package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// Values that are easily lost or changed.
var (
	oddBits = []uint32{0x7fc00000, 0xffc12345, 0x7f800000, 0xff800000, 0x80000000, 1, 0x80000001, 0x007fffff, 0x7f7fffff, 0x3dcccccd}
	oddInts = []int64{math.MinInt64, math.MaxInt64, -1, 1<<53 + 1}
)

// oddDataset holds one record of odd values, and an "x" for the model linear.
func oddDataset(t *testing.T) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.Manifest["features"] = []fixture.Object{
		{"name": "x", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"},
		{"name": "f", "dtype": "float32", "shape": []int{len(oddBits)}, "deserialize_type": "float"},
		{"name": "i", "dtype": "int64", "shape": []int{len(oddInts)}, "deserialize_type": "int"},
	}
	primary := func(name string) fixture.Object { return fixture.Object{"from_name": name, "to_name": name} }
	d.Args["primary_features"] = []fixture.Object{primary("x"), primary("f"), primary("i")}
	floats := make([]float32, len(oddBits))
	for i, bits := range oddBits {
		floats[i] = math.Float32frombits(bits)
	}
	d.WriteRecords(t, "a.tfrecords", example.Marshal([]example.Named{
		{Name: "x", Feature: fixture.Floats(1, 2, 3)}, {Name: "f", Feature: fixture.Floats(floats...)}, {Name: "i", Feature: fixture.Ints(oddInts...)},
	}))
	d.Save(t)
	return d
}

// millraceRuns runs the program in this process and returns its output.
func millraceRuns(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &cli.Program{Stdout: &stdout, Stderr: &stderr}
	if code := runLine(t.Context(), p, args); code != 0 {
		t.Fatalf("exit code %d, %s", code, &stderr)
	}
	return stdout.Bytes()
}

// bitsOf reads floats from JSON, where NaN and the infinities are strings. All NaNs are
// treated as equal.
func bitsOf(t *testing.T, values []any) (bits []uint32) {
	t.Helper()
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			text = v.(json.Number).String()
		}
		f, err := strconv.ParseFloat(text, 32)
		if err != nil {
			t.Fatal(err)
		}
		bits = append(bits, math.Float32bits(float32(f)))
	}
	return bits
}

// oneNaN returns the bits that JSON keeps: all NaNs become one.
func oneNaN(all []uint32) (bits []uint32) {
	for _, b := range all {
		if f := math.Float32frombits(b); f != f {
			b = math.Float32bits(float32(math.NaN()))
		}
		bits = append(bits, b)
	}
	return bits
}

// decodeJSON decodes an object without rounding its numbers.
func decodeJSON(t *testing.T, text []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func integersOf(t *testing.T, values []any) (ints []int64) {
	t.Helper()
	for _, v := range values {
		n, err := v.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		ints = append(ints, n)
	}
	return ints
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// Odd values keep their bits where the format can represent them, and follow the
// format's rules where it cannot (C29, J10).
func TestValues(t *testing.T) {
	testruntime.Need(t)
	d := oddDataset(t)
	t.Run("dump", func(t *testing.T) {
		var batch map[string]struct{ Values []any }
		decodeJSON(t, millraceRuns(t, "dump", d.Config()), &batch)
		same(t, "f", oneNaN(oddBits), bitsOf(t, batch["f"].Values))
		same(t, "i", oddInts, integersOf(t, batch["i"].Values))
	})
	predict := func(out string) []byte {
		return millraceRuns(t, "predict", d.Config(), "--model", "../../testdata/models/linear", "--keep", "f", "--keep", "i", "--out", out)
	}
	t.Run("NDJSON", func(t *testing.T) {
		var row map[string][]any
		decodeJSON(t, predict("-"), &row)
		same(t, "f", oneNaN(oddBits), bitsOf(t, row["f"]))
		same(t, "i", oddInts, integersOf(t, row["i"]))
	})
	t.Run("TFRecord", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out.tfrecord")
		predict(path)
		for rec, err := range tfrecord.Records(path, nil) {
			if err != nil {
				t.Fatal(err)
			}
			checkExample(t, rec.Data)
		}
	})
	t.Run("NumPy", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out.npz")
		predict(path)
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			checkArray(t, strings.TrimSuffix(f.Name, ".npy"), data)
		}
	})
}

// checkExample checks the features of the one row as a record.
func checkExample(t *testing.T, record []byte) {
	t.Helper()
	features, err := example.Parse(record)
	if err != nil {
		t.Fatal(err)
	}
	f, err := features.Get("f")
	if err != nil {
		t.Fatal(err)
	}
	var bits []uint32
	for _, v := range f.Floats {
		bits = append(bits, math.Float32bits(v))
	}
	same(t, "f", oddBits, bits)
	i, err := features.Get("i")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "i", oddInts, i.Ints)
}

// checkArray checks the end of a NumPy file, where its contents are.
func checkArray(t *testing.T, name string, data []byte) {
	t.Helper()
	var want []byte
	switch name {
	case "f":
		for _, bits := range oddBits {
			want = binary.LittleEndian.AppendUint32(want, bits)
		}
	case "i":
		for _, v := range oddInts {
			want = binary.LittleEndian.AppendUint64(want, uint64(v))
		}
	}
	if !bytes.HasSuffix(data, want) {
		t.Errorf("%s ends in %x, want %x", name, data[max(0, len(data)-len(want)):], want)
	}
}

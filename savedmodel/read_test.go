package savedmodel

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/bundle"
)

// spec shortens a tensor's name, data type and dimensions.
func spec(name string, d dtype.DataType, dims ...int64) dtype.TensorSpec {
	return dtype.TensorSpec{Name: name, DType: d, Shape: dtype.MakeShape(dims...)}
}

func TestRead(t *testing.T) {
	tests := []struct {
		name          string
		fingerprinted bool
		signatures    []string
		variables     []bundle.Variable
	}{
		{"constant", true, []string{`"serving_default" ("x") -> ("y")`}, nil},
		{"graph_v1", false, []string{`"serving_default" ("x") -> ("y")`},
			[]bundle.Variable{{TensorSpec: spec("half", dtype.Float), Bytes: 4}, {TensorSpec: spec("two", dtype.Float), Bytes: 4}}},
		{"linear", true, []string{`"serving_default" ("x") -> ("y")`},
			[]bundle.Variable{{TensorSpec: spec("b/.ATTRIBUTES/VARIABLE_VALUE", dtype.Float, 2), Bytes: 8},
				{TensorSpec: spec("w/.ATTRIBUTES/VARIABLE_VALUE", dtype.Float, 3, 2), Bytes: 24}}},
		{"loop", true, []string{`"serving_default" ("n") -> ("sum")`}, nil},
		{"outputs", true, []string{`"serving_default" ("image", "label") -> ("bright", "mean", "next", "text")`}, nil},
		{"strings", true, []string{`"serving_default" ("text") -> ("length", "upper")`}, nil},
		{"two_signatures", true, []string{`"explain" ("x") -> ("weight", "y")`, `"serving_default" ("x") -> ("y")`},
			[]bundle.Variable{{TensorSpec: spec("k/.ATTRIBUTES/VARIABLE_VALUE", dtype.Float), Bytes: 4}}},
		{"vocab", true, []string{`"serving_default" ("word") -> ("id")`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Read(filepath.Join(models, tt.name), nil)
			if err != nil {
				t.Fatal(err)
			}
			var sigs []string
			for _, name := range slices.Sorted(maps.Keys(m.Signatures)) {
				sigs = append(sigs, describe(m.Signatures[name]))
			}
			if diff := cmp.Diff(tt.signatures, sigs); diff != "" {
				t.Errorf("signatures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.variables, m.Variables); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			if m.Fingerprinted != tt.fingerprinted || m.TensorFlow != "2.21.0" || !cmp.Equal(m.Tags, []string{"serve"}) {
				t.Errorf("fingerprinted %v, TensorFlow %s, tags %v", m.Fingerprinted, m.TensorFlow, m.Tags)
			}
		})
	}
}

func TestSignatureTensors(t *testing.T) {
	m, err := Read(filepath.Join(models, "outputs"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Signature{Name: "serving_default", Method: "tensorflow/serving/predict",
		Inputs: []Tensor{
			{TensorSpec: spec("image", dtype.Float, -1, 8, 8), Node: "serving_default_image:0"},
			{TensorSpec: spec("label", dtype.Int64, -1), Node: "serving_default_label:0"},
		},
		Outputs: []Tensor{
			{TensorSpec: spec("bright", dtype.Bool, -1), Node: "PartitionedCall:0"},
			{TensorSpec: spec("mean", dtype.Float, -1), Node: "PartitionedCall:1"},
			{TensorSpec: spec("next", dtype.Int64, -1), Node: "PartitionedCall:2"},
			{TensorSpec: spec("text", dtype.String, -1), Node: "PartitionedCall:3"},
		}}
	got, err := m.Signature("serving_default")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// E01, E02, E03: paths that are not a model's folder.
func TestReadNoModel(t *testing.T) {
	empty := t.TempDir()
	linear := copyModel(t, "linear")
	chunked := bare(t, "linear")
	remove(t, filepath.Join(chunked, binaryName))
	writeFile(t, filepath.Join(chunked, chunkedName), nil)
	versions := t.TempDir()
	for _, v := range []string{"9", "10", "11-later"} {
		if err := os.CopyFS(filepath.Join(versions, v), os.DirFS(linear)); err != nil {
			t.Fatal(err)
		}
	}
	nothing := bare(t, "linear")
	writeFile(t, filepath.Join(nothing, binaryName), nil)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, binaryName), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, dir, want string }{
		{"missing", filepath.Join(empty, "none"), "no such model folder"},
		{"a file", filepath.Join(linear, binaryName), "not a folder"},
		{"no protobuf", empty, "no saved_model.pb"},
		{"versions", versions, "versions of a model: give the folder of one, such as " + versions + "/10"},
		{"chunks", chunked, "not supported"},
		{"empty protobuf", nothing, "saved_model.pb is empty"},
		{"protobuf is a folder", folder, "not a regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(tt.dir, nil)
			wantError(t, err, millrace.ErrModel, tt.want, tt.dir)
		})
	}
}

// E04: a protobuf that is cut off anywhere.
func TestReadCut(t *testing.T) {
	for _, name := range []string{"constant", "graph_v1"} {
		whole := readFile(t, filepath.Join(models, name, binaryName))
		for _, keep := range []bool{true, false} {
			dir := copyModel(t, name)
			if !keep {
				dir = bare(t, name)
			}
			step := max(1, len(whole)/100)
			if *exhaustive {
				step = 1
			}
			for n := 0; n < len(whole); n += step {
				writeFile(t, filepath.Join(dir, binaryName), whole[:n])
				_, err := Read(dir, nil)
				if err == nil || !errors.Is(err, millrace.ErrModel) {
					t.Fatalf("%s cut to %d of %d bytes: %v", name, n, len(whole), err)
				}
			}
		}
	}
}

// E05: with the fingerprint that TensorFlow writes, every flipped bit is detected.
func TestReadFlipped(t *testing.T) {
	dir := copyModel(t, "constant")
	step := 23
	if *exhaustive {
		step = 1
	}
	flips(t, filepath.Join(dir, binaryName), step, func(bit int) {
		if _, err := Read(dir, nil); err == nil || !errors.Is(err, millrace.ErrModel) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
	})
}

// E05 without a fingerprint: reading never crashes, and only a minority of flipped bits
// goes undetected.
func TestReadFlippedBare(t *testing.T) {
	dir := bare(t, "constant")
	pin := &Options{SHA256: digestOf(t, dir)}
	seen, all := 0, 0
	flips(t, filepath.Join(dir, binaryName), 47, func(bit int) {
		all++
		if _, err := Read(dir, nil); err != nil {
			seen++
		}
		if _, err := Read(dir, pin); err == nil {
			t.Fatalf("bit %d flipped, and the pinned digest accepts it", bit)
		}
	})
	t.Logf("%d of %d flips seen without a fingerprint", seen, all)
	if seen < all/3 {
		t.Errorf("%d of %d flips seen without a fingerprint, want a third", seen, all)
	}
}

func digestOf(t testing.TB, dir string) string {
	t.Helper()
	m, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.SHA256
}

func TestReadPin(t *testing.T) {
	dir := filepath.Join(models, "linear")
	sum := digestOf(t, dir)
	if _, err := Read(dir, &Options{SHA256: sum}); err != nil {
		t.Error(err)
	}
	_, err := Read(dir, &Options{SHA256: sum[:63] + "x"})
	wantError(t, err, millrace.ErrModel, "SHA-256", sum)
}

func TestReadFingerprint(t *testing.T) {
	dir := copyModel(t, "linear")
	other := readFile(t, filepath.Join(models, "constant", fingerprintName))
	writeFile(t, filepath.Join(dir, fingerprintName), other)
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "saved_model.pb", "does not match the checksum")
	if !errors.Is(err, millrace.ErrCorrupt) {
		t.Error("not of class corrupt")
	}
	if m, err := Read(dir, &Options{IgnoreFingerprint: true}); err != nil || m.Fingerprinted {
		t.Errorf("told to ignore it: %v", err)
	}
	writeFile(t, filepath.Join(dir, fingerprintName), []byte("not a protobuf"))
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "not a fingerprint")
}

// E06: random bytes, and too many bytes.
func TestReadRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	for i := range 200 {
		b := make([]byte, rng.IntN(300))
		for k := range b {
			b[k] = byte(rng.Uint32())
		}
		writeFile(t, filepath.Join(dir, binaryName), b)
		if _, err := Read(dir, nil); !errors.Is(err, millrace.ErrModel) {
			t.Fatalf("round %d: %q: %v", i, b, err)
		}
	}
}

func TestReadTooLarge(t *testing.T) {
	dir := bare(t, "constant")
	if err := os.Truncate(filepath.Join(dir, binaryName), 2<<30); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "2147483648 bytes, at most 536870912")
	if !errors.Is(err, millrace.ErrLimit) {
		t.Error("not of class limit")
	}
	_, err = Read(filepath.Join(models, "constant"), &Options{MaxBytes: 100})
	wantError(t, err, millrace.ErrModel, "at most 100")
	_, err = Read(filepath.Join(models, "constant"), &Options{MaxNodes: 2})
	wantError(t, err, millrace.ErrLimit, "more than 2")
}

// E09.
func TestReadSignatures(t *testing.T) {
	_, err := Read(filepath.Join(models, "two_signatures"), &Options{Signatures: []string{"predict"}})
	want := `signature "predict": there is no such signature; the model has "explain" ("x") -> ("weight", "y"), "serving_default" ("x") -> ("y")`
	wantError(t, err, millrace.ErrModel, want)
	dir := edited(t, "linear", func(m *tfproto.SavedModel) {
		m.MetaGraphs[0].SignatureDef["serving_default"].MethodName = "\x1b[31mred"
	})
	if m, err := Read(dir, nil); err != nil || m.Signatures["serving_default"].Method != "\x1b[31mred" {
		t.Errorf("an odd method name is not a fault: %v", err)
	}
}

// E10: signatures that refer to missing tensors.
func TestReadResolve(t *testing.T) {
	tests := []struct {
		name   string
		change func(*tfproto.SignatureDef)
		want   string
	}{
		{"input node", func(s *tfproto.SignatureDef) {
			s.Inputs["x"].Encoding = &tfproto.TensorInfo_Name{Name: "nope:0"}
		}, `tensor "x": input: the graph has no node "nope"`},
		{"output node", func(s *tfproto.SignatureDef) {
			s.Outputs["y"].Encoding = &tfproto.TensorInfo_Name{Name: "nope:0"}
		}, `tensor "y": output: the graph has no node "nope"`},
		{"port", func(s *tfproto.SignatureDef) {
			s.Outputs["y"].Encoding = &tfproto.TensorInfo_Name{Name: "StatefulPartitionedCall:1"}
		}, `node "StatefulPartitionedCall" ("StatefulPartitionedCall") has 1 outputs, there is no "StatefulPartitionedCall:1"`},
		{"control", func(s *tfproto.SignatureDef) {
			s.Outputs["y"].Encoding = &tfproto.TensorInfo_Name{Name: "^StatefulPartitionedCall"}
		}, "no node"},
		{"no name", func(s *tfproto.SignatureDef) { s.Inputs["x"].Encoding = nil }, "names no tensor"},
		{"dtype", func(s *tfproto.SignatureDef) { s.Inputs["x"].Dtype = tfproto.DataType_DT_INT32 },
			`the signature says int32, node "serving_default_x" gives float32`},
		{"negative dimension", func(s *tfproto.SignatureDef) { s.Inputs["x"].TensorShape.Dim[0].Size = -7 }, "a dimension below -1"},
		{"rank", func(s *tfproto.SignatureDef) {
			s.Inputs["x"].TensorShape.Dim = make([]*tfproto.TensorShapeProto_Dim, 300)
			for i := range s.Inputs["x"].TensorShape.Dim {
				s.Inputs["x"].TensorShape.Dim[i] = &tfproto.TensorShapeProto_Dim{Size: 1}
			}
		}, "300 dimensions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := edited(t, "linear", func(m *tfproto.SavedModel) { tt.change(m.MetaGraphs[0].SignatureDef["serving_default"]) })
			_, err := Read(dir, nil)
			wantError(t, err, millrace.ErrModel, `signature "serving_default"`, tt.want)
		})
	}
}

// A signature that does not fit the graph does not make others unusable.
func TestUnusableSignature(t *testing.T) {
	dir := edited(t, "two_signatures", func(m *tfproto.SavedModel) {
		m.MetaGraphs[0].SignatureDef["explain"].Inputs["x"].Dtype = tfproto.DataType_DT_INT32
	})
	m, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Signature("serving_default"); err != nil {
		t.Error(err)
	}
	_, err = m.Signature("explain")
	wantError(t, err, millrace.ErrModel, `signature "explain"`, "the signature says int32")
	_, err = Read(dir, &Options{Signatures: []string{"explain"}})
	wantError(t, err, millrace.ErrModel, `signature "explain"`, "the signature says int32")
}

// Two tensors of one name cannot be told apart: for an input the signature becomes
// unusable, for an output only that output.
func TestTwoTensorsOfAName(t *testing.T) {
	sparse := &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CooSparse_{CooSparse: &tfproto.TensorInfo_CooSparse{
		ValuesTensorName: "x:0", IndicesTensorName: "i:0", DenseShapeTensorName: "s:0"}}, Dtype: tfproto.DataType_DT_STRING}
	long := func(name string) *tfproto.NodeDef {
		return with(node(name, "Placeholder"), "dtype", &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_INT64}})
	}
	model := func() (*tfproto.SavedModel, *tfproto.SignatureDef) {
		m := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), long("i"), long("s")})
		return m, m.MetaGraphs[0].SignatureDef["serving_default"]
	}
	plain := func(node string) *tfproto.TensorInfo {
		return &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: node}, Dtype: tfproto.DataType_DT_STRING}
	}
	m, s := model()
	s.Inputs = map[string]*tfproto.TensorInfo{"a": sparse, "a/values": plain("x:0")}
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrModel, `signature "serving_default"`, `tensor "a/values": input: two tensors have this name`)
	m, s = model()
	s.Outputs = map[string]*tfproto.TensorInfo{"a": sparse, "a/values": plain("x:0"), "b": plain("y")}
	read, err := readGraph(t, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, out := range read.Signatures["serving_default"].Outputs {
		if out.Err != nil {
			wrong++
			wantError(t, out.Err, millrace.ErrModel, `tensor "a/values": output: two tensors have this name`)
		}
	}
	if wrong != 1 || read.Signatures["serving_default"].Outputs[4].Node != "y:0" {
		t.Errorf("%d outputs are wrong of %+v", wrong, read.Signatures["serving_default"].Outputs)
	}
}

// A signature without any output that can be fetched cannot be called, and the error is
// its first output's. Resources stay in TensorFlow, and a signature with only resources
// can be called for its effects.
func TestOutputsThatCannotBeFetched(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), handleNode("v"), node("a", "AssignVariableOp", "v", "x")})
	s := m.MetaGraphs[0].SignatureDef["serving_default"]
	s.Outputs = map[string]*tfproto.TensorInfo{"b": {Encoding: &tfproto.TensorInfo_Name{Name: "gone:0"}}, "a": {Encoding: &tfproto.TensorInfo_Name{Name: "lost:0"}}}
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrModel, `tensor "a": output: the graph has no node "lost"`)
	s.Outputs = map[string]*tfproto.TensorInfo{"v": {Encoding: &tfproto.TensorInfo_Name{Name: "v:0"}, Dtype: tfproto.DataType_DT_RESOURCE}}
	read, err := readGraph(t, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, read.Signatures["serving_default"].Outputs[0].Err, millrace.ErrModel, "has dtype resource; such a tensor stays in TensorFlow")
	s.Outputs = nil
	if _, err := readGraph(t, m, nil); err != nil {
		t.Errorf("a signature of no outputs: %v", err)
	}
}

// The components of a sparse output count as outputs of its signature.
func TestPartsOfASignature(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), constant("f", "/x"), node("t", "InitializeTableFromTextFileV2", "x", "f"), node("part", "Identity", "x", "^t")})
	m.MetaGraphs[0].AssetFileDef = []*tfproto.AssetFileDef{{TensorInfo: &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "f:0"}}, Filename: "f"}}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "assets/f"), nil)
	writeModel(t, dir, m)
	if _, err := Read(dir, nil); err != nil {
		t.Errorf("a table that no signature runs: %v", err)
	}
	m.MetaGraphs[0].SignatureDef["serving_default"].Outputs["z"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CooSparse_{
		CooSparse: &tfproto.TensorInfo_CooSparse{IndicesTensorName: "part:0"}}}
	writeModel(t, dir, m)
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrUnsafeModel, `signature "serving_default"`, "InitializeTable")
}

// A sparse tensor is listed as its components, which must be in the graph.
func TestReadSparse(t *testing.T) {
	change := func(shape string) func(*tfproto.SavedModel) {
		return func(m *tfproto.SavedModel) {
			x := m.MetaGraphs[0].SignatureDef["serving_default"].Inputs["x"]
			x.Encoding = &tfproto.TensorInfo_CooSparse_{CooSparse: &tfproto.TensorInfo_CooSparse{
				ValuesTensorName: x.GetName(), IndicesTensorName: "i:0", DenseShapeTensorName: shape}}
		}
	}
	_, err := Read(edited(t, "linear", change("nowhere:0")), nil)
	wantError(t, err, millrace.ErrModel, `signature "serving_default"`, `tensor "x/dense_shape"`, `no node "nowhere"`)
	_, err = Read(edited(t, "linear", change("saver_filename:0")), nil)
	wantError(t, err, millrace.ErrModel, `tensor "x/dense_shape"`, "the signature says int64, node \"saver_filename\" gives string")
}

// An output that cannot be fetched keeps its error. The others can be fetched.
func TestOddOutput(t *testing.T) {
	dir := edited(t, "two_signatures", func(m *tfproto.SavedModel) {
		out := m.MetaGraphs[0].SignatureDef["explain"].Outputs
		out["weight"].Dtype = tfproto.DataType_DT_STRING
		out["handle"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "k:0"}, Dtype: tfproto.DataType_DT_RESOURCE}
	})
	m, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Signature("explain")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"handle": "dtype resource", "weight": "the signature says string", "y": ""}
	for _, o := range s.Outputs {
		if text := want[o.Name]; text == "" && o.Err != nil || text != "" && (o.Err == nil || !strings.Contains(o.Err.Error(), text)) {
			t.Errorf("%s: %v", o.Name, o.Err)
		}
	}
}

func TestReadText(t *testing.T) {
	var m tfproto.SavedModel
	if err := proto.Unmarshal(readFile(t, filepath.Join(models, "linear", binaryName)), &m); err != nil {
		t.Fatal(err)
	}
	dir := bare(t, "linear")
	remove(t, filepath.Join(dir, binaryName))
	name := filepath.Join(dir, textName)
	writeFile(t, name, []byte(prototext.Format(&m)))
	if _, err := Read(dir, nil); err != nil {
		t.Error(err)
	}
	writeFile(t, name, []byte("meta_graphs { nonsense"))
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "not a SavedModel in text form")
	writeFile(t, name, nil)
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "empty")
	deep := bytes.Repeat([]byte("meta_graphs {"), 5_000)
	writeFile(t, name, deep)
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "nest deeper than 100")
}

// A model of a newer TensorFlow is refused as such, not as damaged.
func TestReadNewer(t *testing.T) {
	dir := edited(t, "linear", func(m *tfproto.SavedModel) {
		m.MetaGraphs[0].GraphDef.Versions.MinConsumer = newestProducer + 1
	})
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "newer TensorFlow")
	unknown := []byte{0xf8, 0x07, 1} // field 127, 1
	dir = edited(t, "linear", func(m *tfproto.SavedModel) { m.MetaGraphs[0].ProtoReflect().SetUnknown(unknown) })
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "damaged", "field 127")
	dir = edited(t, "linear", func(m *tfproto.SavedModel) {
		m.MetaGraphs[0].ProtoReflect().SetUnknown(unknown)
		m.MetaGraphs[0].GraphDef.Versions.Producer = newestProducer + 1
	})
	if _, err := Read(dir, nil); err != nil {
		t.Errorf("an unknown field of a newer TensorFlow: %v", err)
	}
}

func ExampleRead() {
	m, err := Read("../testdata/models/linear", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := m.Signature("serving_default")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range s.Inputs {
		fmt.Println("input", t.Name, t.Node, t.Shape)
	}
	for _, v := range m.Variables {
		fmt.Println("variable", v.Name, v.Shape)
	}
	// Output:
	// input x serving_default_x:0 [?, 3]
	// variable b/.ATTRIBUTES/VARIABLE_VALUE [2]
	// variable w/.ATTRIBUTES/VARIABLE_VALUE [3, 2]
}

func ExampleRead_unsafe() {
	_, err := Read("../testdata/models/writes_file_at_load", nil)
	fmt.Println(errors.Is(err, millrace.ErrUnsafeModel))
	_, err = Read("../testdata/models/writes_file_at_load", &Options{AllowOps: []string{"WriteFile"}})
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

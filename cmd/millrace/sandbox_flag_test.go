package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
	"millrace/sandbox"
)

// intruder is a model that answers each image with a string. Before that it reads the
// string from a file, or writes it to one.
type intruder struct{ nodes []*tfproto.NodeDef }

// node adds a node with attributes that name types.
func (m *intruder) node(name, op string, types map[string]tfproto.DataType, inputs ...string) *tfproto.NodeDef {
	n := &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{}}
	for key, dt := range types {
		n.Attr[key] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: dt}}
	}
	m.nodes = append(m.nodes, n)
	return n
}

// constant adds a constant.
func (m *intruder) constant(name string, value *tfproto.TensorProto) {
	n := m.node(name, "Const", map[string]tfproto.DataType{"dtype": value.Dtype})
	n.Attr["value"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: value}}
}

// text adds a constant string.
func (m *intruder) text(name, value string) {
	m.constant(name, &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, TensorShape: &tfproto.TensorShapeProto{}, StringVal: [][]byte{[]byte(value)}})
}

// vector adds a constant of one number.
func (m *intruder) vector(name string, value int32) {
	m.constant(name, &tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT32, IntVal: []int32{value},
		TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 1}}}})
}

// layIntruder writes a model that reads a file, or a model that writes it.
func layIntruder(t *testing.T, dir, file string, writes bool) {
	t.Helper()
	const f32, i32, str = tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_INT32, tfproto.DataType_DT_STRING
	m := &intruder{}
	unknown := &tfproto.TensorShapeProto{UnknownRank: true}
	x := m.node("x", "Placeholder", map[string]tfproto.DataType{"dtype": f32})
	x.Attr["shape"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: unknown}}
	m.text("path", file)
	m.text("said", "words")
	answer, after := "said", "^x"
	if writes {
		m.node("write", "WriteFile", nil, "path", "said")
		after = "^write"
	} else {
		m.node("read", "ReadFile", nil, "path")
		answer = "read"
	}
	m.vector("begin", 0)
	m.vector("end", 1)
	m.vector("stride", 1)
	m.node("shape", "Shape", map[string]tfproto.DataType{"T": f32, "out_type": i32}, "x")
	m.node("rows", "StridedSlice", map[string]tfproto.DataType{"T": i32, "Index": i32}, "shape", "begin", "end", "stride")
	m.node("y", "Fill", map[string]tfproto.DataType{"T": str, "index_type": i32}, "rows", answer, after)
	end := func(name string, dt tfproto.DataType) *tfproto.TensorInfo {
		return &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: name + ":0"}, Dtype: dt, TensorShape: unknown}
	}
	raw, err := proto.Marshal(&tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{{
		MetaInfoDef: &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef:    &tfproto.GraphDef{Node: m.nodes, Versions: &tfproto.VersionDef{Producer: 2474}},
		SignatureDef: map[string]*tfproto.SignatureDef{"serving_default": {
			Inputs: map[string]*tfproto.TensorInfo{"image": end("x", f32)}, Outputs: map[string]*tfproto.TensorInfo{"y": end("y", str)}, MethodName: "tensorflow/serving/predict",
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "saved_model.pb"), raw, 0o666); err != nil {
		t.Fatal(err)
	}
}

// The kernel keeps an unchecked model (--unchecked) from a file that the command does
// not name, unless a flag of the sandbox names it, or there is no sandbox.
func TestSandboxFlag(t *testing.T) {
	testruntime.Need(t)
	if p := sandbox.Available(); !p.Whole() {
		t.Skipf("SKIPPED: THE FLAG OF THE SANDBOX IS NOT TESTED: this kernel offers: %s", p)
	}
	tests := []struct {
		flags   string // FOLDER stands for the folder of the file
		reaches bool
	}{
		{"--sandbox=off", true},
		{"--sandbox=auto", false},
		{"--sandbox=require", false},
		{"--sandbox=require --sandbox-write FOLDER", true},
	}
	dir := lab(t)
	for _, writes := range []bool{false, true} {
		for i, tt := range tests {
			host := t.TempDir()
			file := filepath.Join(host, "file")
			if !writes {
				if err := os.WriteFile(file, []byte("secret"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			model := filepath.Join(t.TempDir(), "model")
			layIntruder(t, model, file, writes)
			out := filepath.Join(dir, "out"+string(rune('0'+i))+map[bool]string{false: "r", true: "w"}[writes]+".ndjson")
			args := strings.Fields("millrace predict predict.json --keep label --unchecked --verbose --model " + model + " --out " + out + " " + strings.ReplaceAll(tt.flags, "FOLDER", host))
			cmd := inLab(dir, args...)
			said, err := cmd.CombinedOutput()
			written, _ := os.ReadFile(file)
			rows, _ := os.ReadFile(out)
			reached := string(written) == "words" || strings.Contains(string(rows), base64.StdEncoding.EncodeToString([]byte("secret")))
			switch {
			case reached != tt.reaches:
				t.Errorf("%s: the model writes %v: it reaches the file: %v: %s", tt.flags, writes, reached, said)
			case tt.reaches && err != nil:
				t.Errorf("%s: %v: %s", tt.flags, err, said)
			case !tt.reaches && (err == nil || !strings.Contains(string(said), "--sandbox=off leaves it out")):
				t.Errorf("%s: %v, want an error that names the sandbox: %s", tt.flags, err, said)
			}
		}
	}
}

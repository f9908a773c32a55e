package gradients_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/internal/base/tfproto"
)

// Each rule is tested, numerically or on a model that Python differentiated.
func TestEveryRule(t *testing.T) {
	tried := map[string]bool{}
	dir := unpackModels(t)
	for _, name := range modelNames {
		m, err := graph.LoadModel(filepath.Join(dir, name, "model"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, err = m.Graph().WriteTo(&b)
		m.Close()
		def := &tfproto.GraphDef{}
		if err == nil {
			err = proto.Unmarshal(b.Bytes(), def)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range def.GetNode() {
			tried[n.GetOp()] = true
		}
		for _, f := range def.GetLibrary().GetFunction() {
			for _, n := range f.GetNodeDef() {
				tried[n.GetOp()] = true
			}
		}
	}
	for name := range numericCases {
		tried[name] = true
	}
	for _, rule := range gradients.Rules() {
		if !tried[rule] {
			t.Errorf("nothing tries the rule of %s", rule)
		}
	}
}

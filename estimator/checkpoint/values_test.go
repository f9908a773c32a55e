package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// Values that were read do not change while steps change the variables: those of
// TensorFlow 2, which share memory with them, and those of TensorFlow 1.
func TestReadStays(t *testing.T) {
	testruntime.Need(t)
	s := graph.NewScope()
	one := s.Const([]float32{1, 1})
	attrs := map[string]any{"dtype": tfbridge.Float, "shape": dtype.MakeShape(2)}
	resource, reference := s.Op1("VarHandleOp", attrs), s.Op1("VariableV2", attrs)
	ops := map[string]*tfbridge.Operation{}
	for _, kind := range []string{"AssignVariableOp", "AssignAddVariableOp"} {
		ops[kind] = s.AddOperation(tfbridge.OpSpec{Type: kind, Input: []tfbridge.Input{resource, one}})
	}
	for _, kind := range []string{"Assign", "AssignAdd"} {
		ops[kind] = s.AddOperation(tfbridge.OpSpec{Type: kind, Input: []tfbridge.Input{reference, one}})
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Graph().Close()
	defer session.Close()
	spec := dtype.TensorSpec{DType: dtype.Float, Shape: dtype.MakeShape(2)}
	values, err := NewValues(s, session, []Variable{{TensorSpec: spec, Handle: resource}, {TensorSpec: spec, Handle: reference}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(types ...string) {
		for _, kind := range types {
			if _, err := session.Run(nil, nil, []*tfbridge.Operation{ops[kind]}); err != nil {
				t.Fatal(err)
			}
		}
	}
	run("AssignVariableOp", "Assign")
	read, err := values.Read()
	if err != nil {
		t.Fatal(err)
	}
	run("AssignAddVariableOp", "AssignAdd")
	for i, from := range []string{"TensorFlow 2", "TensorFlow 1"} {
		if v, err := tfbridge.View[float32](read[i]); err != nil || v[0] != 1 || v[1] != 1 {
			t.Errorf("a variable of %s became %v in what was read before, %v", from, v, err)
		}
		read[i].Close()
	}
}

// Saving a step again does nothing. The newest checkpoint is the one of the highest
// step, whatever time it was written at (F20).
func TestStepsDecide(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, step := range []int64{oldStep, newStep, newStep} {
		c, err := someContent(step)
		if err != nil {
			t.Fatal(err)
		}
		c.Info.Job = map[string]string{"try": "first"}
		if s.saved == step {
			c.Info.Job["try"] = "second"
		}
		if err := s.Save(c, Keep{Newest: 2}); err != nil {
			t.Fatal(err)
		}
		c.Values[0].Close()
	}
	for _, name := range files(oldStep) {
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := Newest(dir)
	if err != nil || c.Info.Step != newStep || c.Info.Job["try"] != "first" {
		t.Errorf("%+v, %v", c, err)
	}
}

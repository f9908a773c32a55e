package inputcheck

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/argcheck"
	"millrace/internal/base/bytecheck"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/effect"
	"millrace/tfbridge"
)

// The table of operations that decode bytes lists each operation that a model may use
// and that takes strings, and marks those with a check.
func TestBounds(t *testing.T) {
	raw, err := tfbridge.OpList()
	if err != nil {
		t.Fatal(err)
	}
	list := &tfproto.OpList{}
	if err := proto.Unmarshal(raw, list); err != nil {
		t.Fatal(err)
	}
	rows := bytecheck.Bounds()
	for _, op := range list.GetOp() {
		name := op.GetName()
		row, known := rows[name]
		delete(rows, name)
		if _, allowed := effect.Of(name); !allowed || !takesStrings(op) {
			if known {
				t.Errorf("%s: has a row, %q, but is refused or takes no strings", name, row)
			}
			continue
		}
		if !known {
			t.Errorf("%s: has no row", name)
		}
		_, checked := parsers[name]
		if row == "argument" && len(argcheck.Of(name)) == 0 {
			t.Errorf("%s: has no rule", name)
		}
		if bytecheck.Checked(name) != (row == "check") || checked != (row == "examples") {
			t.Errorf("%s: row %q, checked %v, checked %v", name, row, bytecheck.Checked(name), checked)
		}
	}
	for name, row := range rows {
		t.Errorf("%s: has a row, %q, and does not exist", name, row)
	}
}

// takesStrings reports whether an input is a string that is not a reference, or may be
// one of a few types, string among them.
func takesStrings(op *tfproto.OpDef) bool {
	for _, arg := range op.GetInputArg() {
		if arg.GetType() == tfproto.DataType_DT_STRING && !arg.GetIsRef() {
			return true
		}
		for _, a := range op.GetAttr() {
			types := a.GetAllowedValues().GetList().GetType()
			if a.GetName() == arg.GetTypeAttr() && slices.Contains(types, tfproto.DataType_DT_STRING) {
				return true
			}
		}
	}
	return false
}

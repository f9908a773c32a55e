package op_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph/op"
	tf "millrace/tfbridge"
)

func TestGradients(t *testing.T) {
	s := newScope(t)
	x1, x2 := op.Const(s, float32(3)), op.Const(s, float32(3))
	squared := op.Square(s, x1)
	fourth := op.Square(s, squared)
	sum := op.AddN(s, []tf.Output{squared, x2})
	type list = []tf.Output
	first := op.Gradients(s, list{fourth}, list{x1})
	both := op.Gradients(s.SubScope("sum"), list{sum}, list{x1, x2})
	total := op.Gradients(s.SubScope("total"), list{squared, fourth}, list{x1})
	half := op.Gradients(s.SubScope("half"), list{fourth}, list{squared})
	chained := op.Gradients(s.SubScope("chained"), list{squared}, list{x1}, half...)
	want := []any{float32(108), float32(6), float32(1), float32(114), float32(108)}
	if diff := cmp.Diff(want, values(t, session(t, s), first[0], both[0], both[1], total[0], chained[0])); diff != "" {
		t.Errorf("derivatives (-want +got)\n%s", diff)
	}
	for _, tt := range []struct {
		got  tf.Output
		want string
	}{{first[0], "Gradients/"}, {both[0], "sum/Gradients/"}} {
		if name := tt.got.Op.Name(); !strings.HasPrefix(name, tt.want) {
			t.Errorf("name\n got %s\nwant it to begin with %s", name, tt.want)
		}
	}
	if op.Gradients(s, list{squared}, list{x1}); s.Err() == nil {
		t.Error("a second call for one prefix is no failure")
	}
}

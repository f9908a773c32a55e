package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// The end of a dataset is an optional without a value, not a failure.
func TestOptionals(t *testing.T) {
	s := graphtest.NewScope(t)
	it := dataset.Range(s, 5, 7, 1).Iterator("it")
	next := it.NextOptional()
	none := s.Const([]int64{-1})
	value := graph.Cond(s, next.HasValue(s), func(s *graph.Scope) outs { return outs{graph.Reshape(s, next.Value(s)[0], s.Const([]int64{1}))} },
		func(*graph.Scope) outs { return outs{none} })
	made, empty := dataset.OptionalOf(s, s.Const("x"), s.Const(int64(3))), dataset.NoOptional(s, graph.Spec{DType: tfbridge.Int64})
	parts := append(made.Value(s), made.HasValue(s), empty.HasValue(s))
	missing := empty.Value(s)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	fetch := func(outputs outs) (got []any) {
		t.Helper()
		out, err := sess.Run(nil, outputs, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range out {
			got = append(got, x.Value())
			x.Close()
		}
		return got
	}
	for _, want := range []int64{5, 6, -1, -1} {
		if got := fetch(value); !cmp.Equal(got, []any{[]int64{want}}) {
			t.Errorf("next is %v, want %d", got, want)
		}
	}
	if got := fetch(parts); !cmp.Equal(got, []any{"x", int64(3), true, false}) {
		t.Errorf("optionals of tensors: %v", got)
	}
	if _, err := sess.Run(nil, missing, nil); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("the value of none: %v", err)
	}
	dataset.OptionalOf(s)
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "there are no components") {
		t.Errorf("an optional of nothing: %v", err)
	}
}

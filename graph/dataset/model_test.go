package dataset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func TestDatasetInAModelsSession(t *testing.T) {
	m, err := tfbridge.LoadSavedModel("../../testdata/models/linear", []string{"serve"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	// Two scopes on one graph have functions of the same name.
	for factor := range int64(2) {
		s := graph.NewScopeWithGraph(m.Graph)
		d := dataset.Range(s, 0, 3, 1).Map("f", func(s *graph.Scope, args outs) outs {
			return outs{graph.Mul(s, args[0], s.Const(factor))}
		}, nil)
		r := &running{t, d.Iterator("it"), m.Session}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		r.init()
		if diff := cmp.Diff(values(0, factor, 2*factor), r.next(5)); diff != "" {
			t.Errorf("elements (-want +got)\n%s", diff)
		}
	}
}

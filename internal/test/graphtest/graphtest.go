// Package graphtest makes graphs and sessions that are closed with a test.
package graphtest

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	pb "millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// NewScope returns a scope whose graph is closed with the test.
func NewScope(t testing.TB) *graph.Scope {
	t.Helper()
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	return s
}

// NewSession returns a session on the scope's graph that is closed with the test. Its
// variables are initialized.
func NewSession(t testing.TB, s *graph.Scope, o *tfbridge.SessionOptions) *tfbridge.Session {
	t.Helper()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if first := s.Initializers(); len(first) > 0 {
		if _, err := session.Run(nil, nil, first); err != nil {
			t.Fatal(err)
		}
	}
	return session
}

// Unoptimized are the options of a session that starts sooner: TensorFlow does not
// optimize the graph of each new run, which would take longer than the runs of a test.
func Unoptimized(t testing.TB) *tfbridge.SessionOptions {
	t.Helper()
	config, err := proto.Marshal(&pb.ConfigProto{GraphOptions: &pb.GraphOptions{
		RewriteOptions:   &pb.RewriterConfig{DisableMetaOptimizer: true},
		OptimizerOptions: &pb.OptimizerOptions{OptLevel: pb.OptimizerOptions_L0},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &tfbridge.SessionOptions{Config: config}
}

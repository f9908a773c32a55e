package graph

import (
	"context"

	"millrace/tfbridge"
)

// Exec runs what fetches need in a session made for it, with feeds in the
// place of what the graph would compute, and returns the fetches, which the
// caller closes. Building may go on afterwards.
//
// Variables and iterators live in a session and are gone with it: a program
// that runs a graph more than once makes a [tfbridge.NewSession] of its own,
// which is also faster. See [tfbridge.Session.RunContext] for what happens
// when ctx ends.
func Exec(ctx context.Context, s *Scope, fetches []tfbridge.Output, feeds map[tfbridge.Output]*tfbridge.Tensor, o *tfbridge.SessionOptions) ([]*tfbridge.Tensor, error) {
	if err := s.Err(); err != nil && (s.Graph() == nil || s.state.err != nil) { // a finalized scope's graph runs
		return nil, err
	}
	session, err := tfbridge.NewSession(s.graph, o)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.RunContext(ctx, feeds, fetches, nil)
}

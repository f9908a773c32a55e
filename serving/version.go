package serving

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"millrace/graph"
	"millrace/loaders"
	"millrace/serving/batching"
	"millrace/serving/internal/answers"
	"millrace/serving/internal/pipeline"
	"millrace/tfbridge"
)

// Version is a version of a model. A caller of [Server.Acquire] must call
// [Version.Release] when it is done. Many goroutines may use it.
type Version struct {
	Name   string
	Number int64

	path     string
	config   ModelConfig                  // when loading began
	answers  *answers.Cache               // nil without a cache
	model    *graph.Model                 // nil until it is loaded
	batchers map[string]*batching.Batcher // key: a signature
	paces    map[string]*pace             // key: a signature

	onlyBatches bool               // every signature has a batcher
	pipeline    *pipeline.Pipeline // nil: the model has no loader
	meta        []byte             // a serialized MetaGraphDef
	signatures  map[string]tfbridge.Signature

	// The server's lock guards the fields below.
	state   State
	err     error
	aspired bool
	refs    int // requests, and 1 while it is available

	onDemand bool      // it may be unloaded to make room
	size     int64     // estimated memory, if it is on demand
	used     time.Time // when it was acquired last
	server   *Server
	stop     context.CancelCauseFunc // ends loading
}

// Signatures returns the signatures of the model by key. Do not change the map, because
// all callers share it.
func (v *Version) Signatures() map[string]tfbridge.Signature { return v.signatures }

// ChecksMethodNames reports whether Classify and Regress require a signature with their
// method_name.
func (v *Version) ChecksMethodNames() bool { return v.server.options.CheckMethodNames }

// CountExamples reports the number of Examples of a request to the server's OnExamples.
func (v *Version) CountExamples(n int) {
	if on := v.server.options.OnExamples; on != nil {
		on(v.Name, n)
	}
}

// MetaGraph returns a description of the model: a serialized MetaGraphDef message.
func (v *Version) MetaGraph() []byte { return v.meta }

// Admit returns an error of class millrace.ErrOverloaded if the queue of a signature is
// full, so that its requests would be refused. A server that calls it first need not
// decode such requests.
func (v *Version) Admit(signature string) error {
	if b := v.batchers[cmp.Or(signature, graph.DefaultSignature)]; b != nil {
		return b.Admit()
	}
	return nil
}

// RowsBatcher returns the batcher of a signature if requests may go to it as rows: nil if the
// signature has no batcher or a loader, or requests of the model are logged, copied or kept.
func (v *Version) RowsBatcher(signature string) *batching.Batcher {
	if v.Loader(signature) != nil || v.answers != nil || shadowed(v) {
		return nil
	}
	if log, _ := v.requestLog(); log != nil {
		return nil
	}
	return v.batchers[signature]
}

// Release releases the version.
func (v *Version) Release() {
	v.server.mu.Lock()
	defer v.server.mu.Unlock()
	v.server.acquired--
	v.release()
}

// release drops a reference. The caller holds the server's lock.
func (v *Version) release() {
	if v.refs--; v.refs > 0 {
		return
	}
	go func() {
		if ending := v.server.ending; ending != nil {
			ending <- struct{}{}
			defer func() { <-ending }()
		}
		err := v.close()
		v.server.mu.Lock()
		defer v.server.mu.Unlock()
		v.setState(End, err)
		unloaded(v)
		v.server.work.Done()
	}()
}

// setState sets the state. The caller holds the server's lock.
func (v *Version) setState(state State, err error) {
	v.state, v.err = state, err
	log := v.server.options.Logger.With(slog.String("model", v.Name), slog.Int64("version", v.Number), slog.String("state", state.String()))
	if err != nil {
		log.Error("model version", slog.String("error", err.Error()))
	} else {
		log.Info("model version")
	}
	v.server.announce()
}

// close answers the requests that wait in the batchers and closes the model.
func (v *Version) close() error {
	var errs []error
	for _, b := range v.batchers {
		errs = append(errs, b.Close())
	}
	errs = append(errs, v.model.Close())
	return errors.Join(errs...)
}

// shadowed reports whether requests of a version may have shadow copies.
func shadowed(v *Version) bool { return v.config.Shadow != nil && v.config.Shadow.Share > 0 }

// unloaded returns the memory of a version, and lets it wait for a request again if it
// is still wanted. The caller holds the lock.
func unloaded(v *Version) {
	if !v.onDemand {
		return
	}
	s := v.server
	s.modelMemory -= v.size
	m := s.models[v.Name]
	if m != nil && m.versions[v.Number] == v && v.aspired && v.err == nil && !s.closed {
		m.versions[v.Number] = newIdle(s, m, v.Number, v.path)
	}
}

// Loader returns the plan of the loader in front of a signature, nil if there is none.
func (v *Version) Loader(signature string) *loaders.Plan {
	if !v.pipeline.Has(signature) {
		return nil
	}
	return v.pipeline.Plan
}

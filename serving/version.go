package serving

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"millrace"
	"millrace/graph"
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

// Predict runs a signature, in a batch with other requests if the server has
// batching and the signature allows it. Arguments, results and errors are those
// of [graph.Model.Call] and [batching.Batcher.Predict].
func (v *Version) Predict(ctx context.Context, signature string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	if signature == "" {
		signature = graph.DefaultSignature
	}
	var key answers.Key
	known := false
	if v.answers != nil {
		if key, known = v.answers.Key(v.Number, signature, inputs, outputs); known {
			if answer := v.answers.Find(key); answer != nil {
				return answer, nil
			}
		}
	}
	answer, err := v.predict(ctx, signature, inputs, outputs)
	if err != nil {
		return nil, err
	}
	if known {
		v.answers.Add(key, answer)
	}
	v.shadow(signature, inputs)
	return answer, nil
}

// predict is Predict without cache and shadow.
func (v *Version) predict(ctx context.Context, signature string, inputs map[string]any, outputs []string) (map[string]*tfbridge.Tensor, error) {
	if v.Loader(signature) != nil {
		return v.predictRecords(ctx, signature, inputs, outputs)
	}
	return v.run(ctx, signature, inputs, outputs)
}

// run runs a signature, in a batch with other requests if possible.
func (v *Version) run(ctx context.Context, signature string, inputs map[string]any, outputs []string) (map[string]*tfbridge.Tensor, error) {
	if b := v.batchers[signature]; b != nil {
		return b.Predict(ctx, inputs, outputs...)
	}
	return v.call(ctx, signature, inputs, outputs)
}

// call runs a signature on a request alone.
func (v *Version) call(ctx context.Context, signature string, inputs map[string]any, outputs []string) (map[string]*tfbridge.Tensor, error) {
	if parent := trace.SpanFromContext(ctx); parent.IsRecording() {
		_, span := parent.TracerProvider().Tracer("millrace/serving").Start(ctx, "run")
		defer span.End()
	}
	pace := v.paces[signature]
	began := time.Now()
	results, err := v.model.Call(pace.context(ctx), signature, inputs, outputs...)
	took := time.Since(began)
	pace.record(took)
	if onRun := v.server.options.OnRun; onRun != nil {
		onRun(RunInfo{Model: v.Name, Version: v.Number, Signature: signature, API: apiOf(v.signatures[signature]), Took: took, Err: err})
	}
	return results, err
}

// apiOf returns TensorFlow Serving's name of a signature's method.
func apiOf(signature tfbridge.Signature) string {
	switch signature.MethodName {
	case "tensorflow/serving/classify":
		return "Classify"
	case "tensorflow/serving/regress":
		return "Regress"
	}
	return "Predict"
}

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

// load loads and warms up the model, and tries again after failures.
func (v *Version) load(ctx context.Context, retries int) error {
	o := &v.server.options
	for {
		err := v.loadOnce(ctx)
		if err == nil || ctx.Err() != nil || retries <= 0 {
			return err
		}
		retries--
		v.server.mu.Lock()
		v.setState(Loading, err) // the state carries the error
		v.server.mu.Unlock()
		timer := time.NewTimer(o.LoadRetryInterval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return millrace.Canceled(ctx, "loading")
		}
	}
}

// loadOnce loads and warms up the model.
func (v *Version) loadOnce(ctx context.Context) error {
	select {
	case v.server.loading <- struct{}{}:
		defer func() { <-v.server.loading }()
	case <-ctx.Done():
		return millrace.Canceled(ctx, "loading")
	}
	model, err := graph.LoadModelContext(ctx, v.path, v.server.options.Model)
	if err != nil {
		return err
	}
	v.model = model
	if err := v.addLoader(); err != nil {
		return errors.Join(err, v.close())
	}
	v.signatures = model.Signatures()
	v.paces = newPaces(v.signatures)
	if err := checkSequences(v); err != nil {
		return errors.Join(err, v.close())
	}
	if err := v.makeBatchers(); err != nil {
		return errors.Join(err, v.close())
	}
	if v.server.options.SkipModelWarmup {
		return nil
	}
	if err := v.warmUp(ctx); err != nil {
		return errors.Join(err, v.close())
	}
	return nil
}

// makeBatchers makes a batcher for each signature that allows it.
func (v *Version) makeBatchers() error {
	o := &v.server.options
	v.batchers = map[string]*batching.Batcher{}
	shared, err := v.batching()
	if shared == nil || err != nil {
		return err
	}
	for key := range v.signatures {
		options := *shared
		if v.Loader(key) != nil && !v.pipeline.Joinable(options.PadVariableLengthInputs) {
			o.Logger.Info("no batching", slog.String("model", v.Name), slog.Int64("version", v.Number), slog.String("signature", key),
				slog.String("reason", "the loader's tensors differ in shape from record to record, and pad_variable_length_inputs is false"))
			continue
		}
		if o.OnBatch != nil {
			options.OnBatch = func(info batching.BatchInfo) {
				o.OnBatch(BatchInfo{Model: v.Name, Version: v.Number, Signature: key, API: apiOf(v.signatures[key]), MostRows: mostRows(&options), BatchInfo: info})
			}
		}
		b, err := batching.New(v.model, key, &options)
		switch {
		case errors.Is(err, millrace.ErrModel):
			o.Logger.Info("no batching", slog.String("model", v.Name), slog.Int64("version", v.Number), slog.String("reason", err.Error()))
		case err != nil:
			return err
		default:
			v.batchers[key] = b
		}
	}
	v.onlyBatches = len(v.batchers) > 0 && len(v.batchers) == len(v.signatures)
	return nil
}

// mostRows returns the largest number of rows of a batch.
func mostRows(o *batching.Options) int {
	return cmp.Or(o.MaxExecutionBatchSize, o.MaxBatchSize, batching.DefaultMaxBatchSize)
}

// batching returns the options of the version's batchers, nil if it has none.
func (v *Version) batching() (*batching.Options, error) {
	o := &v.server.options
	if o.Batching == nil || v.config.Unbatched {
		return nil, nil
	}
	options := *o.Batching
	if o.ModelBatching != nil {
		own, err := o.ModelBatching(v.model.Saved().Dir)
		if own == nil || err != nil {
			return nil, err
		}
		options = *own
		options.Scheduler = o.Batching.Scheduler
	}
	if v.config.SharedInputs != nil {
		options.SharedInputs = v.config.SharedInputs
	}
	options.Ragged = append(slices.Clone(options.Ragged), v.config.Ragged...)
	options.Sparse = append(slices.Clone(options.Sparse), v.config.Sparse...)
	return &options, nil
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

package serving

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/serving/batching"
)

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
	if err := addLoader(v); err != nil {
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

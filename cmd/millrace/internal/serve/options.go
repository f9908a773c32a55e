package serve

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/graph"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/serving/budget"
	"millrace/serving/configfile"
	"millrace/tfbridge"
)

// configs returns the models to serve.
func (f *serveFlags) configs() ([]serving.ModelConfig, error) {
	if f.configFile != "" {
		return configfile.ReadModels(f.configFile)
	}
	var all []serving.ModelConfig
	if f.base != "" {
		all = append(all, serving.ModelConfig{Name: f.name, BasePath: strings.TrimPrefix(f.base, "file://")})
	}
	for _, model := range f.models {
		name, dir, ok := strings.Cut(model, "=")
		if !ok || name == "" || dir == "" {
			return nil, millrace.Errorf(millrace.ErrConfig, "--model %s: want NAME=DIR", millrace.Quote(model))
		}
		all = append(all, serving.ModelConfig{Name: name, BasePath: dir})
	}
	return all, nil
}

// options returns the options of the server.
func (f *serveFlags) options(p *program) (*serving.Options, error) {
	decode, err := cli.DecodeLimit(f.decode)
	if err != nil {
		return nil, err
	}
	ops, err := f.loadLibraries(p)
	if err != nil {
		return nil, err
	}
	o := &serving.Options{
		FileSystemPollWait: time.Duration(f.pollWait) * time.Second, MaxNumLoadRetries: f.retries,
		LoadRetryInterval: time.Duration(f.retryMicros) * time.Microsecond, NumLoadThreads: f.loadThreads,
		NumUnloadThreads: f.endThreads, WarmupIterations: f.warmupTimes, CheckMethodNames: f.methodNames,
		ModelMemory: f.access.modelMemory, SkipModelWarmup: !f.warmup, MaxConcurrentRequests: f.maxRequests, AllowVersionLabelsForUnavailableModels: f.futureLabels,
		Model: &graph.ModelOptions{
			AllowOps: slices.Concat(f.allow, ops), Unchecked: f.unchecked, DecodeLimit: decode, Runtime: p.RuntimeOptions(),
			Session: f.session(),
		},
	}
	if o.RequestMemory = f.memory; f.memory == 0 {
		o.RequestMemory = budget.DefaultLimit() // the sandbox hides the files that give it
	}
	if f.logging.FilenamePrefix != "" {
		o.Logging = &f.logging
	}
	if o.StuckRunTimeout = f.stuckTime; f.stuckTime == 0 {
		o.StuckRunTimeout = -1
	}
	if f.tags != "" {
		o.Model.Tags = strings.Split(f.tags, ",")
	}
	if f.pollWait == 0 {
		o.FileSystemPollWait = -1
	}
	if f.retries == 0 {
		o.MaxNumLoadRetries = -1
	}
	if f.retryMicros <= 0 {
		o.LoadRetryInterval = -1
	}
	if err := f.readSession(o); err != nil {
		return nil, err
	}
	if f.platformFile != "" {
		return o, f.readPlatform(o)
	}
	if f.batching {
		if f.batchingFile == "" {
			f.batch(o, &batching.Options{}, f.ownBatching)
			return o, nil
		}
		parameters, err := configfile.ReadBatching(f.batchingFile)
		if err != nil {
			return nil, err
		}
		f.batch(o, parameters, f.ownBatching)
	}
	return o, nil
}

// loadLibraries loads the libraries of operations and returns the operations, which models may have: whoever
// names a library trusts its code. Models that are loaded at the same time could deadlock, so this comes before
// them, and before the sandbox, which hides the files.
func (f *serveFlags) loadLibraries(p *program) (ops []string, err error) {
	if len(f.opLibraries) == 0 {
		return nil, nil
	}
	if _, err := tfbridge.Open(p.RuntimeOptions()); err != nil {
		return nil, err
	}
	for _, path := range f.opLibraries {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if files, _ = filepath.Glob(filepath.Join(path, "*.so")); len(files) == 0 {
				return nil, millrace.Errorf(millrace.ErrConfig, "--op-library %s: the folder has no libraries, whose names end with .so", millrace.Quote(path))
			}
		}
		for _, file := range files {
			library, err := tfbridge.LoadLibrary(file)
			if err != nil {
				return nil, err
			}
			ops = append(ops, library.Ops...)
		}
	}
	return ops, nil
}

// batch has requests share runs.
func (f *serveFlags) batch(o *serving.Options, parameters *batching.Options, own bool) {
	o.Batching = parameters
	if f.access.maxQueueDelay > 0 {
		o.Batching.MaxQueueDelay = f.access.maxQueueDelay
	}
	o.Model.Inline = o.Model.Session.InterOpThreads == 0 // batches run beside each other, so operations need not
	if own {
		o.ModelBatching = configfile.ReadModelBatching
	}
}

// session returns the options of TensorFlow's sessions from flags.
func (f *serveFlags) session() *tfbridge.SessionOptions {
	return &tfbridge.SessionOptions{
		SoftPlacement: true, GPUMemoryFraction: f.gpuFraction,
		IntraOpThreads: cmp.Or(f.intra, f.sessionThreads), InterOpThreads: cmp.Or(f.inter, f.sessionThreads),
	}
}

// readSession adds the options of TensorFlow's sessions from files.
func (f *serveFlags) readSession(o *serving.Options) (err error) {
	if f.sessionFile != "" {
		if o.Model.Session.Config, err = configfile.ReadSession(f.sessionFile); err != nil {
			return err
		}
	}
	if f.precision != "" {
		o.Model.Session.Config, err = configfile.MixedPrecision(o.Model.Session.Config, f.precision)
	}
	return err
}

// readPlatform replaces the options that --platform_config_file sets. As in TensorFlow
// Serving, flags about session, batching, tags and warmup have no effect then.
func (f *serveFlags) readPlatform(o *serving.Options) error {
	p, err := configfile.ReadPlatform(f.platformFile)
	if err != nil {
		return err
	}
	o.Model.Session = &tfbridge.SessionOptions{SoftPlacement: true, Config: p.Session}
	if p.MixedPrecision != "" {
		if o.Model.Session.Config, err = configfile.MixedPrecision(p.Session, p.MixedPrecision); err != nil {
			return err
		}
	}
	o.Model.Tags, o.SkipModelWarmup, o.WarmupIterations = p.Tags, !p.Warmup, p.WarmupIterations
	if p.Batching != nil {
		f.batch(o, p.Batching, p.PerModelBatching)
	}
	return nil
}

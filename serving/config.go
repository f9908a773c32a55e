package serving

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/loaders"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// ModelConfig says which versions of a model to serve.
type ModelConfig struct {
	Name string
	// BasePath is the folder of the versions: version 7 is in its folder 7. A
	// folder that is itself a SavedModel is served as version 1.
	BasePath      string
	VersionPolicy VersionPolicy
	// VersionLabels are other names of versions: "stable", "canary". A request
	// may name a label instead of a version.
	VersionLabels map[string]int64
	// Unbatched runs each request of the model alone, whatever [Options.Batching] says. It
	// holds for versions that are loaded later.
	Unbatched bool
	// SharedInputs are inputs that a batch of the model has once: see
	// [batching.Options.SharedInputs]. They replace the ones in [Options.Batching], for versions
	// that are loaded later.
	SharedInputs []string
	// Canary has the share of requests that each label of VersionLabels gets, as weights: 95 and
	// 5. It is for requests that name neither a version nor a label. Nil: they get the latest
	// version.
	Canary map[string]int
	// Shadow has copies of requests run by another version, for versions that are loaded later.
	// Nil: none.
	Shadow *ShadowConfig
	// CacheBytes is how much memory is for answers that are given again to equal requests, whose
	// inputs are tensors. A model that is not a function of its inputs must not have a cache. 0:
	// none.
	CacheBytes int64
	// Logging says which requests to log. Nil: as [Options.Logging] says.
	Logging *LoggingConfig
}

// LoggingConfig says which requests of a model to log, and where; see
// [millrace/serving/requestlog].
type LoggingConfig struct {
	FilenamePrefix string
	SamplingRate   float64 // from 0, none, to 1, all
	MaxFileBytes   int64   // from which on another file begins; 0: 64 MiB
}

// ShadowConfig has requests to a model run by another version too, whose answers are dropped:
// to see a version under real load before it answers.
type ShadowConfig struct {
	Label string  // names the version
	Share float64 // from 0 to 1: how many of the requests
}

// VersionPolicy says which of the versions that are there to serve. The zero value
// means the latest.
type VersionPolicy struct {
	Latest   int     // so many versions with the highest numbers; 0: 1, unless another field is set
	All      bool    // every version
	Specific []int64 // these versions
}

// Options are the options of a Server. Nil and the zero value mean the defaults,
// which are TensorFlow Serving's.
type Options struct {
	// FileSystemPollWait is the time between two looks at the base paths. 0: 1 s.
	// Negative: the Server looks once, and when its configuration is replaced.
	FileSystemPollWait time.Duration
	// MaxNumLoadRetries is how often a version that fails to load is tried again.
	// 0: 5. Negative: never. The versions that are there at the start are tried
	// once.
	MaxNumLoadRetries int
	// LoadRetryInterval is the time between two tries. 0: 1 min.
	LoadRetryInterval time.Duration
	// NumLoadThreads is how many versions are loaded at the same time. 0: 1.
	NumLoadThreads int
	// NumUnloadThreads is how many versions are unloaded at the same time. 0: any number.
	NumUnloadThreads int
	// CheckMethodNames refuses a request to classify or to regress by a signature with another
	// method_name. Models that TensorFlow 2 saves have "tensorflow/serving/predict" alone.
	CheckMethodNames bool
	// WarmupIterations is how often each warmup request is run. 0: once.
	WarmupIterations int
	// SkipModelWarmup leaves out the warmup requests that a model brings along.
	SkipModelWarmup bool
	// AllowVersionLabelsForUnavailableModels accepts a label of a version that is
	// not available.
	AllowVersionLabelsForUnavailableModels bool

	// MaxConcurrentRequests is how many versions may be acquired at a time, by all
	// requests together. More is refused with an error of class
	// millrace.ErrOverloaded. 0: any number.
	MaxConcurrentRequests int
	// RequestMemory is how many bytes of memory all requests together may take for their
	// bodies, tensors and answers. More is refused with an error whose code is
	// ResourceExhausted; see [millrace/serving/budget]. 0: a quarter of the machine's memory
	// or of what its control groups allow. Negative: any number.
	RequestMemory int64

	// ModelMemory is how many bytes of memory models may take. With a limit a model is loaded when
	// it is first asked for, and those not asked for longest are unloaded to make room; see
	// ondemand.go. A model takes 1.2 times its files. 0: any number, and models are loaded at once.
	ModelMemory int64

	// StuckRunTimeout is how long a run may go on after its requests are answered
	// before the server is not ready: see [Server.Ready]. 0: 1 min. Negative: such runs
	// are only logged.
	StuckRunTimeout time.Duration

	// Model are the options with which models are checked and loaded. AnyShape is always
	// set: clients of TensorFlow Serving send what the graph takes.
	Model *graph.ModelOptions
	// Loaders are loaders by the name of a model. For each signature of the model that
	// takes what the loader gives, the versions have another one that takes serialized
	// records: "examples" for the default signature, KEY_examples for others. Its only
	// input "inputs" is a vector of strings. A plan comes from [loaders.Check], with
	// ManifestOnly if the data files are not there. A version of which no signature
	// takes what the loader gives is not served.
	Loaders map[string]*loaders.Plan
	// Batching makes requests share batches. Its Scheduler serves all models.
	// Nil: each request runs alone.
	Batching *batching.Options
	// Logging says which requests to log of models that do not say it themselves. Nil:
	// none.
	Logging *LoggingConfig
	// ModelBatching returns the options of the batching of the model in a folder, or
	// nil if its requests run alone. Batching then only decides that there is
	// batching, and by which Scheduler. Nil: Batching is for all models.
	ModelBatching func(dir string) (*batching.Options, error)
	// OnBatch is told of each batch. It replaces the OnBatch of Batching. Nil:
	// nobody is.
	OnBatch func(BatchInfo)
	// OnRun is called after each run that is not a batch. Nil: nothing is.
	OnRun func(RunInfo)
	// OnExamples is called with the number of Examples of each request to classify or to regress, and
	// of each warmup request. Nil: nothing is.
	OnExamples func(model string, examples int)
	// OnLog is called for each request that the sampling of a log chose: OK if it will be written,
	// ResourceExhausted if it had no room. Nil: nothing is.
	OnLog func(model string, code tfbridge.Code)
	// OnWarmup is called when the warmup requests of a version have run. Nil: nothing is.
	OnWarmup func(WarmupInfo)
	// Logger is told of versions that come and go. Nil: slog.Default.
	Logger *slog.Logger
}

// BatchInfo describes a batch of a version's signature.
type BatchInfo struct {
	Model     string
	Version   int64
	Signature string
	API       string // "Predict", "Classify" or "Regress", by the signature's method_name
	MostRows  int    // rows that a batch may have
	batching.BatchInfo
}

// RunInfo describes a run of a version's signature for one request, without batching.
type RunInfo struct {
	Model     string
	Version   int64
	Signature string
	API       string // "Predict", "Classify" or "Regress", by the signature's method_name
	Took      time.Duration
	Err       error
}

// WarmupInfo describes how the warmup requests of a version were run.
type WarmupInfo struct {
	Model   string
	Version int64
	Path    string // folder of the version
	Records int    // warmup requests run
	Took    time.Duration
	Err     error
}

// complete returns the options with defaults filled in.
func (o *Options) complete() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.FileSystemPollWait = cmp.Or(c.FileSystemPollWait, time.Second)
	c.MaxNumLoadRetries = max(cmp.Or(c.MaxNumLoadRetries, 5), 0)
	c.LoadRetryInterval = cmp.Or(c.LoadRetryInterval, time.Minute)
	c.NumLoadThreads = max(c.NumLoadThreads, 1)
	c.WarmupIterations = max(c.WarmupIterations, 1)
	c.StuckRunTimeout = cmp.Or(c.StuckRunTimeout, time.Minute)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	var model graph.ModelOptions
	if c.Model != nil {
		model = *c.Model
	}
	model.AnyShape = true
	c.Model = &model
	if c.Batching != nil {
		shared := *c.Batching
		shared.Scheduler = cmp.Or(shared.Scheduler, batching.NewScheduler(0))
		c.Batching = &shared
	}
	return c
}

// The longest name of a model, which stands in metrics and logs, and the longest path of Linux.
const maxName, maxPath = 1000, 4095

// checkConfigs returns an error of class millrace.ErrConfig for configurations that
// cannot be served.
func checkConfigs(configs []ModelConfig) error {
	seen := map[string]bool{}
	for _, c := range configs {
		switch {
		case c.Name == "":
			return millrace.Errorf(millrace.ErrConfig, "a model has no name (base path %s)", millrace.Quote(c.BasePath))
		case len(c.Name) > maxName:
			return millrace.Errorf(millrace.ErrConfig, "the name of a model has %d bytes, at most %d are allowed: %s", len(c.Name), maxName, millrace.QuoteData([]byte(c.Name)))
		case len(c.BasePath) > maxPath:
			return millrace.Errorf(millrace.ErrConfig, "model %q: the base path has %d bytes, a path has at most %d: %s", c.Name, len(c.BasePath), maxPath, millrace.QuoteData([]byte(c.BasePath)))
		case seen[c.Name]:
			return millrace.Errorf(millrace.ErrConfig, "two models have the name %q", c.Name)
		case c.BasePath == "":
			return millrace.Errorf(millrace.ErrConfig, "model %q has no base path", c.Name)
		case strings.Contains(c.BasePath, "://"):
			return millrace.Errorf(millrace.ErrConfig, "model %q: base path %s is not a folder of this machine", c.Name, millrace.Quote(c.BasePath))
		case c.VersionPolicy.Latest < 0:
			return millrace.Errorf(millrace.ErrConfig, "model %q: the %d latest versions cannot be served", c.Name, c.VersionPolicy.Latest)
		}
		if err := checkTraffic(&c); err != nil {
			return err
		}
		seen[c.Name] = true
	}
	return nil
}

// checkTraffic returns an error for weights and shadows that cannot be.
func checkTraffic(c *ModelConfig) error {
	total := 0
	for _, label := range slices.Sorted(maps.Keys(c.Canary)) {
		if _, ok := c.VersionLabels[label]; !ok {
			return millrace.Errorf(millrace.ErrConfig, "model %q: the canary weights name label %q, and there are %q", c.Name, label, slices.Sorted(maps.Keys(c.VersionLabels)))
		}
		if c.Canary[label] < 0 {
			return millrace.Errorf(millrace.ErrConfig, "model %q: the canary weight of label %q is %d, it must not be negative", c.Name, label, c.Canary[label])
		}
		total += c.Canary[label]
	}
	if len(c.Canary) > 0 && total == 0 {
		return millrace.Errorf(millrace.ErrConfig, "model %q: all canary weights are 0", c.Name)
	}
	if s := c.Shadow; s != nil {
		if _, ok := c.VersionLabels[s.Label]; !ok {
			return millrace.Errorf(millrace.ErrConfig, "model %q: the shadow names label %q, and there are %q", c.Name, s.Label, slices.Sorted(maps.Keys(c.VersionLabels)))
		}
		if !(s.Share >= 0 && s.Share <= 1) {
			return millrace.Errorf(millrace.ErrConfig, "model %q: the shadow's share is %v, it must be from 0 to 1", c.Name, s.Share)
		}
	}
	if c.CacheBytes < 0 {
		return millrace.Errorf(millrace.ErrConfig, "model %q: the cache has %d bytes, it must not have less than 0", c.Name, c.CacheBytes)
	}
	return nil
}

// clone returns a configuration that shares nothing with c.
func (c ModelConfig) clone() ModelConfig {
	c.VersionLabels = maps.Clone(c.VersionLabels)
	c.VersionPolicy.Specific = slices.Clone(c.VersionPolicy.Specific)
	c.SharedInputs = slices.Clone(c.SharedInputs)
	c.Canary = maps.Clone(c.Canary)
	return c
}

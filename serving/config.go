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
	"millrace/remote"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// ModelConfig configures a model and the versions of it to serve.
type ModelConfig struct {
	Name string
	// BasePath is the folder of the versions: version 7 is in its folder 7. A
	// folder that is itself a SavedModel is served as version 1. It may be a URL of package
	// remote: then a version is copied to a private folder when it is loaded.
	BasePath      string
	VersionPolicy VersionPolicy
	// VersionLabels are other names of versions: "stable", "canary". A request
	// may name a label instead of a version.
	VersionLabels map[string]int64
	// Unbatched runs each request of the model alone, whatever [Options.Batching] says. It
	// holds for versions that are loaded later.
	Unbatched bool
	// SharedInputs are inputs that a batch of the model has once: see
	// [batching.Options.SharedInputs]. They replace those in [Options.Batching], for
	// versions that are loaded later.
	SharedInputs []string
	// Ragged and Sparse are inputs of the model that are ragged or sparse tensors: see
	// [batching.Options]. They hold for versions that are loaded later.
	Ragged []batching.RaggedInput
	Sparse []batching.SparseInput
	// Canary has the share of requests that each label of VersionLabels gets, as weights: 95 and
	// 5. It is for requests that name neither a version nor a label. Nil: they get the latest
	// version.
	Canary map[string]int
	// Shadow copies requests to another version, for versions that are loaded later.
	// Nil: no copies.
	Shadow *ShadowConfig
	// CacheBytes is the memory for cached answers, which are returned for equal
	// requests whose inputs are tensors. A model that is not a function of its inputs
	// must not have a cache. 0: none.
	CacheBytes int64
	// Sequences are the signatures that compute one step of a sequence, for versions that are
	// loaded later.
	Sequences []SequenceConfig
	// Logging selects the requests to log. Nil: [Options.Logging] does.
	Logging *LoggingConfig
}

// LoggingConfig selects the requests of a model to log, and the place of the log; see
// [millrace/serving/requestlog].
type LoggingConfig struct {
	FilenamePrefix string
	SamplingRate   float64 // from 0, none, to 1, all
	MaxFileBytes   int64   // size at which the next file begins; 0: 64 MiB
}

// ShadowConfig lets another version run copies of a model's requests. Its answers are
// dropped: it shows how a version behaves under real load before it answers clients.
type ShadowConfig struct {
	Label string  // names the version
	Share float64 // share of the requests, from 0 to 1
}

// SequenceConfig makes a signature of a model the step of a sequence, for [NewSequence].
type SequenceConfig struct {
	Signature string            // "" stands for [graph.DefaultSignature]
	Feedback  map[string]string // the input of the next step that each named output becomes
	// EndOutput is an output of bools or integers. A sequence ends after the step in which
	// all of its elements are EndValue, where 1 stands for true. "": no output ends it.
	EndOutput string
	EndValue  int64
	MaxSteps  int // most steps of a sequence; 0: DefaultMaxSteps
}

// VersionPolicy selects the versions to serve among those in the base path. The zero
// value selects the latest.
type VersionPolicy struct {
	Latest   int     // this many versions with the highest numbers; 0: 1, unless another field is set
	All      bool    // every version
	Specific []int64 // these versions
}

// Options are the options of a Server. Nil and the zero value mean the defaults,
// which are TensorFlow Serving's.
type Options struct {
	// FileSystemPollWait is the time between two scans of the base paths. 0: 1 s.
	// Negative: the Server scans once, and when its configuration is replaced.
	FileSystemPollWait time.Duration
	// MaxNumLoadRetries is how often a version that fails to load is tried again. 0: 5.
	// Negative: never. Versions that exist at the start are tried once.
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
	// SkipModelWarmup skips the warmup requests in a model's folder.
	SkipModelWarmup bool
	// AllowVersionLabelsForUnavailableModels accepts a label of a version that is
	// not available.
	AllowVersionLabelsForUnavailableModels bool

	// MaxConcurrentRequests limits the versions that all requests together may hold at
	// a time. Further requests are refused with an error of class
	// millrace.ErrOverloaded. 0: no limit.
	MaxConcurrentRequests int
	// RequestMemory is the memory in bytes that all requests together may take for
	// their bodies, tensors and answers. Further requests are refused with an error
	// whose code is ResourceExhausted; see [millrace/serving/budget]. 0: a quarter of
	// the machine's memory or of what its control groups allow. Negative: no limit.
	RequestMemory int64

	// ModelMemory is the memory in bytes that models may take. With a limit a model is
	// loaded at its first request, and the models whose last request is oldest are
	// unloaded to make room; see ondemand.go. A model is estimated at 1.2 times the
	// size of its files. 0: no limit, and models are loaded at once.
	ModelMemory int64

	// StuckRunTimeout is how long a run may continue after its requests are answered
	// before the server is not ready: see [Server.Ready]. 0: 1 min. Negative: such runs
	// are only logged.
	StuckRunTimeout time.Duration

	// Model are the options with which models are checked and loaded. AnyShape is
	// always set: clients of TensorFlow Serving may send every shape that the graph
	// accepts.
	Model *graph.ModelOptions
	// Loaders are loaders by the name of a model. For each signature of the model whose
	// inputs the loader gives, the versions have another signature that takes
	// serialized records: "examples" for the default signature, KEY_examples for
	// others. Its only input "inputs" is a vector of strings. A plan comes from
	// [loaders.Check], with ManifestOnly if the data files do not exist. A version is
	// not served if the loader gives the inputs of none of its signatures.
	Loaders map[string]*loaders.Plan
	// Batching makes requests share batches. Its Scheduler serves all models.
	// Nil: each request runs alone.
	Batching *batching.Options
	// Logging selects the requests to log of models without their own setting. Nil:
	// none.
	Logging *LoggingConfig
	// ModelBatching returns the options of the batching of the model in a folder, or
	// nil if its requests run alone. Batching then only turns batching on, and sets its
	// Scheduler. Nil: Batching applies to all models.
	ModelBatching func(dir string) (*batching.Options, error)
	// OnBatch is called after each batch. It replaces the OnBatch of Batching. It may
	// be nil.
	OnBatch func(BatchInfo)
	// OnRun is called after each run that is not a batch. It may be nil.
	OnRun func(RunInfo)
	// OnExamples is called with the number of Examples of each request to classify or to regress, and
	// of each warmup request. Nil: nothing is.
	OnExamples func(model string, examples int)
	// OnLog is called for each request that the sampling of a log chose: with OK if it
	// will be written, and with ResourceExhausted if the log had no room. It may be
	// nil.
	OnLog func(model string, code tfbridge.Code)
	// OnWarmup is called when the warmup requests of a version have run. Nil: nothing is.
	OnWarmup func(WarmupInfo)
	// Logger receives messages about versions that are loaded and unloaded. Nil:
	// slog.Default.
	Logger *slog.Logger
}

// BatchInfo describes a batch of a version's signature.
type BatchInfo struct {
	Model     string
	Version   int64
	Signature string
	API       string // "Predict", "Classify" or "Regress", by the signature's method_name
	MostRows  int    // largest number of rows of a batch
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

// The longest name of a model, which appears in metrics and logs, and the longest path
// of Linux.
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
		case strings.Contains(c.BasePath, "://") && !remote.Default.Reads(c.BasePath):
			return millrace.Errorf(millrace.ErrConfig, "model %q: base path %s is not a folder of this machine, nor in a store of this program (%s)", c.Name, millrace.Quote(c.BasePath), strings.Join(remote.Default.Schemes(), ", "))
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

// checkTraffic returns an error for invalid weights and shadows.
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
	return checkSequenceConfigs(c)
}

// clone returns a configuration that shares nothing with c.
func (c ModelConfig) clone() ModelConfig {
	c.VersionLabels = maps.Clone(c.VersionLabels)
	c.VersionPolicy.Specific = slices.Clone(c.VersionPolicy.Specific)
	c.SharedInputs = slices.Clone(c.SharedInputs)
	c.Canary = maps.Clone(c.Canary)
	c.Sequences = slices.Clone(c.Sequences)
	return c
}

// ModelSpec names a version of a model: by number, by label, or by neither, which
// means the latest that is available.
type ModelSpec struct {
	Name    string
	Version int64 // 0 or less: not given, unless HasVersion is set
	Label   string

	HasVersion bool // Version is given, even if it is 0
}

// checkSequenceConfigs returns an error for a configuration of sequences that fits no model.
func checkSequenceConfigs(c *ModelConfig) error {
	seen := map[string]bool{}
	for _, s := range c.Sequences {
		key := cmp.Or(s.Signature, graph.DefaultSignature)
		inputs := map[string]bool{}
		for _, input := range s.Feedback {
			if inputs[input] {
				return millrace.Errorf(millrace.ErrConfig, "model %q: sequences: input %q of signature %q gets two outputs", c.Name, input, key)
			}
			inputs[input] = true
		}
		switch {
		case seen[key]:
			return millrace.Errorf(millrace.ErrConfig, "model %q: sequences: signature %q is there twice", c.Name, key)
		case s.MaxSteps < 0:
			return millrace.Errorf(millrace.ErrConfig, "model %q: sequences: the steps of signature %q are limited to %d, a limit must be positive", c.Name, key, s.MaxSteps)
		}
		seen[key] = true
	}
	return nil
}

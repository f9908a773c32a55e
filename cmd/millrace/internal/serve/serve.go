package serve

import (
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/graph"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/serving/budget"
	"millrace/serving/configfile"
	"millrace/tfbridge"
)

// serveFlags are the flags of serve. Those with underscores are TensorFlow
// Serving's.
type serveFlags struct {
	models       []string // NAME=DIR
	loaders      []string // NAME=CONFIG
	name, base   string
	configFile   string
	configPoll   int
	host         string
	port         int
	restPort     int
	restTimeout  int
	cors         bool
	batching     bool
	batchingFile string
	ownBatching  bool // enable_per_model_batching_parameters
	sslFile      string
	tensorBytes  bool // enable_serialization_as_tensor_content
	maxBody      int64
	maxRequests  int
	memory       int64
	decode       int64
	grpcTime     time.Duration
	stuckTime    time.Duration
	drain        time.Duration
	jsonLog      bool
	otlp         string // endpoint
	logging      serving.LoggingConfig

	pollWait     int
	retries      int
	retryMicros  int64
	loadThreads  int
	warmup       bool
	futureLabels bool
	tags         string
	intra, inter int
	allow        []string
	unchecked    bool

	access accessFlags
}

func (p *program) serveCommand() *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "serve --model NAME=DIR",
		Short: "Serve models by TensorFlow Serving's interfaces",
		Long: `Serve SavedModels by TensorFlow Serving's gRPC services and RESTful API. Clients
of TensorFlow Serving work unchanged, and so do its flags, which are those with
underscores.

DIR holds a folder for each version of the model, named by its number; the
latest is served. New versions are loaded and warmed up beside the old one, and
then take over. A DIR that is itself a SavedModel is served as version 1.

  curl -d '{"instances": [[1, 2, 3]]}' localhost:8501/v1/models/NAME:predict
  curl localhost:8501/v1/models/NAME            the states of its versions
  curl localhost:8501/metrics                   for Prometheus
  http://localhost:8501/                        a page for the browser

With --loader a model gets what a loader does to records: parsing, casts, steps,
constants and padding. The signature "examples" takes serialized Examples, or by
HTTP their features, and predicts what "predict" does from a file of them. Data
files need not be there, only the manifest.

  curl -d '{"signature_name": "examples", "examples": [{"image": [...]}]}' \
      localhost:8501/v1/models/NAME:predict

The server listens on localhost unless --host says otherwise: it has no users
and no passwords. After SIGINT or SIGTERM it refuses new requests, answers those
in flight, and ends with exit code 0.

A model is a program. serve refuses models with operations that touch files or
the network, unless --allow-op names them. This check is not a sandbox.`,
		Example: `  millrace serve --model digits=examples/digits/model
  millrace serve --host 0.0.0.0 --model_config_file models.config --enable_batching`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.check(c); err != nil {
				return err
			}
			return p.serve(c.Context(), &flags)
		},
	}
	flags.add(c)
	return c
}

// add declares the flags.
func (f *serveFlags) add(c *cobra.Command) {
	s := c.Flags()
	s.SortFlags = false
	s.StringArrayVar(&f.models, "model", nil, "serve the model in DIR by a name, `NAME=DIR`; may be repeated")
	s.StringArrayVar(&f.loaders, "loader", nil, "put the processing of a loader's config in front of a model, `NAME=CONFIG`: adds signatures that take serialized Examples; may be repeated")
	s.StringVar(&f.host, "host", "localhost", "`ADDRESS` to listen on; 0.0.0.0 for all")
	s.IntVar(&f.port, "port", 8500, "port for gRPC; 0 for none, -1 for any free one")
	s.IntVar(&f.restPort, "rest_api_port", 8501, "port for HTTP; 0 for none, -1 for any free one")
	s.IntVar(&f.restTimeout, "rest_api_timeout_in_ms", 30000, "longest time for a HTTP request")
	s.BoolVar(&f.cors, "rest_api_enable_cors_support", false, "answer requests of pages from other sites")
	s.Int64Var(&f.maxBody, "max-body", 64<<20, "longest body of a HTTP request in bytes")
	s.IntVar(&f.maxRequests, "max-requests", 0, "refuse more than `N` requests at a time (0: any number)")
	s.Int64Var(&f.memory, "request-memory", 0, "refuse requests that take more than `BYTES` of memory together (0: a quarter of what the machine has or the container allows, -1: any number)")
	cli.AddDecodeLimit(s, &f.decode)
	s.DurationVar(&f.grpcTime, "grpc-max-time", 5*time.Minute, "longest `TIME` for a gRPC request, also if its client gives it no deadline (0: as long as the client waits)")
	s.DurationVar(&f.stuckTime, "stuck-run-timeout", time.Minute, "not ready when a run goes on for this `TIME` after its requests were answered (0: never)")
	s.StringVar(&f.name, "model_name", "default", "name of the model in --model_base_path")
	s.StringVar(&f.base, "model_base_path", "", "serve the model in this `DIR`")
	s.StringVar(&f.configFile, "model_config_file", "", "`FILE` with a ModelServerConfig: models, version policies, labels")
	s.IntVar(&f.configPoll, "model_config_file_poll_wait_seconds", 0, "read that file again so often; 0 for never")
	s.BoolVar(&f.batching, "enable_batching", false, "run the requests that wait in batches")
	s.StringVar(&f.batchingFile, "batching_parameters_file", "", "`FILE` with BatchingParameters")
	s.BoolVar(&f.ownBatching, "enable_per_model_batching_parameters", false, "take the parameters from batching_params.pbtxt in each version's folder; without one there is no batching of its requests")
	s.IntVar(&f.pollWait, "file_system_poll_wait_seconds", 1, "look for new versions so often; 0 for once")
	s.IntVar(&f.retries, "max_num_load_retries", 5, "how often a version that fails to load is tried again")
	s.Int64Var(&f.retryMicros, "load_retry_interval_micros", 60_000_000, "time between two tries")
	s.IntVar(&f.loadThreads, "num_load_threads", 0, "how many versions load at a time (0: 1)")
	s.BoolVar(&f.warmup, "enable_model_warmup", true, "run the warmup requests that a model brings along")
	s.BoolVar(&f.futureLabels, "allow_version_labels_for_unavailable_models", false, "accept labels of versions that are not there yet")
	s.StringVar(&f.tags, "saved_model_tags", "", "`TAGS` of the model's meta graph, separated by commas")
	s.IntVar(&f.intra, "tensorflow_intra_op_parallelism", 0, "threads of one operation (0: TensorFlow decides)")
	s.IntVar(&f.inter, "tensorflow_inter_op_parallelism", 0, "operations that run at a time (0: TensorFlow decides; with batching those of a batch run one after the other)")
	s.BoolVar(&f.tensorBytes, "enable_serialization_as_tensor_content", false, "gRPC answers with numbers in tensor_content")
	s.StringVar(&f.sslFile, "ssl_config_file", "", "`FILE` with an SSLConfig: gRPC by TLS or mutual TLS")
	s.StringArrayVar(&f.allow, "allow-op", nil, "allow the operation `NAME` although it touches the host; may be repeated")
	s.BoolVar(&f.unchecked, "unchecked", false, "DANGEROUS: load models that the policy refuses; they can do whatever this process can")
	s.DurationVar(&f.drain, "drain", 30*time.Second, "longest time for the requests in flight at the end")
	s.StringVar(&f.logging.FilenamePrefix, "request-log", "", "log requests to TFRecord files whose paths begin with `PREFIX`, as PredictionLog and, if there are Examples, as those")
	s.Float64Var(&f.logging.SamplingRate, "request-log-rate", 0.01, "share of the requests that are logged, from 0 to 1")
	s.Int64Var(&f.logging.MaxFileBytes, "request-log-file-bytes", 64<<20, "size from which on the log goes on in another file")
	s.StringVar(&f.otlp, "otlp-endpoint", "", "send OpenTelemetry traces to the collector at `URL` (default OTEL_EXPORTER_OTLP_ENDPOINT; none if that is empty)")
	f.access.add(s)
	s.BoolVar(&f.jsonLog, "log-json", false, "write the log as JSON")
}

// check refuses flags that cannot be, and those that mean nothing without another.
func (f *serveFlags) check(c *cobra.Command) error {
	given := c.Flags().Changed
	if len(f.models) == 0 && f.base == "" && f.configFile == "" {
		return cli.Usagef(c, "--model is missing")
	}
	for _, name := range []string{"port", "rest_api_port"} {
		if port, err := c.Flags().GetInt(name); err != nil || port < -1 || port > math.MaxUint16 {
			return cli.Usagef(c, "--%s %d: want a port up to %d, 0 for none, or -1 for any free one", name, port, math.MaxUint16)
		}
	}
	for _, needs := range []struct {
		flag, other string
		has         bool
	}{
		{"batching_parameters_file", "enable_batching", f.batching},
		{"enable_per_model_batching_parameters", "enable_batching", f.batching},
		{"request-log-rate", "request-log", f.logging.FilenamePrefix != ""},
		{"request-log-file-bytes", "request-log", f.logging.FilenamePrefix != ""},
	} {
		if given(needs.flag) && !needs.has {
			return cli.Usagef(c, "--%s means nothing without --%s", needs.flag, needs.other)
		}
	}
	if err := f.access.check(c, f.restPort, f.sslFile, f.batching); err != nil {
		return err
	}
	switch rate := f.logging.SamplingRate; {
	case !(rate >= 0 && rate <= 1):
		return cli.Usagef(c, "--request-log-rate %v: want a share from 0 to 1, 0.01 for one request of a hundred", rate)
	case f.maxRequests < 0:
		return cli.Usagef(c, "--max-requests %d: want a number of requests, or 0 for any number", f.maxRequests)
	case f.memory < -1:
		return cli.Usagef(c, "--request-memory %d: want a number of bytes, 0 for a quarter of the memory, or -1 for any number", f.memory)
	case f.decode < 0:
		return cli.Usagef(c, "--decode-limit %d: want a number of bytes, or 0 for 256 MiB", f.decode)
	case f.maxBody < 1:
		return cli.Usagef(c, "--max-body %d: want a number of bytes", f.maxBody)
	case f.restTimeout < 1:
		return cli.Usagef(c, "--rest_api_timeout_in_ms %d: want a number of milliseconds", f.restTimeout)
	case f.grpcTime < 0:
		return cli.Usagef(c, "--grpc-max-time %v: want a time such as 5m, or 0 for no limit", f.grpcTime)
	case f.stuckTime < 0:
		return cli.Usagef(c, "--stuck-run-timeout %v: want a time such as 1m, or 0 for never", f.stuckTime)
	case f.inter < 0:
		return cli.Usagef(c, "--tensorflow_inter_op_parallelism %d: want a number of operations, or 0 for TensorFlow's choice", f.inter)
	case f.drain < 0:
		return cli.Usagef(c, "--drain %v: want a time such as 30s", f.drain)
	}
	return nil
}

// configs returns the models to serve.
func (f *serveFlags) configs() ([]serving.ModelConfig, error) {
	if f.configFile != "" {
		return configfile.ReadModels(f.configFile)
	}
	var all []serving.ModelConfig
	if f.base != "" {
		all = append(all, serving.ModelConfig{Name: f.name, BasePath: f.base})
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
	o := &serving.Options{
		FileSystemPollWait: time.Duration(f.pollWait) * time.Second, MaxNumLoadRetries: f.retries,
		LoadRetryInterval: time.Duration(f.retryMicros) * time.Microsecond, NumLoadThreads: f.loadThreads,
		SkipModelWarmup: !f.warmup, MaxConcurrentRequests: f.maxRequests, AllowVersionLabelsForUnavailableModels: f.futureLabels,
		Model: &graph.ModelOptions{
			AllowOps: f.allow, Unchecked: f.unchecked, DecodeLimit: f.decode, Runtime: p.RuntimeOptions(),
			Session: &tfbridge.SessionOptions{SoftPlacement: true, IntraOpThreads: f.intra, InterOpThreads: f.inter},
		},
	}
	if o.RequestMemory = f.memory; f.memory == 0 {
		o.RequestMemory = budget.DefaultLimit() // within the sandbox it cannot be found out
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
	if f.batching {
		o.Batching = &batching.Options{}
		o.Model.Inline = f.inter == 0 // batches run beside each other, so operations need not
		if f.ownBatching {
			o.ModelBatching = configfile.ReadModelBatching
		}
		if f.batchingFile != "" {
			var err error
			if o.Batching, err = configfile.ReadBatching(f.batchingFile); err != nil {
				return nil, err
			}
		}
		if f.access.maxQueueDelay > 0 {
			o.Batching.MaxQueueDelay = f.access.maxQueueDelay
		}
	}
	o.ModelMemory = f.access.modelMemory
	return o, nil
}

package serve

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/cmd/millrace/internal/cli"
	"millrace/serving"
)

// serveFlags are the values of the flags of serve. The table below declares them.
type serveFlags struct {
	models       []string // NAME=DIR
	loaders      []string // NAME=CONFIG
	name, base   string
	configFile   string
	configPoll   int
	pollWait     int
	retries      int
	retryMicros  int64
	loadThreads  int
	endThreads   int
	warmup       bool
	warmupTimes  int
	futureLabels bool
	tags         string
	opLibraries  []string
	allow        []string
	unchecked    bool

	host        string
	port        int
	socket      string
	restPort    int
	restThreads int
	restTimeout int
	cors        bool
	sslFile     string
	alts        bool
	grpcArgs    string
	grpcThreads int
	health      bool

	maxBody      int64
	maxRequests  int
	memory       int64
	decode       *pflag.FlagSet // has --decode-limit
	grpcTime     time.Duration
	tensorBytes  bool
	methodNames  bool
	batching     bool
	batchingFile string
	ownBatching  bool

	intra, inter   int
	sessionThreads int
	sessionFile    string
	platformFile   string
	gpuFraction    float64
	precision      string

	stuckTime      time.Duration
	drain          time.Duration
	drainDelay     time.Duration
	logging        serving.LoggingConfig
	otlp           string // endpoint
	monitoringFile string
	jsonLog        bool
	version        bool
	probe          bool

	access accessFlags
}

// flagRow is a flag of serve. The flags of TensorFlow Serving have underscores or one
// word; docs/serving.md lists them.
type flagRow struct {
	name   string
	define func(s *pflag.FlagSet, name, usage string)
	usage  string
	// nothing is the reason why the flag has no effect here. The flag is accepted, so
	// that a manifest need not change, and a line of the log gives the reason. "": the
	// flag has the effect that its usage describes.
	nothing string
}

// table returns all flags, with their values in f.
func (f *serveFlags) table() []flagRow {
	var all []flagRow
	for _, group := range [][]flagRow{f.modelFlags(), f.listeningFlags(), f.requestFlags(), f.batchingFlags(), f.tensorflowFlags(), f.operationFlags(), f.access.table(), emptyFlags()} {
		all = append(all, group...)
	}
	return all
}

// modelFlags are the flags that choose the models to serve, and how they are loaded and
// unloaded.
func (f *serveFlags) modelFlags() []flagRow {
	return []flagRow{
		{name: "model", define: list(&f.models), usage: "serve the model in DIR by a name, `NAME=DIR`; may be repeated"},
		{name: "loader", define: list(&f.loaders), usage: "put the processing of a loader's config in front of a model, `NAME=CONFIG`: adds signatures that take serialized Examples; may be repeated"},
		{name: "model_name", define: text(&f.name, "default"), usage: "name of the model in --model_base_path"},
		{name: "model_base_path", define: text(&f.base, ""), usage: "serve the model in this `DIR`"},
		{name: "model_config_file", define: text(&f.configFile, ""), usage: "`FILE` with a ModelServerConfig: models, version policies, labels; SIGHUP has the server read it again"},
		{name: "model_config_file_poll_wait_seconds", define: number(&f.configPoll, 0), usage: "read that file again so often; 0 for never"},
		{name: "file_system_poll_wait_seconds", define: number(&f.pollWait, 1), usage: "look for new versions so often; 0 for once"},
		{name: "max_num_load_retries", define: number(&f.retries, 5), usage: "how often a version that fails to load is tried again"},
		{name: "load_retry_interval_micros", define: number64(&f.retryMicros, 60_000_000), usage: "time between two tries; 0 or less for none"},
		{name: "num_load_threads", define: number(&f.loadThreads, 0), usage: "how many versions load at a time (0: 1)"},
		{name: "num_unload_threads", define: number(&f.endThreads, 0), usage: "how many versions unload at a time (0: any number)"},
		{name: "enable_model_warmup", define: truth(&f.warmup, true), usage: "run the warmup requests that a model brings along"},
		{name: "num_request_iterations_for_warmup", define: number(&f.warmupTimes, 0), usage: "how often to run each warmup request (0: once)"},
		{name: "allow_version_labels_for_unavailable_models", define: truth(&f.futureLabels, false), usage: "accept labels of versions that are not there yet"},
		{name: "saved_model_tags", define: text(&f.tags, ""), usage: "`TAGS` of the model's meta graph, separated by commas"},
		{name: "op-library", define: list(&f.opLibraries), usage: "load the operations of a library, or of all in a folder, such as TensorFlow Text's, and allow models to have them; a library's code runs in this process: `PATH`; may be repeated"},
		{name: "allow-op", define: list(&f.allow), usage: "allow the operation `NAME` although it touches the host; may be repeated"},
		{name: "unchecked", define: truth(&f.unchecked, false), usage: "DANGEROUS: load models that the policy refuses; they can do whatever this process can"},
	}
}

// listeningFlags are the flags for the server's ports.
func (f *serveFlags) listeningFlags() []flagRow {
	return []flagRow{
		{name: "host", define: text(&f.host, "localhost"), usage: "`ADDRESS` to listen on; 0.0.0.0 for all"},
		{name: "port", define: number(&f.port, 8500), usage: "port for gRPC; 0 for none, -1 for any free one"},
		{name: "grpc_socket_path", define: text(&f.socket, ""), usage: "UNIX socket for gRPC, next to the port: a `PATH`; replaces a socket that is there"},
		{name: "rest_api_port", define: number(&f.restPort, 8501), usage: "port for HTTP; 0 for none, -1 for any free one"},
		{name: "rest_api_num_threads", define: number(&f.restThreads, 0), usage: "HTTP requests for predictions that are answered at a time; more wait (0: any number)"},
		{name: "rest_api_timeout_in_ms", define: number(&f.restTimeout, 30000), usage: "longest time for a HTTP request"},
		{name: "rest_api_enable_cors_support", define: truth(&f.cors, false), usage: "answer requests of pages from other sites"},
		{name: "ssl_config_file", define: text(&f.sslFile, ""), usage: "`FILE` with an SSLConfig: gRPC by TLS or mutual TLS"},
		{name: "use_alts_credentials", define: truth(&f.alts, false), usage: "gRPC by ALTS, the encryption between machines of Google Cloud"},
		{name: "grpc_channel_arguments", define: text(&f.grpcArgs, ""), usage: "`KEY=VALUE,...`: limits of gRPC by their names in gRPC's C library, such as grpc.max_connection_age_ms; those without a counterpart are logged"},
		{name: "grpc_max_threads", define: number(&f.grpcThreads, 0), usage: "gRPC requests that are answered at a time; more wait (0: any number)"},
		{name: "enable_grpc_healthcheck_service", define: truth(&f.health, true), usage: "gRPC's health service, for the server and for each model by its name"},
	}
}

// requestFlags are the flags for single requests and their limits.
func (f *serveFlags) requestFlags() []flagRow {
	return []flagRow{
		{name: "max-body", define: size(&f.maxBody, 64<<20), usage: "longest body of a HTTP request in bytes"},
		{name: "max-requests", define: number(&f.maxRequests, 0), usage: "refuse more than `N` requests at a time (0: any number)"},
		{name: "request-memory", define: size(&f.memory, 0), usage: "refuse requests that take more than `BYTES` of memory together (0: a quarter of what the machine has or the container allows, -1: any number)"},
		{name: "decode-limit", define: func(s *pflag.FlagSet, _, _ string) { f.decode = s; cli.AddDecodeLimit(s) }},
		{name: "grpc-max-time", define: duration(&f.grpcTime, 5*time.Minute), usage: "longest `TIME` for a gRPC request, also if its client gives it no deadline (0: as long as the client waits)"},
		{name: "enable_serialization_as_tensor_content", define: truth(&f.tensorBytes, false), usage: "gRPC answers with numbers in tensor_content"},
		{name: "enable_signature_method_name_check", define: truth(&f.methodNames, false), usage: "classify and regress only by signatures with that method_name"},
	}
}

// batchingFlags are the flags for requests that share runs.
func (f *serveFlags) batchingFlags() []flagRow {
	return []flagRow{
		{name: "enable_batching", define: truth(&f.batching, false), usage: "run the requests that wait in batches"},
		{name: "batching_parameters_file", define: text(&f.batchingFile, ""), usage: "`FILE` with BatchingParameters"},
		{name: "enable_per_model_batching_parameters", define: truth(&f.ownBatching, false), usage: "take the parameters from batching_params.pbtxt in each version's folder; without one there is no batching of its requests"},
	}
}

// tensorflowFlags are the flags for TensorFlow's sessions.
func (f *serveFlags) tensorflowFlags() []flagRow {
	return []flagRow{
		{name: "tensorflow_session_parallelism", define: number(&f.sessionThreads, 0), usage: "both of the next two, where they are not given"},
		{name: "tensorflow_intra_op_parallelism", define: number(&f.intra, 0), usage: "threads of one operation (0: TensorFlow decides)"},
		{name: "tensorflow_inter_op_parallelism", define: number(&f.inter, 0), usage: "operations that run at a time (0: TensorFlow decides; with batching those of a batch run one after the other)"},
		{name: "tensorflow_session_config_file", define: text(&f.sessionFile, ""), usage: "`FILE` with a ConfigProto; other flags override it"},
		{name: "platform_config_file", define: text(&f.platformFile, ""), usage: "`FILE` with a PlatformConfigMap: session, batching, tags and warmup instead of the flags about them"},
		{name: "per_process_gpu_memory_fraction", define: fraction(&f.gpuFraction), usage: "share of a GPU's memory that the process may take, up to 1 (0: TensorFlow decides)"},
		{name: "mixed_precision", define: text(&f.precision, ""), usage: "`TYPE` to compute in where that is safe: bfloat16"},
	}
}

// operationFlags are the flags for running the server.
func (f *serveFlags) operationFlags() []flagRow {
	return []flagRow{
		{name: "drain-delay", define: duration(&f.drainDelay, 0), usage: "after SIGTERM, go on answering new requests for this `TIME` while /readyz and gRPC's health service say that the server is not ready"},
		{name: "drain", define: duration(&f.drain, 30*time.Second), usage: "longest time for the requests in flight at the end"},
		{name: "stuck-run-timeout", define: duration(&f.stuckTime, time.Minute), usage: "not ready when a run goes on for this `TIME` after its requests were answered (0: never)"},
		{name: "request-log", define: text(&f.logging.FilenamePrefix, ""), usage: "log requests to TFRecord files whose paths begin with `PREFIX`, as PredictionLog and, if there are Examples, as those"},
		{name: "request-log-rate", define: func(s *pflag.FlagSet, name, usage string) {
			s.Float64Var(&f.logging.SamplingRate, name, 0.01, usage)
		}, usage: "share of the requests that are logged, from 0 to 1"},
		{name: "request-log-file-bytes", define: size(&f.logging.MaxFileBytes, 64<<20), usage: "size from which on the log goes on in another file"},
		{name: "otlp-endpoint", define: text(&f.otlp, ""), usage: "send OpenTelemetry traces to the collector at `URL` (default OTEL_EXPORTER_OTLP_ENDPOINT; none if that is empty)"},
		{name: "monitoring_config_file", define: text(&f.monitoringFile, ""), usage: "`FILE` with a MonitoringConfig: TensorFlow Serving's metrics for Prometheus at its path"},
		{name: "log-json", define: truth(&f.jsonLog, false), usage: "write the log as JSON"},
		{name: "version", define: truth(&f.version, false), usage: "print the versions of Millrace and TensorFlow, and end"},
		{name: "probe", define: truth(&f.probe, false), usage: "ask the server that listens at --host and --rest_api_port, or else --port, whether it is ready, and end: exit code 0 if it is, 7 if not"},
	}
}

// emptyFlags are flags of TensorFlow Serving that have no effect here.
func emptyFlags() []flagRow {
	const noLite = "models of TensorFlow Lite are not served"
	ignored, none := new(string), new(bool)
	count := new(int)
	return []flagRow{
		{name: "flush_filesystem_caches", define: truth(none, true), nothing: "it is about remote file systems, and models are read from this machine"},
		{name: "remove_unused_fields_from_bundle_metagraph", define: truth(none, true), nothing: "of a MetaGraphDef the server keeps the signatures only"},
		{name: "prefer_tflite_model", define: truth(none, false), nothing: noLite + "; the model in saved_model.pb is"},
		{name: "num_tflite_pools", define: number(count, 0), nothing: noLite},
		{name: "num_tflite_interpreters_per_pool", define: number(count, 1), nothing: noLite},
		{name: "xla_cpu_compilation_enabled", define: truth(none, false), nothing: "what a model wants compiled by XLA is compiled anyway"},
		{name: "xla_gpu_compilation_enabled", define: truth(none, false), nothing: "what a model wants compiled by XLA is compiled anyway"},
		{name: "enable_profiler", define: truth(none, true), nothing: "there is no profiler service; --otlp-endpoint sends traces"},
		{name: "thread_pool_factory_config_file", define: text(ignored, ""), nothing: "it names a factory that is compiled into the server; there are none"},
		{name: "skip_initialize_tpu", define: truth(none, false), nothing: "there are no TPUs here"},
	}
}

// add declares the flags. Flags without effect do not appear in the help.
func (f *serveFlags) add(c *cobra.Command) {
	s := c.Flags()
	s.SortFlags = false
	for _, flag := range f.table() {
		usage := flag.usage
		if flag.nothing != "" {
			usage = "means nothing here: " + flag.nothing
		}
		flag.define(s, flag.name, usage)
		if flag.nothing != "" {
			s.Lookup(flag.name).Hidden = true
		}
	}
}

// The kinds of flags.

func text(to *string, normal string) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.StringVar(to, name, normal, usage) }
}

func list(to *[]string) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.StringArrayVar(to, name, nil, usage) }
}

func number(to *int, normal int) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.IntVar(to, name, normal, usage) }
}

func number64(to *int64, normal int64) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.Int64Var(to, name, normal, usage) }
}

func size(to *int64, normal int64) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.Var(cli.Size(to, normal), name, usage) }
}

func fraction(to *float64) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.Float64Var(to, name, 0, usage) }
}

func truth(to *bool, normal bool) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.BoolVar(to, name, normal, usage) }
}

func duration(to *time.Duration, normal time.Duration) func(*pflag.FlagSet, string, string) {
	return func(s *pflag.FlagSet, name, usage string) { s.DurationVar(to, name, normal, usage) }
}

package serve

import (
	"math"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

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
  curl localhost:8501/readyz                    whether it can answer requests
  http://localhost:8501/                        a page for the browser

With --loader a model gets what a loader does to records: parsing, casts, steps,
constants and padding. The signature "examples" takes serialized Examples, or by
HTTP their features, and predicts what "predict" does from a file of them. Data
files need not be there, only the manifest.

  curl -d '{"signature_name": "examples", "examples": [{"image": [...]}]}' \
      localhost:8501/v1/models/NAME:predict

The server listens on localhost unless --host says otherwise: it answers whoever
reaches it. --auth-tokens and --auth-certificates limit that to known clients.
After SIGINT or SIGTERM it is no longer ready; after --drain-delay it refuses
new requests, answers the ones in flight, and ends with exit code 0. SIGHUP has
it read --model_config_file again.

TensorFlow Serving's flags that mean nothing here, as those of TensorFlow Lite,
are accepted, and the log says why. docs/serving.md has a table of all. By the
name tensorflow_model_server the program is this command, with TensorFlow
Serving's --host and --rest_api_port.

A model is a program. serve refuses models with operations that touch files or
the network, unless --allow-op names them. This check is not a sandbox.`,
		Example: `  millrace serve --model digits=examples/digits/model
  millrace serve --host 0.0.0.0 --model_config_file models.config --enable_batching`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case flags.version:
				return p.printVersions()
			case flags.probe:
				return p.probe(c, &flags)
			}
			if err := flags.check(c); err != nil {
				return err
			}
			return p.serve(c.Context(), &flags, flags.ignored(c))
		},
	}
	flags.add(c)
	return c
}

// check refuses flags with impossible values, and those that have no effect without
// another.
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
	if f.port == 0 && f.restPort == 0 && f.socket == "" {
		return cli.Usagef(c, "there is nowhere to listen: --port and --rest_api_port are 0, and there is no --grpc_socket_path")
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
	return f.checkValues(c)
}

// checkValues refuses values out of range, and flags that exclude each other.
func (f *serveFlags) checkValues(c *cobra.Command) error {
	for _, name := range []string{"rest_api_num_threads", "grpc_max_threads", "num_load_threads", "num_unload_threads", "num_request_iterations_for_warmup",
		"tensorflow_session_parallelism", "tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism", "max-requests"} {
		if n, err := c.Flags().GetInt(name); err != nil || n < 0 {
			return cli.Usagef(c, "--%s %d: want a number, or 0 for the default", name, n)
		}
	}
	if _, err := cli.DecodeLimit(f.decode); err != nil {
		return cli.Usagef(c, "%v", err)
	}
	switch rate := f.logging.SamplingRate; {
	case !(rate >= 0 && rate <= 1):
		return cli.Usagef(c, "--request-log-rate %v: want a share from 0 to 1, 0.01 for one request of a hundred", rate)
	case f.memory < -1:
		return cli.Usagef(c, "--request-memory %d: want a number of bytes, 0 for a quarter of the memory, or -1 for any number", f.memory)
	case f.maxBody < 1:
		return cli.Usagef(c, "--max-body %d: want a number of bytes", f.maxBody)
	case f.restTimeout < 1:
		return cli.Usagef(c, "--rest_api_timeout_in_ms %d: want a number of milliseconds", f.restTimeout)
	case f.grpcTime < 0:
		return cli.Usagef(c, "--grpc-max-time %v: want a time such as 5m, or 0 for no limit", f.grpcTime)
	case f.stuckTime < 0:
		return cli.Usagef(c, "--stuck-run-timeout %v: want a time such as 1m, or 0 for never", f.stuckTime)
	case f.alts && f.sslFile != "":
		return cli.Usagef(c, "--use_alts_credentials and --ssl_config_file exclude each other")
	case f.sessionThreads > 0 && f.intra > 0 && f.inter > 0:
		return cli.Usagef(c, "--tensorflow_session_parallelism means nothing with both --tensorflow_intra_op_parallelism and --tensorflow_inter_op_parallelism")
	case !(f.gpuFraction >= 0 && f.gpuFraction <= 1):
		return cli.Usagef(c, "--per_process_gpu_memory_fraction %v: want a share from 0 to 1", f.gpuFraction)
	case f.drainDelay < 0:
		return cli.Usagef(c, "--drain-delay %v: want a time such as 5s, or 0 for none", f.drainDelay)
	case f.drain < 0:
		return cli.Usagef(c, "--drain %v: want a time such as 30s", f.drain)
	}
	return nil
}

// ignored returns the given flags that have no effect here.
func (f *serveFlags) ignored(c *cobra.Command) []flagRow {
	var given []flagRow
	for _, flag := range f.table() {
		if flag.nothing != "" && c.Flags().Changed(flag.name) {
			given = append(given, flag)
		}
	}
	return given
}

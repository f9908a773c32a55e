package serve

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the table of flags into docs/serving.md")

// servingFlags are the flags of TensorFlow Serving 2.20's model server, each with its default. A
// manifest may have any of them.
const servingFlags = `port=8500 grpc_socket_path rest_api_port=0 rest_api_num_threads=4*processors rest_api_timeout_in_ms=30000
	rest_api_enable_cors_support=false enable_batching=false allow_version_labels_for_unavailable_models=false batching_parameters_file
	enable_per_model_batching_parameters=false model_config_file model_config_file_poll_wait_seconds=0 model_name=default model_base_path
	num_load_threads=0 num_unload_threads=0 max_num_load_retries=5 load_retry_interval_micros=60000000 file_system_poll_wait_seconds=1
	flush_filesystem_caches=true tensorflow_session_parallelism=0 tensorflow_session_config_file tensorflow_intra_op_parallelism=0
	tensorflow_inter_op_parallelism=0 use_alts_credentials=false ssl_config_file platform_config_file per_process_gpu_memory_fraction=0
	saved_model_tags=serve grpc_channel_arguments grpc_max_threads=4*processors enable_model_warmup=true num_request_iterations_for_warmup=0
	version=false monitoring_config_file remove_unused_fields_from_bundle_metagraph=true prefer_tflite_model=false num_tflite_pools=processors
	num_tflite_interpreters_per_pool=1 enable_signature_method_name_check=false xla_cpu_compilation_enabled=false
	xla_gpu_compilation_enabled=false enable_profiler=true thread_pool_factory_config_file mixed_precision skip_initialize_tpu=false
	enable_grpc_healthcheck_service=false enable_serialization_as_tensor_content=false`

// docsTable is where docs/serving.md has the table.
const docsTable = "../../../../docs/serving.md"

// Each flag of TensorFlow Serving is declared, and documented with its effect or the
// reason why it has none.
func TestServingFlags(t *testing.T) {
	var f serveFlags
	c := &cobra.Command{}
	f.add(c)
	table := f.table()
	var rows strings.Builder
	names := strings.Fields(servingFlags)
	if len(names) != 48 {
		t.Errorf("%d flags, TensorFlow Serving has 48", len(names))
	}
	for _, entry := range names {
		name, theirs, _ := strings.Cut(entry, "=")
		i := slices.IndexFunc(table, func(f flagRow) bool { return f.name == name })
		declared := c.Flags().Lookup(name)
		if i < 0 || declared == nil {
			t.Errorf("--%s is not declared", name)
			continue
		}
		does, normal := strings.ReplaceAll(table[i].usage, "`", ""), declared.DefValue
		if why := table[i].nothing; why != "" {
			does, normal = "accepted, means nothing here: "+why, ""
		}
		if normal == theirs || normal == "[]" {
			normal = ""
		}
		if normal != "" {
			does += fmt.Sprintf(" (default %s, there %s)", normal, theirs)
		}
		fmt.Fprintf(&rows, "| `--%s` | %s |\n", name, does)
	}
	checkTable(t, rows.String())
}

// checkTable compares the rows with the rows on the page, or writes them to it.
func checkTable(t *testing.T, rows string) {
	t.Helper()
	text, err := os.ReadFile(docsTable)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| flag of TensorFlow Serving | here |\n|---|---|\n"
	before, rest, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatalf("%s has no table of flags", docsTable)
	}
	end := strings.Index(rest, "\n\n") + 1
	if rest[:end] == rows {
		return
	}
	if !*update {
		t.Fatalf("%s: the table of flags is behind; run this test with -update\n got %s\nwant %s", docsTable, rest[:end], rows)
	}
	if err := os.WriteFile(docsTable, []byte(before+head+rows+rest[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestArguments(t *testing.T) {
	environment := map[string]string{"MODEL_NAME": "digits"}
	tests := []struct{ line, want string }{
		{"/usr/local/bin/millrace serve --model a=b", "serve --model a=b"},
		{"/usr/bin/tensorflow_model_server --port=1", "serve --host=0.0.0.0 --rest_api_port=0 --port=1"},
		{"/usr/bin/tf_serving_entrypoint.sh --enable_batching", "serve --host=0.0.0.0 --model_name=digits --model_base_path=/models/digits --enable_batching"},
		{"", ""},
	}
	for _, tt := range tests {
		got := strings.Join(Arguments(strings.Fields(tt.line), func(name string) string { return environment[name] }), " ")
		if got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.line, got, tt.want)
		}
	}
}

func TestFlagsOf(t *testing.T) {
	tests := []struct {
		line string
		want string // host, port, rest_api_port; "": no server
	}{
		{"millrace serve --model a=b", "localhost 8500 8501"},
		{"millrace --verbose serve --model a=b --rest_api_port 9000 --no-such-flag", "localhost 8500 9000"},
		{"tensorflow_model_server --rest_api_port=7", "0.0.0.0 8500 7"},
		{"millrace predict x.json --model m", ""},
	}
	for _, tt := range tests {
		got := ""
		if f := flagsOf(strings.Fields(tt.line)); f != nil {
			got = fmt.Sprint(f.host, " ", f.port, " ", f.restPort)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestChannelArguments(t *testing.T) {
	var a channelArguments
	if err := a.parse("grpc.max_connection_age_ms=2000,grpc.lb_policy_name=grpclb,grpc.max_receive_message_length=-1,,grpc.so_reuseaddr=1"); err != nil {
		t.Fatal(err)
	}
	if a.server.MaxConnectionAge.Seconds() != 2 || a.received < 1<<30 || !slices.Equal(a.unknown, []string{"grpc.lb_policy_name"}) {
		t.Errorf("got %+v", a)
	}
	for text, want := range map[string]string{"grpc.x": "want KEY=VALUE", "grpc.max_connection_age_ms=2s": "want a number"} {
		if err := new(channelArguments).parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

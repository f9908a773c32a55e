package serve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/tfbridge"
)

// optionsFor returns the options of a server with the given flags.
func optionsFor(t *testing.T, args ...string) (*serving.Options, error) {
	t.Helper()
	var f serveFlags
	c := &cobra.Command{}
	f.add(c)
	if err := c.Flags().Parse(append([]string{"--model=m=dir"}, args...)); err != nil {
		t.Fatal(err)
	}
	if err := f.check(c); err != nil {
		return nil, err
	}
	return f.options(&program{&cli.Program{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}})
}

// configOf returns the ConfigProto of the sessions.
func configOf(t *testing.T, o *serving.Options) *tfproto.ConfigProto {
	t.Helper()
	c := &tfproto.ConfigProto{}
	if err := proto.Unmarshal(o.Model.Session.Config, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Flags of TensorFlow Serving set the corresponding options of the library.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	session := file("session", "intra_op_parallelism_threads: 5 operation_timeout_in_ms: 7")
	platform := file("platform", `platform_configs { key: "tensorflow" value { source_adapter_config {
		[type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig] { legacy_config {
			session_config { operation_timeout_in_ms: 9 }
			batching_parameters { max_batch_size { value: 11 } }
			saved_model_tags: "mine" mixed_precision: "bfloat16"
			enable_model_warmup: true model_warmup_options { num_request_iterations { value: 4 } }
		} } } } }`)
	threads := func(o *serving.Options) any {
		return fmt.Sprint(o.Model.Session.IntraOpThreads, " ", o.Model.Session.InterOpThreads)
	}
	bfloat16 := func(o *serving.Options) any {
		return configOf(t, o).GetGraphOptions().GetRewriteOptions().GetAutoMixedPrecisionOnednnBfloat16()
	}
	tests := []struct {
		args string
		get  func(o *serving.Options) any
		want any
	}{
		{"--tensorflow_session_parallelism=3", threads, "3 3"},
		{"--tensorflow_session_parallelism=3 --tensorflow_intra_op_parallelism=1", threads, "1 3"},
		{"--tensorflow_intra_op_parallelism=1 --tensorflow_inter_op_parallelism=2", threads, "1 2"},
		{"--tensorflow_session_config_file=" + session, func(o *serving.Options) any {
			return fmt.Sprint(configOf(t, o).GetIntraOpParallelismThreads(), " ", configOf(t, o).GetOperationTimeoutInMs())
		}, "5 7"},
		{"--mixed_precision=bfloat16", bfloat16, tfproto.RewriterConfig_ON},
		{"", bfloat16, tfproto.RewriterConfig_DEFAULT},
		{"--mixed_precision=bfloat16 --tensorflow_session_config_file=" + session, func(o *serving.Options) any { return fmt.Sprint(bfloat16(o), configOf(t, o).GetOperationTimeoutInMs()) }, "ON 7"},
		{"--per_process_gpu_memory_fraction=0.25", func(o *serving.Options) any { return o.Model.Session.GPUMemoryFraction }, 0.25},
		{"--saved_model_tags=serve,gpu", func(o *serving.Options) any { return strings.Join(o.Model.Tags, "+") }, "serve+gpu"},
		{"--num_load_threads=3 --num_unload_threads=4", func(o *serving.Options) any { return o.NumLoadThreads*10 + o.NumUnloadThreads }, 34},
		{"--max_num_load_retries=2", func(o *serving.Options) any { return o.MaxNumLoadRetries }, 2},
		{"--max_num_load_retries=0", func(o *serving.Options) any { return o.MaxNumLoadRetries }, -1},
		{"--load_retry_interval_micros=1500", func(o *serving.Options) any { return o.LoadRetryInterval }, 1500 * time.Microsecond},
		{"--load_retry_interval_micros=-1", func(o *serving.Options) any { return o.LoadRetryInterval }, time.Duration(-1)},
		{"--file_system_poll_wait_seconds=0", func(o *serving.Options) any { return o.FileSystemPollWait }, time.Duration(-1)},
		{"--enable_model_warmup=false", func(o *serving.Options) any { return o.SkipModelWarmup }, true},
		{"--num_request_iterations_for_warmup=6", func(o *serving.Options) any { return o.WarmupIterations }, 6},
		{"--allow_version_labels_for_unavailable_models", func(o *serving.Options) any { return o.AllowVersionLabelsForUnavailableModels }, true},
		{"--enable_signature_method_name_check", func(o *serving.Options) any { return o.CheckMethodNames }, true},
		{"--enable_batching --enable_per_model_batching_parameters", func(o *serving.Options) any { return o.Batching != nil && o.ModelBatching != nil }, true},
		{"--enable_batching", func(o *serving.Options) any {
			return fmt.Sprint(o.Batching != nil, o.ModelBatching != nil, o.Model.Inline)
		}, "true false true"},
		{"--enable_batching --tensorflow_inter_op_parallelism=2", func(o *serving.Options) any { return o.Model.Inline }, false},
		// With that file the flags about session, batching, tags and warmup have no
		// effect.
		{"--tensorflow_intra_op_parallelism=1 --num_request_iterations_for_warmup=6 --platform_config_file=" + platform, func(o *serving.Options) any {
			return fmt.Sprint(threads(o), " ", configOf(t, o).GetOperationTimeoutInMs(), " ", o.Batching.MaxBatchSize, o.Model.Tags, o.SkipModelWarmup, o.WarmupIterations, bfloat16(o))
		}, "0 0 9 11 [mine] false 4 ON"},
	}
	for _, tt := range tests {
		o, err := optionsFor(t, strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if got := tt.get(o); got != tt.want {
			t.Errorf("%s\n got %v\nwant %v", tt.args, got, tt.want)
		}
	}
}

// A flag with an impossible value is refused in one line that names it, or the file and
// the field.
func TestOptionsRefused(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte(`platform_configs { key: "caffe" value {} }`), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--mixed_precision=float8":                   `mixed_precision float8: want ["bfloat16"]`,
		"--platform_config_file=" + bad:              `no platform caffe`,
		"--tensorflow_session_config_file=" + bad:    "platform_configs",
		"--tensorflow_session_config_file=/nowhere":  "/nowhere",
		"--per_process_gpu_memory_fraction=2":        "--per_process_gpu_memory_fraction 2: want a share",
		"--num_load_threads=-1":                      "--num_load_threads -1: want a number",
		"--use_alts_credentials --ssl_config_file=x": "exclude each other",
		"--enable_per_model_batching_parameters":     "means nothing without --enable_batching",
		"--tensorflow_session_parallelism=1 --tensorflow_intra_op_parallelism=1 --tensorflow_inter_op_parallelism=1": "means nothing with both",
	} {
		if _, err := optionsFor(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// --op-library allows the operations of a library, or of all libraries in a folder, and reports what is not a
// library.
func TestOpLibraries(t *testing.T) {
	testruntime.Need(t)
	r, err := tfbridge.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	library, err := r.Operations()
	if err != nil {
		t.Fatal(err)
	}
	if library == "" {
		t.Skip("no library of operations here: type make native")
	}
	folder := t.TempDir()
	if err := os.Symlink(library, filepath.Join(folder, "ours.so")); err != nil {
		t.Fatal(err)
	}
	o, err := optionsFor(t, "--op-library", library, "--allow-op", "ReadFile")
	if err != nil || len(o.Model.AllowOps) < 2 || o.Model.AllowOps[0] != "ReadFile" || !strings.HasPrefix(o.Model.AllowOps[1], "Millrace") {
		t.Errorf("%s: %v", library, err)
	}
	if _, err := optionsFor(t, "--op-library", folder); err != nil { // the same library, whose operations TensorFlow has already
		t.Errorf("%s: %v", folder, err)
	}
	text := filepath.Join(folder, "text.so")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, class := range map[string]error{t.TempDir(): millrace.ErrConfig, folder: millrace.ErrRuntime, text: millrace.ErrRuntime, folder + "/none": millrace.ErrRuntime} {
		if _, err := optionsFor(t, "--op-library", path); !errors.Is(err, class) {
			t.Errorf("%s: %v, want class %v", path, err, class)
		}
	}
}

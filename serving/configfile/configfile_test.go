package configfile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"millrace"
	"millrace/internal/test/identity"
	"millrace/serving"
	"millrace/serving/batching"
)

// file writes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadModels(t *testing.T) {
	got, err := ReadModels(file(t, `
		model_config_list {
		  config { name: "a" base_path: "/models/a" model_platform: "tensorflow" }
		  config {
		    name: "b" base_path: "/models/b"
		    model_version_policy { specific { versions: 3 versions: 5 } }
		    version_labels { key: "stable" value: 3 }
		  }
		  config { name: "c" base_path: "file:///models/c" model_version_policy { all {} } }
		  config { name: "d" base_path: "/models/d" model_version_policy { latest { num_versions: 2 } } }
		}`))
	want := []serving.ModelConfig{
		{Name: "a", BasePath: "/models/a"},
		{Name: "b", BasePath: "/models/b", VersionPolicy: serving.VersionPolicy{Specific: []int64{3, 5}}, VersionLabels: map[string]int64{"stable": 3}},
		{Name: "c", BasePath: "/models/c", VersionPolicy: serving.VersionPolicy{All: true}},
		{Name: "d", BasePath: "/models/d", VersionPolicy: serving.VersionPolicy{Latest: 2}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestReadBatching(t *testing.T) {
	got, err := ReadBatching(file(t, `
		max_batch_size { value: 128 }
		batch_timeout_micros { value: 1500 }
		max_enqueued_batches { value: 1000000 }
		num_batch_threads { value: 8 }
		allowed_batch_sizes: 32
		allowed_batch_sizes: 64
		pad_variable_length_inputs: true
		enable_large_batch_splitting { value: true }
		max_execution_batch_size { value: 64 }`))
	want := &batching.Options{
		MaxBatchSize: 128, BatchTimeout: 1500 * time.Microsecond, MaxEnqueuedBatches: 1000000, AllowedBatchSizes: []int{32, 64},
		PadVariableLengthInputs: true, EnableLargeBatchSplitting: true, MaxExecutionBatchSize: 64,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(batching.Options{}, "Scheduler")); err != nil || diff != "" || got.Scheduler == nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// A model's folder may contain its own parameters.
func TestReadModelBatching(t *testing.T) {
	dir := t.TempDir()
	if o, err := ReadModelBatching(dir); o != nil || err != nil {
		t.Errorf("without a file: got %+v, %v", o, err)
	}
	path := filepath.Join(dir, "batching_params.pbtxt")
	for text, want := range map[string]int{"max_batch_size { value: 7 }": 7, "max_batch_size { value: -7 }": 0} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if o, err := ReadModelBatching(dir); (err == nil) != (want > 0) || want > 0 && o.MaxBatchSize != want {
			t.Errorf("%s: got %+v, %v", text, o, err)
		}
	}
}

func TestReadTLS(t *testing.T) {
	own := identity.New(t)
	pair := fmt.Sprintf("server_key: %q server_cert: %q", own.Key, own.Certificate)
	if c, err := ReadTLS(file(t, pair)); err != nil || len(c.Certificates) != 1 || c.ClientAuth != tls.NoClientCert {
		t.Errorf("TLS: %v, %v", c, err)
	}
	mutual := pair + fmt.Sprintf(" client_verify: true custom_ca: %q", own.Certificate)
	if c, err := ReadTLS(file(t, mutual)); err != nil || c.ClientCAs == nil || c.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Errorf("mutual TLS: %v, %v", c, err)
	}
	for name, bad := range map[string]string{
		"nothing": "", "no CA": pair + " client_verify: true", "a CA that is none": pair + ` custom_ca: "x"`,
	} {
		if _, err := ReadTLS(file(t, bad)); !errors.Is(err, millrace.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	models := func(path string) error { _, err := ReadModels(path); return err }
	batching := func(path string) error { _, err := ReadBatching(path); return err }
	for _, tt := range []struct {
		name, text, want string
		read             func(string) error
	}{
		{"another field", `model_config_list { config { nam: "a" } }`, "nam", models},
		{"no list", ``, "model_config_list", models},
		{"another platform", `model_config_list { config { name: "a" model_platform: "sklearn" } }`, "sklearn", models},
		{"specific without versions", `model_config_list { config { name: "a" model_version_policy { specific {} } } }`, "names no versions", models},
		{"no threads", `num_batch_threads { value: 0 }`, "num_batch_threads is 0", batching},
		{"sizes that do not end with the largest", `max_batch_size { value: 8 } allowed_batch_sizes: 4`, "must end with", batching},
		{"a negative size", `max_batch_size { value: -8 }`, "max_batch_size is -8", batching},
	} {
		path := file(t, tt.text)
		if err := tt.read(path); !errors.Is(err, millrace.ErrConfig) || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q behind the path", tt.name, err, tt.want)
		}
	}
	if err := models(filepath.Join(t.TempDir(), "none")); !errors.Is(err, millrace.ErrIO) {
		t.Errorf("no file: %v", err)
	}
}

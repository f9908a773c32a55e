package preflight_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/base/preflight"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

// childEnv makes the test binary run code for which TensorFlow ends the process.
const childEnv = "MILLRACE_TEST_BAD_FLAGS"

func TestMain(m *testing.M) {
	if flags := os.Getenv(childEnv); flags != "" {
		fmt.Println(badFlags(flags))
		os.Exit(0)
	}
	os.Exit(tfmain.RunMixed(m))
}

// badFlags makes TensorFlow read unchecked flags: it sets them after the runtime is
// opened.
func badFlags(flags string) error {
	if _, err := tfbridge.Open(&tfbridge.RuntimeOptions{Verbose: true}); err != nil {
		return err
	}
	if err := os.Setenv("TF_XLA_FLAGS", flags); err != nil {
		return err
	}
	s, err := tfbridge.NewSession(tfbridge.NewGraph(), nil)
	if err != nil {
		return err
	}
	return s.Close()
}

// TensorFlow lists its flags when the value of one is wrong, before it ends
// the process: ours must be the same.
func TestFlagsAreTensorFlows(t *testing.T) {
	testruntime.Need(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=--tf_xla_min_cluster_size=x")
	said, err := child.CombinedOutput()
	if err == nil {
		t.Fatalf("the process lives:\n%s", said)
	}
	want := make(map[string]string)
	for lines := bufio.NewScanner(bytes.NewReader(said)); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t") // "", "--name=default", type, description
		if len(fields) < 3 || !strings.HasPrefix(fields[1], "--") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(fields[1], "--"), "=")
		want[name] = strings.TrimSpace(fields[2])
	}
	if diff := cmp.Diff(want, preflight.XLAFlags()); diff != "" || len(want) == 0 {
		t.Errorf("TensorFlow's flags (-TensorFlow +ours)\n%s\nit said %.400s", diff, said)
	}
}

// checkOfVariable matches what a failed check in TensorFlow's libraries says, if the check
// is for the value of a variable: its type and its name.
var checkOfVariable = regexp.MustCompile(`Read(Bool|Int64)FromEnvVar\( ?"([A-Z0-9_]+)"[^\x00]*? is OK\x00`)

// Each variable whose value TensorFlow checks, and ends the process if it is wrong, is
// checked before. Which operation asks does not matter: a model may have it.
func TestVariablesAreTensorFlows(t *testing.T) {
	testruntime.Need(t)
	dir, err := tfbridge.FindRuntime(nil)
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string][]string{"Bool": preflight.CheckedBools(), "Int64": preflight.CheckedInts()}
	found := 0
	for _, library := range []string{"libtensorflow_framework.so.2", "libtensorflow_cc.so.2"} {
		text, err := os.ReadFile(filepath.Join(dir, library))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range checkOfVariable.FindAllSubmatch(text, -1) {
			found++
			if kind, name := string(m[1]), string(m[2]); !slices.Contains(ours[kind], name) {
				t.Errorf("TensorFlow ends the process if %s has no value of type %s, which is not checked before", name, kind)
			}
		}
	}
	if found < 15 {
		t.Errorf("TensorFlow's libraries have checks of %d variables", found)
	}
}

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "flags"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(file, []byte("\n--tf_xla_auto_jit=2\n--tf_xla_cluster=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		variable, value string
		want            string // part of the error, "" if there is none
	}{
		{"TF_XLA_FLAGS", "", ""},
		{"TF_XLA_FLAGS", " --tf_xla_auto_jit=2\t--tf_xla_clustering_debug ", ""},
		{"TF_XLA_FLAGS", "--tf_xla_auto_jit=single-gpu(1)", ""},
		{"TF_XLA_FLAGS", "--tf_xla_auto_jit=fusible", ""},
		{"TF_XLA_FLAGS", `--tf_xla_ops_to_cluster="FUSIBLE, \"x --y" --tf_xla_min_cluster_size=-1`, ""},
		{"TF_XLA_FLAGS", "--tf_xla_cpu_global_jit=TRUE", ""},
		{"TF_XLA_FLAGS", "--tf_xla_auto_jit=2 garbage", ""}, // TensorFlow stops reading there
		{"TF_JITRT_FLAGS", "--vectorize", ""},
		{"TF_XLA_FLAGS", "garbage", "no such file or directory"},
		{"TF_XLA_FLAGS", "--garbage", `unknown flag "--garbage"`},
		{"TF_XLA_FLAGS", "-tf_xla_clustering_debug", "unknown flag"},
		{"TF_XLA_FLAGS", "--tf_xla_auto_jit=abc", "not a value of type string"},
		{"TF_XLA_FLAGS", "--tf_xla_clustering_debug=maybe", "not a value of type bool"},
		{"TF_XLA_FLAGS", "--tf_xla_min_cluster_size", "not a value of type int32"},
		{"TF_XLA_FLAGS", "--tf_xla_min_cluster_size=99999999999", "not a value of type int32"},
		{"TF_XLA_FLAGS", file, `unknown flag "--tf_xla_cluster=1"`},
		{"TF_XLA_FLAGS", pipe, ""}, // empty, without a writer; reading must not wait
		{"TF_XLA_FLAGS", "\x1b[2J", "no such file"},
		{"TF_JITRT_FLAGS", "--x", `unknown flag "--x"`},
		{"TF_DETERMINISTIC_OPS", "True", ""},
		{"TF_DETERMINISTIC_OPS", "", `it is "", want 0, 1, false or true`},
		{"TF_ONEDNN_USE_SYSTEM_ALLOCATOR", "yes", `it is "yes"`},
		{"GRPC_MAX_RETRIES", "-1", ""},
		{"GRPC_MAX_RETRIES", "many", `it is "many", want an integer`},
		{"TF_MKL_ALLOC_MAX_BYTES", "1000000000", ""},
		{"TF_MKL_ALLOC_MAX_BYTES", "-1", `it is "-1", want a number of bytes`},
	}
	for _, tt := range tests {
		err := preflight.Check(func(name string) (string, bool) {
			if name == tt.variable {
				return tt.value, true
			}
			return "", false
		})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s=%q: %v", tt.variable, tt.value, err)
		case tt.want != "" && (!errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.variable)):
			t.Errorf("%s=%q\n got %v\nwant %s", tt.variable, tt.value, err, tt.want)
		}
	}
}

package deploy

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// The diff of a manifest in docs/serving.md makes one that Kubernetes accepts. The server starts by the
// command and arguments of TensorFlow Serving, and answers the new probes.
func TestManifestOfPage(t *testing.T) {
	page := must(os.ReadFile("../docs/serving.md"))(t)
	diffs := regexp.MustCompile("(?ms)^```diff\n(.*?)^```\n").FindAllStringSubmatch(string(page), -1)
	if len(diffs) != 1 {
		t.Fatalf("docs/serving.md has %d diffs", len(diffs))
	}
	before, after := "", ""
	for line := range strings.Lines(diffs[0][1]) {
		if line[0] != '+' {
			before += line[1:]
		}
		if line[0] != '-' {
			after += line[1:]
		}
	}
	var pods [2]object
	for i, text := range []string{before, after} {
		if err := yaml.Unmarshal([]byte(text), &pods[i]); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := kubernetesSchema(t, "#/$defs/PodSpec").Validate(pods[i]); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	container := at(pods[1], "containers", 0)
	if command := strs(at(container, "command")); len(command) != 1 || fmt.Sprint(command) != fmt.Sprint(strs(at(pods[0], "containers", 0, "command"))) {
		t.Fatalf("the command is %q", command)
	}
	name := filepath.Join(t.TempDir(), filepath.Base(strs(at(container, "command"))[0]))
	if err := os.Symlink(program, name); err != nil {
		t.Fatal(err)
	}
	s := startAs(t, name, strs(at(container, "args")), map[string]string{"/models": models(t)})
	for _, probe := range []string{"livenessProbe", "readinessProbe"} {
		path := fmt.Sprint(at(container, probe, "httpGet", "path"))
		if status, text := s.get(t, path); status != http.StatusOK {
			t.Errorf("%s: %s gets %d %s", probe, path, status, text)
		}
	}
	if status, text := s.get(t, "/v1/models/digits"); status != http.StatusOK || !strings.Contains(text, "AVAILABLE") {
		t.Errorf("the model: %d %s", status, text)
	}
	s.stop(t)
}

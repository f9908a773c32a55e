package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// object is a value of YAML that is an object.
type object = map[string]any

// documents returns the documents of a YAML file.
func documents(t *testing.T, file string) []object {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []object
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		switch err := d.Decode(&o); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, o)
	}
}

// at returns the value at a path of keys and indices, nil if there is none.
func at(v any, path ...any) any {
	for _, key := range path {
		switch key := key.(type) {
		case string:
			o, _ := v.(object)
			v = o[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

// strs returns a list of strings.
func strs(v any) []string {
	var all []string
	list, _ := v.([]any)
	for _, e := range list {
		all = append(all, fmt.Sprint(e))
	}
	return all
}

// kubernetesSchema returns the schema of a kind of object, such as "v1/Service", or of a part of one, such as
// "#/$defs/PodSpec".
func kubernetesSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	text, err := os.ReadFile("testdata/kubernetes.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("kubernetes.json", doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(kind, "#") {
		kind = "#/properties/" + strings.ReplaceAll(kind, "/", "~1")
	}
	return must(c.Compile("kubernetes.json" + kind))(t)
}

// manifests returns the objects that "kubectl apply --kustomize" makes of a folder, by kind and name, each
// valid by Kubernetes' schema.
func manifests(t *testing.T, dir string) map[string]object {
	t.Helper()
	all := map[string]object{}
	resources := strs(documents(t, filepath.Join(dir, "kustomization.yaml"))[0]["resources"])
	for _, name := range resources {
		for _, o := range documents(t, filepath.Join(dir, name)) {
			if err := kubernetesSchema(t, fmt.Sprint(o["apiVersion"], "/", o["kind"])).Validate(o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			all[fmt.Sprint(o["kind"], "/", at(o, "metadata", "name"))] = o
		}
	}
	for _, f := range must(filepath.Glob(filepath.Join(dir, "*.yaml")))(t) {
		if name := filepath.Base(f); name != "kustomization.yaml" && !slices.Contains(resources, name) {
			t.Errorf("kustomization.yaml does not name %s", name)
		}
	}
	return all
}

// must returns a value whose making must succeed.
func must[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// What one object says of another one is so: labels, names of ports, volumes, the configuration.
func TestKubernetesReferences(t *testing.T) {
	all := manifests(t, "kubernetes")
	deployment := all["Deployment/millrace"]
	pod := at(deployment, "spec", "template")
	container := at(pod, "spec", "containers", 0)
	labels, _ := at(pod, "metadata", "labels").(object)
	selectors := map[string]any{
		"deployment":     at(deployment, "spec", "selector", "matchLabels"),
		"service":        at(all["Service/millrace"], "spec", "selector"),
		"headless":       at(all["Service/millrace-grpc"], "spec", "selector"),
		"disruption":     at(all["PodDisruptionBudget/millrace"], "spec", "selector", "matchLabels"),
		"network policy": at(all["NetworkPolicy/millrace"], "spec", "podSelector", "matchLabels"),
		"spread":         at(pod, "spec", "topologySpreadConstraints", 0, "labelSelector", "matchLabels"),
	}
	for who, v := range selectors {
		selector, _ := v.(object)
		if len(selector) == 0 {
			t.Errorf("%s selects nothing", who)
		}
		for key, want := range selector {
			if labels[key] != want {
				t.Errorf("%s selects %s=%v, the pods have %v", who, key, want, labels[key])
			}
		}
	}
	ports := map[any]bool{}
	for i := 0; at(container, "ports", i) != nil; i++ {
		ports[at(container, "ports", i, "name")] = true
	}
	used := []any{at(container, "startupProbe", "httpGet", "port"), at(container, "readinessProbe", "httpGet", "port"), at(container, "livenessProbe", "httpGet", "port")}
	for _, s := range []string{"Service/millrace", "Service/millrace-grpc"} {
		for i := 0; at(all[s], "spec", "ports", i) != nil; i++ {
			used = append(used, at(all[s], "spec", "ports", i, "targetPort"))
		}
	}
	for i := 0; at(all["NetworkPolicy/millrace"], "spec", "ingress", i) != nil; i++ {
		for j := 0; at(all["NetworkPolicy/millrace"], "spec", "ingress", i, "ports", j) != nil; j++ {
			used = append(used, at(all["NetworkPolicy/millrace"], "spec", "ingress", i, "ports", j, "port"))
		}
	}
	for _, port := range used {
		if !ports[port] {
			t.Errorf("port %v is missing", port)
		}
	}
	volumes := map[any]any{}
	for i := 0; at(pod, "spec", "volumes", i) != nil; i++ {
		volumes[at(pod, "spec", "volumes", i, "name")] = at(pod, "spec", "volumes", i)
	}
	for i := 0; at(container, "volumeMounts", i) != nil; i++ {
		if name := at(container, "volumeMounts", i, "name"); volumes[name] == nil {
			t.Errorf("volume %v is missing", name)
		}
	}
	if name := at(volumes["config"], "configMap", "name"); all[fmt.Sprint("ConfigMap/", name)] == nil {
		t.Errorf("ConfigMap %v is missing", name)
	}
	target := at(all["HorizontalPodAutoscaler/millrace"], "spec", "scaleTargetRef")
	if all[fmt.Sprint(at(target, "kind"), "/", at(target, "name"))]["apiVersion"] != at(target, "apiVersion") {
		t.Errorf("the autoscaler scales %v", target)
	}
	grace, _ := at(pod, "spec", "terminationGracePeriodSeconds").(int)
	if ends := timeOf(t, container, "--drain-delay") + timeOf(t, container, "--drain"); time.Duration(grace)*time.Second <= ends {
		t.Errorf("terminationGracePeriodSeconds is %d, the server takes up to %v to end", grace, ends)
	}
	period, _ := at(container, "readinessProbe", "periodSeconds").(int)
	if delay := timeOf(t, container, "--drain-delay"); time.Duration(period)*time.Second >= delay {
		t.Errorf("the readiness probe asks each %d s, --drain-delay is %v", period, delay)
	}
}

// timeOf returns the time that an argument of a container has.
func timeOf(t *testing.T, container any, flag string) time.Duration {
	t.Helper()
	for _, arg := range strs(at(container, "args")) {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return must(time.ParseDuration(value))(t)
		}
	}
	t.Fatalf("%s is not there", flag)
	return 0
}

// The server that the Deployment describes answers its probes, gives the metrics that the autoscaler
// asks for, and reads the config file again when Kubernetes replaces it.
func TestKubernetesServer(t *testing.T) {
	all := manifests(t, "kubernetes")
	pod := at(all["Deployment/millrace"], "spec", "template")
	container := at(pod, "spec", "containers", 0)
	folders := map[string]string{"/models": models(t), "/etc/millrace": t.TempDir()}
	data, _ := at(all["ConfigMap/millrace-models"], "data").(object)
	replace := func(version string, change func(string) string) {
		mountConfig(t, folders["/etc/millrace"], version, data, func(s string) string { return change(moved(s, folders)) })
	}
	replace("..v1", func(s string) string { return s })
	s := start(t, strs(at(container, "args")), folders)
	for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		path := fmt.Sprint(at(container, probe, "httpGet", "path"))
		if status, text := s.get(t, path); status != http.StatusOK {
			t.Errorf("%s: %s gets %d %s", probe, path, status, text)
		}
	}
	families := s.metrics(t, fmt.Sprint(at(pod, "metadata", "annotations", "prometheus.io/path")))
	for i := 0; at(all["HorizontalPodAutoscaler/millrace"], "spec", "metrics", i) != nil; i++ {
		name := fmt.Sprint(at(all["HorizontalPodAutoscaler/millrace"], "spec", "metrics", i, "pods", "metric", "name"))
		if f := families[name]; f == nil || f.GetType() != dto.MetricType_GAUGE || len(f.GetMetric()) != 1 {
			t.Errorf("the autoscaler asks for %s, which is %v", name, f)
		}
	}
	replace("..v2", func(s string) string { return strings.ReplaceAll(s, "digits", "more") })
	s.Process.Signal(syscall.SIGHUP)
	until(t, "the model of the new config is served", func() bool { status, _ := s.get(t, "/v1/models/more"); return status == http.StatusOK })
	s.stop(t)
}

// mountConfig writes the files of a ConfigMap as Kubernetes does: in a folder that a link ..data names,
// which is replaced, with links to the files in it.
func mountConfig(t *testing.T, dir, version string, data object, change func(string) string) {
	t.Helper()
	err := os.Mkdir(filepath.Join(dir, version), 0o755)
	for name, text := range data {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, version, name), []byte(change(fmt.Sprint(text))), 0o644))
		if e := os.Symlink("..data/"+name, filepath.Join(dir, name)); !errors.Is(e, os.ErrExist) {
			err = errors.Join(err, e)
		}
	}
	link := filepath.Join(dir, "..data_tmp")
	err = errors.Join(err, os.Symlink(version, link), os.Rename(link, filepath.Join(dir, "..data")))
	if err != nil {
		t.Fatal(err)
	}
}

package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"millrace/internal/test/address"
	"millrace/internal/test/testruntime"
)

// The pods of the training Job find each other by the names in its config, and only they reach
// their ports.
func TestTrainingReferences(t *testing.T) {
	all := manifests(t, "training")
	job, service, policy := all["Job/millrace-train"], all["Service/millrace-train"], all["NetworkPolicy/millrace-train"]
	pod := at(job, "spec", "template")
	labels := at(pod, "metadata", "labels")
	selectors := map[string]any{
		"service": at(service, "spec", "selector"), "policy": at(policy, "spec", "podSelector", "matchLabels"),
		"ingress": at(policy, "spec", "ingress", 0, "from", 0, "podSelector", "matchLabels"),
		"egress":  at(policy, "spec", "egress", 0, "to", 0, "podSelector", "matchLabels"),
		"spread":  at(pod, "spec", "topologySpreadConstraints", 0, "labelSelector", "matchLabels"),
	}
	for who, selector := range selectors {
		if !reflect.DeepEqual(selector, labels) {
			t.Errorf("%s selects %v, the pods have %v", who, selector, labels)
		}
	}
	container := at(pod, "spec", "containers", 0)
	port := at(container, "ports", 0)
	for who, got := range map[string]any{
		"service": at(service, "spec", "ports", 0, "targetPort"), "ingress": at(policy, "spec", "ingress", 0, "ports", 0, "port"), "egress": at(policy, "spec", "egress", 0, "ports", 0, "port"),
	} {
		if got != at(port, "name") {
			t.Errorf("the port of %s is %v", who, got)
		}
	}
	var want []string
	for rank := range at(job, "spec", "completions").(int) {
		want = append(want, fmt.Sprintf("%v-%d.%v:%v", at(job, "metadata", "name"), rank, at(pod, "spec", "subdomain"), at(port, "containerPort")))
	}
	if got := workersOf(t, all); !reflect.DeepEqual(got, want) {
		t.Errorf("the config's workers are %q, the pods are %q", got, want)
	}
	if at(pod, "spec", "subdomain") != at(service, "metadata", "name") || at(service, "spec", "clusterIP") != "None" || at(job, "spec", "parallelism") != at(job, "spec", "completions") {
		t.Error("the pods have no names, or do not run together")
	}

	kubeflow := documents(t, "training/kubeflow/tfjob.yaml")[0]
	template := at(kubeflow, "spec", "tfReplicaSpecs", "Worker", "template")
	if err := kubernetesSchema(t, "#/$defs/PodTemplateSpec").Validate(template); err != nil {
		t.Errorf("Kubeflow's job: %v", err)
	}
	same := at(template, "spec", "containers", 0)
	if !reflect.DeepEqual(at(template, "metadata", "labels"), labels) || !reflect.DeepEqual(at(template, "spec", "volumes"), at(pod, "spec", "volumes")) ||
		!reflect.DeepEqual(at(same, "volumeMounts"), at(container, "volumeMounts")) || !reflect.DeepEqual(at(same, "securityContext"), at(container, "securityContext")) {
		t.Error("Kubeflow's pods are not those of the Job")
	}
}

// workersOf returns the addresses in the config of the training.
func workersOf(t *testing.T, all map[string]object) []string {
	t.Helper()
	var c struct{ Cluster struct{ Worker []string } }
	if err := json.Unmarshal([]byte(fmt.Sprint(at(all["ConfigMap/millrace-train"], "data", "run.json"))), &c); err != nil {
		t.Fatal(err)
	}
	return c.Cluster.Worker
}

// The processes of the Job train together, and those of Kubeflow's job continue.
func TestTrainingRuns(t *testing.T) {
	testruntime.Need(t)
	all := manifests(t, "training")
	folders := map[string]string{"/etc/millrace": t.TempDir(), "/data": t.TempDir(), "/runs": t.TempDir()}
	example := must(filepath.Abs("../examples/genesis"))(t)
	for link, target := range map[string]string{"model": "untrained", "train": "data/train"} {
		if err := os.Symlink(filepath.Join(example, target), filepath.Join(folders["/data"], link)); err != nil {
			t.Fatal(err)
		}
	}
	addresses := address.Free(t, 2)
	steps := regexp.MustCompile(`"steps": [0-9]+`)
	cluster := regexp.MustCompile(`(?s),\s*"cluster": \{.*?\}`)
	config := func(keep bool, last int) {
		for name, text := range at(all["ConfigMap/millrace-train"], "data").(object) {
			text := steps.ReplaceAllString(moved(fmt.Sprint(text), folders), fmt.Sprintf(`"steps": %d`, last))
			for rank, worker := range workersOf(t, all) {
				text = strings.ReplaceAll(text, worker, addresses[rank])
			}
			if !keep {
				text = cluster.ReplaceAllString(text, "")
			}
			if err := os.WriteFile(filepath.Join(folders["/etc/millrace"], name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	trained := func(container any, env func(rank int) string) {
		t.Helper()
		var processes []*exec.Cmd
		said := make([]strings.Builder, len(addresses))
		for rank := range addresses {
			var args []string
			for _, arg := range strs(at(container, "args")) {
				args = append(args, strings.ReplaceAll(moved(arg, folders), "$(JOB_COMPLETION_INDEX)", fmt.Sprint(rank)))
			}
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Env, cmd.Stderr = append(os.Environ(), env(rank)), &said[rank]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			processes = append(processes, cmd)
		}
		for rank, cmd := range processes {
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v\n%s", rank, err, &said[rank])
			}
		}
	}

	config(true, 2)
	trained(at(all["Job/millrace-train"], "spec", "template", "spec", "containers", 0), func(int) string { return "" })
	config(false, 4)
	kubeflow := documents(t, "training/kubeflow/tfjob.yaml")[0]
	trained(at(kubeflow, "spec", "tfReplicaSpecs", "Worker", "template", "spec", "containers", 0), func(rank int) string {
		value, err := json.Marshal(object{"cluster": object{"worker": addresses}, "task": object{"type": "worker", "index": rank}, "environment": "cloud"})
		if err != nil {
			t.Fatal(err)
		}
		return "TF_CONFIG=" + string(value)
	})
	saved, err := os.ReadFile(filepath.Join(folders["/runs"], "first", "checkpoints", "checkpoint"))
	if err != nil || !strings.Contains(string(saved), "4") {
		t.Errorf("the checkpoints are %s, %v", saved, err)
	}
}

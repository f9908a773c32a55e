package deploy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/test/address"
	"millrace/internal/test/testruntime"
)

// The network policy of the data service covers its pods, and opens the ports that they listen at.
func TestServiceReferences(t *testing.T) {
	all := manifests(t, "service")
	policy := all["NetworkPolicy/millrace-data-service"]
	var names []any
	ports := map[string]bool{}
	for _, kind := range []string{"Deployment/millrace-dispatcher", "Deployment/millrace-worker"} {
		template := at(all[kind], "spec", "template")
		if !reflect.DeepEqual(at(template, "metadata", "labels"), at(all[kind], "spec", "selector", "matchLabels")) {
			t.Errorf("%s selects other pods than it makes", kind)
		}
		names = append(names, at(template, "metadata", "labels", "app.kubernetes.io/name"))
		container := at(template, "spec", "containers", 0)
		ports[fmt.Sprint(at(container, "ports", 0, "containerPort"))] = true
		for i, flag := range []string{"--port=", "--metrics-port="} {
			want := flag + fmt.Sprint(at(container, "ports", i, "containerPort"))
			if args := strs(at(container, "args")); !strings.Contains(strings.Join(args, " ")+" ", want+" ") {
				t.Errorf("%s: %q has no %s", kind, args, want)
			}
		}
	}
	for who, selector := range map[string]any{
		"pods": at(policy, "spec", "podSelector"), "ingress": at(policy, "spec", "ingress", 0, "from", 0, "podSelector"), "egress": at(policy, "spec", "egress", 0, "to", 0, "podSelector"),
	} {
		if got := at(selector, "matchExpressions", 0, "values"); !reflect.DeepEqual(got, names) {
			t.Errorf("the policy's %s are %v, the pods %v", who, got, names)
		}
	}
	for _, way := range []string{"ingress", "egress"} {
		for i := range ports {
			found := false
			for k := range 2 {
				found = found || fmt.Sprint(at(policy, "spec", way, 0, "ports", k, "port")) == i
			}
			if !found {
				t.Errorf("the policy's %s does not open port %s", way, i)
			}
		}
	}
	service := all["Service/millrace-dispatcher"]
	to := fmt.Sprintf("--dispatcher=%v:%v", at(service, "metadata", "name"), at(service, "spec", "ports", 0, "port"))
	args := strs(at(all["Deployment/millrace-worker"], "spec", "template", "spec", "containers", 0, "args"))
	if !strings.Contains(strings.Join(args, " "), to) {
		t.Errorf("%q has no %s", args, to)
	}
}

// The dispatcher and a worker start with the arguments of their pods.
func TestServiceRuns(t *testing.T) {
	testruntime.Need(t)
	all := manifests(t, "service")
	free := address.Free(t, 4)
	moved := map[string]string{"/journal": t.TempDir(), "/data": t.TempDir(), "$(POD_IP)": "127.0.0.1", "millrace-dispatcher:5050": free[0]}
	port := func(i int) string { return free[i][strings.LastIndex(free[i], ":")+1:] }
	for i, kind := range []string{"Deployment/millrace-dispatcher", "Deployment/millrace-worker"} {
		var args []string
		for _, arg := range strs(at(all[kind], "spec", "template", "spec", "containers", 0, "args")) {
			for from, to := range moved {
				arg = strings.ReplaceAll(arg, from, to)
			}
			switch flag, _, _ := strings.Cut(arg, "="); flag {
			case "--port":
				arg = "--port=" + port(2*i)
			case "--metrics-port":
				arg = "--metrics-port=" + port(2*i+1)
			}
			args = append(args, arg)
		}
		cmd := exec.CommandContext(t.Context(), program, args...)
		pipe := must(cmd.StderrPipe())(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said, ready := bufio.NewScanner(pipe), ""
		for !strings.Contains(ready, "msg=ready") && said.Scan() {
			ready = said.Text()
		}
		if !strings.Contains(ready, "msg=ready") {
			t.Fatalf("%s: %s", kind, ready)
		}
		defer func() {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			for said.Scan() {
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}()
		for path, want := range map[string]string{"readyz": "ok", "healthz": "ok", "metrics": "millrace_service_" + []string{"workers 0", "tasks 0"}[i]} {
			if page := get(t, "http://localhost:"+port(2*i+1)+"/"+path); !strings.Contains(page, want) {
				t.Errorf("%s: %s has no %s:\n%s", kind, path, want, page)
			}
		}
	}
}

// get returns the page at an address.
func get(t *testing.T, address string) string {
	t.Helper()
	a, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	return string(must(io.ReadAll(a.Body))(t))
}

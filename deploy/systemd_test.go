package deploy

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const unit = "systemd/millrace.service"

// unitLines returns the assignments of the unit, "[Service]Type" with the values of its lines.
func unitLines(t *testing.T, text string) map[string][]string {
	t.Helper()
	all, section := map[string][]string{}, ""
	for n, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = line
		case !ok || section == "":
			t.Errorf("%s:%d: %q is not an assignment in a section", unit, n+1, line)
		default:
			all[section+key] = append(all[section+key], value)
		}
	}
	return all
}

// Every key is one that systemd has in its section, by the list of "systemd --dump-configuration-items".
// Where systemd-analyze is installed it finds nothing to say, and little that could be confined better.
func TestSystemdUnit(t *testing.T) {
	text := string(must(os.ReadFile(unit))(t))
	known := unitLines(t, string(must(os.ReadFile("testdata/systemd-items.txt"))(t)))
	for key := range unitLines(t, text) {
		if known[key] == nil {
			t.Errorf("%s: systemd has no %s", unit, key)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	file := filepath.Join(t.TempDir(), "millrace.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/usr/local/bin/millrace", program)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=20", file).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// The server of the unit starts with its arguments, and reads its config file again by the command for
// reloads.
func TestSystemdServer(t *testing.T) {
	lines := unitLines(t, string(must(os.ReadFile(unit))(t)))
	folders := map[string]string{"/models": models(t), "/etc/millrace": t.TempDir()}
	data, _ := at(manifests(t, "kubernetes")["ConfigMap/millrace-models"], "data", "models.config").(string)
	config := filepath.Join(folders["/etc/millrace"], "models.config")
	write := func(text string) {
		if err := os.WriteFile(config, []byte(moved(text, folders)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(data)
	s := start(t, strings.Fields(lines["[Service]ExecStart"][0])[1:], folders)
	write(strings.ReplaceAll(data, "digits", "more"))
	reload := strings.Fields(strings.ReplaceAll(lines["[Service]ExecReload"][0], "$MAINPID", strconv.Itoa(s.Process.Pid)))
	if out, err := exec.CommandContext(t.Context(), reload[0], reload[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v %s", reload, err, out)
	}
	until(t, "the model of the new config is served", func() bool { status, _ := s.get(t, "/v1/models/more"); return status == http.StatusOK })
	s.stop(t)
}

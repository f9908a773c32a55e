package deploy

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"millrace/internal/test/testruntime"
)

// server is a running server of models.
type server struct {
	*exec.Cmd
	url, rpc string
}

// start runs the program with the arguments of a manifest. The folders that the manifest mounts are
// elsewhere here, ports are any free ones, and the delay at the end is short.
func start(t *testing.T, args []string, folders map[string]string) *server {
	t.Helper()
	return startAs(t, program, args, folders)
}

// startAs is start with the program under another path, whose base name the program takes into account.
func startAs(t *testing.T, program string, args []string, folders map[string]string) *server {
	t.Helper()
	testruntime.Need(t)
	port := regexp.MustCompile(`^--(port|rest_api_port)=.*`)
	for i, arg := range args {
		arg = port.ReplaceAllString(arg, "--$1=-1")
		args[i] = regexp.MustCompile(`^--drain-delay=.*`).ReplaceAllString(moved(arg, folders), "--drain-delay=1ms")
	}
	if !strings.Contains(strings.Join(args, " "), "--rest_api_port") {
		args = append(args, "--port=-1", "--rest_api_port=-1")
	}
	s := &server{Cmd: exec.CommandContext(t.Context(), program, args...)}
	log, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	listening := regexp.MustCompile(`"?interface"?[=:]"?(http|grpc)"?[ ,]"?address"?[=:]"?([^" ]*:)([0-9]+)`)
	lines := bufio.NewScanner(log)
	for (s.url == "" || s.rpc == "") && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		switch m := listening.FindStringSubmatch(lines.Text()); {
		case m == nil:
		case m[1] == "http":
			s.url = "http://127.0.0.1:" + m[3]
		default:
			s.rpc = "127.0.0.1:" + m[3]
		}
	}
	if s.url == "" || s.rpc == "" {
		t.Fatalf("millrace %s ended: %v\n%s", strings.Join(args, " "), s.Wait(), &said)
	}
	go io.Copy(io.Discard, log)
	return s
}

// stop ends the server as systemd and Kubernetes do.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.Process.Signal(syscall.SIGTERM)
	if err := s.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// get returns the status and the body of a request.
func (s *server) get(t *testing.T, path string) (int, string) {
	t.Helper()
	a, err := http.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// metrics returns the metrics at a path, by name.
func (s *server) metrics(t *testing.T, path string) map[string]*dto.MetricFamily {
	t.Helper()
	status, text := s.get(t, path)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: status %d, %v", path, status, err)
	}
	return families
}

// moved replaces the folders of a manifest in a text.
func moved(text string, folders map[string]string) string {
	for from, to := range folders {
		text = strings.ReplaceAll(text, from+"/", to+"/")
	}
	return text
}

// models returns a folder with the models of the manifests: digits, version 1.
func models(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	digits, err := filepath.Abs("../examples/digits/model")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"digits", "more"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(digits, filepath.Join(dir, name, "1")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// until asks again and again until ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}

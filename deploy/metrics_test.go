package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"
)

// query is an expression of PromQL, and where it is.
type query struct{ where, text string }

// ruleFile is a file of rules of Prometheus.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr         string
			For                 string
			Labels, Annotations map[string]string
		}
	}
}

// alerts returns the expressions of the alert rules. Each rule has a name, a severity, and annotations
// that are templates.
func alerts(t *testing.T) []query {
	t.Helper()
	const file = "prometheus/alerts.yml"
	var rules ruleFile
	d := yaml.NewDecoder(bytes.NewReader(must(os.ReadFile(file))(t)))
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	functions := template.FuncMap{}
	for _, name := range []string{"humanize", "humanizeDuration", "humanizePercentage", "humanize1024"} {
		functions[name] = func(v float64) string { return fmt.Sprint(v) }
	}
	var all []query
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Annotations["summary"] == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
				t.Errorf("%s: rule %q: want a name, a summary and a severity", file, r.Alert)
			}
			if _, err := time.ParseDuration(r.For); err != nil {
				t.Errorf("%s: rule %s: %v", file, r.Alert, err)
			}
			for name, text := range r.Annotations {
				page, err := template.New(name).Funcs(functions).Parse("{{ $labels := .Labels }}{{ $value := .Value }}" + text)
				if err == nil {
					err = page.Execute(io.Discard, map[string]any{"Labels": map[string]string{}, "Value": 1.0})
				}
				if err != nil {
					t.Errorf("%s: rule %s: %s: %v", file, r.Alert, name, err)
				}
				for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
					if !strings.Contains(r.Expr, m[1]) && !slices.Contains([]string{"instance", "model", "version"}, m[1]) {
						t.Errorf("%s: rule %s: %s names the label %s", file, r.Alert, name, m[1])
					}
				}
			}
			all = append(all, query{file + ": " + r.Alert, r.Expr})
		}
	}
	return all
}

// dashboard returns the expressions of the dashboard. Its panels have an id each and do not overlap.
func dashboard(t *testing.T) []query {
	t.Helper()
	const file = "grafana/millrace.json"
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(must(os.ReadFile(file))(t), &board); err != nil {
		t.Fatal(err)
	}
	var all []query
	for _, v := range board.Templating.List {
		if m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition); m != nil {
			all = append(all, query{file + ": variable " + v.Name, "sum by (" + m[2] + ") (" + m[1] + ")"})
		}
	}
	declared := func(text string) string {
		text = strings.ReplaceAll(text, "$__rate_interval", "5m")
		return regexp.MustCompile(`\$(\w+)`).ReplaceAllStringFunc(text, func(name string) string {
			if !slices.ContainsFunc(board.Templating.List, func(v struct{ Name, Definition string }) bool { return "$"+v.Name == name }) {
				t.Errorf("%s: variable %s is missing", file, name)
			}
			return ".*"
		})
	}
	used := map[[2]int]int{}
	for _, p := range board.Panels {
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := used[at]; other != 0 || at[0] >= 24 {
					t.Fatalf("%s: panels %d and %d overlap, or one is too wide", file, other, p.ID)
				}
				used[at] = p.ID
			}
		}
		for _, target := range p.Targets {
			all = append(all, query{file + ": " + p.Title, declared(target.Expr)})
		}
	}
	for i := range all {
		all[i].text = declared(all[i].text)
	}
	return all
}

// Each metric that an alert or the dashboard names exists in what a server gives that has answered
// requests, with the labels that they name and the values of labels that they choose.
func TestQueries(t *testing.T) {
	queries := append(alerts(t), dashboard(t)...)
	if len(queries) < 30 {
		t.Fatalf("there are %d queries", len(queries))
	}
	families := busyServer(t)
	for _, q := range queries {
		expr, err := parser.ParseExpr(q.text)
		if err != nil {
			t.Errorf("%s: %v", q.where, err)
			continue
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.VectorSelector:
				checkSelector(t, q.where, n, families)
			case *parser.AggregateExpr:
				for _, name := range n.Grouping {
					checkLabel(t, q.where, n.Expr, name, families)
				}
			}
			return nil
		})
	}
}

// ofTarget are labels that Prometheus adds.
var ofTarget = []string{"job", "instance"}

// family returns the metrics of a selector: of a histogram by its parts, too.
func family(name string, families map[string]*dto.MetricFamily) *dto.MetricFamily {
	if f := families[name]; f != nil && f.GetType() != dto.MetricType_HISTOGRAM {
		return f
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		base, ok := strings.CutSuffix(name, part)
		if f := families[base]; ok && f != nil && f.GetType() == dto.MetricType_HISTOGRAM {
			return f
		}
	}
	return nil
}

// values returns the values that a label has in a family.
func values(f *dto.MetricFamily, label string) []string {
	var all []string
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				all = append(all, l.GetValue())
			}
		}
	}
	return all
}

// checkSelector reports a selector of what the server does not give.
func checkSelector(t *testing.T, where string, s *parser.VectorSelector, families map[string]*dto.MetricFamily) {
	t.Helper()
	if s.Name == "up" { // Prometheus itself makes it
		return
	}
	f := family(s.Name, families)
	if f == nil {
		t.Errorf("%s: the server has no metric %s", where, s.Name)
		return
	}
	for _, m := range s.LabelMatchers {
		if m.Name == labels.MetricName || slices.Contains(ofTarget, m.Name) {
			continue
		}
		all := values(f, m.Name)
		if len(all) == 0 {
			t.Errorf("%s: %s has no label %s", where, s.Name, m.Name)
		}
		for _, value := range strings.Split(m.Value, "|") {
			if value != ".*" && !slices.Contains(all, value) && !slices.Contains(rare[m.Name], value) {
				t.Errorf("%s: the label %s of %s is %q, never %q", where, m.Name, s.Name, all, value)
			}
		}
	}
}

// rare are values of labels that a healthy server does not give: TensorFlow's codes and the states of
// versions.
var rare = map[string][]string{
	"code":  {"unknown", "internal", "data loss", "unavailable", "deadline exceeded", "resource exhausted"},
	"state": {"LOADING"},
}

// checkLabel reports a label to group by that no metric of the expression has.
func checkLabel(t *testing.T, where string, in parser.Expr, label string, families map[string]*dto.MetricFamily) {
	t.Helper()
	if slices.Contains(ofTarget, label) {
		return
	}
	parser.Inspect(in, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		f := family(s.Name, families)
		if label == "le" && strings.HasSuffix(s.Name, "_bucket") {
			return nil
		}
		if f != nil && len(values(f, label)) == 0 {
			t.Errorf("%s: %s has no label %s to group by", where, s.Name, label)
		}
		return nil
	})
}

// busyServer returns the metrics of the compose file's server after requests of several kinds.
func busyServer(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	dir := t.TempDir()
	settings := dir + "/settings.json"
	if err := os.WriteFile(settings, []byte(`{"models": [{"name": "digits", "cache_bytes": 1000000}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append(strs(at(documents(t, "compose.yaml")[0], "services", "server", "command")), "--model-settings="+settings)
	s := start(t, args, map[string]string{"/models": models(t)})
	image := "[" + strings.TrimSuffix(strings.Repeat("["+strings.TrimSuffix(strings.Repeat("0,", 8), ",")+"],", 8), ",") + "]"
	for _, body := range []string{`{"instances": [` + image + `]}`, `{"instances": [1]}`} {
		a, err := http.Post(s.url+"/v1/models/digits:predict", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, a.Body)
		a.Body.Close()
	}
	families := s.metrics(t, "/metrics")
	s.stop(t)
	return families
}

// Where promtool is installed it agrees.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", "prometheus/alerts.yml"}, {"check", "config", "prometheus/prometheus.yml"}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}

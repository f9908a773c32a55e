package deploy

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/schema"
)

// The compose files are valid by the schema that docker compose checks them with, and the files that
// they mount are there.
func TestCompose(t *testing.T) {
	for _, file := range []string{"compose.yaml", "../docker/compose.yaml"} {
		o := documents(t, file)[0]
		if err := schema.Validate(o); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		services, _ := o["services"].(object)
		for name, service := range services {
			for _, volume := range strs(at(service, "volumes")) {
				from, _, _ := strings.Cut(volume, ":")
				if strings.HasPrefix(from, ".") && len(must(filepath.Glob(filepath.Join(filepath.Dir(file), from)))(t)) == 0 {
					t.Errorf("%s: %s mounts %s, which is not there", file, name, from)
				}
			}
		}
	}
}

// The server of the compose file starts with its arguments and is healthy.
func TestComposeServer(t *testing.T) {
	service := at(documents(t, "compose.yaml")[0], "services", "server")
	s := start(t, strs(at(service, "command")), map[string]string{"/models": models(t)})
	if status, text := s.get(t, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, text)
	}
	scrape := at(documents(t, "prometheus/prometheus.yml")[0], "scrape_configs", 0)
	if target := at(scrape, "static_configs", 0, "targets", 0); target != "server:8501" {
		t.Errorf("Prometheus asks %v", target)
	}
	s.metrics(t, at(scrape, "metrics_path").(string))
	s.stop(t)
}

package page

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/testruntime"
	"millrace/serving"
)

// start serves models of testdata by names.
func start(t *testing.T, models map[string]string) *serving.Server {
	t.Helper()
	testruntime.Need(t)
	var configs []serving.ModelConfig
	for name, dir := range models {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: "../../testdata/models/" + dir})
	}
	s, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// odd is a name of a model that would be a script if it were parsed as HTML.
const odd = `<script>document.title="hacked"</script>`

func TestPage(t *testing.T) {
	web := httptest.NewServer(NewHandler(start(t, map[string]string{odd: "constant"})))
	defer web.Close()
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":              {200, "text/html; charset=utf-8"},
		"/page/page.js":  {200, "text/javascript; charset=utf-8"},
		"/page/page.css": {200, "text/css; charset=utf-8"},
		"/page/models":   {200, "application/json"},
		"/other":         {404, "text/plain; charset=utf-8"},
		"/page/../../x":  {404, "text/plain; charset=utf-8"},
	} {
		r, err := http.Get(web.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != want.status || r.Header.Get("Content-Type") != want.kind {
			t.Errorf("%s: status %d, %s, %v", path, r.StatusCode, r.Header.Get("Content-Type"), err)
		}
		if p := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; script-src 'self';") || strings.Contains(p, "unsafe") || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, r.Header)
		}
		if path == "/page/models" && strings.Contains(string(text), "<script") {
			t.Errorf("a name is sent as it is: %s", text)
		}
	}
}

func TestModels(t *testing.T) {
	w := httptest.NewRecorder()
	NewHandler(start(t, map[string]string{"m": "constant"})).ServeHTTP(w, httptest.NewRequest("GET", "/page/models", nil))
	var got []model
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	vector := func(name string) []tensor { return []tensor{{Name: name, DType: "float32", Shape: []int64{-1}}} }
	want := []model{{Name: "m", Versions: []version{{Number: "1", State: "AVAILABLE", Signatures: []signature{
		{Key: "serving_default", Method: "tensorflow/serving/predict", Inputs: vector("x"), Outputs: vector("y")},
	}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

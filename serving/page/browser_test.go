//go:build browser

package page

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"millrace/serving/metrics"
	"millrace/serving/rest"
)

// steps are the actions of a user, one for each awaited answer. The script comes from
// the page's own server, because its policy allows no other.
const steps = `"use strict";
const answers = [];
async function step(model, body) {
  at("model").value = model;
  at("model").dispatchEvent(new Event("change"));
  if (body) at("body").value = body;
  at("answer").textContent = "";
  at("body").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  while (at("answer").textContent === "") await new Promise((done) => setTimeout(done, 20));
  answers.push(at("outcome").textContent.replace(/ in .*/, "") + ": " + at("answer").textContent.trim());
}
// drop draws a white square, drops it as an image on a model's form, and sends the
// form.
async function drop(model, side) {
  at("model").value = model;
  at("model").dispatchEvent(new Event("change"));
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, side, side);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const data = new DataTransfer();
  data.items.add(new File([blob], "square.png", { type: "image/png" }));
  at("outcome").textContent = "";
  at("body").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  while (at("outcome").textContent === "") await new Promise((done) => setTimeout(done, 20));
  answers.push(model + ": " + at("outcome").textContent + ": " + at("body").value.slice(0, 30));
  if (at("outcome").className === "good") await step(model, at("body").value);
}
(async () => {
  while (!models.length) await new Promise((done) => setTimeout(done, 20));
  await step("linear", "");
  await step("linear", '{"instances": [["x"]]}');
  await step("<script>document.title=\"hacked\"</script>", '{"instances": [1, 2.5]}');
  await drop("digits", 8);
  await drop("strings", 2);
  await drop("linear", 2);
  const told = document.body.appendChild(element("div"));
  told.id = "told";
  told.textContent = answers.join("|");
  told.hidden = true;
})();
`

// chromium returns the path of a browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no chromium is installed")
	return ""
}

// TestBrowser opens the page, sends requests with the keyboard, and reads what a user
// sees. MILLRACE_SCREENSHOTS names a folder for pictures.
func TestBrowser(t *testing.T) {
	s := start(t, map[string]string{odd: "constant", "linear": "linear", "two_signatures": "two_signatures", "strings": "strings", "digits": "../../examples/digits/model"})
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry, s.Serves)
	if err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/v1/", rest.NewHandler(s, &rest.Options{OnRequest: func(r rest.Request) {
		m.Request(metrics.Request{Entrypoint: "REST", Method: r.Method, Model: r.Model, Code: r.Code, Took: r.Took})
	}}))
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	handler := NewHandler(s)
	mux.Handle("/page/", handler)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		page := httptest.NewRecorder()
		handler.ServeHTTP(page, r)
		for name, values := range page.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.Write([]byte(strings.Replace(page.Body.String(), "</body>", `<script src="/steps.js" defer></script></body>`, 1)))
	})
	mux.HandleFunc("GET /steps.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write([]byte(steps))
	})
	web := httptest.NewServer(mux)
	defer web.Close()
	dom := browse(t, "--dump-dom", web.URL)
	for _, want := range []string{
		"<title>Millrace</title>",
		"Answered with status 200: ",
		"|Refused with status 400: ",
		`|Answered with status 200: {"predictions":[3.0,6.0]}`,
		`<h3>&lt;script&gt;document.title="hacked"&lt;/script&gt;</h3>`,
		`<span class="state AVAILABLE">AVAILABLE</span>`,
		"<td>float32[?, 3]</td>",
		"<dt>Latency p99</dt>",
		`|digits: The image is in the body: {"instances":[[[1,1,1,1,1,1,1,|Answered with status 200: `,
		`|strings: The image is in the body: {"instances":[{"b64":"iVBORw0K|Answered with status 200: `,
		"|linear: This signature has no input for images: ",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page lacks %s:\n%s", want, dom)
		}
	}
	if dir := os.Getenv("MILLRACE_SCREENSHOTS"); dir != "" {
		browse(t, "--window-size=1280,1400", "--screenshot="+filepath.Join(dir, "desktop.png"), web.URL)
		browse(t, "--window-size=500,1900", "--screenshot="+filepath.Join(dir, "phone.png"), web.URL)
		browse(t, "--window-size=1280,1400", "--force-dark-mode", "--blink-settings=preferredColorScheme=0", "--screenshot="+filepath.Join(dir, "dark.png"), web.URL)
	}
}

// browse runs a browser without a window and returns what it prints.
func browse(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--virtual-time-budget=10000"}, args...)
	c := exec.CommandContext(t.Context(), chromium(t), args...)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return string(out)
}

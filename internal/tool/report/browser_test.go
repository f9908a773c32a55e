//go:build browser

package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"millrace/estimator"
	"millrace/estimator/run"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/internal/tool/report"
)

// The report in a browser: "make browser-test" runs this if there is Chromium, and
// leaves the screenshots in build/browser.
//
// The browser shows the page in a frame, because its windows are at least 500 pixels
// wide:
//
//	window  -- --dump-dom prints it, with the result
//	  frame, 1280 or 400 pixels wide
//	    the page, with a script in front: it collects errors, measures the page once
//	    that is there, and appends the result to the window's document
//
// So the test needs no library that speaks the browser's protocol.

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// measure collects errors and measures the page. A curve is a line of an SVG image in
// a color; axes and labels are black or gray.
const measure = `<script>
const errors = [];
addEventListener("error", e => errors.push(String(e.message || e.target.outerHTML)), true);
console.error = (...what) => errors.push(what.join(" "));
addEventListener("load", () => {
  const colored = e => {
    const [r, g, b] = getComputedStyle(e).stroke.match(/\d+/g) || [0, 0, 0];
    return (r !== g || g !== b) && e.getBoundingClientRect().width > 20;
  };
  const charts = [...document.querySelectorAll(".charts svg")];
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = JSON.stringify({
    width: innerWidth, visible: document.documentElement.clientWidth, whole: document.documentElement.scrollWidth, errors,
    charts: charts.length, curves: charts.map(c => [...c.querySelectorAll("path, polyline, line")].filter(colored).length),
    cells: document.querySelectorAll(".matrix td").length, stages: document.querySelectorAll(".stages li").length,
  });
  top.document.body.append(out);
});
</script>`

// measured is the result of the script.
type measured struct {
	Width, Visible, Whole int // width of the frame, of its visible part, and of the page
	Errors                []string
	Charts                int
	Curves                []int // number of curves of each chart
	Cells, Stages         int
}

// The page of a run, and that of two runs side by side, shows its curves, does not
// scroll sideways on any screen, and leaves the browser's console empty.
func TestBrowser(t *testing.T) {
	testruntime.Need(t)
	browser := chromium(t)
	r := trained(t)
	pages := map[string][]*report.Run{"one": {r}, "two": {r, read(t, moved(t, r))}}
	for name, runs := range pages {
		report.NameApart(runs)
		var page bytes.Buffer
		if err := report.Write(&page, runs); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1280, 400} {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				m := look(t, browser, page.String(), width)
				if m.Width != width || m.Whole > m.Visible {
					t.Errorf("the frame is %d wide, %d of it visible, and the page %d", m.Width, m.Visible, m.Whole)
				}
				if len(m.Errors) > 0 {
					t.Errorf("errors: %q", m.Errors)
				}
				if m.Charts < 5 || m.Cells != 100*len(runs) || m.Stages == 0 {
					t.Errorf("%d charts, %d cells of confusion matrices, %d stages", m.Charts, m.Cells, m.Stages)
				}
				for i, curves := range m.Curves {
					if curves < len(runs) {
						t.Errorf("chart %d has %d curves, want one for each of %d runs", i, curves, len(runs))
					}
				}
				shoot(t, browser, page.String(), fmt.Sprintf("%s-%d.png", name, width), width)
			})
		}
	}
}

// chromium returns the path of the browser. Without one the test is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium; install it (Debian: apt install chromium)")
	return ""
}

// trained trains the digits model briefly and returns the run.
func trained(t *testing.T) *report.Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "digits")
	r, problems, err := run.Open("../../../examples/digits/run.json", dir, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	o := &run.TrainOptions{Steps: 440, Profile: &estimator.StepRange{First: 10, Last: 11}}
	if _, err := r.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return read(t, dir)
}

// moved copies the folder of a run to a folder with another name, and returns that one.
func moved(t *testing.T, r *report.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "again")
	if err := os.CopyFS(dir, os.DirFS(r.Dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// look opens a page in a window of some width and returns what the script measured.
func look(t *testing.T, browser, page string, width int) *measured {
	t.Helper()
	dom, console := start(t, browser, frame(t, strings.Replace(page, "<head>", "<head>"+measure, 1), width), width, "--dump-dom")
	if lines := regexp.MustCompile(`(?m)^.*CONSOLE.*$`).FindAllString(console, -1); lines != nil {
		t.Errorf("the console has %q", lines)
	}
	found := regexp.MustCompile(`<pre id="measured">(.*?)</pre>`).FindStringSubmatch(dom)
	if found == nil {
		t.Fatalf("the page measured nothing; the browser wrote\n%s", console)
	}
	m := &measured{}
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// shoot saves a picture of a page.
func shoot(t *testing.T, browser, page, name string, width int) {
	t.Helper()
	folder, err := filepath.Abs("../../../build/browser")
	if err == nil {
		err = os.MkdirAll(folder, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(folder, name)
	start(t, browser, frame(t, page, width), width, "--screenshot="+picture, "--hide-scrollbars")
	if info, err := os.Stat(picture); err != nil || info.Size() == 0 {
		t.Errorf("no screenshot: %v", err)
	}
}

// height of the window and the frame.
const height = 4000

// frame writes a file that shows a page in a frame of some width.
func frame(t *testing.T, page string, width int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "frame.html")
	text := fmt.Sprintf(`<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0"><iframe style="border: 0; width: %dpx; height: %dpx" srcdoc="%s"></iframe>`,
		width, height, html.EscapeString(page))
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// start runs the browser without a screen until it has loaded a file.
func start(t *testing.T, browser, file string, width int, args ...string) (stdout, stderr string) {
	t.Helper()
	all := []string{
		"--headless", "--disable-gpu", "--no-first-run", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir(),
		fmt.Sprintf("--window-size=%d,%d", width, height), "--force-device-scale-factor=1",
	}
	if os.Geteuid() == 0 {
		all = append(all, "--no-sandbox") // Chromium refuses its sandbox to root
	}
	cmd := exec.CommandContext(t.Context(), browser, append(append(all, args...), "file://"+file)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out.String(), errs.String()
}

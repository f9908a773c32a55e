package estimate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"millrace/estimator"
	"millrace/estimator/run"
	"millrace/internal/base/atomicfile"
	"millrace/internal/tool/report"
	"millrace/remote"
	"millrace/sandbox"
)

func (p *program) reportCommand() *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "report RUN_DIR...",
		Short: "Make a page of training runs, to be opened in a browser",
		Long: `Make one HTML page of a training run, or of several side by side: the curves of
the loss, of the learning rate and of the metrics, throughput and the time spent
waiting for input, the stages of the input pipeline, confusion matrices, and the
configuration with its versions and digests. The page opens without a network.

It is written to report.html in the first RUN_DIR, or to --out FILE. The runs
may be going on.`,
		Example: `  millrace report runs/first
  millrace report runs/first runs/second --out compare.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.report(args, cmp.Or(out, run.Folder(args[0]).Report()), asJSON)
		},
	}
	c.Flags().StringVar(&out, "out", "", "write the page to `FILE`")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON object at the end")
	return c
}

// report makes the page of the runs.
func (p *program) report(dirs []string, out string, asJSON bool) error {
	parent := filepath.Dir(out)
	if remote.IsURL(out) {
		parent = out
	}
	if err := p.Confine(&sandbox.Policy{Read: dirs, Write: []string{parent}}); err != nil {
		return err
	}
	var runs []*report.Run
	for _, dir := range dirs {
		r, err := report.Read(strings.TrimSuffix(dir, "/"))
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	var page bytes.Buffer
	if err := report.Write(&page, runs); err != nil {
		return err
	}
	if err := atomicfile.Write(out, page.Bytes(), 0o666); err != nil {
		return err
	}
	if !asJSON {
		return p.Printf("%s\n", out)
	}
	text, err := json.Marshal(map[string]any{"report": out, "runs": dirs, "step": runs[0].Steps()})
	if err != nil {
		return err
	}
	return p.Printf("%s\n", text)
}

// metricText writes the metrics that are numbers: " accuracy 0.97 loss 0.1".
func metricText(e *estimator.Evaluation) string {
	text := ""
	for _, name := range e.Names {
		if v := e.Values[name]; v.Matrix == nil {
			text += fmt.Sprintf(" %s %.5g", name, v.Number)
		}
	}
	return text
}

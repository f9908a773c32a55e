package spec

import (
	"slices"
	"strings"

	"millrace"
	"millrace/estimator/metrics"
	"millrace/internal/base/jsonpos"
	"millrace/internal/base/regularfile"
	"millrace/loaders/decl"
)

// metrics checks the metrics, and what chooses by them.
func (c *checker) metrics() {
	config := c.run.Config
	names := []string{"loss"}
	if e := config.Evaluate; e != nil && e.At != nil {
		for i := range e.Metrics {
			m := &e.Metrics[i]
			if m.At == nil || m.Bad("name", "type") {
				continue
			}
			if slices.Contains(names, m.Name) {
				c.report.Report(m.Key("name"), "a metric named %s is there already", decl.Quote(m.Name))
			}
			names = append(names, m.Name)
			if metrics.Type(m.Type).NeedsLabels() && m.Labels == "" && !m.Bad("labels") {
				c.report.Report(m.At, "missing key \"labels\"")
			}
			if metrics.Type(m.Type) == metrics.PrecisionAtRecall && m.Recall == nil && !m.Bad("recall") {
				c.report.Report(m.At, "missing key \"recall\"")
			}
			c.misused(m)
			if !m.Bad("class_names") {
				c.classNames(m)
			}
		}
	}
	if b := config.Checkpoints.Best; b != nil && b.At != nil && !b.Bad("metric") {
		c.chooses(b.Key("metric"), b.Metric, names)
	}
	if s := config.Stop; s != nil && s.At != nil && !s.Bad("metric") {
		c.chooses(s.Key("metric"), s.Metric, names)
	}
	if p := config.Plateau; p != nil && p.At != nil && !p.Bad("metric") {
		c.chooses(p.Key("metric"), p.Metric, names)
	}
}

// ofProbabilities are the metrics that take logits where the config says so, and perplexity.
var ofProbabilities = slices.DeleteFunc(slices.Clone(metrics.Types), func(t metrics.Type) bool {
	return !t.OfProbabilities() && t != metrics.Perplexity
})

// misused warns of keys that do not apply to the type of a metric.
func (c *checker) misused(m *MetricConfig) {
	for key, types := range map[string][]metrics.Type{
		"k": {metrics.TopK}, "threshold": {metrics.Precision, metrics.Recall, metrics.BinaryAccuracy, metrics.F1Score},
		"average": {metrics.F1Score}, "class_names": {metrics.ConfusionMatrix}, "recall": {metrics.PrecisionAtRecall}, "from": ofProbabilities,
	} {
		if m.Has(key) && !slices.Contains(types, metrics.Type(m.Type)) {
			c.report.Warn(m.Key(key), "%q does not use it", m.Type)
		}
	}
}

// classNames reads the file that a metric names its classes by, into the config, and checks
// that no name is there twice.
func (c *checker) classNames(m *MetricConfig) {
	at := m.Key("class_names")
	if m.ClassNames.A != nil {
		text, err := regularfile.ReadFile(c.relative(*m.ClassNames.A), regularfile.TextBytes)
		if err != nil {
			d := c.report.Report(at, "read the names of the classes from %s: %v", decl.Quote(*m.ClassNames.A), reason(err))
			d.Class = millrace.ErrIO
			return
		}
		names := strings.Split(strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
		if len(names) > mostClasses || slices.Contains(names, "") {
			c.report.Report(at, "the file has %d lines; it must have one name a line, at most %d, and no empty line", len(names), mostClasses)
			return
		}
		m.ClassNames = Names{B: &names}
	}
	if m.ClassNames.B == nil {
		return
	}
	seen := map[string]bool{}
	for _, name := range *m.ClassNames.B {
		if seen[name] {
			c.report.Report(at, "two classes have the name %s", decl.Quote(name))
			return
		}
		seen[name] = true
	}
}

// mostClasses is how many classes a confusion matrix may have.
const mostClasses = 4096

// chooses checks the name of a metric that decides something.
func (c *checker) chooses(at *jsonpos.Node, name string, names []string) {
	e := c.run.Config.Evaluate
	switch {
	case e == nil:
		d := c.report.Report(at, "there is no evaluation to take the metric %s from", decl.Quote(name))
		d.Hint = "add evaluate"
		return
	case !slices.Contains(names, name):
		d := c.report.Report(at, "there is no metric %s", decl.Quote(name))
		d.Hint = nearest(name, names)
		return
	case name == "loss" && c.evaluate != nil && !c.evaluatesLoss():
		c.report.Report(at, "signature %s, which evaluates, gives no loss", decl.Quote(c.evaluate.Name))
		return
	}
	for _, m := range e.Metrics {
		if m.Name == name && metrics.Type(m.Type) == metrics.ConfusionMatrix {
			c.report.Report(at, "metric %s is a confusion_matrix, which is no number", decl.Quote(name))
		}
	}
}

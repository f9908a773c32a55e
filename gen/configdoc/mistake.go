package configdoc

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"millrace/diag"
	run "millrace/estimator/spec"
	"millrace/loaders"
	"millrace/loaders/spec"

	"github.com/rogpeppe/go-internal/txtar"
)

// mostErrors is how many messages an entry shows.
const mostErrors = 6

// addErrors gives each entry the messages of the checker: the messages for its
// first example, broken on purpose, and the messages in the golden files.
func addErrors(kind string, all []*entry, golden map[string][]string) error {
	for _, e := range all {
		if len(e.examples) == 0 {
			continue
		}
		for _, wrong := range mistakes(e) {
			messages, err := e.examples[0].problems(kind, wrong)
			if err != nil {
				return err
			}
			e.addMessages(messages)
		}
		e.addMessages(golden[kind+" "+e.path])
	}
	return nil
}

// mistakes returns values that break the declaration: one of another type, and
// the ones just outside of the range.
func mistakes(e *entry) []any {
	if strings.HasPrefix(e.Type, "number, boolean") || len(e.Variants) > 0 {
		return nil
	}
	if strings.HasPrefix(e.Type, "integer") {
		return append(outside(e.Type), "8")
	}
	if strings.HasSuffix(e.Type, "string") && !strings.Contains(e.Type, "list") {
		return []any{5}
	}
	return []any{"no"}
}

var (
	rangeOf = regexp.MustCompile(`^integer from (-?\d+) to (\d+)`)
	leastOf = regexp.MustCompile(`^integer of at least (-?\d+)`)
)

// outside returns the integers just outside of a type's range.
func outside(typ string) []any {
	if m := rangeOf.FindStringSubmatch(typ); m != nil {
		return []any{less(m[1]), more(m[2])}
	}
	if m := leastOf.FindStringSubmatch(typ); m != nil {
		return []any{less(m[1])}
	}
	return nil
}

func less(n string) json.Number { return shifted(n, -1) }
func more(n string) json.Number { return shifted(n, +1) }

// problems puts a value in an example's place and returns the checker's
// messages about that place.
func (x *example) problems(kind string, value any) ([]string, error) {
	original, err := os.ReadFile(filepath.Join(x.sample.dir, x.file))
	if err != nil {
		return nil, err
	}
	doc, err := decode(original)
	if err != nil {
		return nil, err
	}
	set(doc, x.steps, value)
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	if err := x.sample.write(x.file, text); err != nil {
		return nil, err
	}
	list := x.sample.check(kind, x.file)
	if err := x.sample.write(x.file, original); err != nil {
		return nil, err
	}
	var out []string
	for _, d := range list {
		if elementless(d.Key) == pathOf(x.steps) {
			out = append(out, strings.ReplaceAll(message(d), x.sample.dir+string(filepath.Separator), ""))
		}
	}
	return out, nil
}

// check returns what the checker says about a sample.
func (s *sample) check(kind, file string) diag.List {
	if kind == "model" {
		_, list := spec.ReadModelNames(filepath.Join(s.dir, file))
		return list
	}
	if kind == "run" {
		_, list := run.Check(filepath.Join(s.dir, file), nil)
		return list
	}
	_, list := loaders.Check(filepath.Join(s.dir, "loader.json"), nil)
	return list
}

func message(d *diag.Diagnostic) string {
	if d.Hint == "" {
		return d.Msg
	}
	return d.Msg + "; " + d.Hint
}

// set puts a value at a place.
func set(v any, steps []any, value any) {
	parent, last := get(v, steps[:len(steps)-1]), steps[len(steps)-1]
	if key, ok := last.(string); ok {
		parent.(map[string]any)[key] = value
	} else {
		parent.([]any)[last.(int)] = value
	}
}

// goldenLine matches a message of a golden file: its file, path and text.
var goldenLine = regexp.MustCompile(`^(\S+\.json):\d+:\d+: ([A-Za-z_][A-Za-z0-9_.\[\]]*): (.*)$`)

// readGolden returns the messages of the checker's golden files, by the kind
// of file and the path that they are about.
func readGolden(pattern string) (map[string][]string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no golden file %s: %w", pattern, err)
	}
	out := map[string][]string{}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(a.Files[len(a.Files)-1].Data)) {
			m := goldenLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil || strings.Contains(m[3], `\`) {
				continue // control characters, which only a test needs
			}
			key := kindOf(m[1]) + " " + strings.TrimSuffix(elementless(m[2]), "[]")
			out[key] = append(out[key], m[3])
		}
	}
	return out, nil
}

// alike matches the parts of a message that differ between messages of the same
// kind: quoted text and numbers.
var alike = regexp.MustCompile(`"[^"]*"|-?\d+`)

// subject matches the name of what a message is about.
var subject = regexp.MustCompile(`^(tensor|feature) "[^"]*": `)

// addMessages adds the messages of a kind that the entry does not have yet.
func (e *entry) addMessages(messages []string) {
	for _, m := range messages {
		m = subject.ReplaceAllString(m, "")
		same := func(other string) bool { return alike.ReplaceAllString(other, "_") == alike.ReplaceAllString(m, "_") }
		unknown := strings.HasPrefix(m, "unknown key") || strings.HasPrefix(m, "repeated key") || strings.Contains(m, "has no key")
		if !unknown && len(e.errors) < mostErrors && !slices.ContainsFunc(e.errors, same) {
			e.errors = append(e.errors, m)
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/equivalent"
)

func TestApply(t *testing.T) {
	const text = "if a < b {"
	edits := []edit{
		around(3, 8, "(", ")"),     // the condition
		around(3, 8, "less(", ")"), // the same part, within
		instead(5, 6, ","),
		around(7, 8, "<", ">"), // b alone, which ends with the condition
		around(3, 4, "[", "]"),
	}
	if got, want := string(apply([]byte(text), edits)), "if (less([a] , <b>)) {"; got != want {
		t.Errorf("apply\n got %s\nwant %s", got, want)
	}
	if got, want := lineWith([]byte("x\n\ty = a < b // c\nz"), 9, 10, ">="), "y = a >= b // c"; got != want {
		t.Errorf("lineWith\n got %s\nwant %s", got, want)
	}
}

func TestParseDiff(t *testing.T) {
	got := parseDiff([]byte(`diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -3 +3,2 @@ func f() {
-	old
+	new
+	more
@@ -9,2 +10,0 @@ func f() {
-	gone
-	gone
--- /dev/null
+++ b/sub/b_test.go
@@ -0,0 +1 @@
+package sub
`))
	want := changes{"a.go": {3: true, 4: true}, "sub/b_test.go": {1: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	w := &workshop{module: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(w.module, "other", "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.module, "other", "go.mod"), []byte("module other\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	got["other/sub/b.go"], got["sub/testdata/c.go"] = got["a.go"], got["a.go"]
	if diff := cmp.Diff([]string{"./."}, got.patterns(w.module)); diff != "" {
		t.Errorf("packages (-want +got)\n%s", diff)
	}
}

// code has every kind of mutant. Its tests find some.
const code = `package tiny

import "errors"

type box struct{ Name string; Size int64 }

const limit = 3

// Below has a boundary that no test reaches.
func Below(n int) bool { return n < limit }

// Check drops nothing.
func Check(ok, sure bool) error {
	if !ok {
		return errors.New("not ok")
	}
	if sure && ok {
		return nil
	}
	return errors.New("not sure")
}

// Fill sets a field that no test looks at, and one that one does.
func Fill(n int64) *box {
	total := n
	total += 2
	return &box{Name: "box",
		Size: total}
}

// Unused is reached by no test.
func Unused() bool {
	return true
}
`

// odd has a line that does not compile with switches: their truth values are
// no flags.
const odd = `package tiny

type flag bool

func Odd(a, b flag) flag {
	if !bool(a) { return b }
	return a && b
}
`

const codeTest = `package tiny

import "testing"

func TestBelow(t *testing.T) {
	if !Below(1) || Below(5) {
		t.Error("Below")
	}
}

func TestCheck(t *testing.T) {
	if Check(true, true) != nil || Check(false, true) == nil || Check(true, false) == nil {
		t.Error("Check")
	}
}

func TestFill(t *testing.T) {
	if Fill(1).Size != 3 {
		t.Error("Fill")
	}
}
`

// tiny writes a module with code and its tests.
func tiny(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"go.mod": "module tiny\n\ngo 1.24\n", "odd.go": odd, "tiny.go": code, "tiny_test.go": codeTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// logOf returns the log of a run over a module, in short.
func logOf(t *testing.T, dir string, o options) []string {
	t.Helper()
	o.parallel, o.memory = 2, 4<<10
	w := &workshop{module: dir, dir: t.TempDir(), options: o}
	mutants, err := w.results(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range mutants {
		fields := strings.Split(m.String(), "\t")
		lines = append(lines, strings.Join([]string{fields[1], fields[2], fields[3], fields[5]}, " | "))
	}
	return lines
}

func TestMutants(t *testing.T) {
	dir := tiny(t)
	want := []string{
		"odd.go:6 | never | no test runs it | if false { return b }",
		"odd.go:6 | negated | no test runs it | if !(!bool(a)) { return b }",
		"tiny.go:10 | negated | killed by tiny.TestBelow | func Below(n int) bool { return n >= limit }",
		"tiny.go:10 | boundary | survived | func Below(n int) bool { return n <= limit }",
		"tiny.go:10 | constant | survived | func Below(n int) bool { return n < 4 }",
		"tiny.go:14 | never | survived | if false {",
		"tiny.go:14 | negated | killed by tiny.TestCheck | if !(!ok) {",
		"tiny.go:15 | error dropped | killed by tiny.TestCheck | return nil",
		"tiny.go:17 | never | killed by tiny.TestCheck | if false {",
		"tiny.go:17 | logic | killed by tiny.TestCheck | if sure || ok {",
		"tiny.go:17 | negated | killed by tiny.TestCheck | if !(sure) && ok {",
		"tiny.go:17 | negated | killed by tiny.TestCheck | if sure && !(ok) {",
		"tiny.go:20 | error dropped | killed by tiny.TestCheck | return nil",
		"tiny.go:26 | removed | killed by tiny.TestFill | (nothing)",
		"tiny.go:26 | arithmetic | killed by tiny.TestFill | total -= 2",
		"tiny.go:26 | constant | killed by tiny.TestFill | total += 3",
		"tiny.go:27 | field | survived | return &box{Name: zero,",
		"tiny.go:28 | field | killed by tiny.TestFill | Size: zero}",
		"tiny.go:33 | constant | no test runs it | return false",
	}
	if diff := cmp.Diff(want, logOf(t, dir, options{packages: []string{"./..."}})); diff != "" {
		t.Errorf("mutants (-want +got)\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 4 {
		t.Errorf("the module holds %v, %v", left, err)
	}
}

// Options can select the tests that count, and leave out tests that take too long.
func TestTestsThatCount(t *testing.T) {
	dir := tiny(t)
	slow := strings.Replace(codeTest, "func TestFill(t *testing.T) {", "func TestFill(t *testing.T) {\n\tfor i := 0; i < 1<<34; i++ {\n\t\tif Fill(1) == nil { break }\n\t}", 1)
	if err := os.WriteFile(filepath.Join(dir, "tiny_test.go"), []byte(slow), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]options{
		"TestCheck and TestBelow in no time": {longest: time.Second},
		"TestBelow, which alone is asked":    {run: regexp.MustCompile("Below$")},
	} {
		o.packages = []string{"."}
		found := map[string]bool{}
		for _, line := range logOf(t, dir, o) {
			if _, killer, ok := strings.Cut(line, "killed by tiny."); ok {
				killer, _, _ = strings.Cut(killer, " ")
				found[killer] = true
			}
		}
		if !found["TestBelow"] || found["TestCheck"] != strings.Contains(name, "TestCheck") || found["TestFill"] {
			t.Errorf("%s: mutants were found by %v", name, found)
		}
	}
}

// Cases of a test in another folder can count.
func TestWith(t *testing.T) {
	dir := tiny(t)
	const elsewhere = `package cases

import (
	"tiny"
	"testing"
)

func TestCases(t *testing.T) {
	t.Run("used (at last)", func(t *testing.T) {
		if !tiny.Unused() {
			t.Error("Unused")
		}
	})
	t.Run("odd", func(t *testing.T) { tiny.Odd(true, true) })
}

func TestOther(t *testing.T) { t.Error("is not asked") }
`
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "cases"), 0o777), os.WriteFile(filepath.Join(dir, "cases", "cases_test.go"), []byte(elsewhere), 0o666)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range logOf(t, dir, options{packages: []string{"."}, with: "cases.TestCases"}) {
		if strings.HasPrefix(line, "odd.go") || strings.HasPrefix(line, "tiny.go:33") {
			got = append(got, line)
		}
	}
	want := []string{
		"odd.go:6 | never | survived | if false { return b }",
		"odd.go:6 | negated | survived | if !(!bool(a)) { return b }",
		"tiny.go:33 | constant | killed by tiny/cases.TestCases/used_(at_last) | return false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mutants (-want +got)\n%s", diff)
	}
}

// An earlier run's survivors are mutated again, at the lines where their code is now.
func TestAgain(t *testing.T) {
	dir, log := tiny(t), filepath.Join(t.TempDir(), "log")
	logOf(t, dir, options{packages: []string{"./..."}, log: log})
	moved := map[string]string{"tiny.go": "// Package tiny has moved.\n" + code, "tiny_test.go": strings.Replace(codeTest, "Below(5)", "Below(3)", 1)}
	for name, text := range moved {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"odd.go:6 | never | no test runs it | if false { return b }",
		"odd.go:6 | negated | no test runs it | if !(!bool(a)) { return b }",
		"tiny.go:11 | boundary | killed by tiny.TestBelow | func Below(n int) bool { return n <= limit }",
		"tiny.go:11 | constant | killed by tiny.TestBelow | func Below(n int) bool { return n < 4 }",
		"tiny.go:15 | never | survived | if false {",
		"tiny.go:28 | field | survived | return &box{Name: zero,",
		"tiny.go:34 | constant | no test runs it | return false",
	}
	if diff := cmp.Diff(want, logOf(t, dir, options{packages: []string{"./..."}, again: log})); diff != "" {
		t.Errorf("mutants (-want +got)\n%s", diff)
	}
}

// Mutants in the list of equivalent mutants are not run, and not counted. The list can
// be tested, and must match the code.
func TestEquivalent(t *testing.T) {
	const list = `. Below: boundary, constant
	- func Below(n int) bool { return n < limit }
	because no caller passes 3
. Fill: constant
	- total   += 2
	+ total += 3
	because nobody looks at the size
`
	dir := tiny(t)
	entries, err := equivalent.Read(list)
	if err != nil {
		t.Fatal(err)
	}
	w := &workshop{module: dir, dir: t.TempDir(), options: options{packages: []string{"."}, parallel: 2, memory: 4 << 10, equivalent: entries}}
	mutants, err := w.results(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []score{{path: "tiny", made: 19, killed: 11, equivalent: 3}}
	if diff := cmp.Diff(want, scores(mutants), cmp.AllowUnexported(score{})); diff != "" {
		t.Errorf("scores (-want +got)\n%s", diff)
	}
	w.disprove = true
	if mutants, err = w.results(t.Context()); err != nil || len(mutants) != 3 {
		t.Fatalf("%d mutants are put to the test, error %v", len(mutants), err)
	}
	if err := disproved(mutants); err == nil || err.Error() != "equivalent.txt:4: tiny.TestFill fails for the constant mutant of tiny.go:26" {
		t.Errorf("error %v", err)
	}
	w.equivalent[1].Now = []string{"total += 4"}
	if _, err := w.results(t.Context()); err == nil || !strings.Contains(err.Error(), "equivalent.txt:4: . has no such mutant") {
		t.Errorf("an entry that fits no mutant: %v", err)
	}
}

// A mutant is dropped if it compiles only together with another one that was not drawn.
func TestSettle(t *testing.T) {
	dir := tiny(t)
	const shifts = "package tiny\n\nfunc Mask(bits uint) uint64 { return 1<<bits - 1 }\n"
	if err := os.WriteFile(filepath.Join(dir, "odd.go"), []byte(shifts), 0o666); err != nil {
		t.Fatal(err)
	}
	w := &workshop{module: dir, dir: t.TempDir(), options: options{packages: []string{"."}}}
	packages, err := (&loader{w}).load(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := packages[0]
	ids := 0
	if err := p.mutate(nil, &ids); err != nil {
		t.Fatal(err)
	}
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool { return !strings.Contains(m.now, "1>>bits") })
	if len(p.mutants) != 1 {
		t.Fatalf("%d mutants shift to the right", len(p.mutants))
	}
	if err := p.settle(); err != nil || len(p.mutants) != 0 {
		t.Errorf("%d mutants are left, error %v", len(p.mutants), err)
	}
}

// A draw depends on the seed alone.
func TestDraw(t *testing.T) {
	drawn := func(seed uint64) (places []string) {
		p := &loaded{listed: &listed{ImportPath: "tiny"}}
		for i := range 20 {
			p.mutants = append(p.mutants, &mutant{id: i, src: &source{name: "tiny.go"}, line: i})
		}
		p.draw(4, seed)
		for _, m := range p.mutants {
			places = append(places, m.place())
		}
		return places
	}
	first := drawn(5)
	if diff := cmp.Diff(first, drawn(5)); len(first) != 4 || diff != "" {
		t.Errorf("drawn twice (-first +second)\n%s", diff)
	}
	if cmp.Equal(first, drawn(6)) {
		t.Errorf("seeds 5 and 6 both draw %v", first)
	}
}

// The tests that found most of a file's mutants for their time come first, then
// those of the mutant's package, then the quick ones.
func TestOrder(t *testing.T) {
	own, other := &program{listed: &listed{ImportPath: "tiny"}}, &program{listed: &listed{ImportPath: "other"}}
	m := &mutant{pkg: &loaded{listed: own.listed}, src: &source{name: "tiny.go"}, tests: []*test{
		{other, "TestQuick", 1}, {own, "TestSlow", 9e9}, {own, "TestOwn", 2e9}, {other, "TestOften", 1e9}, {own, "TestOnce", 1e9},
	}}
	k := &killers{kills: map[kill]int{}}
	for _, found := range []mutant{
		{src: m.src, killer: "tiny.TestSlow"}, {src: m.src, killer: "tiny.TestOnce"}, {src: &source{name: "else.go"}, killer: "tiny.TestOwn"},
		{src: m.src, killer: "other.TestOften"}, {src: m.src, killer: "other.TestOften"},
	} {
		k.note(&found)
	}
	var got []string
	for _, one := range k.order(m) {
		got = append(got, one.name)
	}
	if diff := cmp.Diff([]string{"TestOften", "TestOnce", "TestSlow", "TestOwn", "TestQuick"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// With -base only the changed lines are mutated.
func TestChange(t *testing.T) {
	dir := tiny(t)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	if got := logOf(t, dir, options{base: "HEAD"}); got != nil {
		t.Errorf("without a change: %q", got)
	}
	changed := strings.Replace(code, "total += 2", "total += 4 - 2", 1)
	if err := os.WriteFile(filepath.Join(dir, "tiny.go"), []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tiny.go:26 | removed | killed by tiny.TestFill | (nothing)",
		"tiny.go:26 | arithmetic | killed by tiny.TestFill | total -= 4 - 2",
		"tiny.go:26 | constant | killed by tiny.TestFill | total += 3",
	}
	if diff := cmp.Diff(want, logOf(t, dir, options{base: "HEAD"})); diff != "" {
		t.Errorf("mutants of a change (-want +got)\n%s", diff)
	}
}

func TestReport(t *testing.T) {
	p := &loaded{listed: &listed{ImportPath: "tiny"}}
	src := &source{name: "tiny.go"}
	var out bytes.Buffer
	mutants := []*mutant{
		{pkg: p, src: src, kind: "removed", line: 2, was: "x++", killer: "tiny.TestX"},
		{pkg: p, src: src, function: "T.f", kind: "negated", line: 3, was: "a == b", now: "a != b", tests: []*test{{}}},
		{pkg: p, src: src, kind: "field", line: 4, was: "A: 1", now: "A: zero"},
		{pkg: p, src: src, function: "g", kind: "constant", line: 5, was: "cap(1)", now: "cap(2)", equivalent: &equivalent.Entry{Because: "it is a capacity"}},
	}
	err := report(&out, mutants, options{sample: 3, seed: 9})
	want := `tiny.go:3 T.f: negated
	- a == b
	+ a != b
tiny.go:4: field, which no test runs
	- A: 1
	+ A: zero
tiny.go:5 g: constant, which changes nothing, because it is a capacity
	- cap(1)
	+ cap(2)

found by tests, of at most 3 mutants a package drawn with seed 9:
 33.3%     1 of    3  tiny, 1 equivalent
`
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("error %v, report (-want +got)\n%s", err, diff)
	}
	if err := enough(mutants, 33); err != nil {
		t.Errorf("a third is less than 33%%: %v", err)
	}
	if err := enough(mutants, 34); err == nil || !strings.Contains(err.Error(), "less than 34% found in tiny") {
		t.Errorf("a third is 34%%: %v", err)
	}
}

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/committed"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/loaders"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The demo's claim holds: each character of context helps.
func TestBits(t *testing.T) {
	testruntime.Need(t)
	counted, err := count(t.Context(), "train.json")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := measure(t.Context(), "heldback.json", counted.table)
	if err != nil {
		t.Fatal(err)
	}
	last := 4.5
	for length, bits := range tested.bits {
		each := bits / float64(tested.seen.characters)
		if !(each < last) {
			t.Errorf("context of %d: %.3f bits a character, not less than %.3f", length, each, last)
		}
		last = each
	}
	if last > 2.1 {
		t.Errorf("%.3f bits a character, want at most 2.1", last)
	}
	if tested.seen.verses < 337-2*10 {
		t.Errorf("%d verses read; a chapter loses two at most", tested.seen.verses)
	}
}

func TestRun(t *testing.T) {
	testruntime.Need(t)
	var out strings.Builder
	if err := run(t.Context(), ".", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bits a character", "\"q\"      'u'  100 %\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// A window is three to five verses that follow each other in one chapter, shuffled or
// not. No verse is in two windows, and at most two verses of a chapter are in none.
func TestWindows(t *testing.T) {
	testruntime.Need(t)
	for config, part := range map[string]string{"train.json": "train", "heldback.json": "heldback"} {
		t.Run(config, func(t *testing.T) {
			chapters := readChapters(t, part)
			for w, err := range windows(t.Context(), config) {
				if err != nil {
					t.Fatal(err)
				}
				if w.verses < 3 || w.verses > 5 || strings.Count(string(w.text), "\n") != w.verses {
					t.Fatalf("%d verses: %q", w.verses, w.text)
				}
				if !take(chapters, string(w.text)) {
					t.Fatalf("not in a chapter, or twice: %q", w.text)
				}
			}
			for i, c := range chapters {
				if left := strings.Trim(c, "\n\x00"); strings.Contains(left, "\x00") || strings.Count(left, "\n") > 1 {
					t.Errorf("left of chapter %d of %s: %q", i, part, left)
				}
			}
		})
	}
}

// take replaces a window in its chapter by a zero byte. The window must begin and end
// at line boundaries.
func take(chapters []string, text string) bool {
	for i, c := range chapters {
		for _, before := range []string{"\n", "\x00"} {
			if at := strings.Index(c, before+text); at >= 0 {
				end := at + len(before) + len(text)
				chapters[i] = c[:at+len(before)] + "\x00" + c[end:]
				return true
			}
		}
	}
	return false
}

// readChapters returns the chapters of a part: one verse a line, with a line feed at
// the start.
func readChapters(t *testing.T, part string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("data", part, "*.tfrecords"))
	if err != nil {
		t.Fatal(err)
	}
	var chapters []string
	for _, path := range paths {
		var b strings.Builder
		b.WriteByte('\n')
		for _, r := range readFile(t, path) {
			b.WriteString(r.text)
		}
		chapters = append(chapters, b.String())
	}
	return chapters
}

// verse is a record as it is in a file.
type verse struct {
	name, text string
	words      []string
}

func readFile(t *testing.T, path string) []verse {
	t.Helper()
	var verses []verse
	for r, err := range tfrecord.Records(path, &tfrecord.ReaderOptions{Compression: tfrecord.GZIP}) {
		if err != nil {
			t.Fatal(err)
		}
		v, err := parse(r.Data)
		if err != nil {
			t.Fatalf("%s: record %d: %v", path, r.Ordinal, err)
		}
		verses = append(verses, v)
	}
	return verses
}

// parse reads a verse's record.
func parse(data []byte) (v verse, err error) {
	record, err := example.ParseSequence(data)
	if err != nil {
		return v, err
	}
	name, err := record.Context.Get("verse")
	if err != nil || name.Len() != 1 {
		return v, fmt.Errorf("verse: %d values, %v", name.Len(), err)
	}
	v.name = string(name.Bytes[0])
	characters, err := record.List("text")
	if err != nil {
		return v, err
	}
	var text []byte
	for _, c := range characters {
		text = append(text, byte(c.Decode().Ints[0]))
	}
	v.text = string(text)
	words, err := record.List("words")
	if err != nil {
		return v, err
	}
	for _, w := range words {
		v.words = append(v.words, string(w.Decode().Bytes[0]))
	}
	return v, nil
}

// All verses of Genesis are there, in order, and both forms of storing a verse agree.
func TestRecords(t *testing.T) {
	var names []string
	for _, path := range dataFiles(t) {
		for _, v := range readFile(t, path) {
			names = append(names, v.name)
			if want := split(v.text); fmt.Sprint(v.words) != fmt.Sprint(want) {
				t.Errorf("%s: words %q, want %q", v.name, v.words, want)
			}
		}
	}
	if len(names) != 1533 {
		t.Errorf("%d verses, want 1533", len(names))
	}
}

// split returns the words of a text in lower-case letters.
func split(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "'", "")
	return strings.FieldsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
}

// words.json joins whole verses, each feature separately: a window has as many names as
// verses, and only the words of those verses.
func TestWordsConfig(t *testing.T) {
	testruntime.Need(t)
	words := map[string][]string{}
	for _, path := range dataFiles(t) {
		for _, v := range readFile(t, path) {
			words[v.name] = v.words
		}
	}
	loader, err := loaders.Open("words.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names, got := stringRows(t, batch, "verse"), stringRows(t, batch, "words")
		for i := range names {
			var want []string
			for _, name := range names[i] {
				want = append(want, words[name]...)
			}
			if len(want) == 0 || fmt.Sprint(got[i]) != fmt.Sprint(want) {
				t.Fatalf("%q: words\n got %q\nwant %q", names[i], got[i], want)
			}
		}
	}
}

// stringRows returns a tensor of strings row by row, without the padding.
func stringRows(t *testing.T, batch *loaders.Batch, name string) [][]string {
	t.Helper()
	flat, err := batch.Tensor(name).Strings()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([][]string, batch.Rows())
	width := len(flat) / len(rows)
	for i, s := range flat {
		if s != "" {
			rows[i/width] = append(rows[i/width], s)
		}
	}
	return rows
}

// The committed files are those that make.py makes.
func TestChecksum(t *testing.T) {
	committed.Checksum(t, dataFiles(t), "f1baa07bd3197f34b8de39bd4a12f8ca5971f98468901dfe23882d54f1150e1b")
}

func dataFiles(t *testing.T) []string { return committed.Files(t, 50) }

func TestTable(t *testing.T) {
	tab := &table{}
	tab.add([]byte("abab"))
	got := tab.likeliest("a", 4)
	if len(got) != 1 || got[0] != (next{'b', 1}) {
		t.Errorf("after a: %v", got)
	}
	for _, context := range []string{"", "a", "b", "xa", "bab", "zzzz"} {
		sum := 0.0
		for c := range characters {
			sum += tab.probability([]byte(context), byte(c))
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("after %q: probabilities sum up to %v", context, sum)
		}
	}
	// (2 + 1*p) / (2 + 1) with p = (2 + 2/256) / (4 + 2).
	p := (2 + 2.0/256) / 6
	if got, want := tab.bits([]byte("ab"), 1), -math.Log2(p)-math.Log2((2+p)/3); math.Abs(got-want) > 1e-12 {
		t.Errorf("bits(ab) = %v, want %v", got, want)
	}
}

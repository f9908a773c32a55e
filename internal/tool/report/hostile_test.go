package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/tool/report"
)

// The files of these runs have content that no training writes. Each run gives a page or an error that names
// the file, and markup in the files never becomes markup of the page.
func TestHostileRuns(t *testing.T) {
	many := func(n int, of func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(of(i))
		}
		return b.String()
	}
	step := func(text string) string { return `{"step":1,"evaluation":{"m":` + text + `}}` + "\n" }
	for name, files := range map[string]map[string]string{
		"a ragged matrix":         {"log.ndjson": step(`[[1],[1,2,3],[]]`)},
		"an empty matrix":         {"log.ndjson": step(`[]`)},
		"a matrix of empty rows":  {"log.ndjson": step(`[[],[]]`)},
		"a wide matrix":           {"log.ndjson": step(`[[1` + strings.Repeat(",1", 100_000) + `]]`)},
		"a named ragged matrix":   {"log.ndjson": step(`{"classes":["a","b"],"matrix":[[1],[2,3,4]],"per_class":[{},{}]}`)},
		"null for a matrix":       {"log.ndjson": step(`null`)},
		"negative counts":         {"log.ndjson": step(`[[-1,1e308],[1e308,-1e308]]`)},
		"matrices that change":    {"log.ndjson": step(`[[1]]`) + step(`[[1,2],[3,4]]`) + step(`3`)},
		"steps that run back":     {"log.ndjson": many(100, func(i int) string { return fmt.Sprintf(`{"step":%d,"loss":%d}`+"\n", 100-i, i) })},
		"equal steps":             {"log.ndjson": many(100, func(i int) string { return fmt.Sprintf(`{"step":7,"loss":%d}`+"\n", i) })},
		"negative steps":          {"log.ndjson": `{"step":-9223372036854775808,"loss":1}` + "\n" + `{"step":9223372036854775807,"loss":2}` + "\n"},
		"many series":             {"log.ndjson": `{"step":1` + many(300, func(i int) string { return fmt.Sprintf(`,"s%d":%d`, i, i) }) + "}\n"},
		"markup in names":         {"log.ndjson": `{"step":1,"</svg><script>alert(1)</script>":1}` + "\n" + `{"step":2,"evaluation":{"<b onclick=x>":[[1]]}}` + "\n"},
		"a long name":             {"log.ndjson": `{"step":1,"` + strings.Repeat("n", 1<<20) + `":1}` + "\n"},
		"deep":                    {"log.ndjson": `{"step":1,"a":` + strings.Repeat("[", 1<<20) + "\n"},
		"deep run.json":           {"run.json": strings.Repeat("[", 1<<20)},
		"a long line":             {"log.ndjson": `{"step":1,"loss":"` + strings.Repeat("x", 40<<20)},
		"not UTF-8":               {"log.ndjson": "{\"step\":1,\"\xff\xfe\":1}\n"},
		"zeros":                   {"log.ndjson": strings.Repeat("\x00", 1<<20) + "\n"},
		"times that are not":      {"input.json": `{"stages":[],"batches":-1,"times":[{"name":"a","datasets":-1,"elements":-5,"seconds":-1e308,"buffered":-7},{"name":"b","elements":1,"seconds":1e308},{"name":"c","elements":1,"seconds":1e308}]}`},
		"a pipeline of strings":   {"input.json": `"x"`},
		"stages without an end":   {"input.json": `{"stages":[` + many(100_000, func(int) string { return `{"name":"<i>"},` })},
		"an end of another shape": {"finish.json": `[1,2]`, "finished.json": `[1,2]`},
	} {
		dir := runDir(t, log)
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r, err := report.Read(dir)
		var page bytes.Buffer
		if err == nil {
			err = report.Write(&page, []*report.Run{r, r})
		}
		switch {
		case err != nil && (!errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), dir) || len(err.Error()) > 2000):
			t.Errorf("%s: %.300v", name, err)
		case err == nil && (strings.Contains(page.String(), "<script") || strings.Contains(page.String(), "<b onclick") || strings.Contains(page.String(), "<i>")):
			t.Errorf("%s: the page has markup of the run", name)
		case page.Len() > 100<<20:
			t.Errorf("%s: a page of %d bytes", name, page.Len())
		}
	}
}

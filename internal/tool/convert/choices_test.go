package convert

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
)

// convertText converts a file with a text. It returns the records.
func convertText(t *testing.T, name, text string, o *Options) (dir string, err error) {
	t.Helper()
	in := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "out")
	_, err = Run(t.Context(), []string{in}, dir, o)
	return dir, err
}

// A value that a record cannot store is an error with its row and column, or is changed
// by the user's choice, which convert.json records.
func TestNothingChangesInSilence(t *testing.T) {
	infinity, replace, round := Choices{Overflow: ToInfinity}, Choices{InvalidUTF8: ReplaceInvalid}, Choices{InexactIntegers: RoundIntegers}
	tests := []struct {
		name, text string
		wrong      []string // texts in the error
		choice     Choices  // choice that allows the value
		record     string   // the last record with that choice; "": no choice allows the value
	}{
		{"a.csv", "x\n0.5\n1e400\n", []string{"row 2", `"x"`, `"1e400"`, "--overflow"}, infinity, "x=[][+Inf][]"},
		{"a.csv", "x\n0.5\n1e39\n", []string{"row 2", `"x"`, "1e+39"}, infinity, "x=[][+Inf][]"},
		{"a.csv", "x\n0.5\n16777217\n", []string{"row 2", `"x"`, "16777217", "16777216", "--inexact-integers"}, round, "x=[][1.6777216e+07][]"},
		{"a.csv", "x\n0.5\n+99999999999999999999999\n", []string{"row 2", "+99999999999999999999999"}, round, "x=[][1e+23][]"},
		{"a.ndjson", "{\"x\":0.5}\n{\"x\":-1e400}\n", []string{"row 2", `"x"`, "-1e400"}, infinity, "x=[][-Inf][]"},
		{"a.ndjson", "{\"x\":0.5}\n{\"x\":16777217}\n", []string{"row 2", `"x"`, "16777217"}, round, "x=[][1.6777216e+07][]"},
		{"a.ndjson", "{\"x\":[0.5,1]}\n{\"x\":[9007199254740993,0.5]}\n", []string{"row 2", "9007199254740993"}, round, "x=[][9.007199e+15 0.5][]"},
		{"a.ndjson", "{\"x\":\"a\"}\n{\"x\":\"b\xff\"}\n", []string{"row 2", `"x"`, `b\xff`, "--invalid-utf8"}, replace, `x=[][]["b�"]`},
		{"a.ndjson", "{\"x\":\"a\"}\n{\"x\":\"\\ud800\"}\n", []string{"row 2", `"x"`, `ud800`}, replace, `x=[][]["�"]`},
		{"a.ndjson", "{\"x\":1}\n{\"x\":1,\"x\":2}\n", []string{"line 2", `"x"`, "two values"}, Choices{}, ""},
		{"a.ndjson", "{\"x\":1}\n{\"x\":1,\"\\u0078\":2}\n", []string{"line 2", `"x"`, "two values"}, Choices{}, ""},
		{"a.ndjson", "{\"x\":1}\n{\"x\xff\":2}\n", []string{"line 2", "UTF-8"}, Choices{}, ""},
		{"a.csv", "x,\xff\n1,2\n", []string{"column 2", "UTF-8"}, replace, ""},
		{"a.csv", "\xff\xfex\x00\n\x00", []string{"UTF-16", "iconv"}, replace, ""},
		{"a.csv", "x\x00\n\x001\x00\n\x00", []string{"UTF-16", "iconv"}, replace, ""},
		{"a.ndjson", "\xfe\xff\x00{\x00}", []string{"UTF-16", "iconv"}, replace, ""},
		{"a.csv", "x,y\r1,2\r3,4\r", []string{"carriage returns"}, replace, ""},
		{"a.ndjson", "{\"x\":1}\r{\"x\":2}\r", []string{"carriage returns"}, replace, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			_, err := convertText(t, tt.name, tt.text, &Options{})
			if !errors.Is(err, millrace.ErrSchema) {
				t.Fatalf("got %v, want an error of class ErrSchema", err)
			}
			for _, want := range append(tt.wrong, tt.name) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s in it", err, want)
				}
			}
			dir, err := convertText(t, tt.name, tt.text, &Options{Choices: tt.choice})
			if tt.record == "" {
				if err == nil {
					t.Error("a choice made it right")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := records(t, dir); strings.TrimSpace(got[len(got)-1]) != tt.record {
				t.Errorf("got %q, want %s", got[len(got)-1], tt.record)
			}
			var report Report
			if text, err := os.ReadFile(filepath.Join(dir, ReportName)); err != nil || json.Unmarshal(text, &report) != nil || report.Choices == nil || *report.Choices != tt.choice {
				t.Errorf("convert.json has the choices %v, %v", report.Choices, err)
			}
		})
	}
}

// Values that a record stores exactly need no choice.
func TestExactNumbers(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv":    "x,y\n0.5,\xff\n16777216,b\n-33554432,c\n340282346638528859811704183484516925440,d\ninf,e\n1.23456789012345678,f\n",
		"a.ndjson": "\xef\xbb\xbf{\"x\":0.5}\n{\"x\":16777218}\n{\"x\":-9007199254740992}\n{\"x\":0.1}\n{\"y\":\"\\ud83d\\ude00\"}\n",
	} {
		if _, err := convertText(t, name, text, &Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

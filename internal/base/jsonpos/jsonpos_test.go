package jsonpos_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"millrace/internal/base/jsonpos"
)

func ExampleParse() {
	n, err := jsonpos.Parse([]byte("{\n  \"padding\": [{\"tensor\": \"audoi\"}]\n}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	tensor := n.Key("padding").Elem(0).Key("tensor")
	line, column := tensor.Position()
	fmt.Printf("%d:%d: %s is %q\n", line, column, tensor.Path(), tensor.Text())
	// Output: 2:26: padding[0].tensor is "audoi"
}

func TestParseErrors(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ name, src, want string }{
		{"empty", "", "1:1: empty"},
		{"blanks", " \n\t\r\n ", "1:1: empty"},
		{"only a mark", "\ufeff", "1:1: empty"},
		{"mark", "\ufeff{}", "1:1: a byte order mark"},
		{"utf-16", "\xff\xfe{\x00}\x00", "UTF-16"},
		{"two values", "{}\n{}", `2:1: "{" after the end`},
		{"trailing word", "1 abc", `1:3: "abc" after the end`},
		{"trailing NUL", "1\x00", `1:2: "\x00" after the end`},
		{"NaN", "[1,\n NaN]", "2:2: NaN is not JSON"},
		{"-Infinity", `{"a": -Infinity}`, "1:7: -Infinity is not JSON"},
		{"True", "[True]", `1:2: True is not JSON; write "true"`},
		{"None", "[None]", `1:2: None is not JSON; write "null"`},
		{"word", "[nulls]", `1:2: expected a value, got "nulls"`},
		{"single quotes", "{'a': 1}", "1:2: JSON has no single quotes"},
		{"comment", "{// x\n}", "1:2: JSON has no comments"},
		{"bare key", "{a: 1}", `1:2: expected a key in double quotes, got "a"`},
		{"trailing comma", "[1,2, ]", "1:5: a comma after the last element"},
		{"trailing comma in object", `{"a":1,}`, "1:7: a comma after the last member"},
		{"no comma", `{"a":1 "b":2}`, `1:8: expected a comma or '}', got "\""`},
		{"no colon", `{"a" 1}`, `1:6: expected a colon after the key, got "1"`},
		{"wrong bracket", `[1}`, `1:3: expected a comma or ']', got "}"`},
		{"only a comma", `[,]`, `1:2: expected a value, got ","`},
		{"cut", "{\n \"a\": [1, ", "2:11: the text ends too early: the list that starts at 2:7 is not closed"},
		{"cut string", `{"abc`, "1:6: the text ends too early: the string that starts at 1:2 is not closed"},
		{"cut escape", `["\`, "1:4: the text ends too early"},
		{"line break in string", "[\"a\nb\"]", "1:4: the string that starts at column 2 does not end on its line"},
		{"tab in string", "\"\t\"", `1:2: a string holds the control character 0x09; write it as \u0009`},
		{"NUL in string", "\"a\x00\"", "1:3: a string holds a NUL"},
		{"escaped NUL", `"a\u0000"`, "1:3: a string holds a NUL"},
		{"no UTF-8", "\"a\xff\"", "1:3: the byte 0xff is not UTF-8"},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", "1:2: the byte 0xed is not UTF-8"},
		{"overlong UTF-8", "\"\xc0\xaf\"", "1:2: the byte 0xc0 is not UTF-8"},
		{"no UTF-8 outside", "[\xfe]", "1:2: expected a value, got the byte 0xfe"},
		{"lone high", `"\ud83d"`, "1:2: half of a surrogate pair"},
		{"lone low", `"x\ude00"`, "1:3: half of a surrogate pair"},
		{"two high", `"\ud83d\ud83d"`, "1:2: half of a surrogate pair"},
		{"bad escape", `"\x"`, `1:2: no escape sequence starts with a backslash and "x"`},
		{"bad hex", `"\u12g4"`, `1:2: \u must be followed by four hexadecimal digits`},
		{"leading zero", "[01]", "1:2: a number starts with a needless 0"},
		{"negative zeros", "-00", "1:1: a number starts with a needless 0"},
		{"no digit", "[-]", `1:3: expected a digit, got "]"`},
		{"no fraction", "1.", "1:3: the text ends too early"},
		{"no exponent", "[1e+]", `1:5: expected a digit of the exponent`},
		{"plus", "+1", `1:1: expected a value, got "+"`},
		{"point", ".5", `1:1: expected a value, got "."`},
		{"word after number", "[1x]", `1:3: expected the end of the number, got "x"`},
		{"depth", deep(65), "1:65: more than 64 lists"},
		{"100,000 deep", strings.Repeat("[", 100_000), "more than 64 lists"},
		{"100,000 objects deep", strings.Repeat(`{"a":`, 100_000), "more than 64 lists"},
		{"size", `"` + strings.Repeat("1", jsonpos.MaxBytes), "1:16777217: more than 16 MiB"},
		{"a continuation alone", "\"\x80\"", "1:2: the byte 0x80 is not UTF-8"},
		{"values", "[" + strings.Repeat("1,", jsonpos.MaxValues-1) + "1]", "more than 2097152 values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jsonpos.Parse([]byte(tt.src))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Parse(%.40q)\n got %v\nwant %s", tt.src, err, tt.want)
			}
			var e *jsonpos.Error
			if !errors.As(err, &e) || e.Limit != strings.HasPrefix(e.Msg, "more than") {
				t.Errorf("Parse(%.40q) gives %#v", tt.src, err)
			}
		})
	}
	if _, err := jsonpos.Parse([]byte(deep(64))); err != nil {
		t.Errorf("64 lists inside one another: %v", err)
	}
}

// A letter directly after a number belongs to the invalid number.
func TestWordsAfterNumbers(t *testing.T) {
	for c := range 256 {
		src := "[1" + string([]byte{byte(c)}) + "]"
		_, err := jsonpos.Parse([]byte(src))
		word := c >= 'a' && c <= 'z' && c != 'e' || c >= 'A' && c <= 'Z' && c != 'E' || c == '_'
		if got := err != nil && strings.Contains(err.Error(), "expected the end of the number"); got != word {
			t.Errorf("Parse(%q) = %v", src, err)
		}
	}
}

// Escape sequences are parsed as in encoding/json.
func TestEscapes(t *testing.T) {
	const src = `"\"\\\/\b\f\n\r\t \u00aF\uFABC\uabcd\u1f9A\u0F0f\uD83D\uDE00"`
	var want string
	if err := json.Unmarshal([]byte(src), &want); err != nil {
		t.Fatal(err)
	}
	n, err := jsonpos.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Text(); got != want {
		t.Errorf("Text\n got %q\nwant %q", got, want)
	}
	for _, c := range "0gG@`/:" {
		if _, err := jsonpos.Parse([]byte(`"\u01` + string(c) + `0"`)); (err == nil) != (c == '0') {
			t.Errorf("digit %q: %v", c, err)
		}
	}
}

const sample = `{"a": [1, -2.5e3, "x\u00e9\ud83d\ude00\n\"", null, true, false, {}, []],
 "b": {"c": {"b": 18446744073709551615}}, "a": "again", "with blank": [[0]]}`

func TestNode(t *testing.T) {
	n, err := jsonpos.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	a := n.Key("a")
	tests := []struct{ name, got, want string }{
		{"number", string(a.Elem(1).Number()), "-2.5e3"},
		{"string", a.Elem(2).Text(), "xé😀\n\""},
		{"null", a.Elem(3).Kind().String(), "null"},
		{"bools", fmt.Sprint(a.Elem(4).Bool(), a.Elem(5).Bool()), "true false"},
		{"large number", string(n.Key("b").Key("c").Key("b").Number()), "18446744073709551615"},
		{"path", n.Key("b").Key("c").Key("b").Path(), "b.c.b"},
		{"quoted path", n.Key("with blank").Elem(0).Elem(0).Path(), `["with blank"][0][0]`},
		{"raw", n.Key("b").Key("c").Raw(), `{"b": 18446744073709551615}`},
		{"missing path", n.Key("b").Key("d").Elem(3).Path(), "b.d[3]"},
		{"missing", n.Key("b").Key("d").Elem(3).Kind().String(), "nothing"},
		{"missing raw", n.Key("b").Key("d").Raw(), ""},
		{"lengths", fmt.Sprint(n.Len(), a.Len(), a.Elem(6).Len(), a.Elem(7).Len(), a.Elem(0).Len()), "4 8 0 0 0"},
		{"no text", a.Text() + string(a.Number()), ""},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, tt.got, tt.want)
		}
	}
	var keys []string
	for k, v := range n.Members() {
		line, column := k.Position()
		keys = append(keys, fmt.Sprintf("%s %d:%d %s", k.Path(), line, column, v.Kind()))
	}
	want := `a 1:2 a list, b 2:2 an object, a 2:43 a string, ["with blank"] 2:57 a list`
	if got := strings.Join(keys, ", "); got != want {
		t.Errorf("Members\n got %s\nwant %s", got, want)
	}
	if line, column := n.Key("b").Key("d").Position(); line != 2 || column != 7 {
		t.Errorf("what is missing is at %d:%d, want the object's 2:7", line, column)
	}
	if up := a.Elem(0).Up(); up.Path() != "a" || n.Up() != nil {
		t.Error("Up does not lead to the list, or does not end at the top")
	}
}

// TestCut parses every beginning of a document: none is a document.
func TestCut(t *testing.T) {
	for i := range len(sample) {
		_, err := jsonpos.Parse([]byte(sample[:i]))
		var e *jsonpos.Error
		if !errors.As(err, &e) {
			t.Fatalf("Parse(%q) = %v", sample[:i], err)
		}
		if e.Line < 1 || e.Column < 1 || e.Offset > i {
			t.Errorf("Parse(%q) is wrong at %+v", sample[:i], e)
		}
	}
}

// TestMemory parses the maximum number of values and measures the memory.
func TestMemory(t *testing.T) {
	src := []byte("[" + strings.Repeat("{},", jsonpos.MaxValues-2) + "{}]")
	for i := len(src); i < jsonpos.MaxBytes; i++ {
		src = append(src, ' ')
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := jsonpos.Parse(src)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 40<<20 {
		t.Errorf("Parse takes %d MiB for %d MiB of JSON", used>>20, len(src)>>20)
	}
	if n.Len() != jsonpos.MaxValues-1 {
		t.Errorf("%d elements", n.Len())
	}
}

// value converts a tree to the values of encoding/json.
func value(n *jsonpos.Node) any {
	switch n.Kind() {
	case jsonpos.Bool:
		return n.Bool()
	case jsonpos.Number:
		return n.Number()
	case jsonpos.String:
		return n.Text()
	case jsonpos.List:
		list := []any{}
		for _, e := range n.Elems() {
			list = append(list, value(e))
		}
		return list
	case jsonpos.Object:
		obj := map[string]any{}
		for k, v := range n.Members() {
			obj[k.Text()] = value(v)
		}
		return obj
	}
	return nil
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		sample, "", "[", "[1e5,-0,0.0]", `"\ud800\udc00"`, `"\ud800x"`, `{"a":{"a":[[]]}}`, "\ufeff1", "[NaN]", "-", `"\u0000"`, "\"\x00\"", "[1,]", "00", "tru", "nullx",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, err := jsonpos.Parse(src)
		var want any
		dec := json.NewDecoder(bytes.NewReader(src))
		dec.UseNumber()
		if !json.Valid(src) {
			if err == nil {
				t.Fatalf("Parse accepts %q, encoding/json does not", src)
			}
			return
		}
		if wantErr := dec.Decode(&want); wantErr != nil {
			t.Skip("valid for encoding/json but not decoded: " + wantErr.Error())
		}
		if err != nil {
			if !stricter(src, err) {
				t.Fatalf("Parse(%q) = %v, encoding/json accepts it", src, err)
			}
			return
		}
		if got := value(n); !reflect.DeepEqual(got, want) {
			t.Fatalf("Parse(%q)\n got %#v\nwant %#v", src, got, want)
		}
	})
}

// stricter reports whether err is about input that encoding/json accepts and only this
// package refuses.
func stricter(src []byte, err error) bool {
	var e *jsonpos.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Limit || !utf8.Valid(src) ||
		strings.Contains(e.Msg, "surrogate pair") || strings.Contains(e.Msg, "NUL")
}

func BenchmarkParse(b *testing.B) {
	src := []byte("[" + strings.Repeat(sample+",", 1000) + "1]")
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonpos.Parse(src); err != nil {
			b.Fatal(err)
		}
	}
}

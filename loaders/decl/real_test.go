package decl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// ranged is a declared object with every kind of range.
type ranged struct {
	decl.Object
	Rate  float64   `json:"rate" decl:"default=0.5,above=0,max=1" doc:"Rate."`
	Decay float64   `json:"decay" decl:"min=0,below=0.999" doc:"Decay."`
	Free  *float64  `json:"free" decl:"null" doc:"Free."`
	Tight int64     `json:"tight" decl:"max=9,limit=5" doc:"Tight."`
	Loose int64     `json:"loose" decl:"max=5,limit=9" doc:"Loose."`
	Low   int64     `json:"low" decl:"min=2,default=7" doc:"Low."`
	One   []float64 `json:"one" decl:"most=1,items.min=0" doc:"One."`
	Flags []bool    `json:"flags" decl:"" doc:"Flags."`
	Texts []string  `json:"texts" decl:"nonempty,items.nonempty" doc:"Texts."`
	On    bool      `json:"on" decl:"default=true" doc:"On."`
}

func decodeRanged(t *testing.T, src string) (*ranged, string) {
	t.Helper()
	n, err := jsonpos.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	r := &decl.Reporter{Class: errWrong, Limit: errMuch}
	v := &ranged{}
	r.Decode(n, v)
	var problems []string
	for _, d := range r.Finish() {
		text := d.Msg
		if d.Hint != "" {
			text += "; " + d.Hint
		}
		if errors.Is(d, errMuch) {
			text += " (limit)"
		}
		problems = append(problems, text)
	}
	return v, strings.Join(problems, "\n")
}

func TestRanges(t *testing.T) {
	text, err := decl.Schema(&ranged{}, decl.SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, text)
	const digits = "1234567890123456789012345678901234567890123456789012345678901234"
	for _, tt := range []struct{ src, want string }{
		{`"rate": 1`, ""},
		{`"rate": 1e-300`, ""},
		{`"rate": 0`, "must be above 0, got 0"},
		{`"rate": 1.0001`, "must be at most 1, got 1.0001"},
		{`"rate": "1"`, `must be a number, got "1"; write 1 without quotes`},
		{`"rate": null`, "must be a number, got null"},
		{`"decay": 0`, ""},
		{`"decay": 0.9989`, ""},
		{`"decay": -1e-300`, "must be at least 0, got -1e-300"},
		{`"decay": 0.999`, "must be below 0.999, got 0.999"},
		{`"free": null`, ""},
		{`"free": -1e308`, ""},
		{`"free": 1e309`, "must be a number that a float64 holds, got 1e309"},
		{`"free": "0.5"`, `must be a number or null, got "0.5"; write 0.5 without quotes`},
		{`"free": "half"`, `must be a number or null, got "half"`},
		{`"free": true`, "must be a number or null, got true"},
		{`"tight": 5`, ""},
		{`"tight": 6`, "must be at most 5, got 6 (limit)"},
		{`"loose": 5`, ""},
		{`"loose": 6`, "must be at most 5, got 6"},
		{`"low": 2`, ""},
		{`"low": 1`, "must be at least 2, got 1"},
		{`"low": 9223372036854775807`, ""},
		{`"low": 9223372036854775808`, "must be at most 9223372036854775807, got 9223372036854775808"},
		{`"tight": -9223372036854775808`, ""},
		{`"tight": -9223372036854775809`, "must be at least -9223372036854775808, got -9223372036854775809"},
		{`"tight": -` + digits + `5`, "must be at least -9223372036854775808, got -" + digits[:63] + "..."},
		{`"loose": ` + digits, "must be at most 5, got " + digits},
		{`"one": [0]`, ""},
		{`"one": [0, 0]`, "has 2 elements; at most 1 are allowed (limit)"},
		{`"one": [-1]`, "must be at least 0, got -1"},
		{`"one": {}`, "must be a list, got an object"},
		{`"flags": [true, false]`, ""},
		{`"flags": ["false"]`, `must be a boolean, got "false"; write false without quotes`},
		{`"flags": [1]`, "must be a boolean, got 1"},
		{`"texts": ["` + digits + `"]`, ""},
		{`"texts": "` + digits + `"`, `must be a list, got "` + digits + `"`},
		{`"texts": "` + digits + `5"`, `must be a list, got "` + digits + `"...`},
		{`"texts": []`, "must not be empty"},
		{`"on": "false"`, `must be a boolean, got "false"; write false without quotes`},
	} {
		src := "{" + tt.src + "}"
		if _, got := decodeRanged(t, src); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", src, got, tt.want)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(src))
		if err != nil {
			t.Fatal(err)
		}
		// A schema has no limits that are the limits of int64.
		if err := schema.Validate(v); (err == nil) != (tt.want == "") && !strings.Contains(tt.want, "9223372036854775807") &&
			!strings.Contains(tt.want, "-9223372036854775808") && !strings.Contains(tt.want, "float64") {
			t.Errorf("the schema on %s: %v", src, err)
		}
	}
	v, _ := decodeRanged(t, `{"decay": 0.25, "free": 2.5, "one": [3]}`)
	if got := fmt.Sprint(v.Rate, v.Decay, *v.Free, v.One, v.Low, v.On); got != "0.5 0.25 2.5 [3] 7 true" {
		t.Errorf("values %s", got)
	}
}

// Descriptions match the declarations.
func TestDescribeRanges(t *testing.T) {
	want := map[string][2]string{
		"rate":  {"number above 0 and at most 1", "0.5"},
		"decay": {"number at least 0 and below 0.999", ""},
		"free":  {"number, or null", ""},
		"tight": {"integer of at most 5", ""},
		"loose": {"integer of at most 5", ""},
		"low":   {"integer of at least 2", "7"},
		"one":   {"list of numbers at least 0, at most 1 of them", ""},
		"flags": {"list of boolean", ""},
		"texts": {"non-empty list of non-empty strings", ""},
		"on":    {"boolean", "true"},
	}
	got := map[string][2]string{}
	for _, d := range decl.Describe(&ranged{}) {
		got[d.Key] = [2]string{d.Type, d.Default}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types and defaults (-want +got)\n%s", diff)
	}
}

// Hints stop when there are so many problems that finding them takes long, and problems
// above a number are only counted.
func TestHintsOfMany(t *testing.T) {
	problems := func(n int) []string {
		var src strings.Builder
		for i := range n {
			fmt.Fprintf(&src, `, "lo%dw": 1`, i)
		}
		_, got := decodeRanged(t, `{"low": 3`+src.String()+`}`)
		return strings.Split(got, "\n")
	}
	got := problems(102)
	if !strings.HasSuffix(got[9], `did you mean "low"?`) {
		t.Errorf("problem 9: %s", got[9])
	}
	if strings.Contains(got[101], "did you mean") {
		t.Errorf("problem 101: %s", got[101])
	}
	if got := problems(1000); len(got) != 1000 || strings.Contains(got[999], "more problems") {
		t.Errorf("%d problems, the last %s", len(got), got[len(got)-1])
	}
	if got := problems(1001); len(got) != 1001 || got[1000] != "1 more problems are not shown" {
		t.Errorf("%d problems, the last %s", len(got), got[len(got)-1])
	}
}

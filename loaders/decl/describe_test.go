package decl

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type described struct {
	Object
	Count *int64                    `json:"count" decl:"required,null,min=1,limit=9" doc:"How many."`
	Mode  string                    `json:"mode" decl:"default=a,enum=a|b" doc:"Which."`
	Sizes Either[[]int64, string]   `json:"sizes" decl:"nonempty,most=3,items.min=0" doc:"Sizes."`
	Parts Either[bool, []describee] `json:"parts" decl:"" doc:"Parts."`
}

type describee struct {
	Object
	Name string `json:"name" decl:"required,nonempty" doc:"A name."`
}

func TestDescribe(t *testing.T) {
	got := Describe(&described{})
	want := []Declaration{
		{Key: "count", Doc: "How many.", Type: "integer from 1 to 9, or null", Required: true},
		{Key: "mode", Doc: "Which.", Type: `"a" or "b"`, Default: `"a"`},
		{Key: "sizes", Doc: "Sizes.", Type: "non-empty list of integers of at least 0, at most 3 of them, or non-empty string"},
		{Key: "parts", Doc: "Parts.", Type: "boolean, or list of objects", Objects: []any{&describee{}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Object{})); diff != "" {
		t.Errorf("Describe (-want +got):\n%s", diff)
	}
}

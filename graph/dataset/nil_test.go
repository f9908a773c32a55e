package dataset_test

import (
	"errors"
	"reflect"
	"testing"

	"millrace"
	"millrace/graph/dataset"
)

// No method of a nil or zero dataset panics, and their results give an error.
func TestNilDataset(t *testing.T) {
	for name, d := range map[string]*dataset.Dataset{"nil": nil, "zero": {}} {
		v := reflect.ValueOf(d)
		for i := range v.NumMethod() {
			method := v.Type().Method(i).Name
			t.Run(name+" "+method, func(t *testing.T) {
				f := v.Method(i)
				args := make([]reflect.Value, f.Type().NumIn())
				for j := range args {
					args[j] = reflect.Zero(f.Type().In(j))
				}
				if method == "All" || method == "Save" {
					args[0] = reflect.ValueOf(t.Context())
				}
				var out []reflect.Value
				if f.Type().IsVariadic() {
					out = f.CallSlice(args)
				} else {
					out = f.Call(args)
				}
				if len(out) == 0 {
					return
				}
				after, ok := out[0].Interface().(*dataset.Dataset)
				if !ok {
					return
				}
				errs := 0
				for _, err := range after.All(t.Context(), nil) {
					if errs++; !errors.Is(err, millrace.ErrModel) {
						t.Errorf("got %v, want an error of class %v", err, millrace.ErrModel)
					}
				}
				if errs != 1 {
					t.Errorf("%d errors", errs)
				}
			})
		}
	}
}

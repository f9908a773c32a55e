package op_test

import (
	"errors"
	"fmt"
	"testing"

	"millrace/graph/op"
	tf "millrace/tfbridge"
)

// Each option of DecodeCSV changes how a record is parsed.
func TestDecodeCSV(t *testing.T) {
	tests := []struct {
		name    string
		record  string
		options []op.DecodeCSVAttr
		want    string // the three columns; the default of the last is -1
	}{
		{"plain", `a,2,3`, nil, "a 2 3"},
		{"quoted, without a value", `"a,b",2,`, nil, "a,b 2 -1"},
		{"field_delim", `a,b;2;3`, []op.DecodeCSVAttr{op.DecodeCSVFieldDelim(";")}, "a,b 2 3"},
		{"use_quote_delim", `"a",2,3`, []op.DecodeCSVAttr{op.DecodeCSVUseQuoteDelim(false)}, `"a" 2 3`},
		{"na_value", `a,2,NA`, []op.DecodeCSVAttr{op.DecodeCSVNaValue("NA")}, "a 2 -1"},
		{"select_cols", `x,a,y,2,3`, []op.DecodeCSVAttr{op.DecodeCSVSelectCols([]int64{1, 3, 4})}, "a 2 3"},
		{"no value where there is no default", `a,,3`, nil, ""},
		{"NA is no number", `a,2,NA`, nil, ""},
		{"too many columns", `a,2,3,4`, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := op.NewScope()
			defer s.Graph().Close()
			required := op.Const(s, []int64{})
			defaults := []tf.Output{op.Const(s, "none"), required, op.Const(s, int64(-1))}
			columns := op.DecodeCSV(s, op.Const(s, tt.record), defaults, tt.options...)
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			session, err := tf.NewSession(s.Graph(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			got, err := session.Run(nil, columns, nil)
			if tt.want == "" {
				if !errors.Is(err, tf.InvalidArgument) {
					t.Errorf("got %v, want code InvalidArgument", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var text []any
			for _, column := range got {
				text = append(text, column.Value())
				column.Close()
			}
			if got := fmt.Sprintln(text...); got != tt.want+"\n" {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

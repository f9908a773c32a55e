package elements

import (
	"reflect"

	"millrace"
	"millrace/tfbridge"
)

// Columns collect copies of values of one layout, and make a tensor of each
// part. Only one goroutine at a time may use them.
type Columns struct {
	layout *Layout
	rows   []*tfbridge.Rows
}

// ColumnsOptions are the options of [Layout.Columns].
type ColumnsOptions struct {
	MaxBytes int64 // limit of each column; 0: no limit
	Empty    bool  // parts may have no elements
}

// Columns returns columns without values.
func (l *Layout) Columns(o ColumnsOptions) *Columns {
	c := &Columns{layout: l}
	for _, p := range l.Parts {
		c.rows = append(c.rows, tfbridge.NewRows(p.Spec.DType, p.Spec.Shape,
			&tfbridge.RowsOptions{MaxBytes: o.MaxBytes, Empty: o.Empty || p.empty}))
	}
	return c
}

// Add adds a value. It returns false if a part has another shape than in the
// values before. In that case, and after an error, it also returns the part's
// name; [Columns.Truncate] then removes what was added. Errors are of class
// millrace.ErrSchema, and millrace.ErrLimit for too many bytes.
func (c *Columns) Add(v reflect.Value) (ok bool, part string, err error) {
	if v.Kind() == reflect.Pointer && v.Type() != reflect.TypeFor[*tfbridge.Tensor]() {
		if v.IsNil() {
			return false, "", millrace.Errorf(millrace.ErrSchema, "the element is nil")
		}
		v = v.Elem()
	}
	for i := range c.rows {
		part := &c.layout.Parts[i]
		value, err := part.valueIn(v)
		if err != nil {
			return false, part.Name, err
		}
		if ok, err := c.rows[i].Add(value); !ok || err != nil {
			return false, part.Name, err
		}
	}
	return true, "", nil
}

// valueIn returns the part of a value.
func (p *Part) valueIn(v reflect.Value) (reflect.Value, error) {
	for i := range p.path {
		s := &p.path[i]
		if s.component != nil {
			var err error
			if v, err = s.component(v); err != nil {
				return v, err
			}
			continue
		}
		if s.entries == 0 {
			v = v.Field(s.field)
			continue
		}
		if v.Len() != s.entries {
			return v, millrace.Errorf(millrace.ErrSchema, "%d entries, want %d", v.Len(), s.entries)
		}
		if v = v.MapIndex(reflect.ValueOf(s.key).Convert(v.Type().Key())); !v.IsValid() {
			return v, millrace.Errorf(millrace.ErrSchema, "the entry %q is missing", s.key)
		}
	}
	return v, nil
}

// Bytes returns how many bytes the values take.
func (c *Columns) Bytes() int64 {
	n := int64(0)
	for _, r := range c.rows {
		n += r.Bytes()
	}
	return n
}

// Truncate keeps the first n values and removes the rest.
func (c *Columns) Truncate(n int) {
	for _, r := range c.rows {
		r.Truncate(n)
	}
}

// Tensors returns a tensor for each part, and removes the values. A tensor's
// shape is the outer dimensions, whose product must be the number of values,
// followed by the part's own. The caller closes the tensors.
func (c *Columns) Tensors(outer ...int64) ([]*tfbridge.Tensor, error) {
	var tensors []*tfbridge.Tensor
	for _, r := range c.rows {
		t, err := r.Tensor(outer...)
		if err != nil {
			c.Truncate(0)
			for _, t := range tensors {
				t.Close()
			}
			return nil, err
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}

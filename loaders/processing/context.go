package processing

import (
	"slices"

	"millrace/diag"
	"millrace/dtype"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/savedmodel"
)

// Context is the input of a step's check.
type Context struct {
	Type     string // the type of the step, for messages
	Reporter *decl.Reporter
	Entry    *jsonpos.Node // the step in the config
	In       []Input       // the tensors that the step reads, in order
	Known    bool          // data type and shape of all of In are known; false after another problem

	// Read returns the content of a file that an argument names, at most limit bytes. It
	// reports a file that cannot be read, and returns false.
	Read func(at *jsonpos.Node, path string, limit int64) ([]byte, bool)

	// Model returns the SavedModel in a folder that an argument names, with the path of the
	// folder, after all checks of a model. It reports a model that does not pass, and returns nil.
	Model func(at *jsonpos.Node, dir string) *savedmodel.Model

	Rows int64 // the number of examples of a batch, -1 where batches may differ
}

// Input is a tensor that a step reads.
type Input struct {
	Tensor
	Sequence bool // its first axis is the time axis of a chunked_sequence
}

// Report adds an error about a place in the config.
func (c *Context) Report(at *jsonpos.Node, format string, args ...any) *diag.Diagnostic {
	return c.Reporter.Report(at, format, args...)
}

// Input returns the first tensor that the step reads, and false if it is not known.
func (c *Context) Input() (Input, bool) {
	if !c.Known || len(c.In) == 0 {
		return Input{}, false
	}
	return c.In[0], true
}

// InputAt is [Context.Input] for tensor i. It may be known where others are not.
func (c *Context) InputAt(i int) (Input, bool) {
	if i >= len(c.In) || c.In[i].Name == "" {
		return Input{}, false
	}
	return c.In[i], true
}

// name returns the place where the config names tensor i.
func (c *Context) name(i int) *jsonpos.Node {
	if c.Entry.Key("tensors").Kind() == jsonpos.List {
		return c.Entry.Key("tensors").Elem(i)
	}
	return c.Entry.Key("tensor")
}

// A set of data types, with its name in messages.
type dtypes struct {
	what string
	list []dtype.DataType
}

var (
	reals    = []dtype.DataType{dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double}
	integers = []dtype.DataType{
		dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64,
	}
	numbers  = dtypes{"numbers", slices.Concat(reals, integers)}
	floats   = dtypes{"floating-point numbers", reals}
	whole    = dtypes{"integers", integers}
	texts    = dtypes{"strings", []dtype.DataType{dtype.String}}
	scalable = dtypes{"integers or floating-point numbers", numbers.list}
)

// Numbers returns the tensor that the step reads. It reports one that is not of integers
// or floating-point numbers, and returns false.
func (c *Context) Numbers() (Input, bool) { return c.of(numbers) }

// Floats is [Context.Numbers] for floating-point numbers.
func (c *Context) Floats() (Input, bool) { return c.of(floats) }

// Integers is [Context.Numbers] for integers.
func (c *Context) Integers() (Input, bool) { return c.of(whole) }

// Strings is [Context.Numbers] for strings.
func (c *Context) Strings() (Input, bool) { return c.of(texts) }

// Float32 is [Context.Numbers] for float32.
func (c *Context) Float32() (Input, bool) {
	return c.of(dtypes{"float32", []dtype.DataType{dtype.Float}})
}

func (c *Context) of(allowed dtypes) (Input, bool) {
	t, ok := c.Input()
	if !ok {
		return t, false
	}
	if !slices.Contains(allowed.list, t.DType) {
		d := c.Report(c.name(0), "%s takes %s, and %s is %s", c.Type, allowed.what, decl.Quote(t.Name), t.DType)
		switch {
		case slices.Contains(scalable.list, t.DType) && len(allowed.list) < len(scalable.list) && !slices.Contains(allowed.list, dtype.String):
			d.Hint = "a cast before it converts numbers"
		case t.DType == dtype.String && !slices.Contains(allowed.list, dtype.String):
			d.Hint = "decode the strings first: decode_image, decode_wav or to_number"
		}
		return t, false
	}
	return t, true
}

// OneOf is [Context.Numbers] for a list of data types, which a message calls what.
func (c *Context) OneOf(what string, list ...dtype.DataType) (Input, bool) {
	return c.of(dtypes{what, list})
}

// Ranked reports a tensor that has another number of dimensions than least to most, and
// returns false. A negative most is any number.
func (c *Context) Ranked(t Input, least, most int) bool {
	n := len(t.Shape)
	if n >= least && (most < 0 || n <= most) {
		return true
	}
	want := Dimensions(least)
	switch {
	case most < 0:
		want = "at least " + want
	case most > least:
		want = "up to " + Dimensions(most)
		if least > 0 {
			want = Dimensions(least) + " " + want
		}
	}
	c.Report(c.name(0), "%s takes a tensor of %s, and %s has shape %s", c.Type, want, decl.Quote(t.Name), FormatShape(t.Shape))
	return false
}

// Image reports a tensor that is not an image, [height, width, channels], and returns
// false. channels lists the numbers of channels that are allowed; none means any.
func (c *Context) Image(t Input, channels ...int64) bool {
	if len(t.Shape) != 3 {
		d := c.Report(c.name(0), "%s takes an image of shape [height, width, channels], and %s has shape %s", c.Type, decl.Quote(t.Name), FormatShape(t.Shape))
		if len(t.Shape) == 2 {
			d.Hint = "expand_dims with axis -1 makes it an image of one channel"
		}
		return false
	}
	if n := t.Shape[2]; n >= 0 && len(channels) > 0 && !slices.Contains(channels, n) {
		c.Report(c.name(0), "%s takes an image of %d channels, and %s has %d", c.Type, channels[0], decl.Quote(t.Name), n)
		return false
	}
	return true
}

// Axis returns an axis of a tensor of a rank counted from 0: a negative one counts from the
// end. It reports one that is out of range.
func (c *Context) Axis(at *jsonpos.Node, axis int64, rank int) (int, bool) {
	n := axis
	if n < 0 {
		n += int64(rank)
	}
	if n < 0 || n >= int64(rank) {
		c.Report(at, "axis %d of a tensor of %s", axis, Dimensions(rank))
		return 0, false
	}
	return int(n), true
}

// DType returns the data type of a name. It reports a name that is not one of those that
// allowed accepts.
func (c *Context) DType(at *jsonpos.Node, name string, allowed ...dtype.DataType) (dtype.DataType, bool) {
	d, ok := Loadable(name)
	if !ok {
		c.Report(at, "no dtype named %s", decl.Quote(name)).Hint = DTypeHint(name)
		return 0, false
	}
	if len(allowed) > 0 && !slices.Contains(allowed, d) {
		var names []string
		for _, a := range allowed {
			names = append(names, a.String())
		}
		c.Report(at, "%s cannot make %s; it can make %s", c.Type, d, join(names))
		return 0, false
	}
	return d, true
}

// Value reads a value of a data type, and reports one that does not fit.
func (c *Context) Value(at *jsonpos.Node, v Value, d dtype.DataType) (any, bool) {
	if v == nil {
		return ZeroValue(d), true
	}
	if v.Kind() == jsonpos.Null {
		return nil, false
	}
	value, want := ReadValue(v, d)
	if want == "" {
		return value, true
	}
	c.Report(at, "must be %s for dtype %q, got %s", want, d.String(), decl.Show(v))
	return nil, false
}

// join joins words as in "a, b or c".
func join(words []string) string {
	out := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			out += " or "
		default:
			out += ", "
		}
		out += w
	}
	return out
}

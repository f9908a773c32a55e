package opeffect

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"millrace/internal/base/tfproto"
)

// changer changes sound calls: one to three values, shapes, dtypes or attributes at a
// time.
type changer struct {
	ops    map[string]*tfproto.OpDef
	random *rand.Rand
}

// newChanger returns the changer for change n of a call. It depends on nothing else.
func newChanger(ops map[string]*tfproto.OpDef, c call, n int) *changer {
	h := fnv.New64a()
	h.Write([]byte(c.String()))
	return &changer{ops, rand.New(rand.NewPCG(h.Sum64(), uint64(n)))}
}

// change returns a changed call, and the handles as they are changed for it.
func (r *changer) change(c call, lets map[string]let) (call, map[string]let) {
	c, lets = call{c.op, slices.Clone(c.attrs), slices.Clone(c.args)}, maps.Clone(lets)
	for range 1 + min(r.random.IntN(3), r.random.IntN(3)) {
		switch n := r.random.IntN(10); {
		case n < 7 && r.changeArgument(&c, lets):
		case n < 9:
			r.changeAttr(&c, lets)
		default:
			r.changeType(&c)
		}
	}
	return c, lets
}

// handlesOf returns the handles that a call takes, and those that their makers take.
func handlesOf(c call, lets map[string]let) (names []string) {
	for _, arg := range c.args {
		kind, handle := strings.CutPrefix(arg, "@")
		kind, _, _ = strings.Cut(kind, ":")
		kind, _, _ = strings.Cut(kind, "#")
		if handle && kind != "self" && !slices.Contains(names, kind) {
			names = append(append(names, kind), handlesOf(lets[kind].call, lets)...)
		}
	}
	return names
}

// changeArgument changes a tensor of the call, or of the making of its handles.
func (r *changer) changeArgument(c *call, lets map[string]let) bool {
	kinds := handlesOf(*c, lets)
	if len(kinds) > 0 && r.random.IntN(3) == 0 {
		kind := kinds[r.random.IntN(len(kinds))]
		l := lets[kind]
		of := &l.call
		if l.then != nil && r.random.IntN(2) == 0 {
			then := *l.then
			l.then, of = &then, &then
		}
		of.args = slices.Clone(of.args)
		changed := r.changeOne(of)
		lets[kind] = l
		return changed
	}
	return r.changeOne(c)
}

func (r *changer) changeOne(c *call) bool {
	var tensors []int
	for i, arg := range c.args {
		if _, ok := parseArgument(arg); ok {
			tensors = append(tensors, i)
		}
	}
	if len(tensors) == 0 {
		return false
	}
	i := tensors[r.random.IntN(len(tensors))]
	a, _ := parseArgument(c.args[i])
	c.args[i] = r.argument(a).String()
	return true
}

// numbers and words of changed tensors.
var (
	extremeInts = strings.Fields(`-1 0 1 2 3 -2 5 100 2147483647 -2147483648 1000000 4294967296 1099511627776 4611686018427387904
		9223372036854775807 -9223372036854775808 -1000000 65536`)
	extremeFloats = strings.Fields("nan inf -inf -1 0 1e30 -1e30 1e-40 2 100 1e10 -0.5")
	extremeWords  = []string{"", "a", "%25s%25n", "-1", "(", "%00", "%FF%FE", "1e400", "a%0Ab", "[", strings.Repeat("ab", 4000), "%F0%9F%98%80", "0", "nan"}
)

// extreme returns an odd element.
func (r *changer) extreme(letter string) string {
	of := extremeInts
	switch dt := letters[letter]; {
	case dt == str:
		of = extremeWords
	case isFloat(dt):
		of = extremeFloats
	}
	return of[r.random.IntN(len(of))]
}

// argument changes one element, all elements, or the shape.
func (r *changer) argument(a argument) argument {
	n := min(a.size(), 256)
	elements := func() (all []string) {
		for i := range n {
			all = append(all, a.text(i))
		}
		return all
	}
	a.shape = slices.Clone(a.shape)
	switch k := r.random.IntN(10); {
	case k < 3 && n > 0:
		a.texts = elements()
		a.texts[r.random.IntN(len(a.texts))] = r.extreme(a.letter)
	case k < 5:
		a.texts = []string{r.extreme(a.letter)}
	case k < 6 && n > 0:
		a.texts = elements()
		for i := range a.texts {
			a.texts[i] = r.extreme(a.letter)
		}
	case k < 8 && len(a.shape) > 0:
		i := r.random.IntN(len(a.shape))
		a.shape[i] = []int64{0, 1, a.shape[i] + 1, max(0, a.shape[i]-1), a.shape[i] * 2, 17, 300}[r.random.IntN(7)]
	default:
		a.shape = r.shape(a.shape)
	}
	if a.size() > 1<<16 {
		a.shape = []int64{3}
	}
	return a
}

// shape returns another shape.
func (r *changer) shape(of []int64) []int64 {
	switch r.random.IntN(8) {
	case 0:
		return nil
	case 1:
		return []int64{0}
	case 2:
		return []int64{1}
	case 3:
		return append(slices.Clone(of), 1)
	case 4:
		return append([]int64{1}, of...)
	case 5:
		return of[min(1, len(of)):]
	case 6:
		return [][]int64{{0, 0}, {0, 3}, {3, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 2}, {2, 0, 2}, {65536}, {5}, {2, 2}, {3, 3, 3}, ones(130), ones(254)}[r.random.IntN(11)]
	}
	n := int64(1)
	for _, d := range of {
		n *= d
	}
	return []int64{n}
}

// ones returns a shape of many dimensions: TensorFlow's limit is 254.
func ones(n int) []int64 { return fill(int64(n), func() int64 { return 1 }) }

// changeAttr changes an attribute of the call, or of the making of its handles. It
// leaves alone how many inputs there are.
func (r *changer) changeAttr(c *call, lets map[string]let) {
	kinds := handlesOf(*c, lets)
	if len(kinds) > 0 && r.random.IntN(4) == 0 {
		kind := kinds[r.random.IntN(len(kinds))]
		l := lets[kind]
		l.attrs = slices.Clone(l.attrs)
		r.changeAttrOf(&l.call)
		lets[kind] = l
		return
	}
	r.changeAttrOf(c)
}

func (r *changer) changeAttrOf(c *call) {
	def := r.ops[c.op]
	if def == nil || len(def.Attr) == 0 {
		return
	}
	a := def.Attr[r.random.IntN(len(def.Attr))]
	counts := func(arg *tfproto.OpDef_ArgDef) bool {
		return a.Name == arg.NumberAttr || a.Name == arg.TypeListAttr || a.Name == arg.TypeAttr
	}
	if slices.ContainsFunc(def.InputArg, counts) {
		return
	}
	v, ok := r.attr(a)
	if !ok {
		return
	}
	i := slices.IndexFunc(c.attrs, func(text string) bool { return strings.HasPrefix(text, a.Name+"=") })
	if i < 0 {
		c.attrs = append(c.attrs, a.Name+"="+v)
		return
	}
	if list := strings.Split(strings.Trim(strings.TrimPrefix(c.attrs[i], a.Name+"="), "[]"), ","); a.Type == "list(int)" && r.random.IntN(2) == 0 {
		list[r.random.IntN(len(list))] = r.extreme("l")
		v = "[" + strings.Join(list, ",") + "]"
	}
	c.attrs[i] = a.Name + "=" + v
}

// attr returns an odd value of an attribute.
func (r *changer) attr(a *tfproto.OpDef_AttrDef) (string, bool) {
	items := func(letter string) string {
		var all []string
		for range r.random.IntN(6) {
			all = append(all, r.extreme(letter))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	shapes := []string{"?", ".", "0", "2", "-1", "2,2", "-1,2", "0,3", "1000000,1000000", "4611686018427387904", "1,1,1,1,1,1,1,1,1"}
	shape := shapes[r.random.IntN(len(shapes))]
	switch a.Type {
	case "int":
		return r.extreme("l"), true
	case "float":
		return r.extreme("f"), true
	case "bool":
		return fmt.Sprint(r.random.IntN(2) == 0), true
	case "shape":
		return shape, true
	case "list(shape)":
		return "[" + shape + "]", true
	case "list(int)":
		return items("l"), true
	case "list(float)":
		return items("f"), true
	case "type":
		allowed := a.GetAllowedValues().GetList().GetType()
		if len(allowed) == 0 {
			allowed = slices.Sorted(maps.Values(letters))
		}
		return strings.ToLower(strings.TrimPrefix(allowed[r.random.IntN(len(allowed))].String(), "DT_")), true
	case "string":
		if allowed := a.GetAllowedValues().GetList().GetS(); len(allowed) > 0 {
			return string(allowed[r.random.IntN(len(allowed))]), true
		}
		words := []string{"", "a", "%s", "(", "NCHW", "NHWC", "ab->ba", "...a,...b->...ab", "a.*b{1000}", "nonsense", "-1"}
		return words[r.random.IntN(len(words))], true
	}
	return "", false
}

// changeType gives all tensors of one dtype another.
func (r *changer) changeType(c *call) {
	all := slices.Sorted(maps.Keys(letters))
	from, to := "", all[r.random.IntN(len(all))]
	for _, i := range r.random.Perm(len(c.args)) {
		if a, ok := parseArgument(c.args[i]); ok {
			from = a.letter
			break
		}
	}
	if from == "" || to == "v" || to == "r" {
		return
	}
	for i, text := range c.args {
		if a, ok := parseArgument(text); ok && a.letter == from {
			a.letter = to
			if letters[to] == str {
				a.texts = nil
			}
			c.args[i] = a.String()
		}
	}
	name := func(letter string) string {
		return strings.ToLower(strings.TrimPrefix(letters[letter].String(), "DT_"))
	}
	for i, text := range c.attrs {
		if key, v, _ := strings.Cut(text, "="); v == name(from) {
			c.attrs[i] = key + "=" + name(to)
		}
	}
}

// describe returns a changed call with the handles that were changed for it.
func describe(c call, changed, lets map[string]let) string {
	text := c.String()
	for _, kind := range handlesOf(c, changed) {
		is, was := changed[kind], lets[kind]
		if fmt.Sprint(is.call, is.then) != fmt.Sprint(was.call, was.then) {
			text += fmt.Sprintf("; let %s = %s ; %v", kind, is.call, is.then)
		}
	}
	return text
}

// deepCall is a call with many dimensions, and the handles as they are changed for it.
type deepCall struct {
	call
	lets map[string]let
}

// deep returns a call with more dimensions: each tensor, and all at once, with 254 of them,
// which is TensorFlow's limit, and each vector of integers with 255 elements, which may be a
// shape. The tensors in handles get them too.
func deep(c call, lets map[string]let) (all []deepCall) {
	for _, d := range deepen(c) {
		all = append(all, deepCall{d, lets})
	}
	for _, kind := range handlesOf(c, lets) {
		add := func(l let) {
			changed := maps.Clone(lets)
			changed[kind] = l
			all = append(all, deepCall{c, changed})
		}
		l := lets[kind]
		for _, d := range deepen(l.call) {
			add(let{d, l.then})
		}
		if l.then != nil {
			for _, d := range deepen(*l.then) {
				add(let{l.call, &d})
			}
		}
	}
	return all
}

// deepen returns a call with more dimensions.
func deepen(c call) (all []call) {
	replace := func(keep func(a argument) bool, by func(a argument) argument) {
		for i := -1; i < len(c.args); i++ {
			d := call{c.op, c.attrs, slices.Clone(c.args)}
			changed := false
			for k, text := range c.args {
				if a, ok := parseArgument(text); ok && keep(a) && (i < 0 || i == k) {
					d.args[k], changed = by(a).String(), true
				}
			}
			if changed {
				all = append(all, d)
			}
		}
	}
	for _, first := range []int64{1, 2} {
		replace(func(a argument) bool { return true }, func(a argument) argument {
			a.shape = ones(254)
			a.shape[0] = first
			return a
		})
	}
	replace(func(a argument) bool { return len(a.shape) == 1 && strings.Contains("il", a.letter) }, func(a argument) argument {
		a.shape, a.texts = []int64{255}, []string{"1"}
		return a
	})
	return all
}

package text

import (
	"fmt"
	"regexp"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RegexReplaceArgs are the arguments of a step of type regex_replace.
type RegexReplaceArgs struct {
	decl.Object
	Pattern string `json:"pattern" decl:"required" doc:"A regular expression in the syntax of RE2."`
	Rewrite string `json:"rewrite" decl:"required" doc:"What replaces a match. \\1 to \\9 stand for groups of the pattern, \\0 for the whole match, and \\\\ for a backslash."`
	Global  bool   `json:"global" decl:"default=true" doc:"Whether all matches are replaced, and not only the first one."`
}

// Check compiles the pattern, and compares the rewrite with its groups.
func (a *RegexReplaceArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("pattern", "rewrite", "global") {
		return nil
	}
	pattern, err := regexp.Compile(a.Pattern)
	if err != nil {
		c.Report(a.Key("pattern"), "%s is not a regular expression: %v", decl.Quote(a.Pattern), err)
		return nil
	}
	for i := 0; i < len(a.Rewrite); i++ {
		if a.Rewrite[i] != '\\' {
			continue
		}
		i++
		switch {
		case i == len(a.Rewrite):
			c.Report(a.Key("rewrite"), "ends with a single backslash")
			return nil
		case a.Rewrite[i] >= '0' && a.Rewrite[i] <= '9':
			if n := int(a.Rewrite[i] - '0'); n > pattern.NumSubexp() {
				c.Report(a.Key("rewrite"), "names group %d, and the pattern has %d", n, pattern.NumSubexp())
				return nil
			}
		case a.Rewrite[i] != '\\':
			c.Report(a.Key("rewrite"), `after a backslash there must be a digit or a backslash, got %q`, a.Rewrite[i])
			return nil
		}
	}
	t, ok := c.Strings()
	if !ok {
		return nil
	}
	what := fmt.Sprintf("%s -> %s", decl.Quote(a.Pattern), decl.Quote(a.Rewrite))
	if !a.Global {
		what += ", the first match"
	}
	return processing.Map{What: what, To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("StaticRegexReplace", map[string]any{"pattern": a.Pattern, "rewrite": a.Rewrite, "replace_global": a.Global}, x)
	}}
}

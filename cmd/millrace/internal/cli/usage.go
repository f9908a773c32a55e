package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/diag"
)

// usageError is a mistake in the command line.
type usageError struct {
	command string
	msg     string
}

// Error returns the problem and names the help page.
func (e *usageError) Error() string {
	return fmt.Sprintf("%s; see %s --help", e.msg, e.command)
}

// Usagef returns a mistake in the command line of c. Its message names the help page
// of c.
func Usagef(c *cobra.Command, format string, args ...any) error {
	return &usageError{c.CommandPath(), fmt.Sprintf(format, args...)}
}

// flagError describes a flag that is unknown or has a wrong value. A command that only
// holds subcommands has none of their flags. If an argument stands before the flag, the
// mistake is that argument, because no command has its name.
func flagError(c *cobra.Command, err error) error {
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return c.Args(c, args)
	}
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return Usagef(c, "%s%s", err, nearFlag(c, unknown))
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		if _, ok := f.Value.(*size); ok {
			return Usagef(c, "--%s: %s", f.Name, invalid.Unwrap())
		}
		if want := flagTypes[f.Value.Type()]; want != "" {
			return Usagef(c, "--%s %q: must be %s", f.Name, invalid.GetValue(), want)
		}
	}
	return Usagef(c, "%s", err)
}

// flagTypes describes the values of each type of flag.
var flagTypes = map[string]string{
	"int": "a whole number of 64 bits", "int64": "a whole number of 64 bits", "float64": "a number", "bool": "true or false", "duration": "a duration such as 90s",
}

// nearFlag returns a "did you mean" for an unknown flag: a flag with nearly that
// name, or one whose name begins so. It returns "" if there is none.
func nearFlag(c *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if name == "" || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var known []string
	begins := ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		known = append(known, f.Name)
		if strings.HasPrefix(f.Name, name) {
			begins = f.Name
		}
	})
	near := cmp.Or(diag.Nearest(name, known), begins)
	if near == "" {
		return ""
	}
	return "; did you mean --" + near + "?"
}

// meant returns a "did you mean" for the near names, "" without any.
func meant(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// Exactly checks that a command has exactly these arguments. Messages use their names.
func Exactly(args ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, got []string) error {
		switch {
		case len(got) < len(args):
			return Usagef(c, "%s is missing", args[len(got)])
		case len(got) > len(args):
			return Usagef(c, "unexpected argument %q", got[len(args)])
		}
		return nil
	}
}

// Group makes c a command that only holds subcommands. Because it sets Args, cobra
// leaves unknown subcommands to that function.
func Group(c *cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Usagef(c, "unknown command %q%s", args[0], meant(c.SuggestionsFor(args[0])))
		}
		return Usagef(c, "name a command: %s", strings.Join(names(c), ", "))
	}
	c.RunE = func(*cobra.Command, []string) error { return nil } // never reached: Args refuses every argument list
	c.SuggestionsMinimumDistance = 2
	return c
}

// names returns the names of the visible subcommands.
func names(c *cobra.Command) []string {
	var list []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub.Name())
		}
	}
	return list
}

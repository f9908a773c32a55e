package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/loaders/diag"
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

func usagef(c *cobra.Command, format string, args ...any) error {
	return &usageError{c.CommandPath(), fmt.Sprintf(format, args...)}
}

// flagError describes a flag that is unknown or has a wrong value.
func flagError(c *cobra.Command, err error) error {
	msg := err.Error()
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		name := unknown.GetSpecifiedName()
		if near := diag.Nearest(name, known); near != "" && unknown.GetSpecifiedShortnames() == "" {
			msg += "; did you mean --" + near + "?"
		}
	}
	return usagef(c, "%s", msg)
}

// cobraError turns cobra's error for an unknown command, which has several
// lines, into a usage error of one line.
func cobraError(root *cobra.Command, err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), "unknown command ") {
		return err
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return err
	}
	what, near, _ := strings.Cut(err.Error(), "\n\nDid you mean this?\n\t")
	what, _, _ = strings.Cut(what, " for ")
	return usagef(root, "%s%s", what, meant(strings.Fields(near)))
}

// meant returns a "did you mean" for the near names, "" without any.
func meant(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// exactly checks that a command has exactly these arguments. Messages use their
// names.
func exactly(args ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, got []string) error {
		switch {
		case len(got) < len(args):
			return usagef(c, "%s is missing", args[len(got)])
		case len(got) > len(args):
			return usagef(c, "unexpected argument %q", got[len(args)])
		}
		return nil
	}
}

// group makes c a command that only holds subcommands.
func group(c *cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef(c, "unknown command %q%s", args[0], meant(c.SuggestionsFor(args[0])))
		}
		return usagef(c, "name a command: %s", strings.Join(names(c), ", "))
	}
	c.RunE = func(*cobra.Command, []string) error { return nil } // never reached: Args refuses every argument list
	c.SuggestionsMinimumDistance = 2
	return c
}

package preflight

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"millrace"
)

// maxFlagFile is how much of a file of flags is read, in bytes.
const maxFlagFile = 1 << 20

// flagVariable is an environment variable that holds flags, or the name of a
// file of flags. TensorFlow ends the process at the first that it does not
// know or cannot parse.
type flagVariable struct {
	name  string
	flags map[string]flagType
}

// flagType is what values a flag takes.
type flagType string

const (
	boolFlag   flagType = "bool"
	int32Flag  flagType = "int32"
	int64Flag  flagType = "int64"
	stringFlag flagType = "string"
)

// check reports a value that TensorFlow would end the process for.
func (v *flagVariable) check(value string) error {
	flags := strings.TrimLeft(value, blanks)
	if value != "" && !strings.HasPrefix(flags, "-") {
		text, err := readFlags(value)
		if err != nil {
			return v.problem("it does not start with --, so that TensorFlow takes it for the name of a file of flags: %w", err)
		}
		flags = text
	}
	for _, flag := range splitFlags(flags) {
		if err := v.checkFlag(flag); err != nil {
			return err
		}
	}
	return nil
}

// problem describes what is wrong with the variable.
func (v *flagVariable) problem(format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrConfig, format, args...)
	e.Key = "environment variable " + v.name
	e.Msg += "; TensorFlow would end the process: correct the variable or unset it"
	return e
}

// readFlags reads a file of flags.
func readFlags(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe is not waited for
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFlagFile))
	return string(text), err
}

// blanks separate flags.
const blanks = " \t\r\n"

// splitFlags cuts flags apart as TensorFlow does: at blanks, except in quotes
// that come right after the equals sign. What does not start with a dash, and
// all after it, is left out.
func splitFlags(s string) []string {
	var list []string
	for s = strings.TrimLeft(s, blanks); strings.HasPrefix(s, "-"); s = strings.TrimLeft(s, blanks) {
		end := strings.IndexFunc(s, func(r rune) bool { return !flagRune(r) })
		if end < 0 {
			return append(list, s)
		}
		if rest := s[end:]; len(rest) > 1 && rest[0] == '=' && (rest[1] == '"' || rest[1] == '\'') {
			value, after := unquoteFlag(rest[1:])
			list, s = append(list, s[:end+1]+value), after
			continue
		}
		if stop := strings.IndexAny(s[end:], blanks); stop >= 0 {
			list, s = append(list, s[:end+stop]), s[end+stop:]
		} else {
			list, s = append(list, s), ""
		}
	}
	return list
}

// flagRune reports whether a flag's name may hold r.
func flagRune(r rune) bool {
	return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// unquoteFlag returns what is in the quotes that s starts with, and what comes
// after them. Double quotes know the backslash.
func unquoteFlag(s string) (value, after string) {
	var b strings.Builder
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return b.String(), s[i+1:]
		case quote == '"' && s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// autoJIT are the values of tf_xla_auto_jit, a string to TensorFlow's parser.
var autoJIT = regexp.MustCompile(`^(-?[0-9]+|fusible|single-gpu\(-?[0-9]+\))$`)

// checkFlag checks one flag: its name and, by its type, its value.
func (v *flagVariable) checkFlag(flag string) error {
	name, value, assigned := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	kind, known := v.flags[name]
	if !known || !strings.HasPrefix(flag, "--") {
		return v.problem("unknown flag %s", millrace.QuoteData([]byte(flag)))
	}
	fits := assigned
	switch kind {
	case boolFlag:
		fits = !assigned || slices.Contains([]string{"true", "false", "1", "0"}, strings.ToLower(value))
	case int32Flag, int64Flag:
		bits, _ := strconv.Atoi(strings.TrimPrefix(string(kind), "int"))
		_, err := strconv.ParseInt(value, 10, bits)
		fits = err == nil
	}
	if name == "tf_xla_auto_jit" {
		fits = autoJIT.MatchString(value)
	}
	if !fits {
		return v.problem("%s: not a value of type %s", millrace.QuoteData([]byte(flag)), kind)
	}
	return nil
}

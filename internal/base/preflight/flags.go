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

// maxFlagFile is the largest part of a file of flags to read, in bytes.
const maxFlagFile = 1 << 20

// flagVariable is an environment variable with flags, or with the name of a file of
// flags. TensorFlow ends the process at the first flag that it does not know or cannot
// parse.
type flagVariable struct {
	name  string
	flags map[string]flagType
}

// flagType is the type of a flag's values.
type flagType string

const (
	boolFlag   flagType = "bool"
	int32Flag  flagType = "int32"
	int64Flag  flagType = "int64"
	stringFlag flagType = "string"
)

// check returns an error if TensorFlow would end the process because of the
// value.
func (v *flagVariable) check(value string) error {
	flags := strings.TrimLeft(value, blanks)
	if value != "" && !strings.HasPrefix(flags, "-") {
		text, err := readFlags(value)
		if err != nil {
			return v.problem("it does not start with --, so TensorFlow reads it as the name of a file of flags: %w", err)
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

// problem returns an error about the variable.
func (v *flagVariable) problem(format string, args ...any) error {
	return problem(v.name, format, args...)
}

// problem returns an error about a variable.
func problem(name, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrConfig, format, args...)
	e.Key = "environment variable " + name
	e.Msg += "; TensorFlow would end the process: correct the variable or unset it"
	return e
}

// readFlags reads a file of flags.
func readFlags(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: do not wait for the writer of a named pipe
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFlagFile))
	return string(text), err
}

// blanks separate flags.
const blanks = " \t\r\n"

// splitFlags splits flags as TensorFlow does: at blanks, except in quotes directly
// after the equals sign. It ignores everything from the first word that does not start
// with a dash.
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

// unquoteFlag returns the text in the quotes that s starts with, and the text
// after them. In double quotes, a backslash escapes the next character.
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

// autoJIT matches the values of tf_xla_auto_jit, which TensorFlow parses as a
// string.
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

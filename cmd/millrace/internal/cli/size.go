package cli

import (
	"strconv"

	"github.com/spf13/pflag"

	"millrace/internal/base/figures"
)

// size is the value of a flag for a number of bytes: "65536", "200KB", "64MiB".
type size int64

// Size returns the value of a flag for a number of bytes, which may have a unit.
func Size(to *int64, normal int64) pflag.Value {
	*to = normal
	return (*size)(to)
}

func (v *size) Set(text string) error {
	n, err := figures.ParseSize(text)
	if err == nil {
		*v = size(n)
	}
	return err
}

// Type makes the value one that FlagSet.GetInt64 returns.
func (*size) Type() string     { return "int64" }
func (v *size) String() string { return strconv.FormatInt(int64(*v), 10) }

package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagTypeText are the kinds of values that the parsers of Go have their own words for.
var flagTypeText = map[string]string{
	"int": "a whole number", "int32": "a whole number", "int64": "a whole number",
	"uint": "a whole number of at least 0", "uint16": "a whole number of at least 0", "uint32": "a whole number of at least 0", "uint64": "a whole number of at least 0",
	"float32": "a number", "float64": "a number", "bool": "true or false", "duration": "a duration, such as 90s or 5m",
}

// FlagError says of a flag's value that does not parse what would be right, and of a flag that is not there where
// those that are can be read, and which ones go on as it does.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w%s; see `%s --help`", err, suggestFlags(cmd.Flags(), unknown), cmd.CommandPath())
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	if want, known := flagTypeText[f.Value.Type()]; known {
		if errors.Is(err, strconv.ErrRange) {
			want += ", this one is out of range"
		}
		return fmt.Errorf("--%s %s: want %s", f.Name, strconv.Quote(invalid.GetValue()), want)
	}
	return fmt.Errorf("--%s %s: %w", f.Name, strconv.Quote(invalid.GetValue()), errors.Unwrap(invalid))
}

// suggestFlags suggests the flags whose names begin with what was given.
func suggestFlags(flags *pflag.FlagSet, given *pflag.NotExistError) string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if given.GetSpecifiedShortnames() == "" && !f.Hidden && strings.HasPrefix(f.Name, given.GetSpecifiedName()) {
			names = append(names, "--"+f.Name)
		}
	})
	if len(names) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(names, " or ") + "?"
}

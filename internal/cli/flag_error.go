package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagTypeText describes the accepted values of each flag type.
var flagTypeText = map[string]string{
	"int": "a whole number", "int32": "a whole number", "int64": "a whole number",
	"uint": "a whole number of at least 0", "uint16": "a whole number from 0 to 65535", "uint32": "a whole number of at least 0", "uint64": "a whole number of at least 0",
	"float32": "a number", "float64": "a number", "bool": "true or false", "duration": "a duration, such as 90s or 5m",
}

// flagTypeRange has the range of each integer type, for errors about values outside of it.
var flagTypeRange = map[string]string{
	"int": "-9223372036854775808 to 9223372036854775807", "int32": "-2147483648 to 2147483647", "int64": "-9223372036854775808 to 9223372036854775807",
	"uint": "0 to 18446744073709551615", "uint16": "0 to 65535", "uint32": "0 to 4294967295", "uint64": "0 to 18446744073709551615",
}

// FlagError describes an invalid flag value or an unknown flag, with the accepted values
// or similar flags.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if hint := upstreamHint(cmd.Name(), unknown.GetSpecifiedName()); hint != "" {
			return errors.New(hint)
		}
		return fmt.Errorf("%w%s (see `%s --help`)", err, suggestFlags(cmd.Flags(), unknown), cmd.CommandPath())
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	if accepted, found := flagTypeText[f.Value.Type()]; found {
		if bounds := flagTypeRange[f.Value.Type()]; bounds != "" && errors.Is(err, strconv.ErrRange) {
			accepted = "a whole number from " + bounds
		}
		return fmt.Errorf("--%s %s: must be %s", f.Name, strconv.Quote(invalid.GetValue()), accepted)
	}
	return fmt.Errorf("--%s %s: %w", f.Name, strconv.Quote(invalid.GetValue()), errors.Unwrap(invalid))
}

// suggestFlags returns text that suggests flags with a name similar to the unknown one, or "".
func suggestFlags(flags *pflag.FlagSet, unknown *pflag.NotExistError) string {
	if unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	flagNames := similar(unknown.GetSpecifiedName(), names)
	for i := range flagNames {
		flagNames[i] = "--" + flagNames[i]
	}
	return suggestion(flagNames)
}

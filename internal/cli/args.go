package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// ExactlyOneArg requires exactly one argument. The error names the kind of argument and shows an example.
func ExactlyOneArg(command, argument, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: %d arguments given: requires exactly one %s, for example `berth %s %s`", command, len(args), argument, command, example)
		}
		return nil
	}
}

// AtLeastOneArg requires one or more arguments. The error names the kind of argument and shows an example.
func AtLeastOneArg(command, argument, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: no %s given: requires one or more, for example `berth %s %s`", command, argument, command, example)
		}
		return nil
	}
}

// OnePodArg requires exactly one pod, as NAMESPACE/NAME or NAME.
func OnePodArg(command string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := ExactlyOneArg(command, "pod", "default/web-1")(cmd, args); err != nil {
			return err
		}
		if namespace, name := SplitPodName(args[0]); namespace == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%s: %q: must be NAMESPACE/NAME, or NAME in namespace default, for example `berth %s default/web-1`", command, args[0], command)
		}
		return nil
	}
}

// SplitPodName splits NAMESPACE/NAME. The namespace defaults to "default".
func SplitPodName(arg string) (namespace, name string) {
	if namespace, name, qualified := strings.Cut(arg, "/"); qualified {
		return namespace, name
	}
	return "default", arg
}
